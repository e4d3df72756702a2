//! The suite holds together, and the document says what is in it.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::plan::testing::installation;

#[test]
fn every_case_can_be_tried_and_none_is_named_twice() {
    let families = families().unwrap();
    let mut names = std::collections::BTreeSet::new();
    for case in families.iter().flat_map(|family| &family.cases) {
        assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
        case.plan(&installation(), Some(&installation())).unwrap().unwrap().with_stage("/scratch/1").unwrap();
    }
    assert!(names.len() >= 150, "{} cases", names.len());
    assert!(families.iter().all(|family| !family.about.is_empty()));
}

#[test]
fn every_case_gets_through_without_its_layers_or_says_why_not() {
    for case in families().unwrap().iter().flat_map(|family| &family.cases) {
        let mut layers: Vec<Layer> = case.layers().collect();
        layers.sort_by_key(|layer| layer.name());
        layers.dedup();
        assert_eq!(layers.len(), case.layers().count(), "{} names a layer twice", case.name);
        let reason = case.kept.split_whitespace().count();
        assert!(case.kept.is_empty() || reason >= 5, "{}: `{}` is no reason", case.name, case.kept);
        assert!(!case.becomes || case.ends.is_empty(), "{} becomes a program, and ends", case.name);
    }
}

#[test]
fn the_document_counts_the_cases_of_each_family_and_what_they_need() {
    let text = include_str!("../../../docs/sandbox.md");
    let mut sum = [0; 4];
    for family in families().unwrap() {
        let of = |behind: bool| {
            let counts = |case: &&Case| case.kept.is_empty() && case.behind.is_empty() != behind;
            family.cases.iter().filter(counts).count()
        };
        let kept = family.cases.iter().filter(|case| !case.kept.is_empty()).count();
        let counts = [family.cases.len(), of(false), of(true), kept];
        let row = text.lines().find(|line| line.starts_with(&format!("| `{}` | {} |", family.name, family.about)));
        let row = row.unwrap_or_else(|| panic!("docs/sandbox.md has no row for {}", family.name));
        let said: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!([said[2], said[4], said[5], said[6]], counts.map(|n| n.to_string()), "{row}");
        let mut first: Vec<(usize, &str)> = Vec::new();
        for case in &family.cases {
            match first.iter_mut().find(|(_, name)| *name == case.layer.name()) {
                Some((count, _)) => *count += 1,
                None => first.push((1, case.layer.name())),
            }
        }
        first.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let first: Vec<String> = first.iter().map(|(count, name)| format!("{name} {count}")).collect();
        assert_eq!(said[3], first.join(", "), "{row}");
        sum.iter_mut().zip(counts).for_each(|(sum, one)| *sum += one);
    }
    let last = format!("| | | **{}** | | **{}** | **{}** | **{}** |", sum[0], sum[1], sum[2], sum[3]);
    assert!(text.contains(&last), "{last}");
}

#[test]
fn a_case_that_says_nothing_or_something_else_was_not_stopped() {
    use metnos_proto::msg::common::{Outcome, Resources};
    let families = families().unwrap();
    let case = families.iter().flat_map(|family| &family.cases).find(|case| case.stopped == ["EPERM"]).unwrap();
    let held = |outcome, result: &str| {
        let (result, resources) = (Some(result.as_bytes().to_vec()), Resources::NONE);
        case.judge(&Finished {
            outcome,
            result,
            detail: String::new(),
            log: String::new(),
            alarms: Vec::new(),
            resources,
        })
        .0
    };
    assert!(held(Outcome::Ok, r#"{"ok":true,"answer":"EPERM"}"#));
    for came in [r#"{"ok":true,"answer":"done"}"#, r#"{"ok":true,"answer":[]}"#, r#"{"ok":true}"#, ""] {
        assert!(!held(Outcome::Ok, came), "{came}");
    }
    assert!(!held(Outcome::SandboxFailed, ""));
}
