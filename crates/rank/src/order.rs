//! The order of executors for a request: how well the words fit, what usually follows in this context, what was used when something
//! like it was asked. It chooses nothing; larger is better. Of equals, the one with more examples comes first: what people ask for in
//! more ways is of more use to whom no words say anything. Then the names decide.
//!
//! Context: how much of what the executor that succeeded last leads to leads here, one hop (design: memory §2), and whether both
//! are of one trace. Each part is normalised by its maximum; the past counts for itself only as strongly as it resembles.

use std::collections::BTreeMap;

use metnos_proto::envelope::Candidate;
use serde_json::Value;

use super::history::History;
use super::lexical::{Catalogue, Fields};

/// What the mnests are worth beside the words (design: memory §2).
pub const MNESTS: f64 = 1.0;
/// What being of the same trace is worth beside the words.
pub const TRACE: f64 = 0.1;
/// What the past is worth beside the words.
pub const PAST: f64 = 1.3;
/// What having been used at all, whatever for, is worth beside the words: it decides between those that fit alike.
pub const PRIOR: f64 = 0.15;
/// What words must fit at least to count in full: of those that fit nothing, even the best says little.
const LEAST_WORDS: f64 = 0.6;
/// What words fit no better than this says nothing: a likeness of letters comes to 0.05 at most, one shared word to 0.06 and more
/// (measured on the executors of a release, with requests for which none of them is right).
const NOISE: f64 = 0.055;
/// The most of an argument's description that is read, in bytes.
const MAX_DESCRIPTION: usize = 300;
/// The most arguments of a contract that are read.
const MAX_ARGUMENTS: usize = 64;

/// What happened before, as far as ranking needs it.
#[derive(Debug, Default)]
pub struct Context {
    /// The executors that the last one's mnests lead to, with their weights.
    pub followers: Vec<(String, f64)>,
    /// The executors of its trace.
    pub trace: Vec<String>,
    /// Earlier requests, and what was used for them.
    pub past: History,
}

/// How well each of the contracts fits the words and the context; `names` are theirs, in their order.
#[must_use]
pub fn scores(asked: &str, catalogue: &Catalogue, names: &[&str], context: &Context) -> Vec<f64> {
    let mut lexical = catalogue.scores(asked);
    lexical.iter_mut().filter(|score| **score < NOISE).for_each(|score| *score = 0.0);
    normalise(&mut lexical, LEAST_WORDS);
    let mut mnests: Vec<f64> = names
        .iter()
        .map(|name| context.followers.iter().filter(|(follower, _)| follower == name).map(|(_, weight)| weight).sum())
        .collect();
    normalise(&mut mnests, 0.0);
    let past = context.past.scores(asked, names);
    let prior = context.past.prior(names);
    let trace = |name: &&str| if context.trace.iter().any(|one| one == name) { TRACE } else { 0.0 };
    names
        .iter()
        .zip(lexical.iter().zip(mnests.iter().zip(past.iter().zip(&prior))))
        .map(|(name, (words, (mnest, (past, prior))))| {
            words + MNESTS * mnest + PAST * past + PRIOR * prior + trace(name)
        })
        .collect()
}

/// The order by score, best first, equals by name: places among `names`.
#[must_use]
pub fn order(asked: &str, catalogue: &Catalogue, names: &[&str], context: &Context) -> Vec<usize> {
    let scores = scores(asked, catalogue, names, context);
    let mut order: Vec<usize> = (0..names.len().min(scores.len())).collect();
    order.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]).then_with(|| names[*one].cmp(names[*two])));
    order
}

/// The first `limit` places of an order; where more are left, the last of them goes to one of these, drawn by `draw`: so that what
/// was never offered can be found out to be of use.
#[must_use]
pub fn picked(order: &[usize], limit: usize, draw: u64) -> Vec<usize> {
    let (Some(rest), Some(best)) = (order.get(limit..), limit.checked_sub(1)) else { return order.to_vec() };
    let mut picked = order.get(..best).unwrap_or_default().to_vec();
    // Among those that were beaten, the one in the last place included.
    let beaten = rest.len() + 1;
    let at = usize::try_from(draw % u64::try_from(beaten).unwrap_or(1)).unwrap_or(0);
    picked.extend(order.get(best + if rest.is_empty() { 0 } else { at }));
    picked
}

/// Contracts that may be shown to a planner, read once.
#[derive(Debug, Default)]
pub struct RankedContracts {
    candidates: Vec<Candidate>,
    catalogue: Catalogue,
}

impl RankedContracts {
    /// Reads contracts.
    #[must_use]
    pub fn of(candidates: Vec<Candidate>) -> Self {
        let arguments: Vec<String> = candidates.iter().map(|candidate| arguments(&candidate.input)).collect();
        let examples: Vec<Vec<&str>> = candidates.iter().map(|one| one.requests().collect()).collect();
        let fields: Vec<Fields<'_>> = candidates
            .iter()
            .zip(&arguments)
            .zip(&examples)
            .map(|((one, arguments), examples)| Fields { name: &one.name, summary: &one.summary, examples, arguments })
            .collect();
        let catalogue = Catalogue::of(&fields);
        Self { catalogue, candidates }
    }

    /// What stands on it.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The best `limit` for these words in this context, best first, the last one drawn (see [`picked`]).
    #[must_use]
    pub fn ranked(&self, asked: &str, context: &Context, limit: usize, draw: u64) -> Vec<Candidate> {
        self.ranked_of(asked, context, (limit, limit), draw, |_| true)
    }

    /// The best of those that are in sight: as many as are shown, the last of them drawn, and behind them the next best up to
    /// the limit. `most` is how many are shown, and the limit.
    #[must_use]
    pub fn ranked_of(
        &self,
        asked: &str,
        context: &Context,
        most: (usize, usize),
        draw: u64,
        in_sight: impl Fn(&Candidate) -> bool,
    ) -> Vec<Candidate> {
        let names: Vec<&str> = self.candidates.iter().map(|one| one.name.as_str()).collect();
        let scores = scores(asked, &self.catalogue, &names, context);
        let mut ranked: Vec<(usize, f64, &Candidate)> = self
            .candidates
            .iter()
            .zip(scores)
            .enumerate()
            .filter(|(_, (one, _))| in_sight(one))
            .map(|(at, (one, score))| (at, score, one))
            .collect();
        ranked.sort_by(|(_, one_score, one), (_, other_score, other)| {
            other_score
                .total_cmp(one_score)
                .then_with(|| other.examples.len().cmp(&one.examples.len()))
                .then_with(|| one.name.cmp(&other.name))
        });
        let order: Vec<usize> = ranked.into_iter().map(|(at, ..)| at).collect();
        let (shown, limit) = most;
        let mut best = picked(&order, shown, draw);
        let rest: Vec<usize> = order.into_iter().filter(|at| !best.contains(at)).collect();
        best.extend(rest.into_iter().take(limit.saturating_sub(shown)));
        best.into_iter().filter_map(|at| self.candidates.get(at).cloned()).collect()
    }
}

/// Names, descriptions and choices of the arguments in a JSON Schema, which may be a document that points at one of its definitions.
#[must_use]
pub fn arguments(schema: &Value) -> String {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    let schema = target.and_then(|pointer| schema.pointer(pointer)).unwrap_or(schema);
    let mut text = String::new();
    // The arguments themselves, also where a person has left out the schema around them.
    let properties = schema.get("properties").unwrap_or(schema).as_object();
    for (name, property) in properties.into_iter().flatten().take(MAX_ARGUMENTS) {
        text.push_str(name);
        text.push(' ');
        if let Some(description) = property.get("description").and_then(Value::as_str) {
            text.push_str(&description[..description.floor_char_boundary(MAX_DESCRIPTION)]);
            text.push(' ');
        }
        for choice in
            property.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).take(16)
        {
            text.push_str(choice);
            text.push(' ');
        }
    }
    text
}

/// By their maximum, which counts as at least `least`.
fn normalise(scores: &mut [f64], least: f64) {
    let most = scores.iter().copied().fold(least, f64::max);
    if most > 0.0 {
        scores.iter_mut().for_each(|score| *score /= most);
    }
}

/// What a list of mnests leads to, each executor once.
#[must_use]
pub fn followers(mnests: impl IntoIterator<Item = (String, f64)>) -> Vec<(String, f64)> {
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    for (name, weight) in mnests {
        *found.entry(name).or_default() += weight;
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::history::Past;
    use super::super::lexical::spaced;
    use super::*;
    use metnos_proto::executor::Example;
    use proptest::prelude::*;

    fn candidate(name: &str, summary: &str, examples: &[&str]) -> Candidate {
        Candidate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            summary: summary.to_owned(),
            examples: examples.iter().map(|text| Example::plain(*text)).collect(),
            patterns: Vec::new(),
            class: "read".to_owned(),
            input: serde_json::json!({}),
            output: serde_json::json!({}),
            roles: Vec::new(),
            reads: Vec::new(),
            offered: true,
            contract: String::new(),
            answer: metnos_proto::executor::answer::Answer::default(),
        }
    }

    fn shelf() -> RankedContracts {
        RankedContracts::of(vec![
            candidate("fs_list", "List a folder of the workspace.", &["list notes", "elenca la cartella notes"]),
            candidate(
                "fs_read",
                "Read a file of the workspace.",
                &["read notes/journal.md", "leggi la lista della spesa"],
            ),
            candidate(
                "text_stats",
                "Count lines, words and characters.",
                &["how many words are in notes/a.md", "quante parole"],
            ),
        ])
    }

    fn names(words: &str, context: &Context, limit: usize) -> Vec<String> {
        shelf().ranked(words, context, limit, 0).into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn words_find_their_executor_in_both_languages() {
        let best = |words: &str| names(words, &Context::default(), 2).remove(0);
        assert_eq!(best("read notes/welcome.md"), "fs_read");
        assert_eq!(best("leggi notes/welcome.md"), "fs_read");
        assert_eq!(best("how many words are in notes/welcome.md"), "text_stats");
        assert_eq!(best("quante parole ci sono"), "text_stats");
        assert_eq!(best("elenca notes"), "fs_list");
    }

    #[test]
    fn an_italian_request_finds_a_contract_that_is_english_alone() {
        let shelf = RankedContracts::of(vec![
            candidate("pay_bill", "Pay an invoice.", &[]),
            candidate("get_weather", "Return the forecast.", &[]),
            candidate("play_music", "Play a song.", &[]),
        ]);
        for (asked, wanted) in
            [("salda la bolletta", "pay_bill"), ("pioverà domani?", "get_weather"), ("metti una canzone", "play_music")]
        {
            assert_eq!(shelf.ranked(asked, &Context::default(), 2, 0)[0].name, wanted, "{asked}");
        }
    }

    #[test]
    fn of_equals_the_one_with_more_examples_comes_first() {
        let shelf = RankedContracts::of(vec![
            candidate("archive", "Pack.", &["pack it"]),
            candidate("read", "Open.", &["open it", "apri", "show it"]),
            candidate("write", "Put.", &["put it", "metti"]),
        ]);
        let names: Vec<String> =
            shelf.ranked("xyzzy", &Context::default(), 3, 0).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["read", "write", "archive"]);
    }

    #[test]
    fn all_are_kept_up_to_the_limit_and_the_order_is_total() {
        assert_eq!(names("nothing in common: xyzzy", &Context::default(), 16).len(), 3);
        assert_eq!(names("", &Context::default(), 16), ["fs_list", "fs_read", "text_stats"]);
        assert_eq!(names("read", &Context::default(), 2).len(), 2);
        assert_eq!(names("read", &Context::default(), 0).len(), 3, "no limit at all is none");
    }

    #[test]
    fn the_last_place_goes_to_each_of_those_that_were_beaten_in_turn() {
        let order = [4, 2, 0, 1, 3];
        let last = |draw| picked(&order, 3, draw)[2];
        assert_eq!((0..4).map(last).collect::<Vec<_>>(), [0, 1, 3, 0]);
        assert_eq!(picked(&order, 3, 1)[..2], [4, 2], "the best stay");
        assert_eq!(picked(&order, 5, 1), order);
        assert_eq!(picked(&order, 9, 7), order);
    }

    #[test]
    fn usual_follower_ranks_first_without_matching_words() {
        let followers = vec![("text_stats".to_owned(), 0.15), ("fs_read".to_owned(), 0.3)];
        let context = Context { followers, ..Context::default() };
        assert_eq!(names("go on", &context, 3), ["fs_read", "text_stats", "fs_list"]);
        // And the words still count for as much.
        assert_eq!(names("quante parole", &context, 2)[0], "text_stats");
    }

    #[test]
    fn executor_of_same_trace_ranks_first_among_equals() {
        let context = Context { trace: vec!["text_stats".to_owned()], ..Context::default() };
        assert_eq!(names("", &context, 2)[0], "text_stats");
    }

    #[test]
    fn executor_used_for_similar_words_ranks_first() {
        let past =
            History::of(&[Past { asked: "il solito per favore".to_owned(), used: vec!["text_stats".to_owned()] }]);
        let context = Context { past, ..Context::default() };
        assert_eq!(names("il solito", &context, 2)[0], "text_stats");
        assert_eq!(names("leggi notes/welcome.md", &context, 2)[0], "fs_read");
    }

    #[test]
    fn a_name_is_read_as_its_words() {
        assert_eq!(spaced("getStockInfo_v2"), "get Stock Info_v2");
        let shelf = RankedContracts::of(vec![
            candidate("closeTicket", "Ends it.", &[]),
            candidate("getStockInfo", "Looks it up.", &[]),
        ]);
        assert_eq!(shelf.ranked("what is the stock at", &Context::default(), 2, 0)[0].name, "getStockInfo");
    }

    #[test]
    fn an_executor_of_several_versions_is_followed_once() {
        let both = followers([("b".to_owned(), 0.1), ("a".to_owned(), 0.2), ("b".to_owned(), 0.3)]);
        assert_eq!(both, [("a".to_owned(), 0.2), ("b".to_owned(), 0.4)]);
    }

    #[test]
    fn the_arguments_of_a_schema_are_its_names_descriptions_and_choices() {
        let schema = serde_json::json!({"$ref": "#/definitions/Input", "definitions": {"Input": {"properties": {
            "sort": {"enum": ["largest", "newest"], "description": "What comes first"}}}}});
        assert_eq!(arguments(&schema).trim(), "sort What comes first largest newest");
        assert_eq!(arguments(&serde_json::json!({"properties": {"a": {}, "b": {}}})).trim(), "a b");
        assert_eq!(arguments(&Value::Null), "");
    }

    proptest! {
        #[test]
        fn ranking_is_a_permutation_of_the_contracts(asked in "\\PC{0,80}", name in "\\PC{0,20}", summary in "\\PC{0,60}") {
            let shelf = RankedContracts::of(vec![candidate(&name, &summary, &[&asked]), candidate("b", "", &[]), candidate("c", &asked, &[])]);
            let names: Vec<&str> = shelf.candidates().iter().map(|one| one.name.as_str()).collect();
            let mut order = order(&asked, &shelf.catalogue, &names, &Context::default());
            order.sort_unstable();
            prop_assert_eq!(order, [0, 1, 2]);
        }
    }
}
