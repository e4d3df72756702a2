//! The guard: what no profile, no level and no approval can permit. Binary, deterministic,
//! first (design: policy §5). It works on text alone; the kernel and sandboxd look at the
//! real files below it. It must never be the reason that something is allowed.

use metnos_proto::executor::forbidden;

use crate::call::paths::{self, Places, Reading};

/// What the guard has against a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The rule, such as `guard.path`.
    pub rule: &'static str,
    /// Why, for a person.
    pub why: String,
    /// What to do about it; empty when nothing can be done.
    pub remedy: &'static str,
}

/// The most characters of a value that are shown in a sentence.
pub const MAX_SHOWN: usize = 80;

/// What a denial says to do: nothing permits a core path.
const REMEDY: &str = "copy what you need into the workspace; no setting and no approval permits this path";

/// Denies `value`, given for the argument at `field`, when any reading of it names a core
/// forbidden path. `None` means: the guard has nothing against it.
#[must_use]
pub fn check(field: &str, value: &str, places: &Places) -> Option<Objection> {
    if value.contains('\0') {
        return Some(Objection {
            rule: "guard.nul",
            why: format!("{field} is {}: it contains a NUL character, which no path can", shown(value)),
            remedy: "leave the NUL character out",
        });
    }
    let Some(readings) = paths::readings(value) else {
        return Some(Objection {
            rule: "guard.obfuscated",
            why: format!(
                "{field} is {}: it is percent-encoded more than {} times over",
                shown(value),
                paths::MAX_DECODINGS
            ),
            remedy: "",
        });
    };
    readings.iter().find_map(|reading| judge(field, value, reading, places))
}

/// One reading against the core list.
fn judge(field: &str, value: &str, reading: &Reading, places: &Places) -> Option<Objection> {
    let lexical = paths::resolve(&reading.text, places);
    let ends = core(&lexical.path, places);
    let passes = || lexical.passed.iter().find_map(|path| core(path, places).filter(|_| lexical.absolute));
    let aims = || lexical.aim.as_deref().and_then(|path| core(path, places));
    let (rule, named, why) = if let Some(why) = ends {
        let plain = reading.literal && value == lexical.path;
        let rule = if plain {
            "guard.path"
        } else if lexical.climbs {
            "guard.climb"
        } else {
            "guard.spelling"
        };
        (rule, lexical.path.clone(), why)
    } else if let Some(why) = passes() {
        ("guard.passage", lexical.path.clone(), why)
    } else {
        ("guard.climb", lexical.aim.clone().unwrap_or_default(), aims()?)
    };
    let means = match rule {
        "guard.path" => "it is".to_owned(),
        "guard.climb" => format!("it climbs out of the workspace towards {}, which is", shown(&named)),
        "guard.passage" => "it passes through a place that is".to_owned(),
        _ => format!("it is another spelling of {}, which is", shown(&named)),
    };
    Some(Objection { rule, why: format!("{field} is {}: {means} {why}", shown(value)), remedy: REMEDY })
}

/// Why a resolved path is closed to everything, if it is.
fn core(path: &str, places: &Places) -> Option<String> {
    let known = forbidden::Places { workspace: places.workspace.clone(), home: String::new() };
    if let Some(closed) = forbidden::check(path, &known) {
        return Some(format!("below {}, and {}", closed.place, closed.why));
    }
    // The instance's own state, in any case of letters, but for the workspace itself.
    let (lower, instance) = (path.to_lowercase(), places.instance.to_lowercase());
    let own = paths::within(&lower, &instance) && lower != instance && !paths::within(path, &places.workspace);
    own.then(|| "Metnos's own state".to_owned())
}

/// A value made printable for a sentence: both ends of a long one, and nothing in an address that grants access.
#[must_use]
pub fn shown(value: &str) -> String {
    let safe = metnos_proto::masks::masked(value);
    let printable = |part: &[char]| part.iter().flat_map(|c| c.escape_debug()).collect::<String>();
    let all: Vec<char> = safe.chars().collect();
    if all.len() <= MAX_SHOWN {
        return format!("`{}`", printable(&all));
    }
    let (begin, end) = (MAX_SHOWN - MAX_SHOWN / 3, MAX_SHOWN / 3);
    format!("`{}…{}` ({} characters)", printable(&all[..begin]), printable(&all[all.len() - end..]), all.len())
}
