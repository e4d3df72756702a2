//! Where data came from, followed without reading it (design: policy §7). Trust comes from
//! positive evidence only: what nobody vouches for is untrusted, and joining never lowers.

use metnos_proto::ids::Blake3;
use metnos_proto::json;
use metnos_proto::msg::common::{Integrity, Label, Leaf, Outcome, Readers};

/// What a signed manifest says of an executor's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputRule {
    /// The label of what is not listed.
    pub default: Integrity,
    /// Pointer patterns of the bounded atoms it vouches for.
    pub vouched: Vec<String>,
    /// Whether the executor reads what belongs to the owner.
    pub private: bool,
}

/// The labels of one result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultLabels {
    /// What reading all of it would give a context.
    pub whole: Label,
    leaves: Vec<(Leaf, Label)>,
}

impl ResultLabels {
    /// The labels of a result with these leaves, made from arguments labelled `inputs`.
    ///
    /// Only a success speaks with the manifest's voice: the text of an error is anybody's.
    #[must_use]
    pub fn of(rule: &OutputRule, outcome: Outcome, leaves: &[Leaf], inputs: Label) -> Self {
        let readers = if rule.private { Readers::Private } else { Readers::Public };
        let succeeded = outcome == Outcome::Ok;
        let unlisted = if succeeded { rule.default } else { Integrity::Untrusted };
        let label = |integrity| Label { integrity, readers }.join(inputs);
        let leaves: Vec<_> = leaves
            .iter()
            .map(|leaf| {
                // The discriminator of every result is a constant of the contract, not data.
                let listed = || rule.vouched.iter().any(|pattern| json::pointer_fits(pattern, &leaf.pointer));
                let vouched = succeeded && (leaf.pointer == "/ok" || listed());
                (leaf.clone(), label(if vouched { Integrity::Vouched } else { unlisted }))
            })
            .collect();
        let whole = leaves.iter().map(|(_, label)| *label).reduce(Label::join).unwrap_or_else(|| label(unlisted));
        Self { whole, leaves }
    }

    /// The label of what `pointer` points at: of everything at and below it, and of the whole when
    /// its leaves are not known one by one.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Label {
        let below = |leaf: &Leaf| {
            leaf.pointer.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.leaves.iter().any(|(leaf, _)| leaf.pointer.is_empty()) {
            return self.whole;
        }
        self.leaves
            .iter()
            .filter(|(leaf, _)| below(leaf))
            .map(|(_, label)| *label)
            .reduce(Label::join)
            .unwrap_or(self.whole)
    }

    /// The digest of exactly this leaf, if it is known.
    #[must_use]
    pub fn digest_at(&self, pointer: &str) -> Option<Blake3> {
        self.leaves.iter().find(|(leaf, _)| leaf.pointer == pointer && !pointer.is_empty()).map(|(leaf, _)| leaf.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaf(pointer: &str) -> Leaf {
        Leaf { pointer: pointer.to_owned(), digest: Blake3::of(pointer.as_bytes()) }
    }

    fn rule() -> OutputRule {
        OutputRule { default: Integrity::Untrusted, vouched: vec!["/words".into(), "/sizes/*".into()], private: false }
    }

    const VOUCHED: Label = Label { integrity: Integrity::Vouched, readers: Readers::Public };
    const UNTRUSTED: Label = Label { integrity: Integrity::Untrusted, readers: Readers::Public };

    #[test]
    fn what_is_vouched_for_is_vouched_and_the_rest_is_not() {
        let labels = ResultLabels::of(
            &rule(),
            Outcome::Ok,
            &[leaf("/ok"), leaf("/words"), leaf("/text"), leaf("/sizes/0")],
            Label::CLEAN,
        );
        assert_eq!(labels.at("/words"), VOUCHED);
        assert_eq!(labels.at("/sizes"), VOUCHED);
        assert_eq!(labels.at("/text"), UNTRUSTED);
        assert_eq!(labels.at(""), UNTRUSTED);
        assert_eq!(labels.whole, UNTRUSTED);
        assert_eq!(labels.at("/unheard-of"), UNTRUSTED);
        assert_eq!(labels.at("/wor"), UNTRUSTED);
    }

    #[test]
    fn a_result_of_vouched_atoms_alone_is_vouched_as_a_whole() {
        let labels = ResultLabels::of(&rule(), Outcome::Ok, &[leaf("/ok"), leaf("/words")], Label::CLEAN);
        assert_eq!(labels.whole, VOUCHED);
    }

    #[test]
    fn an_error_is_vouched_for_by_nobody() {
        let labels = ResultLabels::of(&rule(), Outcome::Error, &[leaf("/ok"), leaf("/words")], Label::CLEAN);
        assert_eq!((labels.whole, labels.at("/words")), (UNTRUSTED, UNTRUSTED));
    }

    #[test]
    fn untrusted_inputs_make_every_part_untrusted_and_private_ones_private() {
        let inputs = Label { integrity: Integrity::Untrusted, readers: Readers::Private };
        let labels = ResultLabels::of(&rule(), Outcome::Ok, &[leaf("/words")], inputs);
        assert_eq!((labels.whole, labels.at("/words")), (inputs, inputs));
        let private = OutputRule { private: true, ..rule() };
        assert_eq!(
            ResultLabels::of(&private, Outcome::Ok, &[leaf("/words")], Label::CLEAN).whole.readers,
            Readers::Private
        );
    }

    #[test]
    fn leaves_that_were_not_listed_have_the_label_of_the_whole() {
        let labels = ResultLabels::of(&rule(), Outcome::Ok, &[leaf("/words"), leaf("")], Label::CLEAN);
        assert_eq!(labels.at("/words"), UNTRUSTED);
        assert_eq!(labels.digest_at(""), None);
        assert_eq!(labels.digest_at("/words"), Some(Blake3::of(b"/words")));
    }

    #[test]
    fn a_result_without_leaves_is_what_the_manifest_says_by_default() {
        assert_eq!(ResultLabels::of(&rule(), Outcome::Ok, &[], Label::CLEAN).whole, UNTRUSTED);
    }

    proptest! {
        #[test]
        fn no_part_is_ever_cleaner_than_the_inputs(
            pointers in proptest::collection::vec("(/[a-z*0]{0,5}){0,3}", 0..8),
            vouched in proptest::collection::vec("(/[a-z*0]{0,5}){0,3}", 0..4),
            asked in "(/[a-z0]{0,5}){0,3}",
        ) {
            let rule = OutputRule { default: Integrity::Untrusted, vouched, private: true };
            let inputs = Label { integrity: Integrity::Vouched, readers: Readers::Secret };
            let leaves: Vec<_> = pointers.iter().map(|pointer| leaf(pointer)).collect();
            let labels = ResultLabels::of(&rule, Outcome::Ok, &leaves, inputs);
            for label in [labels.whole, labels.at(&asked)] {
                prop_assert_eq!(label.join(inputs), label);
            }
            prop_assert_eq!(labels.whole.join(labels.at(&asked)), labels.whole);
        }
    }
}
