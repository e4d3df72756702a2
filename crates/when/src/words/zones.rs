//! Zones by the names that stand behind a time of day, as POSIX rules: a fixed offset, or a place with its summer time.

use super::Table;

const ROME: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const LONDON: &str = "GMT0BST,M3.5.0/1,M10.5.0";
const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";
const CHICAGO: &str = "CST6CDT,M3.2.0,M11.1.0";
const DENVER: &str = "MST7MDT,M3.2.0,M11.1.0";
const LOS_ANGELES: &str = "PST8PDT,M3.2.0,M11.1.0";
const TOKYO: &str = "JST-9";

/// Zones in both languages; a letter alone is none.
pub(crate) const ZONES: Table<&str> = &[
    ("utc", "UTC0"),
    ("gmt", "UTC0"),
    ("cet", "CET-1"),
    ("cest", "CEST-2"),
    ("bst", "BST-1"),
    ("wet", "WET0"),
    ("west", "WEST-1"),
    ("eet", "EET-2"),
    ("eest", "EEST-3"),
    ("msk", "MSK-3"),
    ("est", "EST5"),
    ("edt", "EDT4"),
    ("cst", "CST6"),
    ("cdt", "CDT5"),
    ("mst", "MST7"),
    ("mdt", "MDT6"),
    ("pst", "PST8"),
    ("pdt", "PDT7"),
    ("jst", TOKYO),
    ("ist", "IST-5:30"),
    ("et", NEW_YORK),
    ("eastern time", NEW_YORK),
    ("eastern", NEW_YORK),
    ("central time", CHICAGO),
    ("mountain time", DENVER),
    ("pacific time", LOS_ANGELES),
    ("pacific", LOS_ANGELES),
    ("rome time", ROME),
    ("italian time", ROME),
    ("berlin time", ROME),
    ("paris time", ROME),
    ("london time", LONDON),
    ("uk time", LONDON),
    ("new york time", NEW_YORK),
    ("chicago time", CHICAGO),
    ("tokyo time", TOKYO),
    ("ora italiana", ROME),
    ("ora di roma", ROME),
    ("ora di berlino", ROME),
    ("ora di parigi", ROME),
    ("ora di londra", LONDON),
    ("ora di new york", NEW_YORK),
    ("ora di chicago", CHICAGO),
    ("ora di los angeles", LOS_ANGELES),
    ("ora di tokyo", TOKYO),
    ("ora di tokio", TOKYO),
];
