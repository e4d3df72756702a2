//! Places on earth, as people call them in English and Italian: which time zone a city, or a country that has only one, is in.

/// Places and their zones. One that several zones could be meant by is not here.
const PLACES: &[(&str, &str)] = &[
    ("rome", "Europe/Rome"),
    ("roma", "Europe/Rome"),
    ("london", "Europe/London"),
    ("londra", "Europe/London"),
    ("new york", "America/New_York"),
    ("tokyo", "Asia/Tokyo"),
    ("utc", "UTC"),
];

/// The zone of the place that these words call.
#[must_use]
pub fn zone(words: &[&str]) -> Option<&'static str> {
    let said = words.join(" ").to_lowercase();
    PLACES.iter().find(|(place, zone)| *place == said || zone.eq_ignore_ascii_case(&said)).map(|(_, zone)| *zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_city_is_in_its_zone_in_both_languages() {
        assert_eq!((zone(&["Rome"]), zone(&["roma"])), (Some("Europe/Rome"), Some("Europe/Rome")));
        assert_eq!(zone(&["New", "York"]), Some("America/New_York"));
        assert_eq!((zone(&["europe/rome"]), zone(&["Atlantis"]), zone(&[])), (Some("Europe/Rome"), None, None));
    }
}
