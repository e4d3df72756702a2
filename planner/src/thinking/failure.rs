//! Failures of calls: which class of error it was, without reading the result, and what a model can do about it.

use metnos_proto::json;
use metnos_proto::msg::common::{Leaf, Outcome};
use serde_json::Value;

/// The classes of errors that executors name in their contracts. Which one it was is known by the digest of that leaf: no
/// word of a result is read for it, so reading no result means nothing.
const CLASSES: [&str; 77] = [
    "Already",
    "Ambiguous",
    "BadArchive",
    "BadArgument",
    "BadBirthday",
    "BadContent",
    "BadCsv",
    "BadFormat",
    "BadItem",
    "BadJson",
    "BadMail",
    "BadName",
    "BadPath",
    "BadPattern",
    "BadPhone",
    "BadQuery",
    "BadText",
    "BadTime",
    "BadUrl",
    "CannotDo",
    "Changed",
    "DnsError",
    "Elsewhere",
    "Exists",
    "Forbidden",
    "Guarded",
    "HttpError",
    "Invited",
    "IsAFolder",
    "Locked",
    "LoginFailed",
    "NoAnswer",
    "NoAttachment",
    "NoColumn",
    "NoDates",
    "NoFeed",
    "NoFolder",
    "NoPlace",
    "NoPrice",
    "NoSheet",
    "NoSpace",
    "NoSuchAddress",
    "NoSuchPage",
    "NotADocument",
    "NotAFile",
    "NotAFolder",
    "NotAPdf",
    "NotATable",
    "NotAnArchive",
    "NotAnImage",
    "NotDone",
    "NotFound",
    "NotInstalled",
    "NotListed",
    "NotOnList",
    "NotTaken",
    "NotText",
    "NotWritable",
    "Other",
    "OtherFolder",
    "PermissionDenied",
    "Redirect",
    "Repeats",
    "ServerError",
    "Several",
    "Timeout",
    "TlsError",
    "TooDeep",
    "TooFar",
    "TooLarge",
    "TooMany",
    "TooMuch",
    "TooSlow",
    "UnknownDay",
    "UnknownZone",
    "Unreachable",
    "Unsure",
];
/// Where a result names the class of its error.
const ERROR_CLASS: &str = "/error/class";

/// The class of an error by the shape of its result; empty when it is none of those that are known.
#[must_use]
pub fn error_class(leaves: &[Leaf]) -> String {
    let Some(leaf) = leaves.iter().find(|leaf| leaf.pointer == ERROR_CLASS) else { return String::new() };
    let is_it = |class: &&&str| json::digest(&Value::from(**class)) == leaf.digest;
    CLASSES.iter().find(is_it).map_or_else(String::new, |class| (*class).to_owned())
}

/// What a model can do about a failure, by its class.
#[must_use]
pub fn remedy(outcome: Outcome, class: &str) -> &'static str {
    match class {
        "NotFound" | "NoFolder" | "NoAttachment" => {
            "Check the name: list or search first, then call again with the right one"
        }
        "BadPath" | "OtherFolder" => {
            "A path lies below the workspace and looks like notes/a.md, without `..` and without a leading slash"
        }
        "Exists" => "Something of that name is there already: take another name, or ask the person",
        "NotAFile" | "IsAFolder" => "That is a folder, and a file is needed",
        "NotAFolder" => "That is a file, and a folder is needed",
        "PermissionDenied" | "Forbidden" | "Invited" | "NotListed" | "NotWritable" | "NotInstalled" | "Locked"
        | "Repeats" => "That may not be reached: tell the person",
        "NoFeed" | "NoPrice" | "NotText" | "BadJson" | "BadCsv" | "BadContent" | "BadArchive" | "NotADocument"
        | "NotAPdf" | "NotATable" | "NotAnArchive" | "NotAnImage" => {
            "What is there has another form than this tool reads"
        }
        "TooLarge" | "TooMany" | "TooMuch" | "TooDeep" => "It is more than this tool takes: ask for less",
        "Ambiguous" | "Several" => "More than one fits: ask the person which one is meant",
        "NoDates" => "No column of the table holds dates: ask without a month, or name the column of them as `dates`",
        "Already" => "It is so already: tell the person",
        "Other" => "Something else stands there already: ask the person before it is replaced",
        "NotOnList" => "It does not stand on the list: tell the person",
        "BadArgument" | "BadBirthday" | "BadItem" | "BadMail" | "BadName" | "BadPhone" | "BadQuery" | "BadPattern"
        | "BadText" | "BadTime" | "BadUrl" | "BadFormat" | "NoColumn" | "NoSheet" | "NoSuchPage" | "UnknownDay"
        | "UnknownZone" => "An argument cannot be used: `look` at the result says which",
        "NoSpace" => "There is no room on the disk: tell the person",
        "LoginFailed" | "Elsewhere" => {
            "The account is not accepted: tell the person, whose owner adds it anew at the machine"
        }
        "NoPlace" => "Ask the person for the town",
        "CannotDo" => "The device cannot do that: tell the person",
        "Guarded" => "That opens the house or guards it: home_secure does it, and asks the person each time",
        "NotDone" => "The house does not show that it was done: tell the person",
        "NoSuchAddress" | "NotTaken" => "Nothing was sent: tell the person, and do not try another address by yourself",
        "Unsure" => "Nobody knows whether it was sent: tell the person, and never send it again by yourself",
        "TooFar" => "Nothing is known of that time yet: tell the person",
        "ServerError" | "DnsError" | "HttpError" | "NoAnswer" | "Redirect" | "TlsError" | "Unreachable" | "TooSlow" => {
            "The other side gave no usable answer: try once more, or tell the person"
        }
        _ if outcome == Outcome::Error => "`look` at the result says why",
        _ => "Nothing came of it: tell the person, or try with less",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_error_class_of_a_shipped_executor_is_known() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../executors");
        let mut manifests = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path().join("manifest.toml");
            let Ok(manifest) = std::fs::read_to_string(&path) else { continue };
            let list = manifest.split_once("error_classes = [").and_then(|(_, rest)| rest.split_once(']'));
            let Some((list, _)) = list else { continue };
            for class in list.split('"').skip(1).step_by(2) {
                let leaf = Leaf { pointer: ERROR_CLASS.to_owned(), digest: json::digest(&Value::from(class)) };
                assert_eq!(error_class(&[leaf]), class, "{}", path.display());
                assert!(!remedy(Outcome::Error, class).is_empty());
            }
            manifests += 1;
        }
        assert!(manifests > 10);
        let other = Leaf { pointer: "/error/message".to_owned(), digest: json::digest(&Value::from("NotFound")) };
        assert_eq!(error_class(&[other]), "");
    }
}
