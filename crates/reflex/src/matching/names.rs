//! Things by their names: which file or folder of the workspace is meant by some words of a request. A name that could mean
//! several things means none of them.

use metnos_proto::envelope::Named;

/// What a place may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceWant {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// Either.
    Any,
}

/// What words mean among the things that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// This path.
    One(String),
    /// Any of these paths.
    Several(Vec<String>),
    /// Nothing that there is.
    None,
}

/// What `words` (lower case or as typed, without articles at their ends) mean among `named`.
#[must_use]
pub fn resolve(named: &[Named], words: &[&str], want: PlaceWant) -> Resolution {
    let fits = |one: &&Named| match want {
        PlaceWant::File => !one.folder,
        PlaceWant::Folder => one.folder,
        PlaceWant::Any => true,
    };
    let said = words.join(" ").to_lowercase();
    let is_called = |one: &&Named| {
        let name = one.path.rsplit('/').next().unwrap_or(&one.path).to_lowercase();
        let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
        said == name || said == stem.replace(['-', '_'], " ") || said == one.title.to_lowercase()
    };
    let mut found: Vec<String> = named.iter().filter(fits).filter(is_called).map(|one| one.path.clone()).collect();
    match (found.pop(), found.is_empty()) {
        (None, _) => Resolution::None,
        (Some(one), true) if !said.is_empty() => Resolution::One(one),
        (Some(_), true) => Resolution::None,
        (Some(last), false) => {
            found.push(last);
            Resolution::Several(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_meant_by_its_name_stem_or_title() {
        let titled = Named { title: "Our House".into(), ..Named::file("notes/casa.md") };
        let folder = Named { folder: true, ..Named::file("notes") };
        let named = [Named::file("notes/trip-plan.md"), titled, folder, Named::file("a/x.md"), Named::file("b/x.md")];
        let file = |words: &[&str]| resolve(&named, words, PlaceWant::File);
        let one = |path: &str| Resolution::One(path.to_owned());
        assert_eq!(file(&["Trip", "plan"]), one("notes/trip-plan.md"));
        assert_eq!(file(&["our", "house"]), one("notes/casa.md"));
        assert_eq!(
            (file(&["notes"]), resolve(&named, &["notes"], PlaceWant::Folder)),
            (Resolution::None, one("notes"))
        );
        assert_eq!(file(&["x"]), Resolution::Several(vec!["a/x.md".into(), "b/x.md".into()]));
        assert_eq!((file(&["y"]), file(&[])), (Resolution::None, Resolution::None));
    }
}
