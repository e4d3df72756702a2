//! The door under load: a thousand pages that listen and do nothing, and beside them turns of the reflex over HTTP at a steady
//! rate, each timed from the moment at which it was due, so that a pause of the door counts for every turn behind it. Words
//! and answers are durable on the disk of this machine, as always.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metnos_tests::http::{Listening, Web, said};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, STREAM, plain, say};
use metnos_tests::procfs::{self, Status};
use serde_json::json;

use crate::stats::{Table, Times};

/// Pages that listen.
const PAGES: usize = 1_000;
/// Clients: as many as may become known in a minute.
const CLIENTS: usize = 4;
/// Turns of one client at once, beside the one that its pages listen to: the door takes four.
const AT_ONCE: usize = 3;
/// Turns a second.
const RATE: u64 = 200;
/// How long, each time.
const FOR: Duration = Duration::from_secs(30);
/// How long without a pause.
const FLAT_OUT: Duration = Duration::from_secs(10);
/// How often the model shows that it is there.
const BREATH: Duration = Duration::from_secs(5);
/// What the reflex answers without a call.
const WORDS: &str = "what can you do?";
/// What only a model would understand: it never answers, and the pages wait for it.
const WAITS: &str = "compose a sonnet about the sea and the moon";

/// Measures, and ends this program with the reason when a turn goes wrong.
pub fn measure(table: &mut Table) {
    let (set, web) = start();
    let clients: Vec<Web> = (0..CLIENTS).map(|_| web.paired(&set, "owner")).collect();
    let turns: Vec<String> = clients.iter().map(|client| client.say(WAITS).turn()).collect();
    // What is made once is there before anything is counted; and the copies of the programs are on the disk, which would
    // otherwise write them while everybody waits for it.
    let _ = std::process::Command::new("sync").status();
    load(&clients, Duration::from_secs(2), None);
    let alone = memory(&set);
    let pages: Vec<Listening> = (0..PAGES).map(|n| listen(&clients[n % CLIENTS], &turns[n % CLIENTS])).collect();
    all_listen(&web);
    let listened = memory(&set);
    let beside = format!("{} before: {:.1} KiB a page", alone.text(), listened.more_than(&alone) / PAGES as f64);
    table.row(&format!("the door with {PAGES} pages that listen"), listened.text(), beside, "no error");

    let (times, _) = load(&clients, FOR, Some(RATE));
    let what = format!("{RATE} turns a second beside them, for {} s", FOR.as_secs());
    table.times(&what, &times, counted(&times), "p99 ≤ 50 ms");
    let after = memory(&set);
    let (again, _) = load(&clients, FOR, Some(RATE));
    table.times("the same again", &again, counted(&again), "p99 ≤ 50 ms");
    let later = memory(&set);
    table.row(
        &format!("the door after {} turns more", again.count()),
        later.text(),
        format!("{} after the first {}", after.text(), times.count()),
        "flat",
    );
    let (most, took) = load(&clients, FLAT_OUT, None);
    #[allow(clippy::cast_precision_loss)]
    let per_second = most.count() as f64 / took.as_secs_f64();
    let beside = format!("{} at once, p99 {}", CLIENTS * AT_ONCE, crate::stats::text(most.quantile(0.99)));
    table.row("turns a second without a pause", format!("{per_second:.0}"), beside, &format!("≥ {RATE}"));
    all_listen(&web);
    drop(pages);
    set.verify();
}

/// Ends this program when the door has let a page go.
fn all_listen(web: &Web) {
    let metrics = web.get("/metrics").body;
    let streams = metrics.lines().find(|line| line.starts_with("metnos_http_streams"));
    assert_eq!(streams, Some(format!("metnos_http_streams {PAGES}").as_str()), "a page was let go");
}

fn counted(times: &Times) -> String {
    format!("{} turns of {}, no error", times.count(), RATE * FOR.as_secs())
}

/// A set that receives its clients as often as they ask, and whose model never answers.
fn start() -> (Instance, Web) {
    let server = Liar::start(|_, request, stream| {
        use std::io::{ErrorKind, Read, Write};
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let _ = stream.write_all(STREAM.as_bytes());
        // A comment now and then: a server that says nothing at all is given up.
        let _ = stream.set_read_timeout(Some(BREATH));
        while stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
            && stream.write_all(b": still thinking\n\n").is_ok()
        {}
    });
    let port = server.port;
    let set = Plan::new()
        .config(&format!(
            "[http]\nlisten = \"127.0.0.1:0\"\nper_minute = 100000\n[models]\n\
             substrates = [\"there openai http://127.0.0.1:{port}/v1\"]\ninterface = [\"there/m\"]\n"
        ))
        .start();
    // It is there for as long as this program runs.
    std::mem::forget(server);
    let web = Web::of(&set);
    (set, web)
}

fn listen(client: &Web, turn: &str) -> Listening {
    let page = client.listen(turn, None);
    assert_eq!(page.status(), 200, "{}", page.head);
    page
}

/// Turns of all clients for so long, so many a second or without a pause; the time of each, and how long it took.
fn load(clients: &[Web], within: Duration, rate: Option<u64>) -> (Times, Duration) {
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    let due = |n: usize| {
        rate.map_or_else(Instant::now, |rate| began + Duration::from_secs(n as u64) / u32::try_from(rate).unwrap())
    };
    let times = std::thread::scope(|scope| {
        let asker = |client: &Web| {
            let mut times = Times::default();
            loop {
                let due = due(next.fetch_add(1, Ordering::Relaxed));
                // A machine that cannot keep up is told by how many there were, and does not run for ever.
                if due.duration_since(began) >= within || began.elapsed() >= 2 * within {
                    return times;
                }
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                turn(client);
                times.push(due.elapsed());
            }
        };
        let askers: Vec<_> = (0..clients.len() * AT_ONCE)
            .map(|n| {
                let client = &clients[n % clients.len()];
                scope.spawn(move || asker(client))
            })
            .collect();
        askers.into_iter().map(|asker| asker.join().expect("a turn went wrong")).fold(
            Times::default(),
            |mut all, one| {
                all.extend(one);
                all
            },
        )
    });
    (times, began.elapsed())
}

fn turn(client: &Web) {
    let mut listening = client.say(WORDS);
    assert_eq!(listening.status(), 200, "{}", listening.head);
    let events = listening.until("done");
    assert!(
        said(&events).contains("notes") && events.last().is_some_and(|done| done.data["end"] == "answered"),
        "{events:?}"
    );
}

/// What the door holds.
struct Held {
    rss_kib: u64,
    pss_kib: u64,
}

impl Held {
    #[allow(clippy::cast_precision_loss)]
    fn text(&self) -> String {
        let mib = |kib: u64| kib as f64 / 1024.0;
        format!("{:.1} MiB PSS, {:.1} MiB RSS", mib(self.pss_kib), mib(self.rss_kib))
    }

    #[allow(clippy::cast_precision_loss)]
    fn more_than(&self, before: &Self) -> f64 {
        self.pss_kib.saturating_sub(before.pss_kib) as f64
    }
}

fn memory(set: &Instance) -> Held {
    let pid = set.pids()["gatewayd"];
    let rss = Status::of(pid).map_or_else(String::new, |status| status.get("VmRSS").to_owned());
    let rss_kib = rss.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
    Held { rss_kib, pss_kib: procfs::pss_kib(pid).unwrap_or(0) }
}
