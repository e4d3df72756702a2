//! Places on earth, as people call them in English and Italian: which time zone a city, or a country that has only one, is in.
//! The table is `places.txt`, a zone and its places on a line. Data, read once.

use std::collections::HashMap;
use std::sync::LazyLock;

use metnos_rank::words::words as folded;

const TABLE: &str = include_str!("places.txt");
/// The most words of a place's name.
const MAX_WORDS: usize = 6;
/// What may stand in front of a place, and says nothing of which one it is.
const BEFORE: &str = "the city of in at a ad the la il lo l gli le i citta di to nel nella nei negli nelle";

static PLACES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let mut places = HashMap::new();
    for (zone, names) in entries() {
        places.insert(key(zone), zone);
        places.extend(names.map(|name| (key(name), zone)));
    }
    places
});

/// The zones and the places in each.
fn entries() -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static str>)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).map(|(zone, names)| (zone, names.split(", ")))
}

/// A name as it is looked up: small letters without accents, and a blank where anything else was.
fn key(name: &str) -> String {
    folded(name).join(" ")
}

/// The zone of the place that these words call: a city, a country with one zone, or a zone by its own name. `None` where no
/// place is called so, or several are.
#[must_use]
pub fn zone(words: &[&str]) -> Option<&'static str> {
    let said: Vec<String> = words.iter().take(MAX_WORDS + 1).flat_map(|word| folded(word)).collect();
    if said.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let mut begin = 0;
    loop {
        if let Some(zone) = PLACES.get(&said[begin..].join(" ")) {
            return Some(zone);
        }
        let says_nothing = BEFORE.split(' ').any(|word| said.get(begin).is_some_and(|said| said == word));
        if !says_nothing || begin + 1 >= said.len() {
            return words.first().filter(|_| words.len() == 1).and_then(|word| metnos_calendar::zone::name_of(word));
        }
        begin += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_city_or_country_is_in_its_zone_in_both_languages() {
        for (place, wanted) in [
            ("Rome", "Europe/Rome"),
            ("roma", "Europe/Rome"),
            ("Milan", "Europe/Rome"),
            ("Londra", "Europe/London"),
            ("Parigi", "Europe/Paris"),
            ("Monaco di Baviera", "Europe/Berlin"),
            ("Nuova York", "America/New_York"),
            ("Città del Messico", "America/Mexico_City"),
            ("citta del messico", "America/Mexico_City"),
            ("San Francisco", "America/Los_Angeles"),
            ("Washington", "America/New_York"),
            ("Mumbai", "Asia/Kolkata"),
            ("Beijing", "Asia/Shanghai"),
            ("l'Aia", "Europe/Amsterdam"),
            ("the Netherlands", "Europe/Amsterdam"),
            ("the city of London", "Europe/London"),
            ("Port-au-Prince", "America/Port-au-Prince"),
            ("São Paulo", "America/Sao_Paulo"),
            ("Giappone", "Asia/Tokyo"),
            ("europe/rome", "Europe/Rome"),
            ("America/Argentina/Ushuaia", "America/Argentina/Ushuaia"),
            ("UTC", "UTC"),
        ] {
            assert_eq!(zone(&place.split(' ').collect::<Vec<_>>()), Some(wanted), "{place}");
        }
    }

    #[test]
    fn a_name_of_several_places_or_of_none_has_no_zone() {
        for place in [
            "Atlantis",
            "",
            "the",
            "in",
            "Georgia",
            "Cambridge",
            "Birmingham",
            "Portland",
            "Russia",
            "USA",
            "Canada",
            "Brazil",
            "Australia",
            "Rome and Paris",
            "rome rome",
            "a b c d e f g",
            "Europe",
            "the kitchen",
        ] {
            assert_eq!(zone(&place.split(' ').collect::<Vec<_>>()), None, "{place}");
        }
    }

    #[test]
    fn every_zone_stands_in_the_time_zone_table_and_each_name_once() {
        let mut seen = HashMap::new();
        let mut names_in_all = 0;
        for (zone, names) in entries() {
            let known = metnos_calendar::zone::of_place(zone);
            assert!(zone == "UTC" || known.is_some_and(|text| text.starts_with(&format!("{zone} ("))), "{zone}");
            let system = std::path::Path::new("/usr/share/zoneinfo");
            assert!(!system.exists() || system.join(zone).exists(), "{zone} is not in the machine's tz database");
            let own = (zone != "UTC").then(|| zone.rsplit('/').next().unwrap_or(zone));
            for name in names {
                names_in_all += 1;
                let known = seen.insert(key(name), zone);
                assert!(known.is_none(), "{name} is in {known:?} and {zone}");
                assert!((1..=MAX_WORDS).contains(&folded(name).len()), "{name}");
            }
            // "Singapore" must not be one place here and another by the last part of a zone's name.
            if let Some(other) = own.and_then(|own| seen.get(&key(own))) {
                assert_eq!(*other, zone);
            }
        }
        assert!(names_in_all >= 400, "{names_in_all}");
    }

    #[test]
    fn every_zone_is_one_that_the_clock_knows() {
        let clock = include_str!("../../../../executors/clock_now/main.py");
        let zones = &clock[clock.find("ZONES = \"\"\"").unwrap()..clock.find("ALSO = \"\"\"").unwrap()];
        for (zone, _) in entries().filter(|(zone, _)| *zone != "UTC") {
            assert!(zones.split_ascii_whitespace().any(|known| known == zone), "{zone}");
        }
    }
}
