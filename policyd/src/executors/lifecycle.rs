//! What becomes of each executor when the pool is compared with the registry: pure. Only
//! exactly what was signed is loaded, only exactly what was released is born without the
//! owner, and nothing ever leaves quarantine, the archive or its revocation here.

use std::collections::{BTreeMap, BTreeSet};

use metnos_proto::executor::{is_name, parse_version};
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};
use metnos_proto::msg::policyd::MAX_EXECUTORS;
use metnos_proto::msg::sandboxd::PoolEntry;

use crate::executors::seeds::{Seed, is_seed};
use crate::store::{Row, RowState};

/// The most bytes of a reason that is kept.
pub(crate) const MAX_WHY: usize = 500;

/// What to do about one executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is what was signed: let it be called.
    Load(ExecutorId),
    /// It was signed, but its birth was interrupted: install it and finish.
    Finish(ExecutorId),
    /// It is a seed of this release: test it, sign it, install it.
    Birth(ExecutorId, ExecutorDigests),
    /// It is not what was signed.
    Quarantine(ExecutorId, String),
    /// It stays where it was: in quarantine, archived, revoked.
    Stay(ExecutorId),
    /// It was signed, and its files are gone: not callable until they are back.
    Missing(ExecutorId),
    /// It is in the pool and nobody has approved it.
    Leave(ExecutorId, String),
}

/// Compares the pool with the registry.
///
/// # Errors
/// In a sentence, why the listing is none; nothing is loaded then.
pub fn reconcile(pool: &[PoolEntry], rows: &[Row], seeds: &[Seed]) -> Result<Vec<Step>, String> {
    if pool.len() > MAX_EXECUTORS {
        return Err(format!("the pool lists {} executors, {MAX_EXECUTORS} is the limit", pool.len()));
    }
    let mut seen = BTreeSet::new();
    for entry in pool {
        if !is_name(&entry.id.name) || parse_version(&entry.id.version).is_none() {
            return Err("the pool lists an executor without a name or version".to_owned());
        }
        if !seen.insert((&entry.id.name, &entry.id.version)) {
            return Err(format!("the pool lists {} twice", entry.id));
        }
    }
    let known: BTreeMap<_, _> = rows.iter().map(|row| ((&row.id.name, &row.id.version), row)).collect();
    let mut steps: Vec<Step> = pool
        .iter()
        .map(|entry| match known.get(&(&entry.id.name, &entry.id.version)) {
            Some(row) => registered(entry, row),
            None => unregistered(entry, seeds),
        })
        .collect();
    steps.extend(rows.iter().filter(|row| !seen.contains(&(&row.id.name, &row.id.version))).map(
        |row| match row.state {
            RowState::Signed | RowState::Active => Step::Missing(row.id.clone()),
            RowState::Quarantined | RowState::Archived { .. } | RowState::Revoked => Step::Stay(row.id.clone()),
        },
    ));
    Ok(steps)
}

/// An executor that was signed once.
fn registered(entry: &PoolEntry, row: &Row) -> Step {
    let id = entry.id.clone();
    if !row.state.is_good() {
        return Step::Stay(id);
    }
    if let Some(why) = difference(entry, row) {
        return Step::Quarantine(id, why);
    }
    match row.state {
        RowState::Signed => Step::Finish(id),
        RowState::Active if entry.signed => Step::Load(id),
        RowState::Active => Step::Quarantine(id, "manifest.sig is missing or does not fit".to_owned()),
        RowState::Quarantined | RowState::Archived { .. } | RowState::Revoked => Step::Stay(id),
    }
}

/// The first way in which the files are not what was signed.
fn difference(entry: &PoolEntry, row: &Row) -> Option<String> {
    if !entry.fault.is_empty() {
        return Some(format!("its files are no executor any more: {}", entry.fault));
    }
    let (now, then) = (&entry.digests, &row.digests);
    let parts = [
        ("manifest.toml", now.manifest, then.manifest),
        ("main.py", now.code, then.code),
        ("schema.json", now.schema, then.schema),
        ("the sandbox it would run in", now.profile, then.profile),
    ];
    parts
        .into_iter()
        .find(|(_, now, then)| now != then)
        .map(|(part, now, then)| format!("{part} is not what was signed: its digest is {now}, signed was {then}"))
}

/// An executor that nobody has signed here.
fn unregistered(entry: &PoolEntry, seeds: &[Seed]) -> Step {
    let id = entry.id.clone();
    if !entry.fault.is_empty() {
        return Step::Leave(id, entry.fault.chars().take(500).collect());
    }
    if is_seed(seeds, &entry.id, &entry.digests) {
        return Step::Birth(id, entry.digests.clone());
    }
    Step::Leave(id, "it is no seed of this release, and nobody has approved it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::ids::Blake3;
    use proptest::prelude::*;

    fn id(name: &str) -> ExecutorId {
        ExecutorId { name: name.into(), version: "1.0.0".into() }
    }

    fn digests(text: &str) -> ExecutorDigests {
        let of = |part: &str| Blake3::of(format!("{text}{part}").as_bytes());
        ExecutorDigests { manifest: of("m"), code: of("c"), schema: of("s"), profile: of("p") }
    }

    fn entry(name: &str, text: &str, signed: bool) -> PoolEntry {
        PoolEntry { id: id(name), digests: digests(text), fault: String::new(), signed }
    }

    fn row(name: &str, text: &str, state: RowState) -> Row {
        Row { digests: digests(text), state, ..Row::for_tests(id(name)) }
    }

    fn seed(name: &'static str, text: &str) -> Seed {
        let digests = digests(text);
        Seed { name, manifest: digests.manifest, code: digests.code, schema: digests.schema }
    }

    fn one(pool: PoolEntry, rows: &[Row]) -> Step {
        let steps = reconcile(&[pool], rows, &[seed("a", "x")]).unwrap();
        assert_eq!(steps.len(), 1);
        steps.into_iter().next().unwrap()
    }

    #[test]
    fn a_seed_is_born_and_anything_else_is_left() {
        assert_eq!(one(entry("a", "x", false), &[]), Step::Birth(id("a"), digests("x")));
        assert!(matches!(one(entry("a", "y", false), &[]), Step::Leave(..)));
        assert!(matches!(one(entry("b", "x", false), &[]), Step::Leave(..)));
        assert!(matches!(one(PoolEntry { fault: "no schema".into(), ..entry("a", "x", false) }, &[]), Step::Leave(..)));
    }

    #[test]
    fn signed_executor_is_loaded_only_unchanged() {
        let rows = [row("a", "x", RowState::Active)];
        assert_eq!(one(entry("a", "x", true), &rows), Step::Load(id("a")));
        assert!(matches!(one(entry("a", "x", false), &rows), Step::Quarantine(..)));
        assert!(matches!(
            one(PoolEntry { fault: "no schema".into(), ..entry("a", "x", true) }, &rows),
            Step::Quarantine(..)
        ));
        for part in ["manifest", "code", "schema", "profile"] {
            let mut changed = entry("a", "x", true);
            let field = match part {
                "manifest" => &mut changed.digests.manifest,
                "code" => &mut changed.digests.code,
                "schema" => &mut changed.digests.schema,
                _ => &mut changed.digests.profile,
            };
            *field = Blake3::of(b"a bit flipped");
            assert!(matches!(one(changed, &rows), Step::Quarantine(..)), "{part}");
        }
    }

    #[test]
    fn an_interrupted_birth_is_finished() {
        for signed in [false, true] {
            assert_eq!(one(entry("a", "x", signed), &[row("a", "x", RowState::Signed)]), Step::Finish(id("a")));
        }
        assert!(matches!(one(entry("a", "y", false), &[row("a", "x", RowState::Signed)]), Step::Quarantine(..)));
    }

    #[test]
    fn quarantined_archived_or_revoked_state_ignores_pool_content() {
        let archived = [true, false].map(|from_quarantine| RowState::Archived { from_quarantine });
        for state in archived.into_iter().chain([RowState::Quarantined, RowState::Revoked]) {
            let rows = [row("a", "x", state)];
            for (text, signed) in [("x", true), ("x", false), ("y", true)] {
                assert_eq!(one(entry("a", text, signed), &rows), Step::Stay(id("a")), "{state:?}");
            }
            assert_eq!(reconcile(&[], &rows, &[]).unwrap(), [Step::Stay(id("a"))]);
        }
    }

    #[test]
    fn registered_executor_absent_from_pool_is_missing() {
        assert_eq!(reconcile(&[], &[row("a", "x", RowState::Active)], &[]).unwrap(), [Step::Missing(id("a"))]);
    }

    #[test]
    fn a_listing_that_is_none_loads_nothing() {
        let rows = [row("a", "x", RowState::Active)];
        assert!(reconcile(&[entry("a", "x", true), entry("a", "y", true)], &rows, &[]).is_err());
        assert!(reconcile(&[entry("../a", "x", true)], &rows, &[]).is_err());
        let many = |count: usize| (0..count).map(|n| entry(&format!("e{n}"), "x", true)).collect::<Vec<_>>();
        assert!(reconcile(&many(MAX_EXECUTORS), &[], &[]).is_ok());
        assert!(reconcile(&many(MAX_EXECUTORS + 1), &[], &[]).is_err());
    }

    proptest! {
        #[test]
        fn nothing_is_loaded_that_is_not_active_signed_and_the_same(
            text in "[xy]", signed in any::<bool>(), fault in "|x", state in 0usize..6,
        ) {
            let archived = RowState::Archived { from_quarantine: false };
            let states = [RowState::Signed, RowState::Active, RowState::Quarantined, archived, RowState::Revoked];
            let rows: Vec<Row> = states.get(state).map(|state| row("a", "x", *state)).into_iter().collect();
            let pool = PoolEntry { fault: fault.clone(), ..entry("a", &text, signed) };
            if let Step::Load(_) = one(pool, &rows) {
                prop_assert!(text == "x" && signed && fault.is_empty() && state == 1);
            }
        }
    }
}
