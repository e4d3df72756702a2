//! What memory costs: durable appends through the real process beside a raw write and sync loop on the same disk, the
//! verification of a million lines, the mnestome with a million rows, and the repair of a torn end.

pub mod schedules;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use metnos_memoryd::at_rest::{KEY_BYTES, KeyBytes, Keys};
use metnos_memoryd::chronicle::event::{Draft, Event, EventType, GENESIS};
use metnos_memoryd::chronicle::line::to_line_with;
use metnos_memoryd::chronicle::log::file_name;
use metnos_memoryd::chronicle::store::Chronicle;
use metnos_memoryd::chronicle::time::{Day, SystemClock};
use metnos_memoryd::chronicle::verify::Verify;
use metnos_memoryd::faults::NoFaults;
use metnos_memoryd::mnestome::derive::Record;
use metnos_memoryd::mnestome::graph::{Mnestome, Turns};
use metnos_proto::edge::AskerEnd;
use metnos_proto::edges::DoorMemoryd;
use metnos_proto::ids::{CallId, SessionId, TraceId, TurnId};
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{Channel, ExecutorId, Lang, Outcome, Standing, Trust};
use metnos_proto::msg::memoryd::Received;
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::solo::{Setup, Solo};

use crate::stats::{Table, Times, text};

/// Durable appends of one producer, and of the raw loop beside it.
const APPENDS: usize = 600;
/// How often one producer and all of them are measured, in turn.
const ROUNDS: usize = 9;
/// Producers that share a sync.
const PRODUCERS: usize = 8;
/// Lines of the chronicle that is verified.
const LINES: u64 = 1_000_000;
/// Rows of the large mnestome.
const ROWS: u64 = 1_000_000;
/// Upserts, look-ups and turns of each kind.
const TRIES: usize = 2_000;

/// The words that are said: with what surrounds them, the size of an ordinary line.
const WORDS: &[u8] = b"how many words are in notes/welcome.md, and what was it that I wrote there yesterday evening?";

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let mut set = Plan::new().start();
    set.down();
    appends(table, &set);
    drop(set);
    let folder = std::env::temp_dir().join(format!("metnos-bench-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    verification(table, &folder.join("audit"));
    tail_repair(table, &folder.join("torn"));
    mnestome(table, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn received() -> Received {
    Received {
        turn: TurnId::new(),
        trace: TraceId::new(),
        channel: Channel::Cli,
        principal: "cli:uid:1000".to_owned(),
        standing: Standing::Owner,
        lang: Lang::En,
        mark: String::new(),
    }
}

fn tell(door: &mut BlockingClient<DoorMemoryd>) {
    door.received(TraceId::NONE, received(), [Sealed::new(WORDS).unwrap()]).unwrap();
}

/// Appends a second, by all of these at once.
fn rate(doors: &mut [BlockingClient<DoorMemoryd>]) -> f64 {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for door in doors.iter_mut() {
            scope.spawn(|| (0..APPENDS).for_each(|_| tell(door)));
        }
    });
    (APPENDS * doors.len()) as f64 / began.elapsed().as_secs_f64()
}

fn appends(table: &mut Table, set: &Instance) {
    let mut memoryd = Solo::start(&Setup {
        binary: set.command("metnos-memoryd").get_program().into(),
        role: RoleName::Memoryd,
        instance: set.home().to_owned(),
        ids: Some(set.owner()),
        waive: Vec::new(),
        models: metnos_proto::control::ModelSettings::default(),
    });
    let mut doors: Vec<_> =
        (0..PRODUCERS).map(|_| BlockingClient::new(memoryd.asker::<DoorMemoryd>()).unwrap()).collect();
    let line = vec![b'x'; 900];
    let raw_path = set.home().join("raw");
    let mut raw = File::create(&raw_path).unwrap();
    let (mut floor, mut one) = (Times::default(), Times::default());
    let first = doors.first_mut().unwrap();
    for _ in 0..APPENDS {
        floor.time(|| raw.write_all(&line).and_then(|()| raw.sync_data()).unwrap());
        one.time(|| tell(first));
    }
    std::fs::remove_file(&raw_path).unwrap();
    let beside = format!("{:.2} × write + fdatasync ({})", one.ratio_to(&floor), text(floor.median()));
    table.times("durable append, one producer, the hop included", &one, beside, "≤ 2 ×");
    // In turn, so that what else the machine does falls on both.
    let rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (rate(&mut doors[..1]), rate(&mut doors))).collect();
    let mut ratios: Vec<f64> = rounds.iter().map(|(alone, together)| together / alone).collect();
    ratios.sort_by(f64::total_cmp);
    let (alone, together) = rounds.iter().fold((0.0, 0.0), |sum, round| (sum.0 + round.0, sum.1 + round.1));
    let (alone, together) = (alone / ROUNDS as f64, together / ROUNDS as f64);
    let (least, middle, most) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
    let beside = format!("{middle:.1} × one producer ({alone:.0}/s), {least:.1} to {most:.1} in {ROUNDS} rounds");
    table.row("durable appends, 8 producers", format!("{together:.0}/s"), beside, "≥ 4 ×");
    drop(AskerEnd::<DoorMemoryd>::new(memoryd.fresh(<DoorMemoryd as metnos_proto::edge::Edge>::ID)));
}

fn draft(n: u64) -> Draft {
    Draft {
        parent: Some(n.max(1)),
        emitter: RoleName::Gatewayd,
        session: SessionId::from_bytes([1; 16]),
        turn_id: Some(TurnId::from_bytes(u128::from(n + 1).to_be_bytes())),
        trace_id: Some(TraceId::from_bytes(u128::from(n + 1).to_be_bytes())),
        kind: EventType::OwnerMessage,
        channel: Some(Channel::Cli),
        peer: "cli:uid:1000".to_owned(),
        trust: Trust::Owner,
        payload: format!(
            "{{\"lang\":\"en\",\"standing\":\"owner\",\"text\":\"{} {n}\"}}",
            String::from_utf8_lossy(WORDS)
        ),
    }
}

const MORNING: u64 = 1_777_104_720_000;

/// A chronicle of so many lines, encrypted as memoryd does it, written without its daemon.
fn write_chronicle(folder: &Path, lines: u64) {
    std::fs::create_dir_all(folder).unwrap();
    let day = Day::of(MORNING);
    let mut file = std::io::BufWriter::new(File::create(folder.join(file_name(day))).unwrap());
    let (keys, mut last) = (keys(folder), GENESIS);
    for n in 0..lines {
        let mut one = draft(n);
        one.parent = None;
        one.payload = keys.salted(&one.peer, one.turn_id, one.payload);
        let event = Event::seal(one, n + 1, last, MORNING);
        last = event.hash;
        let payload = keys.to_file(event.seq, &event.peer, &event.payload).unwrap();
        file.write_all(&to_line_with(&event, &payload)).unwrap();
    }
    file.flush().unwrap();
}

/// Keys as a running memoryd has them, in a folder of the benchmark.
pub fn keys(folder: &Path) -> Keys {
    Keys::open(folder, &KeyBytes::new([7; KEY_BYTES])).unwrap()
}

fn open(folder: &Path) -> Chronicle {
    Chronicle::open(folder, SessionId::new(), Box::new(SystemClock), Box::new(NoFaults), keys(folder)).unwrap()
}

/// Processor time of this process so far.
fn cpu() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or(0))
}

fn verification(table: &mut Table, folder: &Path) {
    write_chronicle(folder, LINES);
    let began = Instant::now();
    let chronicle = open(folder);
    table.row("index and tree made anew, 10⁶ lines", text(began.elapsed()), String::new(), "");
    let measured = |verify: Verify| {
        let before = cpu();
        let report = verify.run(&chronicle).unwrap();
        let spent = cpu() - before;
        assert_eq!((report.lines, report.findings_total), (LINES, 0));
        text(spent)
    };
    let lines = measured(Verify::new(&chronicle).unwrap().lines_alone());
    let indexed = measured(Verify::new(&chronicle).unwrap().without_witnesses());
    let whole = measured(Verify::new(&chronicle).unwrap());
    let beside = format!("{indexed} with the index, {whole} with index and witnesses");
    table.row("verification of 10⁶ lines: form, hashes, chain; CPU", lines, beside, "≤ 1.5 s");
    let path = folder.join(file_name(Day::of(MORNING)));
    let mut raw = Times::default();
    raw.time(|| std::fs::read(&path).unwrap().len());
    table.row("the same file read once", text(raw.median()), String::new(), "");
}

fn tail_repair(table: &mut Table, folder: &Path) {
    let mut times = Times::default();
    write_chronicle(folder, 20_000);
    drop(open(folder));
    let path = folder.join(file_name(Day::of(MORNING)));
    for _ in 0..20 {
        let torn = b"{\"seq\":20001,\"prev_hash\":\"sha256:00";
        File::options().append(true).open(&path).unwrap().write_all(torn).unwrap();
        let chronicle = times.time(|| open(folder));
        assert_eq!(chronicle.torn(), 1);
    }
    table.times("start with a torn end: quarantined, cut, ready to append", &times, String::new(), "≤ 50 ms");
}

/// Turns that are told by hand.
struct Told(Vec<Record>);

impl Turns for Told {
    fn records(&self, _close: &Event) -> metnos_memoryd::error::Result<Option<Vec<Record>>> {
        Ok(Some(self.0.clone()))
    }

    fn replay(&self, _upto: u64, _onto: &mut Mnestome) -> metnos_memoryd::error::Result<()> {
        Ok(())
    }
}

fn executor(n: u64) -> ExecutorId {
    ExecutorId { name: format!("executor_{n}"), version: "1.0.0".to_owned() }
}

/// The records of a turn in which a chain of executors fed each other.
fn chain(turn: u64, steps: &[u64]) -> Told {
    let call = |step: usize| CallId::from_bytes((u128::from(turn) << 16 | step as u128).to_be_bytes());
    let mut records = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let inputs = if at == 0 { Vec::new() } else { vec![call(at - 1)] };
        records.push(Record::Started { call: call(at), id: executor(*step), inputs });
        records.push(Record::Ended { call: call(at), outcome: Outcome::Ok, ts_ms: MORNING + turn });
    }
    Told(records)
}

fn close(seq: u64) -> Event {
    let mut one = draft(seq);
    one.kind = EventType::TurnClose;
    one.payload = "{\"end\":\"answered\",\"wish\":\"\"}".to_owned();
    Event::seal(one, seq, GENESIS, MORNING + seq)
}

fn mnestome(table: &mut Table, folder: &Path) {
    let mut mnestome = Mnestome::open(&folder.join("mnest.sqlite"), 50).unwrap();
    // A tenth of all rows lead from one hot source; the others from a thousand ordinary ones.
    let mut seq = 0;
    let per_turn = 500;
    for turn in 0..ROWS / per_turn {
        let mut records = Vec::new();
        for n in 0..per_turn {
            let row = turn * per_turn + n;
            let from = if row % 10 == 0 { 0 } else { 1 + row % 1000 };
            records.extend(chain(row, &[from, 2_000 + row]).0);
        }
        seq += 1;
        mnestome.apply([&close(seq)], &Told(records), &mut NoFaults).unwrap();
    }
    assert_eq!(mnestome.count().unwrap(), ROWS);
    let mut upserts = Times::default();
    for n in 0..TRIES as u64 {
        seq += 1;
        let told = chain(ROWS + n, &[1 + n % 1000, 2_000 + n * 331 % ROWS]);
        upserts.time(|| mnestome.apply([&close(seq)], &told, &mut NoFaults).unwrap());
    }
    table.times("mnest upsert, a transaction of its own, 10⁶ rows", &upserts, String::new(), "≤ 150 µs p50");
    for (what, from) in [("hot source, 10⁵ rows", 0), ("ordinary source", 17)] {
        let mut looks = Times::default();
        let id = executor(from);
        for _ in 0..TRIES {
            looks.time(|| assert_eq!(mnestome.neighbours(&id.name, &id.version, 10).unwrap().len(), 10));
        }
        table.times(&format!("top 10 neighbours, {what}"), &looks, String::new(), "≤ 50 µs p50, 500 µs p99");
    }
    let mut turns = Times::default();
    for n in 0..TRIES as u64 / 10 {
        seq += 1;
        let steps: Vec<u64> = (0..10).map(|step| 5_000_000 + n * 10 + step).collect();
        let told = chain(2 * ROWS + n, &steps);
        turns.time(|| mnestome.apply([&close(seq)], &told, &mut NoFaults).unwrap());
    }
    table.times("closing a turn of 10 calls", &turns, String::new(), "≤ one durable commit");
    ager(table, &mut mnestome, seq);
}

/// A pass of the ager when a use-day's worth of rows crosses.
fn ager(table: &mut Table, mnestome: &mut Mnestome, mut seq: u64) {
    let mut start = draft(0);
    start.kind = EventType::RunStarted;
    start.payload = "{}".to_owned();
    let mut longest = Duration::ZERO;
    let mut passes = Times::default();
    for day in 0..100_u64 {
        for call in 0..50_u64 {
            seq += 1;
            let event = Event::seal(start.clone(), seq, GENESIS, MORNING + day * 86_400_000 + call);
            let began = Instant::now();
            mnestome.apply([&event], &Told(Vec::new()), &mut NoFaults).unwrap();
            if call == 49 {
                passes.push(began.elapsed());
                longest = longest.max(began.elapsed());
            }
        }
    }
    let proposed = mnestome.proposals().unwrap().len();
    let beside = format!("the longest, in which all 10⁶ rows cross at once: {}; {proposed} proposals", text(longest));
    table.times("an ager pass over one use-day", &passes, beside, "≤ 250 ms");
}
