//! The arguments that policyd alone sets: under which name an act keeps what takes it back, the file in the private folder of
//! the person that a call without a path is about, the place of the household where a call names none, and the state of a
//! scheduled call ([`crate::calls::carried`]). They are set after the decision, in what runs.

use metnos_policy::text::words::Words;
use metnos_proto::envelope;
use metnos_proto::executor::{Contract, EVERYBODY, HOME, KEEP, OWN, PLACE, SEEN, guests};
use metnos_proto::ids::Blake3;
use metnos_proto::json;
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::arguments::Arguments;

/// Words by which a person says that something is for everybody.
const FOR_ALL: [&str; 14] = [
    "everybody",
    "everyone",
    "all of us",
    "us all",
    "family",
    "household",
    "our notes",
    "our notebook",
    "tutti",
    "tutta la famiglia",
    "famiglia",
    "di casa",
    "per casa",
    "per la casa",
];

/// Whether what somebody has said may be for everybody: a planner alone makes nothing of a person's known to others.
pub(crate) fn is_for_all(words: &Words) -> bool {
    FOR_ALL.iter().any(|said| words.mention(said))
}

/// The path in the private folder of this name that a call is about: where it names none, and does not say that it is about what
/// everybody reads, as `for_all` allows.
pub(crate) fn own_path(contract: &Contract, own: &str, arguments: &Arguments, for_all: bool) -> Option<String> {
    let file = contract.own_file.as_deref()?;
    let value = arguments.value();
    let is_for_all = for_all && value.get(EVERYBODY).is_some_and(|told| *told != Value::Bool(false));
    (value.get("path").is_none() && !is_for_all).then(|| format!("{}/{file}", guests::private(own)))
}

/// The place of the household that a call is about which names none: what the line `Place:` of `USER.md` says.
pub(crate) fn home_place(contract: &Contract, user: &str, arguments: &Arguments) -> Option<String> {
    if !contract.home_place || arguments.value().get(PLACE).is_some() {
        return None;
    }
    envelope::place_of(user).map(str::to_owned)
}

/// What policyd sets of a call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sets<'a> {
    /// Under which name what takes it back is kept.
    pub(crate) keep: Option<&'a str>,
    /// The file in the private folder of the person that it is about.
    pub(crate) own: Option<&'a str>,
    /// The place of the household.
    pub(crate) home: Option<&'a str>,
    /// The state that the previous scheduled call returned.
    pub(crate) seen: Option<&'a str>,
}

/// The arguments as they run, with what is set of these, and their digest; `None` where nothing is set.
///
/// # Errors
/// In a sentence, when there is no memory for them.
pub(crate) fn completed(arguments: &Arguments, sets: Sets<'_>) -> Result<Option<(Sealed, Blake3)>, String> {
    let all = [(KEEP, sets.keep), (OWN, sets.own), (HOME, sets.home), (SEEN, sets.seen)];
    let mut sets = all.into_iter().filter_map(|(name, set)| Some((name, set?))).peekable();
    if sets.peek().is_none() {
        return Ok(None);
    }
    let mut value = arguments.value().clone();
    if let Value::Object(map) = &mut value {
        map.extend(sets.map(|(name, set)| (name.to_owned(), Value::String(set.to_owned()))));
    }
    let bytes = json::canonical(&value);
    let sealed = Sealed::new(&bytes).map_err(|error| error.to_string())?;
    Ok(Some((sealed, Blake3::of(&bytes))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::executor::Manifest;
    use metnos_proto::msg::common::Lang;

    use super::*;

    #[test]
    fn a_call_without_a_path_is_about_the_own_file_unless_it_is_for_everybody() {
        let text =
            crate::testing::manifest_text("notes", &[]).replace("[contract]", "[contract]\nown_file = \"notes.md\"");
        let contract = Manifest::parse(text.as_bytes()).unwrap().contract;
        let path =
            |arguments: &str| own_path(&contract, "anna", &Arguments::parse(arguments.as_bytes()).unwrap(), true);
        for own in ["{}", r#"{"everybody": false}"#, r#"{"text": "x"}"#] {
            assert_eq!(path(own).as_deref(), Some("people/anna/notes.md"), "{own}");
        }
        for other in [r#"{"path": "notes/a.md"}"#, r#"{"everybody": true}"#, r#"{"everybody": 1}"#, r#"{"path": null}"#]
        {
            assert_eq!(path(other), None, "{other}");
        }
        let none = Contract { own_file: None, ..contract.clone() };
        assert_eq!(own_path(&none, "anna", &Arguments::parse(b"{}").unwrap(), true), None);
        // Where the words do not say so, the planner's word makes nothing known to others.
        let all = Arguments::parse(br#"{"everybody": true}"#).unwrap();
        assert_eq!(own_path(&contract, "anna", &all, false).as_deref(), Some("people/anna/notes.md"));
        let mut words = Words::default();
        words.add("note that I ordered a ring", Lang::En);
        assert!(!is_for_all(&words));
        words.add("annota per tutti che arriva l'idraulico", Lang::It);
        assert!(is_for_all(&words));
    }

    #[test]
    fn arguments_run_with_what_is_set_and_its_digest() {
        let arguments = Arguments::parse(br#"{"text": "x"}"#).unwrap();
        assert!(completed(&arguments, Sets::default()).unwrap().is_none());
        let sets = Sets { keep: Some("K"), own: Some("people/a/notes.md"), home: Some("Milano"), seen: Some("0a") };
        let (sealed, digest) = completed(&arguments, sets).unwrap().unwrap();
        let bytes = sealed.read().unwrap();
        assert_eq!(&bytes[..], br#"{"home":"Milano","keep":"K","own":"people/a/notes.md","seen":"0a","text":"x"}"#);
        assert_eq!(digest, Blake3::of(&bytes));
    }

    #[test]
    fn a_call_that_names_no_place_is_about_that_of_the_household() {
        let text = crate::testing::manifest_text("weather", &[]).replace("[contract]", "[contract]\nhome_place = true");
        let contract = Manifest::parse(text.as_bytes()).unwrap().contract;
        let user = "# User\n- Name: Anna\n- Place: San Donato Milanese\n";
        let place = |contract: &Contract, user: &str, arguments: &str| {
            home_place(contract, user, &Arguments::parse(arguments.as_bytes()).unwrap())
        };
        assert_eq!(place(&contract, user, "{}").as_deref(), Some("San Donato Milanese"));
        assert_eq!(place(&contract, user, r#"{"place": "Roma"}"#), None);
        for none in ["", "- Place:", "- Place:   \n", &format!("- Place: {}", "x".repeat(65))] {
            assert_eq!(place(&contract, none, "{}"), None, "{none}");
        }
        assert_eq!(place(&Contract { home_place: false, ..contract.clone() }, user, "{}"), None);
    }
}
