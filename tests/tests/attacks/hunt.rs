//! Plays attacks until the time is over, looks after each whether anything has happened that must not, makes what was found
//! as small as it gets, and puts the household back as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use metnos_tests::rng::Rng;

use crate::catalogue::Executor;
use crate::generate::Maker;
use crate::known;
use crate::oracle::{Scene, Violation, judge, judge_records};
use crate::play::{End, Played, play};
use crate::program::{Program, Who};
use crate::world::World;

/// Different violations that are made small; more are counted.
const SHOWN: usize = 16;
/// The most attempts at making one smaller.
const ATTEMPTS: usize = 60;
/// As many cards are approved before anything is left to the time.
const CARDS_FIRST: usize = 60;
/// A set is replaced by a fresh one after so many programs: budgets of a day are used up, and executors may be quarantined.
const EPOCH: usize = 1_500;

/// How many chains are played at once while all pairs are tried.
const AT_ONCE: usize = 3;

/// What was tried.
#[derive(Debug, Default)]
pub struct Counts {
    pub programs: usize,
    pub calls: usize,
    pub ran: usize,
    pub asked: usize,
    pub denied: usize,
    pub broken: usize,
    /// Programs for which no turn could be opened.
    pub failed: usize,
    pub sets: usize,
    pub executors: BTreeMap<String, usize>,
    pub pairs: BTreeSet<(String, String)>,
    pub triples: usize,
    /// Cards that were approved, and those of which something came.
    pub cards: (usize, usize),
    pub rules: BTreeMap<String, usize>,
    pub outcomes: BTreeMap<String, usize>,
}

/// A violation, and the smallest program that shows it.
#[derive(Debug, Clone)]
pub struct Found {
    pub violation: Violation,
    pub programs: Vec<Program>,
    pub times: usize,
}

/// A hunt through one household after the other.
pub struct Hunt {
    pub world: World,
    pub catalogue: Vec<Executor>,
    pub counts: Counts,
    pub found: BTreeMap<String, Found>,
    /// The owner approves every card: for the self-test.
    pub yes: bool,
    seed: u64,
    since: usize,
    end: Instant,
    /// Every pair is tried, also when the time is over, but for no longer than this.
    last: Instant,
    seconds: u64,
}

/// The same programs, none with the words of another: a turn is found by its words, and of two that say the same at once each
/// could be taken for the other's.
fn apart(programs: &[Program]) -> Vec<Program> {
    let mut apart: Vec<Program> = Vec::with_capacity(programs.len());
    for program in programs {
        let mut program = program.clone();
        while apart.iter().any(|earlier| earlier.words == program.words) {
            program.words.push_str(" please");
        }
        apart.push(program);
    }
    apart
}

impl Hunt {
    pub fn start(seed: u64, time: Duration, yes: bool) -> Self {
        let mut chance = Rng::new(seed);
        let world = World::start(&mut chance, yes);
        let catalogue = Executor::all(&world.set);
        let counts = Counts { sets: 1, ..Counts::default() };
        let (end, last) = (Instant::now() + time, Instant::now() + time * 4);
        Self {
            world,
            catalogue,
            counts,
            found: BTreeMap::new(),
            yes,
            seed,
            since: 0,
            end,
            last,
            seconds: time.as_secs(),
        }
    }

    pub fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Everything: what is known, all pairs, then anything; all triples where there is time for them.
    pub fn go(&mut self) {
        let mut chance = Rng::new(self.seed ^ 1);
        for program in known::all(&self.world.pools, &mut chance) {
            self.try_all(&[program]);
        }
        println!("what is known was tried: {} programs", self.counts.programs);
        let names: Vec<String> = self.catalogue.iter().map(|executor| executor.name.clone()).collect();
        let mut pairs: Vec<[&String; 2]> =
            names.iter().flat_map(|first| names.iter().map(move |second| [first, second])).collect();
        // Where the time does not last for all of them, it is not the last of the alphabet that are never tried.
        for at in (1..pairs.len()).rev() {
            pairs.swap(at, usize::try_from(chance.below(at as u64 + 1)).unwrap_or(at));
        }
        let mut left: BTreeSet<[&String; 2]> = pairs.iter().copied().collect();
        let mut together = Vec::with_capacity(AT_ONCE);
        for [first, second] in &pairs {
            if Instant::now() >= self.last || !left.contains(&[*first, *second]) {
                continue;
            }
            // With a third one behind them, three pairs are tried in one turn.
            let is_new = |third: &&String| left.contains(&[*first, *third]) && left.contains(&[*second, *third]);
            let third = names.iter().find(|third| *third != *second && is_new(third));
            let chain: Vec<&String> = [*first, *second].into_iter().chain(third).collect();
            for (at, before) in chain.iter().enumerate() {
                for after in &chain[at + 1..] {
                    left.remove(&[*before, *after]);
                }
            }
            // Chains that are played at once are tried against each other as well.
            together.push(self.chain(&mut chance, Who::Owner, &chain));
            if together.len() == AT_ONCE {
                self.try_all(&std::mem::take(&mut together));
            }
        }
        self.try_all(&together);
        println!("all pairs were tried: {} programs", self.counts.programs);
        // How many of them do something is left to chance: it is tried until enough have.
        for tried in 0..CARDS_FIRST * 5 {
            if tried >= CARDS_FIRST && self.counts.cards.1 >= CARDS_FIRST / 6 {
                break;
            }
            self.try_any_card(&mut chance);
        }
        let mut round = 0_u64;
        let mut triples = triples(&names);
        while !self.is_over() {
            round += 1;
            match round % 5 {
                0 => {
                    let next = triples.next();
                    if let Some([a, b, c]) = next {
                        let program = self.chain(&mut chance, Who::Owner, &[a, b, c]);
                        self.try_all(&[program]);
                        self.counts.triples += 1;
                    }
                }
                1 => self.try_any(&mut chance, &[Who::Owner]),
                2 => self.try_any(&mut chance, &[Who::Owner, Who::Guest]),
                3 => {
                    let who = [Who::Timer, Who::Guest, Who::Hook, Who::Guest];
                    self.try_any(&mut chance, &[who[usize::try_from(round / 5 % 4).unwrap_or(0)]]);
                }
                _ => self.try_any_card(&mut chance),
            }
        }
        self.records();
        self.close();
    }

    /// Nothing of the set is left when it has stopped.
    fn close(&mut self) {
        let ended = self.world.set.down();
        let left = self.world.set.left_over();
        if !ended.success() || !left.is_empty() {
            let violation = Violation { kind: "left", what: format!("{ended}, and processes {left:?}") };
            self.found.insert("left".into(), Found { violation, programs: Vec::new(), times: 1 });
        }
    }

    /// A hunt that has tried hardly anything has found nothing out.
    pub fn assert_that_much_was_tried(&self) {
        let counts = &self.counts;
        let ran = u64::try_from(counts.ran).unwrap_or(0);
        assert!(ran >= self.seconds.min(120) && counts.asked > 0 && counts.denied > 0, "{}", self.report());
        assert!(counts.cards.1 >= CARDS_FIRST / 6, "{}", self.report());
        assert!(counts.failed * 50 <= counts.programs && counts.broken * 50 <= counts.calls, "{}", self.report());
        let tried = |executor: &Executor| counts.executors.contains_key(&executor.name);
        assert!(self.catalogue.iter().all(tried), "{}", self.report());
        // On a machine that does much else the time may be over before the last pair.
        assert!(counts.pairs.len() * 2 >= self.catalogue.len().pow(2), "{}", self.report());
    }

    fn chain(&self, chance: &mut Rng, who: Who, names: &[&String]) -> Program {
        let named = |name: &&String| self.catalogue.iter().find(|executor| executor.name == **name);
        let executors: Vec<&Executor> = names.iter().filter_map(named).collect();
        self.maker(chance).chain(who, &executors)
    }

    pub fn maker(&self, chance: &mut Rng) -> Maker<'_> {
        Maker { chance: Rng::new(chance.number()), catalogue: &self.catalogue, pools: &self.world.pools, sober: false }
    }

    fn try_any(&mut self, chance: &mut Rng, who: &[Who]) {
        let programs: Vec<Program> = who.iter().map(|who| self.maker(chance).any(*who)).collect();
        self.try_all(&programs);
    }

    /// Plays programs at once, and keeps what was wrong.
    pub fn try_all(&mut self, programs: &[Program]) {
        self.since += programs.len();
        let (violations, played) = self.play(programs);
        self.count(programs, &played);
        for violation in violations {
            self.keep(programs, violation);
        }
        if self.since >= EPOCH {
            self.renew();
        }
    }

    fn play(&mut self, programs: &[Program]) -> (Vec<Violation>, Vec<Played>) {
        let (world, yes) = (&self.world, self.yes);
        let programs = &apart(programs);
        let played: Vec<Played> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                programs.iter().map(|program| scope.spawn(move || play(world, program, yes))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a program is played to its end")).collect()
        });
        let after = world.now();
        let changes = world.before.changes(&after);
        let arrivals = world.sink.taken();
        let messages = world.passed_on();
        let pairs: Vec<(Program, Played)> = programs.iter().cloned().zip(played).collect();
        let scene = Scene {
            world,
            catalogue: &self.catalogue,
            played: &pairs,
            after: &after,
            changes: &changes,
            arrivals: &arrivals,
            messages: &messages,
        };
        let violations = judge(&scene);
        if !changes.is_empty() {
            self.put_back(&changes);
        }
        (violations, pairs.into_iter().map(|(_, played)| played).collect())
    }

    fn count(&mut self, programs: &[Program], played: &[Played]) {
        let counts = &mut self.counts;
        for (program, played) in programs.iter().zip(played) {
            counts.programs += 1;
            counts.failed += usize::from(played.failed.is_some());
            if let Some(why) = &played.failed {
                *counts.rules.entry(format!("no turn: {}", why.chars().take(160).collect::<String>())).or_default() +=
                    1;
                continue;
            }
            let names = program.names();
            for (at, name) in names.iter().enumerate() {
                *counts.executors.entry((*name).to_owned()).or_default() += 1;
                counts.pairs.extend(names[..at].iter().map(|before| ((*before).to_owned(), (*name).to_owned())));
            }
            for end in &played.ends {
                counts.calls += 1;
                match end {
                    End::Ran(outcome) => {
                        counts.ran += 1;
                        *counts.outcomes.entry(outcome.clone()).or_default() += 1;
                    }
                    End::Asked => counts.asked += 1,
                    End::Denied(rule) => {
                        counts.denied += 1;
                        *counts.rules.entry(rule.clone()).or_default() += 1;
                    }
                    End::Broken(_) => counts.broken += 1,
                }
            }
        }
    }

    /// Puts back what was changed.
    pub fn put_back(&mut self, changes: &[crate::snapshot::Change]) {
        self.world.copies.put_back(changes, &self.world.before);
        self.world.before = self.world.now();
    }

    /// Keeps a violation once for each kind, speaker and set of executors, in its smallest program.
    pub fn keep(&mut self, programs: &[Program], violation: Violation) {
        let key = |programs: &[Program], kind: &str| {
            let who: Vec<String> = programs.iter().map(|it| format!("{:?} {}", it.who, it.names().join(" "))).collect();
            format!("{kind}: {}", who.join(" | "))
        };
        let covered = |found: &&mut Found| {
            let inside = |small: &Program| {
                programs.iter().any(|large| {
                    large.who == small.who && small.names().iter().all(|name| large.names().contains(name))
                })
            };
            found.violation.kind == violation.kind && found.programs.iter().all(inside)
        };
        if let Some(found) = self.found.values_mut().find(covered) {
            found.times += 1;
            return;
        }
        if self.yes || self.found.len() >= SHOWN {
            let found = Found { violation: violation.clone(), programs: programs.to_vec(), times: 0 };
            self.found.entry(key(programs, violation.kind)).or_insert(found).times += 1;
            return;
        }
        let (programs, violation) = self.smallest(programs.to_vec(), violation);
        let found = Found { violation: violation.clone(), programs: programs.clone(), times: 0 };
        println!("{}", shown(&found));
        self.found.entry(key(&programs, violation.kind)).or_insert(found).times += 1;
    }

    fn smallest(&mut self, mut programs: Vec<Program>, mut violation: Violation) -> (Vec<Program>, Violation) {
        let began = Instant::now();
        let mut attempts = 0;
        'smaller: loop {
            let mut candidates: Vec<Vec<Program>> = Vec::new();
            if programs.len() > 1 {
                candidates.extend(programs.iter().map(|program| vec![program.clone()]));
            } else {
                candidates.extend(programs[0].smaller().into_iter().map(|program| vec![program]));
            }
            for candidate in candidates {
                attempts += 1;
                if attempts > ATTEMPTS {
                    break 'smaller;
                }
                let (again, _) = self.play(&candidate);
                if let Some(same) = again.into_iter().find(|other| other.kind == violation.kind) {
                    (programs, violation) = (candidate, same);
                    continue 'smaller;
                }
            }
            break;
        }
        // Making it small is not hunting: the time is given back.
        let spent = began.elapsed().min(Duration::from_secs(20));
        self.end += spent;
        self.last += spent;
        (programs, violation)
    }

    /// What the records of this set say.
    pub fn records(&mut self) {
        for violation in judge_records(&self.world) {
            let found = Found { violation: violation.clone(), programs: Vec::new(), times: 0 };
            self.found.entry(format!("{}: {}", violation.kind, violation.what)).or_insert(found).times += 1;
        }
    }

    /// Another household, with other words planted.
    fn renew(&mut self) {
        let began = Instant::now();
        self.records();
        self.close();
        self.seed = self.seed.wrapping_add(0x9e37_79b9);
        self.world = World::start(&mut Rng::new(self.seed), self.yes);
        self.catalogue = Executor::all(&self.world.set);
        self.counts.sets += 1;
        self.since = 0;
        self.end += began.elapsed();
        self.last += began.elapsed();
    }

    /// What was tried, in a few lines.
    pub fn report(&self) -> String {
        let counts = &self.counts;
        let total = self.catalogue.len() * self.catalogue.len();
        format!(
            "{} programs in {} sets, {} without a turn; {} calls: {} ran {:?}, {} asked, {} denied, {} broken\n\
             {} executors, {} of {total} ordered pairs, {} triples, (cards, with an effect) {:?}\nexecutors: {:?}\ndenied by: {:?}",
            counts.programs,
            counts.sets,
            counts.failed,
            counts.calls,
            counts.ran,
            counts.outcomes,
            counts.asked,
            counts.denied,
            counts.broken,
            counts.executors.len(),
            counts.pairs.len(),
            counts.triples,
            counts.cards,
            counts.executors,
            counts.rules,
        )
    }
}

fn triples(names: &[String]) -> impl Iterator<Item = [&String; 3]> {
    names.iter().flat_map(move |a| names.iter().flat_map(move |b| names.iter().map(move |c| [a, b, c])))
}

/// A violation as a person reads it.
pub fn shown(found: &Found) -> String {
    let programs: String = found.programs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and at once:\n");
    format!("[{}, {} times] {}\n{programs}", found.violation.kind, found.times, found.violation.what)
}
