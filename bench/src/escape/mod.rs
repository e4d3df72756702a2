//! How the escape suite fares in other sandboxes: each attempt of `sandboxd/escape/` that says something about more than Metnos,
//! given as a plain Python program to nothing at all, to `bwrap` and to `nono`, with the grant that it has in Metnos; and the whole
//! suite to a running Metnos. It prints the table of `docs/sandbox.md`.

mod judge;
mod own;
mod stage;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use metnos_proto::msg::common::Outcome;
use metnos_sandboxd::selftest::escape::{Case, Family, arguments, families};
use metnos_tests::instance::{Instance, Plan};
use serde_json::Value;

use crate::stats::Table;
use judge::{Verdict, judge};
use own::Own;
use stage::{Contestant, Stage};

/// How many attempts are made at once: most of the time of one is waiting.
const AT_ONCE: usize = 4;

/// The outcomes of a run that sandboxd has ended.
const ENDED: [Outcome; 5] = [
    Outcome::Timeout,
    Outcome::CpuExceeded,
    Outcome::MemoryExceeded,
    Outcome::ProcessesExceeded,
    Outcome::DiskExceeded,
];

/// How many attempts of one family came to what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    held: usize,
    reached: usize,
    done: usize,
    unclear: usize,
}

impl Counts {
    fn add(&mut self, verdict: Option<Verdict>) {
        match verdict {
            Some(Verdict::Held) => self.held += 1,
            Some(Verdict::Reached) => self.reached += 1,
            Some(Verdict::Done) => self.done += 1,
            None => self.unclear += 1,
        }
    }

    fn text(self) -> String {
        let Self { held, reached, done, unclear } = self;
        let unclear = if unclear == 0 { String::new() } else { format!(" / {unclear} unclear") };
        format!("{held} / {reached} / {done}{unclear}")
    }
}

/// Tries all of it and leaves the table.
pub fn measure(table: &mut Table) {
    let families = families().unwrap();
    let tried = families.iter().map(|family| family.cases.iter().filter(|case| own::reason(case).is_none()).collect());
    let tried: Vec<Vec<&Case>> = tried.collect();
    let stage = Stage::new(arguments(&families));
    let mut columns = Vec::new();
    let mut below = String::new();
    for contestant in Contestant::ALL {
        match version(contestant) {
            Ok(version) => {
                columns.push((contestant.name(), Some(counted(&stage, contestant, &tried))));
                if !version.is_empty() {
                    let _ = writeln!(below, "- {}: {version}", contestant.name());
                }
            }
            Err(why) => {
                columns.push((contestant.name(), None));
                let _ = writeln!(below, "- {}: not tried, {why}", contestant.name());
            }
        }
    }
    let held = held_by_metnos(&Plan::new().in_memory().start(), &families);
    let of = |cases: &Vec<&Case>| {
        let mut counts = Counts::default();
        cases.iter().for_each(|case| counts.add(verdict_of_metnos(&held, case)));
        counts
    };
    columns.push(("Metnos", Some(tried.iter().map(of).collect())));
    let all = held.values().filter(|held| **held).count();
    let cases: usize = families.iter().map(|family| family.cases.len()).sum();
    let _ = writeln!(below, "- Metnos: {all} of all {cases} held, by `metnosctl sandbox selftest`");
    let abi =
        metnos_sandboxd::sys::landlock_abi().map_or("no Landlock".to_owned(), |abi| format!("Landlock ABI {abi}"));
    let _ = writeln!(below, "- {abi}");
    for own in Own::ALL {
        let count =
            families.iter().flat_map(|family| &family.cases).filter(|case| own::reason(case) == Some(own)).count();
        let _ = writeln!(below, "- not tried, {} ({count}): {}", own.name(), own.meaning());
    }
    table.below(format!("{}\n{below}", markdown(&families, &columns)));
}

/// What a contestant says of its version; why it is not tried.
fn version(contestant: Contestant) -> Result<String, String> {
    let Some(program) = contestant.program() else { return Ok(String::new()) };
    stage::find(program).ok_or("not installed")?;
    let output = Command::new(program).arg("--version").output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
}

/// Gives a contestant every attempt, and tells on standard error what was not held in it.
fn counted(stage: &Stage, contestant: Contestant, tried: &[Vec<&Case>]) -> Vec<Counts> {
    let verdicts =
        in_order(&tried.concat(), |case| stage.attempt(contestant, case).and_then(|seen| judge(case, &seen)));
    let mut verdicts = verdicts.into_iter();
    let (mut counts, mut not_held) = (Vec::new(), Vec::new());
    for cases in tried {
        let mut family = Counts::default();
        for (case, verdict) in cases.iter().zip(verdicts.by_ref()) {
            match &verdict {
                Ok(Verdict::Held) => {}
                Ok(Verdict::Reached) => not_held.push(format!("{} (reached)", case.name)),
                Ok(Verdict::Done) => not_held.push(case.name.clone()),
                Err(why) => eprintln!("{}: {}: {why}", contestant.name(), case.name),
            }
            family.add(verdict.ok());
        }
        counts.push(family);
    }
    eprintln!("{}: not held: {}", contestant.name(), not_held.join(", "));
    counts
}

/// What comes of each, in the order of what was given; a few are done at once, as each has a stage of its own.
fn in_order<T: Sync, R: Send>(all: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut came = Vec::new();
        while let Some((index, one)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, all.get(at)?)))
        {
            came.push((index, each(one)));
        }
        came
    };
    let mut came: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    came.sort_by_key(|(index, _)| *index);
    came.into_iter().map(|(_, one)| one).collect()
}

/// Every case that a running Metnos has tried, with whether all its tries were held.
fn held_by_metnos(set: &Instance, families: &[Family]) -> BTreeMap<String, bool> {
    let (_, tested) = set.json(&["sandbox", "selftest"]);
    let held = held_in(&tested, families);
    set.verify();
    held
}

/// The same of what `metnosctl sandbox selftest` says. What is not as the suite wants it is told on standard error; a case that says
/// how it must end is held here, too, when it was ended in another way than that, as it is for the others.
fn held_in(tested: &Value, families: &[Family]) -> BTreeMap<String, bool> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let ends = |name: &str| {
        families.iter().flat_map(|family| &family.cases).any(|case| case.name == name && !case.ends.is_empty())
    };
    let mut held = BTreeMap::new();
    for case in list(tested, "families").iter().flat_map(|family| list(family, "cases")) {
        let Some(name) = case["name"].as_str().filter(|_| case["skipped"] != true) else { continue };
        let (as_wanted, came) = (case["held"] == true, case["came"].as_str().unwrap_or_default());
        if !as_wanted {
            eprintln!("Metnos: {name}: wanted {}, came {came}", case["wanted"]);
        }
        let ended = ends(name) && ENDED.iter().any(|outcome| came.starts_with(&format!("{} ", outcome.name())));
        *held.entry(name.to_owned()).or_insert(true) &= as_wanted || ended;
    }
    held
}

/// What Metnos did not hold counts as done: its own judge knows no third answer.
fn verdict_of_metnos(held: &BTreeMap<String, bool>, case: &Case) -> Option<Verdict> {
    held.get(&case.name).map(|held| if *held { Verdict::Held } else { Verdict::Done })
}

/// The reasons of a family for what is not tried, counted.
fn left_out(family: &Family) -> String {
    let count = |own| family.cases.iter().filter(|case| own::reason(case) == Some(own)).count();
    let reasons = Own::ALL.iter().map(|own| (own.name(), count(*own))).filter(|(_, count)| *count > 0);
    reasons.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// The table by family.
fn markdown(families: &[Family], columns: &[(&str, Option<Vec<Counts>>)]) -> String {
    let mut text = String::from("| family | cases | not tried |");
    columns.iter().for_each(|(name, _)| text.push_str(&format!(" {name} |")));
    let _ = writeln!(text, "\n|---|---|---|{}", "---|".repeat(columns.len()));
    let mut sums = vec![Counts::default(); columns.len()];
    for (index, family) in families.iter().enumerate() {
        let _ = write!(text, "| `{}` | {} | {} |", family.name, family.cases.len(), left_out(family));
        for ((_, counts), sum) in columns.iter().zip(&mut sums) {
            match counts.as_ref().and_then(|counts| counts.get(index)) {
                Some(counts) => {
                    sum.held += counts.held;
                    sum.reached += counts.reached;
                    sum.done += counts.done;
                    sum.unclear += counts.unclear;
                    let _ = write!(text, " {} |", counts.text());
                }
                None => text.push_str(" – |"),
            }
        }
        text.push('\n');
    }
    let cases: usize = families.iter().map(|family| family.cases.len()).sum();
    let not = families.iter().flat_map(|family| &family.cases).filter(|case| own::reason(case).is_some()).count();
    let _ = write!(text, "| | **{cases}** | **{not}** |");
    for ((_, counts), sum) in columns.iter().zip(&sums) {
        let _ = match counts {
            Some(_) => write!(text, " **{}** |", sum.text()),
            None => write!(text, " – |"),
        };
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parallel_results_keep_the_given_order() {
        let all: Vec<u64> = (0..50).collect();
        let each = |one: &u64| {
            std::thread::sleep(std::time::Duration::from_millis(one % 3));
            one * 2
        };
        assert_eq!(in_order(&all, each), all.iter().map(|one| one * 2).collect::<Vec<_>>());
    }

    #[test]
    fn a_case_is_held_by_metnos_when_each_of_its_tries_was() {
        let tested = json!({"families": [{"cases": [
            {"name": "a", "held": true, "skipped": false}, {"name": "a", "held": false, "skipped": false, "came": "ok (): done"},
            {"name": "b", "held": true, "skipped": false}, {"name": "c", "skipped": true},
        ]}]});
        let wanted = BTreeMap::from([("a".to_owned(), false), ("b".to_owned(), true)]);
        assert_eq!(held_in(&tested, &families().unwrap()), wanted);
        assert!(held_in(&json!({}), &families().unwrap()).is_empty());
    }

    #[test]
    fn a_flood_that_sandboxd_ended_by_another_bound_is_held_and_no_other_case() {
        let families = families().unwrap();
        let held = |name: &str, came: &str| {
            let case = json!({"name": name, "held": false, "skipped": false, "came": came});
            held_in(&json!({"families": [{"cases": [case]}]}), &families)[name]
        };
        assert!(held("compute_for_ever", "timeout (it took longer): \n"));
        assert!(!held("compute_for_ever", "ok (): {}"));
        assert!(!held("compute_for_ever", "crashed (): "));
        assert!(!held("open_passwd", "timeout (): "));
    }

    #[test]
    fn the_table_has_a_row_a_family_and_counts_every_case_once() {
        let families = families().unwrap();
        let counts = |family: &Family| Counts { held: family.cases.len(), ..Counts::default() };
        let columns = [("one", Some(families.iter().map(counts).collect())), ("two", None)];
        let text = markdown(&families, &columns);
        assert_eq!(text.lines().count(), families.len() + 3, "{text}");
        let cases: usize = families.iter().map(|family| family.cases.len()).sum();
        assert!(text.ends_with(&format!(" **{cases} / 0 / 0** | – |\n")), "{text}");
        assert!(text.contains("| `lies` | 23 | channel 23 |"), "{text}");
        assert!(text.lines().all(|line| line.matches('|').count() == 6), "{text}");
    }

    #[test]
    fn unclear_verdict_is_counted_separately() {
        let mut counts = Counts::default();
        for verdict in [Some(Verdict::Held), Some(Verdict::Reached), Some(Verdict::Done), None] {
            counts.add(verdict);
        }
        assert_eq!(counts.text(), "1 / 1 / 1 / 1 unclear");
    }

    #[test]
    fn the_document_has_the_table_of_this_suite() {
        let text = include_str!("../../../docs/sandbox.md");
        for family in families().unwrap() {
            let row = format!("| `{}` | {} | {} |", family.name, family.cases.len(), left_out(&family));
            assert!(text.lines().any(|line| line.starts_with(&row)), "docs/sandbox.md has no row `{row}`");
        }
    }
}
