//! Both languages against the keys, and what comes out of them.
#![allow(clippy::unwrap_used, clippy::panic)]
use std::collections::{BTreeMap, BTreeSet};

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};

use super::*;

const LANGS: [Lang; 2] = [Lang::En, Lang::It];

fn variables(pattern: &Pattern<&str>, found: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        let mut inline = |it: &InlineExpression<&str>| match it {
            InlineExpression::VariableReference { id } => drop(found.insert(id.name.to_owned())),
            InlineExpression::StringLiteral { .. } => {}
            other @ (InlineExpression::NumberLiteral { .. }
            | InlineExpression::FunctionReference { .. }
            | InlineExpression::MessageReference { .. }
            | InlineExpression::TermReference { .. }
            | InlineExpression::Placeable { .. }) => panic!("{other:?} is nothing that a text of this project needs"),
        };
        match expression {
            Expression::Inline(it) => inline(it),
            Expression::Select { selector, variants } => {
                inline(selector);
                variants.iter().for_each(|variant| variables(&variant.value, found));
            }
        }
    }
}

/// Every message of a file, with its variables.
fn messages(lang: Lang) -> BTreeMap<String, BTreeSet<String>> {
    let file = fluent_syntax::parser::parse(source(lang)).unwrap_or_else(|(_, errors)| panic!("{lang:?}: {errors:?}"));
    let mut all = BTreeMap::new();
    for entry in file.body {
        match entry {
            Entry::Message(message) => {
                let mut found = BTreeSet::new();
                variables(&message.value.unwrap(), &mut found);
                assert!(message.attributes.is_empty());
                assert_eq!(all.insert(message.id.name.to_owned(), found), None, "{} twice", message.id.name);
            }
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
            Entry::Term(_) | Entry::Junk { .. } => panic!("{lang:?}: {entry:?}"),
        }
    }
    all
}

#[test]
fn both_languages_have_every_text_with_its_variables_and_no_other() {
    let keys: BTreeMap<String, BTreeSet<String>> = Key::ALL
        .iter()
        .map(|key| (key.name().to_owned(), key.variables().iter().map(|&name| name.to_owned()).collect()))
        .collect();
    for lang in LANGS {
        assert_eq!(messages(lang), keys, "{lang:?}");
    }
}

#[test]
fn every_text_shows_its_arguments_unchanged() {
    for lang in LANGS {
        for key in Key::ALL {
            let odd = "a{ $b }\u{202e}\"\\\n*1.000*";
            let values: Vec<(&str, Value<'_>)> = key.variables().iter().map(|name| (*name, odd.into())).collect();
            let text = tell(lang, *key, &values);
            assert!(!text.is_empty(), "{key:?} in {lang:?}");
            assert!(text.matches(odd).count() >= values.len(), "{key:?} in {lang:?}: {text}");
            assert!(!text.contains('\u{2068}'), "no invisible marks: {text:?}");
        }
    }
}

#[test]
fn a_language_is_known_by_its_tag_also_as_the_first_of_a_list() {
    for (tag, lang) in [("it", Some(Lang::It)), ("IT_it.UTF-8", Some(Lang::It)), ("en-GB,it;q=0.9", Some(Lang::En))] {
        assert_eq!(of_tag(tag), lang, "{tag}");
    }
    for none in ["", "de", "italian", "*", ",it", "de,it"] {
        assert_eq!(of_tag(none), None, "{none}");
    }
}

#[test]
fn refusal_is_translated_when_rule_is_known_and_verbatim_otherwise() {
    use metnos_proto::msg::common::{Refusal, RefusalCode};
    let no = |rule| Refusal::new(RefusalCode::Denied, rule, "why").remedy("do");
    assert_eq!(refusal(Lang::It, &no("panic.owner")), "Solo il proprietario può fermare tutto.");
    assert_eq!(refusal(Lang::It, &no("budget.money.house_day")), "Il denaro di oggi di tutta la casa è finito.");
    assert_eq!(refusal(Lang::It, &no("odd.rule")), "Why. Do.");
    assert_eq!(refusal(Lang::En, &no("odd.rule")), "Why. Do.");
    assert_eq!(
        refusal(Lang::En, &Refusal::new(RefusalCode::Denied, "odd.rule", "notes/a.md is odd")),
        "notes/a.md is odd."
    );
    assert_eq!(because(Lang::En, &no("odd.rule")), "why; do");
    assert_eq!(because(Lang::En, &Refusal::new(RefusalCode::Denied, "odd.rule", "why.")), "why");
    assert_eq!(because(Lang::It, &no("panic.owner")), "solo il proprietario può fermare tutto");
}

/// Every rule that a text of ours answers for: said in whole sentences, without the rule itself or a bracket.
#[test]
fn every_known_refusal_is_whole_sentences_without_its_rule() {
    use metnos_proto::msg::common::{Refusal, RefusalCode};
    for lang in LANGS {
        let file = source(lang);
        let from = file.find("\nrefusal = ").unwrap();
        let rules: Vec<&str> = file[from..]
            .lines()
            .skip(2)
            .map_while(|line| line.trim_start().strip_prefix('[')?.split_once(']').map(|(rule, _)| rule))
            .collect();
        assert!(rules.len() > 20, "{lang:?}: {rules:?}");
        for rule in rules {
            let dotted = rule.replacen('-', ".", 1);
            let told = refusal(lang, &Refusal::new(RefusalCode::Denied, &dotted, "why it was"));
            let capital = told.chars().next().is_some_and(|c| !c.is_lowercase());
            assert!(capital && told.ends_with('.') && !told.contains(['{', '}', '[']), "{rule}: {told}");
            assert!(!told.contains(rule) && !told.contains(&dotted) && !told.contains("why it was"), "{rule}: {told}");
        }
    }
}

#[test]
fn a_number_is_told_as_it_is() {
    let shown = |lang| tell(lang, Key::Truncated, &[("shown", 1000_u64.into()), ("total", 1_234_567_u64.into())]);
    assert_eq!(shown(Lang::En), "These are the first 1000 of 1234567.");
    assert_eq!(shown(Lang::It), "Questi sono i primi 1000 di 1234567.");
    let about = |class: &str| tell(Lang::It, Key::ErrorAbout, &[("class", class.into()), ("what", "a.md".into())]);
    assert_eq!((about("NotFound").as_str(), about("Odd").as_str()), ("Non trovo a.md.", "a.md (Odd)"));
}
