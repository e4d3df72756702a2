//! The medium tier over invented histories: bounded, the same each time it is derived, and citing what it covers.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::at_rest::tests::keys;
use crate::chronicle::testing::MORNING;
use proptest::prelude::*;

fn medium() -> (tempfile::TempDir, Medium) {
    let dir = tempfile::tempdir().unwrap();
    let medium = Medium::open(&dir.path().join("medium.sqlite"), &keys(dir.path(), 1).unwrap()).unwrap();
    (dir, medium)
}

fn said(seq: u64, peer: &str, day: u64, own: bool, text: &str) -> Entry {
    Entry::Said { seq, peer: peer.to_owned(), ts_ms: MORNING + day * DAY_MS, own, text: text.to_owned() }
}

#[test]
fn old_talk_is_summarised_with_cited_lines() {
    let (_dir, mut medium) = medium();
    let old = [
        said(2, "a", 0, true, "The plumber comes on Tuesday with the new boiler."),
        said(3, "a", 0, false, "I have noted the plumber."),
        said(5, "b", 0, true, "Grandmother's birthday is in March."),
    ];
    medium.apply(&old, 5).unwrap();
    assert_eq!(medium.messages("a", 10).unwrap().len(), 2);
    medium.apply(&[said(9, "b", KEEP_DAYS, true, "Hello.")], 9).unwrap();
    assert_eq!(medium.summaries("a", 10).unwrap(), [], "not older than it may be");
    medium.apply(&[said(12, "b", KEEP_DAYS + 1, true, "Hello again.")], 12).unwrap();
    let [summary] = &medium.summaries("a", 10).unwrap()[..] else { panic!("one summary") };
    assert_eq!((summary.from_seq, summary.upto_seq, summary.messages), (2, 3, 2));
    assert_eq!(summary.own, "[2] The plumber comes on Tuesday with the new boiler.");
    assert_eq!(summary.answers, "[3] I have noted the plumber.");
    assert_eq!(summary.cited, [2]);
    assert!(medium.messages("a", 10).unwrap().is_empty(), "its words are in the chronicle");
    assert_eq!(medium.summaries("b", 10).unwrap()[0].own, "[5] Grandmother's birthday is in March.");
    assert!(medium.knows(3).unwrap() && medium.knows(12).unwrap() && !medium.knows(7).unwrap());
}

#[test]
fn a_peer_who_talks_without_end_has_bounded_messages_summaries_and_tasks() {
    let (_dir, mut medium) = medium();
    let mut entries = Vec::new();
    let lines = (KEEP_MESSAGES + (KEEP_SUMMARIES + 20) * BLOCK) as u64;
    for seq in 1..=lines {
        entries.push(said(seq, "a", 0, true, &format!("The number of parcel {seq} is {}.", seq * 7919)));
        let (executors, ended) = (vec!["fs_read".to_owned()], "answered".to_owned());
        entries.push(Entry::Done { seq: seq + lines, peer: "a".into(), ts_ms: MORNING, ended, executors });
    }
    medium.apply(&entries, 2 * lines).unwrap();
    let (messages, summaries) = (medium.messages("a", usize::MAX).unwrap(), medium.summaries("a", usize::MAX).unwrap());
    assert!(messages.len() <= KEEP_MESSAGES && summaries.len() <= KEEP_SUMMARIES);
    assert_eq!(medium.tasks("a", usize::MAX).unwrap().len(), KEEP_TASKS);
    assert_eq!(medium.tasks("a", 1).unwrap()[0].seq, 2 * lines, "the last ones");
    // No line is lost: each is a message or covered by exactly one summary.
    let mut next = 1;
    for summary in &summaries {
        assert_eq!(summary.from_seq, next);
        assert!(summary.cited.iter().all(|seq| (summary.from_seq..=summary.upto_seq).contains(seq)));
        assert!(summary.own.chars().count() <= MAX_OWN_CHARS && !summary.own.is_empty());
        next = summary.upto_seq + 1;
    }
    assert_eq!(messages[0].seq, next);
    assert_eq!(summaries.iter().map(|one| one.messages).sum::<u64>() + messages.len() as u64, lines);
    assert!(summaries[0].messages as usize >= MERGED * BLOCK, "the oldest were merged");
}

#[test]
fn last_signed_files_hold_after_a_restart() {
    let (dir, mut medium) = medium();
    let files = |digest: &str| Entry::Files(vec![("SOUL.md".to_owned(), digest.to_owned())]);
    medium.apply(&[files("one")], 1).unwrap();
    medium.apply(&[files("two")], 2).unwrap();
    drop(medium);
    let medium = Medium::open(&dir.path().join("medium.sqlite"), &keys(dir.path(), 1).unwrap()).unwrap();
    assert_eq!((medium.file("SOUL.md").unwrap().as_deref(), medium.applied()), (Some("two"), 2));
    assert_eq!(medium.file("USER.md").unwrap(), None);
}

fn everything(medium: &Medium) -> String {
    let of = |peer: &str| {
        let parts = (medium.messages(peer, 9999), medium.summaries(peer, 9999), medium.tasks(peer, 9999));
        format!("{:?}", (parts.0.unwrap(), parts.1.unwrap(), parts.2.unwrap()))
    };
    of("a") + &of("b")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn medium_tier_is_the_same_for_any_batching(
        talk in prop::collection::vec((any::<bool>(), any::<bool>(), 0_u64..3, "[a-d ]{1,12}[.?]"), 1..600), cut in any::<prop::sample::Index>(),
    ) {
        let mut day = 0;
        let entries: Vec<Entry> = (1..)
            .zip(&talk)
            .map(|(seq, (first, own, later, text))| {
                day += later / 2 * 9;
                said(seq, if *first { "a" } else { "b" }, day, *own, text)
            })
            .collect();
        let last = entries.len() as u64;
        let (_one, mut whole) = medium();
        whole.apply(&entries, last).unwrap();
        let (_two, mut pieces) = medium();
        let cut = cut.index(entries.len());
        pieces.apply(&entries[..cut], cut as u64).unwrap();
        pieces.apply(&entries[cut..], last).unwrap();
        prop_assert_eq!(everything(&whole), everything(&pieces));
        pieces.forget_everything().unwrap();
        prop_assert_eq!(pieces.applied(), 0);
        pieces.apply(&entries, last).unwrap();
        prop_assert_eq!(everything(&whole), everything(&pieces));
    }
}
