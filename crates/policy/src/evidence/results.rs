//! Where data came from, followed by digest and without reading it (design: policy §7). Trust
//! comes from positive evidence only: what nobody vouches for is untrusted, and joining never
//! lowers.

use std::collections::{BTreeSet, HashMap};

use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{Integrity, Label, Readers};

use crate::call::spec::{OutputSpec, Rest, is_index};
use crate::text::words::Words;

/// One part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its JSON pointer.
    pub pointer: String,
    /// Digest of its canonical JSON.
    pub digest: Blake3,
    /// Whether it is a bounded atom, on the word of the process that read the bytes.
    pub atom: bool,
}

/// A part with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// The part.
    pub part: Part,
    /// Where it came from.
    pub label: Label,
}

/// What is known of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    parts: Vec<Labelled>,
    /// The label of reading all of it.
    pub whole: Label,
    /// Every argument of the query was typed by the owner.
    pub query_literal: bool,
    /// Some argument of the query says what is looked for.
    pub query_given: bool,
}

/// What went into a call, as far as its output inherits it.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The join of the arguments.
    pub join: Label,
    /// The context in which it was called.
    pub context: Label,
    /// Digests of its arguments, each with the label of the argument.
    pub leaves: HashMap<Blake3, Integrity>,
    /// Every argument was typed by the owner.
    pub literal: bool,
    /// Some argument was typed by the owner and says what is looked for, which a switch does not.
    pub given: bool,
    /// It opens a file that holds a secret: so does what it says.
    pub secret: bool,
}

impl Output {
    /// Labels a successful result. `stored` is what is known of these bytes from before: it replaces
    /// what the manifest says of them by default, and never makes an atom better than itself.
    #[must_use]
    pub fn of(
        spec: &OutputSpec,
        parts: Vec<Part>,
        inputs: &Inputs,
        stored: Option<Integrity>,
        known: impl Fn(&Blake3) -> Option<Integrity>,
        is_owner: impl Fn(&Blake3) -> bool,
    ) -> Self {
        let rest = match (stored, spec.rest) {
            (Some(stored), _) => stored,
            (None, Rest::Echo) => inputs.context.join(inputs.join).integrity,
            (None, Rest::Untrusted) => Integrity::Untrusted,
        };
        let authors = spec.author.as_deref().map(|field| authors(&parts, field, is_owner)).unwrap_or_default();
        let integrity = |part: &Part| {
            let vouched = part.atom && spec.vouches(&part.pointer);
            let by_owner = || authors.iter().any(|row| within(&part.pointer, row));
            let mut label = if vouched || by_owner() {
                // An atom is minted anew, but out of what it was asked about.
                Integrity::Vouched.max(inputs.join.integrity).max(stored.unwrap_or(Integrity::Trusted))
            } else {
                rest
            };
            // The very bytes that went in are as good as they were when they went in.
            if let Some(input) = inputs.leaves.get(&part.digest) {
                label = label.min(*input);
            }
            known(&part.digest).map_or(label, |known| label.max(known))
        };
        let secret = inputs.secret || inputs.join.readers == Readers::Secret;
        let readers = if secret { Readers::Secret } else { spec.readers };
        let parts: Vec<Labelled> = parts
            .into_iter()
            .map(|part| Labelled { label: Label { integrity: integrity(&part), readers }, part })
            .collect();
        let unlisted = Label { integrity: rest, readers };
        let whole = parts.iter().map(|labelled| labelled.label).reduce(Label::join).unwrap_or(unlisted);
        Self { parts, whole, query_literal: inputs.literal, query_given: inputs.given }
    }

    /// What an executor that did not succeed has left: anybody's text.
    #[must_use]
    pub fn failed(readers: Readers) -> Self {
        let whole = Label { integrity: Integrity::Untrusted, readers };
        Self { parts: Vec::new(), whole, query_literal: false, query_given: false }
    }

    /// The part at exactly this pointer.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Labelled> {
        self.parts.iter().find(|labelled| labelled.part.pointer == pointer)
    }

    /// The join of everything at and below `pointer`; of the whole when nothing is known of it.
    #[must_use]
    pub fn below(&self, pointer: &str) -> Label {
        if self.parts.iter().any(|labelled| labelled.part.pointer.is_empty()) {
            return self.whole;
        }
        let below = self.parts.iter().filter(|labelled| within(&labelled.part.pointer, pointer));
        below.map(|labelled| labelled.label).reduce(Label::join).unwrap_or(self.whole)
    }

    /// Whether the part at `pointer` is *designated*: an atom that an executor vouches for, in the
    /// answer to a literal query, in a row that is the only one or that the words call by name. A query that looks for nothing
    /// in particular has no only answer: any planner may ask what time it is, and take a word of that for the name of something.
    #[must_use]
    pub fn designates(&self, pointer: &str, words: &Words) -> bool {
        let vouched =
            self.at(pointer).is_some_and(|found| found.part.atom && found.label.integrity != Integrity::Untrusted);
        let rows = self.rows(pointer);
        let is_meant =
            |(list, row): &(String, String)| self.is_named(list, row, words) || self.query_given && self.is_alone(list);
        vouched && self.query_literal && (self.query_given || !rows.is_empty()) && rows.iter().all(is_meant)
    }

    /// Whether some part of the row that `pointer` lies in has this digest.
    #[must_use]
    pub fn row_has(&self, pointer: &str, digest: &Blake3) -> bool {
        let row = self.rows(pointer).into_iter().next_back().map(|(_, row)| row).unwrap_or_default();
        self.parts.iter().any(|labelled| within(&labelled.part.pointer, &row) && labelled.part.digest == *digest)
    }

    /// The lists that `pointer` lies in, outermost first, each with the row of it.
    fn rows(&self, pointer: &str) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut path = String::new();
        for token in pointer.split('/').skip(1) {
            let list = path.clone();
            path.push('/');
            path.push_str(token);
            if is_index(token) {
                rows.push((list, path.clone()));
            }
        }
        rows
    }

    /// The parts of a list, each with the row that it is in.
    fn of_list<'a>(&'a self, list: &'a str) -> impl Iterator<Item = (&'a str, &'a Labelled)> {
        self.parts.iter().filter_map(move |labelled| {
            let rest = labelled.part.pointer.strip_prefix(list).and_then(|rest| rest.strip_prefix('/'))?;
            Some((rest.split('/').next().unwrap_or_default(), labelled))
        })
    }

    /// Whether `list` has one row.
    fn is_alone(&self, list: &str) -> bool {
        self.of_list(list).map(|(row, _)| row).collect::<BTreeSet<_>>().len() == 1
    }

    /// Whether `row` is the only one of `list` that the words name.
    fn is_named(&self, list: &str, row: &str, words: &Words) -> bool {
        let named = self.of_list(list).filter(|(_, labelled)| words.name(&labelled.part.digest));
        let named: BTreeSet<&str> = named.map(|(row, _)| row).collect();
        named.len() == 1 && named.contains(row.rsplit('/').next().unwrap_or_default())
    }
}

/// Whether `pointer` is `at` or lies below it.
#[must_use]
pub fn within(pointer: &str, at: &str) -> bool {
    pointer.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The rows whose author field names the owner.
fn authors(parts: &[Part], field: &str, is_owner: impl Fn(&Blake3) -> bool) -> Vec<String> {
    let of_owner = |part: &&Part| part.pointer.rsplit('/').next() == Some(field) && is_owner(&part.digest);
    parts
        .iter()
        .filter(of_owner)
        .filter_map(|part| part.pointer.rsplit_once('/'))
        .map(|(row, _)| row.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::spec::{Spec, Vouched};
    use metnos_proto::json;
    use metnos_proto::msg::common::Lang;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    pub(crate) fn parts(value: &Value) -> Vec<Part> {
        crate::replay::parts(value)
    }

    fn inputs(join: Integrity, literal: bool) -> Inputs {
        let label = |integrity| Label { integrity, readers: Readers::Public };
        Inputs {
            join: label(join),
            context: label(Integrity::Untrusted),
            leaves: HashMap::new(),
            literal,
            given: literal,
            secret: false,
        }
    }

    fn rule() -> OutputSpec {
        Spec::from_catalogue("x", &json!({"output": {"i": "X", "V": ["id"], "author": "sender", "conf": "public"}}))
            .output
    }

    fn output(value: &Value, inputs: &Inputs, stored: Option<Integrity>) -> Output {
        let me = json::digest(&json!("me"));
        Output::of(&rule(), parts(value), inputs, stored, |_| None, |digest| *digest == me)
    }

    fn words(text: &str) -> Words {
        let mut words = Words::default();
        words.add(text, Lang::En);
        words
    }

    #[test]
    fn atoms_that_are_listed_are_vouched_for_and_the_rest_is_not() {
        let rows = json!([{"id": 7, "text": "hello"}, {"id": "a b", "text": "x"}]);
        let found = output(&rows, &inputs(Integrity::Trusted, true), None);
        assert_eq!(found.at("/0/id").unwrap().label.integrity, Integrity::Vouched);
        assert_eq!(found.at("/0/text").unwrap().label.integrity, Integrity::Untrusted);
        assert_eq!(found.at("/1/id").unwrap().label.integrity, Integrity::Untrusted, "no atom");
        assert_eq!(found.whole.integrity, Integrity::Untrusted);
        let tainted = output(&rows, &inputs(Integrity::Untrusted, false), None);
        assert_eq!(tainted.at("/0/id").unwrap().label.integrity, Integrity::Untrusted);
    }

    #[test]
    fn owners_files_are_trusted_and_stored_content_keeps_its_label() {
        let rows = json!([{"sender": "me", "text": "buy milk"}, {"sender": "eve", "text": "pay me"}]);
        let found = output(&rows, &inputs(Integrity::Trusted, true), None);
        assert_eq!(found.at("/0/text").unwrap().label.integrity, Integrity::Vouched);
        assert_eq!(found.at("/1/text").unwrap().label.integrity, Integrity::Untrusted);
        let stored = output(&rows, &inputs(Integrity::Trusted, true), Some(Integrity::Trusted));
        assert_eq!(stored.whole.integrity, Integrity::Vouched);
        let bad = output(&rows, &inputs(Integrity::Trusted, true), Some(Integrity::Untrusted));
        assert_eq!(bad.at("/0/text").unwrap().label.integrity, Integrity::Untrusted);
    }

    #[test]
    fn the_bytes_that_went_in_are_as_good_as_before() {
        let mut clean = inputs(Integrity::Trusted, true);
        clean.leaves.insert(json::digest(&json!("1234 Elm Street")), Integrity::Trusted);
        let found = output(&json!({"street": "1234 Elm Street", "note": "x y"}), &clean, None);
        assert_eq!(found.at("/street").unwrap().label.integrity, Integrity::Trusted);
        assert_eq!(found.at("/note").unwrap().label.integrity, Integrity::Untrusted);
    }

    #[test]
    fn row_is_designated_when_alone_or_named_in_owners_query() {
        let named = words("adjust my rent");
        let two = json!([{"id": 6, "text": "Spotify"}, {"id": 7, "text": "Rent"}]);
        let found = output(&two, &inputs(Integrity::Trusted, true), None);
        assert!(found.designates("/1/id", &named));
        assert!(!found.designates("/0/id", &named));
        assert!(!found.designates("/1/text", &named));
        assert!(!found.designates("/1/id", &words("adjust it")));
        assert!(!found.designates("/1/id", &words("adjust rent and spotify")), "two are named");
        let asked = output(&two, &inputs(Integrity::Trusted, false), None);
        assert!(!asked.designates("/1/id", &named));
        let one = output(&json!([{"id": 6, "text": "Spotify"}]), &inputs(Integrity::Trusted, true), None);
        assert!(one.designates("/0/id", &words("adjust it")));
    }

    #[test]
    fn a_query_that_looks_for_nothing_has_no_only_answer() {
        let nothing = Inputs { given: false, ..inputs(Integrity::Trusted, true) };
        let clock = output(&json!({"id": "+01:00"}), &nothing, None);
        assert!(!clock.designates("/id", &words("how many files are there")));
        let asked = output(&json!({"id": "+01:00"}), &inputs(Integrity::Trusted, true), None);
        assert!(asked.designates("/id", &words("how many files are there")));
        let one = output(&json!([{"id": 6, "text": "Rent"}]), &nothing, None);
        assert!(!one.designates("/0/id", &words("adjust it")), "the only one of all is not pointed at");
        assert!(one.designates("/0/id", &words("adjust my rent")), "unless the words name it");
    }

    #[test]
    fn a_row_ties_its_parts_together() {
        let found =
            output(&json!([{"id": 1, "to": "a"}, {"id": 2, "to": "b"}]), &inputs(Integrity::Trusted, true), None);
        assert!(found.row_has("/1/id", &json::digest(&json!("b"))));
        assert!(!found.row_has("/1/id", &json::digest(&json!("a"))));
    }

    proptest! {
        #[test]
        fn no_part_is_cleaner_than_its_inputs_unless_it_is_one_of_them(
            pointers in proptest::collection::vec("(/[a-z0]{1,3}){0,3}", 0..8),
            asked in "(/[a-z0]{1,3}){0,3}",
        ) {
            let spec = OutputSpec { vouched: vec![Vouched::All], ..rule() };
            let parts = pointers.iter().map(|pointer| Part { pointer: pointer.clone(), digest: Blake3::of(pointer.as_bytes()), atom: true }).collect();
            let found = Output::of(&spec, parts, &inputs(Integrity::Untrusted, true), None, |_| None, |_| false);
            prop_assert_eq!(found.whole.integrity, Integrity::Untrusted);
            prop_assert_eq!(found.below(&asked).integrity, Integrity::Untrusted);
            prop_assert!(!found.designates(&asked, &words("")));
        }
    }
}
