//! Ten thousand due times in five time zones, over a change of their clocks, while everything dies, the disk is full and the clock
//! jumps (design: clock §4): none is lost, doubled or early.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{ToSpan as _, Zoned};
use metnos_proto::msg::schedule::{Firing, FiringEnd, FiringEnded, NextFiring, TakeFiring};

use super::door;
use crate::chronicle::time::DAY_MS;
use crate::faults::{Fault, Step};
use crate::memory::Memory;
use crate::memory::testing::Instance;

const ANYBODY: NextFiring = NextFiring { to: String::new() };
const CHAT: &str = "telegram:7";
const MINUTE: u64 = 60_000;
/// How long each zone is looked at, in days: with the five zones there are more than 10,000 due times.
const DAYS: u64 = 74;

/// What is planned, and on which days and minutes it is due: hours, 24 for all of them, and the minute.
const PLANS: [(&str, &str, u8); 5] = [
    ("feed the fish", "every hour", 24),
    ("close the windows", "every day at 02:30", 2),
    ("lock the door", "every day at 01:30", 1),
    ("take the pills", "every day at 12:30", 12),
    ("say good night", "every day at 23:30", 23),
];

/// A number from a seed: the multiplier and the increment are Knuth's (MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// A household in a zone, and what it was given.
struct House {
    instance: Instance,
    memory: Option<Memory>,
    zone: TimeZone,
    run: u8,
    chance: Chance,
    /// Of each firing how often it was given without being said to be given again, and how many due times before it went by.
    given: BTreeMap<(u64, DateTime), (u32, u32)>,
    faults: u32,
}

impl House {
    fn in_zone(name: &str, begins: &str, seed: u64) -> Self {
        let instance = Instance::new();
        let zone = TimeZone::tzif(name, &std::fs::read(format!("/usr/share/zoneinfo/{name}")).unwrap()).unwrap();
        let begins: DateTime = begins.parse().unwrap();
        instance.clock.set(ms(&begins.to_zoned(zone.clone()).unwrap()));
        std::fs::write(instance.dir.path().join("workspace/USER.md"), format!("- Time zone: {name}\n")).unwrap();
        let (given, chance) = (BTreeMap::new(), Chance(seed));
        let mut house = Self { instance, memory: None, zone, run: 0, chance, given, faults: 0 };
        house.opened();
        house
    }

    /// The memory, opened anew where it is gone, with another run of the door.
    fn opened(&mut self) -> &mut Memory {
        if self.memory.is_none() {
            let mut memory = self.instance.open();
            memory.look_at_files().unwrap();
            self.memory = Some(memory);
            self.door_dies();
        }
        self.memory.as_mut().unwrap()
    }

    fn door_dies(&mut self) {
        self.run = self.run.wrapping_add(1);
        let run = self.run;
        let _ = self.memory.as_mut().unwrap().next_firing(door(run), &ANYBODY);
    }

    fn now(&self) -> u64 {
        self.instance.clock.0.get()
    }

    /// Something that breaks the next write, now and then: the disk is full, or the process is gone in the middle of it.
    fn maybe_a_fault(&mut self) -> bool {
        if !self.chance.one_in(12) {
            return false;
        }
        let bytes = usize::try_from(self.chance.below(200)).unwrap();
        let fault = match self.chance.below(5) {
            0 => Fault::Errno(rustix::io::Errno::NOSPC.raw_os_error()),
            1 => Fault::Short(bytes),
            2 => Fault::KilledAfterBytes(bytes),
            3 => Fault::KilledBefore,
            _ => Fault::KilledAfter,
        };
        let step = if self.chance.one_in(2) { Step::Write } else { Step::Sync };
        self.instance.script.add(step, 0, fault);
        self.faults += 1;
        true
    }

    /// What is due next, taken by the door; nothing where none is, or where the memory broke over it.
    fn take(&mut self) -> Option<Firing> {
        let (breaks, run) = (self.maybe_a_fault(), self.run);
        let memory = self.opened();
        let taken = memory.take_firing(door(run), &TakeFiring { to: String::new() }).ok();
        let is_kept = memory.flush().is_ok();
        let firing = taken.and_then(|taken| taken.firing).filter(|_| is_kept);
        if breaks || !is_kept {
            // Nobody knows how far it came: the daemon begins anew.
            self.memory = None;
            self.instance.script.clear();
            self.opened();
        }
        firing
    }

    /// Notes that a firing was given, which must be due by now.
    fn note(&mut self, firing: &Firing) {
        let key: DateTime = firing.key.parse().unwrap();
        assert!(moment(&self.zone, key) <= self.now(), "early: {firing:?}");
        let count = self.given.entry((firing.number, key)).or_insert((0, firing.missed));
        // After a crash between begin and delivery, a first delivery has `again` set, too.
        count.0 += u32::from(!firing.again);
        assert!(count.0 <= 1, "doubled: {firing:?}");
    }

    fn end(&mut self, firing: &Firing) {
        let end = if self.chance.one_in(9) { FiringEnd::Unsure } else { FiringEnd::Delivered };
        let (breaks, run) = (self.maybe_a_fault(), self.run);
        let word = FiringEnded { number: firing.number, key: firing.key.clone(), end };
        let memory = self.opened();
        let _ = memory.firing_ended(door(run), &word);
        if memory.flush().is_err() || breaks {
            self.memory = None;
            self.instance.script.clear();
            self.opened();
        }
    }

    /// Everything that is due now, with what may go wrong on the way.
    fn deliver(&mut self) {
        for _ in 0..12 {
            let Some(firing) = self.take() else { return };
            self.note(&firing);
            match self.chance.below(30) {
                0 => self.door_dies(),
                1 => {
                    self.memory = None;
                    self.opened();
                }
                2 => {
                    self.memory = None;
                    for name in ["schedules.sqlite", "schedules.sqlite-wal"] {
                        let _ = std::fs::remove_file(self.instance.dir.path().join(".runtime").join(name));
                    }
                    self.opened();
                }
                _ => self.end(&firing),
            }
        }
    }

    /// Time goes by: minutes, or days in which the machine was off; or the clock is put back.
    fn wait(&mut self) {
        let now = self.now();
        let minutes = self.chance.below(230) + 10;
        let then = match self.chance.below(60) {
            0 => now + (1 + self.chance.below(2)) * DAY_MS + minutes * MINUTE,
            1 | 2 => now - minutes * MINUTE,
            _ => now + minutes * MINUTE,
        };
        self.instance.clock.set(then);
        let run = self.run;
        let _ = self.opened().next_firing(door(run), &ANYBODY);
    }
}

fn ms(at: &Zoned) -> u64 {
    u64::try_from(at.timestamp().as_millisecond()).unwrap()
}

/// The first instant at which a time of the wall clock has come; where the clock leaves it out, the one behind the gap.
fn moment(zone: &TimeZone, at: DateTime) -> u64 {
    let ambiguous = zone.to_ambiguous_timestamp(at);
    let earlier = ambiguous.earlier().unwrap();
    let stamp = match ambiguous.offset() {
        AmbiguousOffset::Gap { .. } => zone.following(earlier).next().unwrap().timestamp(),
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => earlier,
    };
    u64::try_from(stamp.as_millisecond()).unwrap()
}

/// The due times of a plan between two times of the wall clock, counted out minute by minute and independently of how they are found.
fn due_between(hour: u8, minute: i8, (after, upto): (DateTime, DateTime)) -> Vec<DateTime> {
    let mut at = after.with().second(0).subsec_nanosecond(0).minute(minute).build().unwrap();
    let mut found = Vec::new();
    while at <= upto {
        if at > after && (hour == 24 || at.hour() == i8::try_from(hour).unwrap()) {
            found.push(at);
        }
        at = at.checked_add(1.hour()).unwrap();
    }
    found
}

/// Lives through [`DAYS`] days, and counts: due times, and faults.
fn none_is_lost_doubled_or_early(name: &str, begins: &str, seed: u64) {
    let mut house = House::in_zone(name, begins, seed);
    let begins: DateTime = begins.parse().unwrap();
    let made: Vec<(u64, u8, i8)> = PLANS
        .iter()
        .map(|(what, when, hour)| {
            let made = house.opened().plan(CHAT, what, when);
            let first: jiff::Timestamp = made.next[0].parse().unwrap();
            (made.number, *hour, first.to_zoned(house.zone.clone()).datetime().minute())
        })
        .collect();
    house.opened().flush().unwrap();
    let end = house.now() + DAYS * DAY_MS;
    while house.now() < end {
        house.wait();
        house.deliver();
    }
    // In the end all is well, and what may not have arrived is tried until it has.
    for _ in 0..80 {
        house.instance.clock.advance(20 * MINUTE);
        let run = house.run;
        let _ = house.opened().next_firing(door(run), &ANYBODY);
        while let Some(firing) = house.opened().due_for(run, "") {
            house.note(&firing);
            house.opened().end(run, &firing, FiringEnd::Delivered);
        }
    }
    let last = jiff::Timestamp::from_millisecond(i64::try_from(house.now()).unwrap()).unwrap();
    let last = last.to_zoned(house.zone.clone()).datetime();
    let (mut due, mut heard) = (0, 0);
    for (number, hour, minute) in made {
        let mut all = due_between(hour, minute, (begins, last));
        // What the clock leaves out has come at the moment behind the gap; two times of one moment are one.
        let same = |at: &DateTime| {
            at.checked_add(1.hour()).is_ok_and(|next| moment(&house.zone, *at) == moment(&house.zone, next))
        };
        all.retain(|at| hour != 24 || !same(at));
        let mut accounted = 0;
        for ((_, key), (_, missed)) in house.given.iter().filter(|((of, _), _)| *of == number) {
            let at = all.iter().position(|at| at == key);
            let at = at.unwrap_or_else(|| panic!("{name}: schedule {number} was given at {key}, when it is not due"));
            assert_eq!(
                at,
                accounted + usize::try_from(*missed).unwrap(),
                "{name}: schedule {number}, lost before {key}"
            );
            accounted = at + 1;
            heard += 1;
        }
        assert_eq!(
            accounted,
            all.len(),
            "{name}: schedule {number}, lost behind {}",
            all[accounted.min(all.len() - 1)]
        );
        due += all.len();
    }
    println!("{name}: {due} due times, {heard} given one by one, {} faults of the disk", house.faults);
    assert!(due > 2_000 && heard > 300 && house.faults > 30, "{due} due times, {heard} given");
}

#[test]
fn no_due_time_is_lost_in_rome() {
    none_is_lost_doubled_or_early("Europe/Rome", "2026-02-20T10:00:00", 1);
}

#[test]
fn no_due_time_is_lost_in_new_york() {
    none_is_lost_doubled_or_early("America/New_York", "2026-09-25T10:00:00", 2);
}

/// Whose clock is put forward and back by half an hour.
#[test]
fn no_due_time_is_lost_on_lord_howe() {
    none_is_lost_doubled_or_early("Australia/Lord_Howe", "2026-09-01T10:00:00", 3);
}

/// Whose clock is three quarters of an hour away from others, and is changed at a quarter to.
#[test]
fn no_due_time_is_lost_on_the_chathams() {
    none_is_lost_doubled_or_early("Pacific/Chatham", "2026-03-01T10:00:00", 4);
}

#[test]
fn no_due_time_is_lost_in_st_johns() {
    none_is_lost_doubled_or_early("America/St_Johns", "2026-10-01T10:00:00", 5);
}
