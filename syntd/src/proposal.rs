//! What the ager has seen, as a proposal that the owner could answer. Pure: one text of the ager's always becomes the same
//! proposal, so that policyd recognises one that comes again.

use metnos_proto::msg::memoryd::AgerProposal;
use metnos_proto::msg::vaglio::Propose;

use crate::text::{cut, line};

/// The longest title, in bytes (policyd blocks a longer one).
pub const MAX_TITLE: usize = 160;
/// The longest text about the effect, in bytes (policyd blocks a longer one).
pub const MAX_EFFECT: usize = 1024;
/// What is lost by waiting, in thousandths: something, since the ager comes on what recurs; never enough to disturb.
const URGENCY_MILLI: u16 = 500;
/// How sure the ager is, in thousandths: it has counted what happened, and not why.
const CONFIDENCE_MILLI: u16 = 900;

/// The proposal that follows from what the ager has seen; `None` for a kind that is not known here.
#[must_use]
pub fn of(seen: &AgerProposal) -> Option<Propose> {
    let (src, dst) = (line(&seen.src), line(&seen.dst));
    let from = if src.is_empty() { "nothing but words".to_owned() } else { src };
    let (kind, title, effect) = match seen.kind.as_str() {
        "archival" => (
            "archival",
            format!("Put away what is hardly used any more: {from} to {dst}"),
            format!(
                "The connection from {from} to {dst} is put out of use. It is kept, and comes back with `metnosctl mnest \
                 restore` or as soon as it is used again."
            ),
        ),
        "synthesis" => (
            "synthesis",
            format!("Learn what was wished for again and again: {dst}"),
            format!(
                "An executor for \u{201c}{dst}\u{201d} is drafted and tested. Before it can be called you are shown what it \
                 does and what it may reach, and you approve it or not."
            ),
        ),
        "fusion" => (
            "merge",
            format!("Make one executor of two: {from} and {dst}"),
            format!(
                "One executor that does in one step what {from} and {dst} do in two is drafted and tested. The two stay \
                 as they are until you approve it."
            ),
        ),
        "generalisation" => (
            "generalise",
            format!("Answer several wishes with one executor: {dst}"),
            format!(
                "One executor with a parameter is drafted and tested that serves \u{201c}{dst}\u{201d} and the wishes that \
                 are nearly the same: {}. You approve it or not.",
                line(&seen.why)
            ),
        ),
        "specialisation" => (
            "specialise",
            format!("Give {dst} a version of its own for what {from} gives it"),
            format!(
                "A version of {dst} that does only what {from} needs of it is drafted and tested. The present one stays \
                 as it is until you approve it."
            ),
        ),
        _ => return None,
    };
    Some(Propose {
        kind: kind.to_owned(),
        subject: line(&seen.mnest),
        title: cut(title, MAX_TITLE),
        effect: cut(effect, MAX_EFFECT),
        touches: Vec::new(),
        // Whatever is proposed here changes nothing that exists, or can be undone.
        reversible: true,
        urgency_milli: URGENCY_MILLI,
        confidence_milli: CONFIDENCE_MILLI,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const KINDS: [&str; 5] = ["archival", "synthesis", "fusion", "generalisation", "specialisation"];

    fn seen(kind: &str, src: &str, dst: &str) -> AgerProposal {
        let text = |text: &str| text.to_owned();
        AgerProposal {
            seq: 7,
            id: text("x-1"),
            kind: text(kind),
            mnest: text("mnest_01"),
            src: text(src),
            dst: text(dst),
            why: text("3 wishes share most of their words: a; b; c"),
        }
    }

    #[test]
    fn each_kind_of_the_agers_is_one_that_policyd_knows() {
        let kinds = KINDS.map(|kind| of(&seen(kind, "fs_read 1.0.0", "text_stats 1.0.0")).unwrap().kind);
        assert_eq!(kinds, ["archival", "synthesis", "merge", "generalise", "specialise"]);
        assert!(kinds.iter().all(|kind| metnos_policy::vaglio::sieve::KINDS.contains(&kind.as_str())));
        assert_eq!(of(&seen("coup", "a", "b")), None);
    }

    #[test]
    fn a_wish_that_came_from_nothing_but_words_reads_like_a_sentence() {
        let it = of(&seen("synthesis", "", "play music")).unwrap();
        assert_eq!(it.title, "Learn what was wished for again and again: play music");
        assert!(of(&seen("archival", "", "x")).unwrap().title.contains("nothing but words"));
    }

    proptest! {
        #[test]
        fn proposal_text_fits_a_screen_and_is_deterministic(
            at in 0_usize..5, src in "\\PC{0,80}|.{0,200}", dst in "\\PC{0,80}|.{0,1200}",
        ) {
            let one = of(&seen(KINDS[at], &src, &dst)).unwrap();
            prop_assert!(one.title.len() <= metnos_policy::vaglio::sieve::MAX_TITLE);
            prop_assert!(one.effect.len() <= metnos_policy::vaglio::sieve::MAX_EFFECT);
            prop_assert!(!one.title.chars().chain(one.effect.chars()).any(char::is_control));
            prop_assert_eq!(Some(one), of(&seen(KINDS[at], &src, &dst)));
        }
    }
}
