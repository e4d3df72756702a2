//! Calendars in a running set: Radicale behind TLS with the calendars of two persons, and a server that lies. Who asks sees the own
//! calendars and nobody else's; what is put there stands there, and can be taken back as long as nobody has changed it.

use std::io::Write;
use std::process::{Command, Stdio};

use metnos_tests::http::{Web, said};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::outside::Outside;
use serde_json::{Value, json};

const ANNA: &str = "anna-calendar-password";
const BRUNO: &str = "bruno-calendar-password";

fn world() -> Outside {
    Outside::start("calendar.py", &["calendar.example", "liar.example", "api.open-meteo.com"])
}

fn set_of(world: &Outside) -> Instance {
    let addresses = ["calendar", "liar"].map(|name| format!("127.0.0.1:{}", world.port(name)));
    let config = format!("{}[http]\nlisten = \"127.0.0.1:0\"\n", world.config(&addresses));
    let set = Plan::new().config(&config).start();
    set.is_grown();
    set
}

/// `account add calendar`; the exit code and what was said.
fn add(set: &Instance, port: u16, user: &str, words: &[&str], password: &str) -> (i32, String) {
    let host = if words.contains(&"--name") { "liar.example" } else { "calendar.example" };
    let mut child = set
        .command("metnosctl")
        .args(["account", "add", "calendar", "--host", host, "--port", &port.to_string(), "--user", user])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().unwrap(), text)
}

/// A day from today on in UTC, as `date` writes it.
fn day(away: i64, format: &str) -> String {
    let output =
        Command::new("date").args(["-u", "-d", &format!("{away} days"), &format!("+{format}")]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// An event of the calendar `home` of this person.
fn put(world: &mut Outside, who: &str, name: &str, lines: &str) {
    let text = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{name}\r\nDTSTAMP:20260101T000000Z\r\n{lines}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    );
    assert_eq!(world.ask(&json!({ "put": format!("/{who}/home/{name}.ics"), "text": text })), "ok");
}

#[test]
fn recurrences_and_zones_are_those_of_another_library() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/recurrence.py");
    for seed in ["1", "2"] {
        let output = Command::new("/usr/bin/python3").args(["-I", "-B", script, seed]).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}: is python3-dateutil installed?", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(told["differ"], json!([]), "{told:#}");
        assert!(told["occurrences"].as_u64() > Some(3_000) && told["times"].as_u64() > Some(1_000), "{told:#}");
        assert!(told["written"].as_u64() > Some(3_000), "{told:#}");
    }
}

#[test]
fn a_person_asks_for_the_calendar_adds_to_it_and_takes_that_back() {
    let mut world = world();
    let set = set_of(&world);
    let heard = |words: &str| {
        let output = set.ctl(&["ask", words]);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let none = heard("what is on my calendar?");
    assert!(none.contains("No calendar account is connected yet") && none.contains("account add calendar"), "{none}");
    let port = world.port("calendar");
    let (code, wrong) = add(&set, port, "anna", &[], "not-the-password");
    assert!(code == 1 && wrong.contains("does not accept the user name anna"), "{code} {wrong}");
    let (code, right) = add(&set, port, "anna", &[], ANNA);
    assert!(code == 0 && right.contains("is changed: anna at calendar.example"), "{code} {right}");
    assert_eq!(set.json(&["account", "test", "calendar"]).1["result"]["total"], 0);
    let (tomorrow, week_ago) = (day(1, "%Y%m%d"), day(-6, "%Y%m%d"));
    // One that began a week ago and comes again each week, one of a whole day.
    let weekly = format!(
        "DTSTART:{week_ago}T150000Z\r\nDTEND:{week_ago}T160000Z\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:Swimming\\, Luca\r\nLOCATION:Pool"
    );
    put(&mut world, "anna", "swim", &weekly);
    put(&mut world, "anna", "trip", &format!("DTSTART;VALUE=DATE:{tomorrow}\r\nSUMMARY:Gita della scuola"));
    let (en, it) = (day(1, "%-d"), day(1, "%-d"));
    for (words, wanted) in [
        (
            "what is on my calendar tomorrow",
            &["15:00 to 16:00: Swimming, Luca, Pool", "Gita della scuola (all day)", en.as_str()][..],
        ),
        (
            "che appuntamenti ho domani",
            &["dalle 15:00 alle 16:00: Swimming, Luca, Pool", "Gita della scuola (tutto il giorno)", it.as_str()],
        ),
        ("am I free tomorrow", &["That time is taken:", "Swimming, Luca"]),
        ("am I free tomorrow at 10", &["You are free then, but the whole day has Gita della scuola."]),
        ("sono libero domani alle 15", &["A quell\u{2019}ora c\u{2019}\u{e8} gi\u{e0} qualcosa:"]),
        ("when am I free tomorrow", &["You are free:", "08:00 to 15:00", "16:00 to 20:00"]),
        ("find swimming in my calendar", &["Swimming, Luca"]),
    ] {
        let told = set.ask(words);
        for part in wanted {
            assert!(told.contains(part), "{words}: {told}");
        }
    }
    // One question for all that is planned: the calendar, and the reminders of that time.
    for (words, none) in [
        ("what do I have tomorrow", "There are no reminders for then."),
        ("cosa ho domani", "Promemoria non ce ne sono."),
    ] {
        let told = set.ask(words);
        assert!(told.contains("Swimming, Luca") && told.contains(none), "{words}: {told}");
    }
    assert!(set.ask("remind me tomorrow at 8 to call the plumber").contains("8:00"));
    let told = set.ask("what do I have tomorrow");
    let (event, reminder) = (told.find("Swimming, Luca"), told.find("call the plumber"));
    assert!(event.is_some() && event < reminder && told.contains("And these reminders:"), "{told}");
    let told = set.ask("what reminders do I have tomorrow");
    assert!(told.contains("call the plumber") && !told.contains("Swimming"), "{told}");
    let all = |world: &mut Outside| world.ask(&json!({ "all": "anna" })).to_string();
    let told = set.ask("put the dentist on the calendar tomorrow at 15:30");
    assert!(told.contains("15:30 to 16:30") && told.contains("there is also Swimming, Luca"), "{told}");
    assert!(all(&mut world).contains("SUMMARY:dentist"), "{}", all(&mut world));
    let told = set.ask("undo");
    assert!(told.contains("The event is off the calendar again."), "{told}");
    assert!(!all(&mut world).contains("dentist") && all(&mut world).contains("Swimming"), "{}", all(&mut world));
    for (words, wanted) in [
        ("put the dentist on the calendar tomorrow from 9 to 11:30", "09:00 to 11:30"),
        ("fissa una riunione domani alle 10 per 2 ore", "dalle 10:00 alle 12:00"),
    ] {
        let told = set.ask(words);
        assert!(told.contains(wanted), "{words}: {told}");
        assert!(!set.ask("undo").is_empty());
    }
    // What somebody has changed since is left as it is.
    let told = set.ask("metti la cena con Luca in calendario domani alle 20");
    assert!(told.contains("cena con Luca \u{e8} sul calendario"), "{told}");
    let stands = world.ask(&json!({ "all": "anna" }))[0].as_str().unwrap().to_owned();
    let event = stands
        .split("BEGIN:VEVENT")
        .find(|part| part.contains("cena con Luca"))
        .unwrap()
        .replace("cena con Luca", "cena con Luca e Bea");
    let uid = event.lines().find_map(|line| line.strip_prefix("UID:")).unwrap().trim().to_owned();
    let body = event.split("END:VEVENT").next().unwrap();
    let text =
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT{body}END:VEVENT\r\nEND:VCALENDAR\r\n");
    assert_eq!(world.ask(&json!({ "put": format!("/anna/home/{uid}.ics"), "text": text })), "ok");
    let told = heard("annulla");
    assert!(told.contains("rimasto com") && all(&mut world).contains("cena con Luca e Bea"), "{told}");
    // What nobody has said is not put there by a planner that has read a mail: the event's name is the person's own words.
    let everywhere = format!("{}{:?}", set.logs(), set.chronicle());
    assert!(!everywhere.contains(ANNA) && !everywhere.contains("not-the-password"), "a password was told");
    set.verify();
}

/// All that stands in Anna's calendars, each event as the sorted lines that a change can touch.
fn standing(world: &mut Outside) -> Vec<Vec<String>> {
    let all = world.ask(&json!({ "all": "anna" }));
    let told = |line: &&str| {
        [
            "SUMMARY",
            "DTSTART",
            "DTEND",
            "DURATION",
            "STATUS",
            "LOCATION",
            "DESCRIPTION",
            "TRIGGER",
            "X-",
            "RRULE",
            "EXDATE",
        ]
        .iter()
        .any(|name| line.starts_with(name))
    };
    let mut events: Vec<Vec<String>> = all
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|text| text.as_str().unwrap().split("BEGIN:VEVENT").skip(1).map(str::to_owned).collect::<Vec<_>>())
        .map(|event| {
            let mut lines: Vec<String> = event.lines().filter(told).map(|line| line.trim().to_owned()).collect();
            lines.sort();
            lines
        })
        .collect();
    events.sort();
    events
}

#[test]
fn an_event_is_cancelled_and_moved_by_its_name_and_put_back_as_it_was() {
    let mut world = world();
    let mut set = set_of(&world);
    let heard = |set: &Instance, words: &str| {
        let output = set.ctl(&["ask", words]);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let port = world.port("calendar");
    assert_eq!(add(&set, port, "anna", &[], ANNA).0, 0);
    let (soon, later, far) = (day(1, "%Y%m%d"), day(3, "%Y%m%d"), day(5, "%Y-%m-%d"));
    let alarm =
        "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:x\r\nTRIGGER:-PT15M\r\nDURATION:PT1M\r\nREPEAT:1\r\nEND:VALARM";
    let dentist = format!(
        "DTSTART:{soon}T150000Z\r\nDURATION:PT45M\r\nSUMMARY:Dentist\\, Luca\r\nDESCRIPTION:bring the card\r\nSTATUS:CONFIRMED\r\n{alarm}"
    );
    put(&mut world, "anna", "dentist", &dentist);
    put(&mut world, "anna", "trip", &format!("DTSTART;VALUE=DATE:{later}\r\nSUMMARY:School trip"));
    put(&mut world, "anna", "one", &format!("DTSTART:{soon}T090000Z\r\nDURATION:PT1H\r\nSUMMARY:Meeting with Bea"));
    put(&mut world, "anna", "two", &format!("DTSTART:{later}T090000Z\r\nDURATION:PT1H\r\nSUMMARY:Meeting with Bea"));
    put(
        &mut world,
        "anna",
        "swim",
        &format!("DTSTART:{soon}T170000Z\r\nDURATION:PT1H\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:Swimming lesson"),
    );
    put(
        &mut world,
        "anna",
        "lunch",
        &format!(
            "DTSTART:{soon}T120000Z\r\nDURATION:PT1H\r\nSUMMARY:Lunch with Ada\r\nORGANIZER:mailto:anna@example.org\r\nATTENDEE:mailto:ada@example.org"
        ),
    );
    let before = standing(&mut world);
    // What cannot be done is said, and nothing has changed.
    for (words, wanted) in [
        ("cancel the meeting with Bea", "There are several events like that"),
        ("cancella la riunione con Bea", "Ci sono pi\u{f9} eventi"),
        ("move the lesson with Swimming to tomorrow at 13", "That event comes again and again"),
        ("move lunch with Ada to tomorrow at 13", "Other people are invited"),
        ("cancel the concert", "I found no such event"),
    ] {
        let told = heard(&set, words);
        assert!(told.contains(wanted), "{words}: {told}");
    }
    assert_eq!(standing(&mut world), before);
    let told = set.ask("cancel the dentist");
    assert!(told.contains("Dentist, Luca on ") && told.contains("at 15:00 is cancelled."), "{told}");
    let all = world.ask(&json!({ "all": "anna" })).to_string();
    assert!(
        all.contains("STATUS:CANCELLED") && all.contains("TRIGGER:-PT15M") && all.contains("bring the card"),
        "{all}"
    );
    assert!(!set.ask("what is on my calendar tomorrow").contains("Dentist"));
    assert!(heard(&set, "cancel the dentist").contains("I found no such event"), "it is cancelled already");
    assert!(set.ask("undo").contains("The event is on the calendar as it was before."));
    assert_eq!(standing(&mut world), before);
    // To another day it goes with its time; and back again after a restart.
    let told = set.ask(&format!("move the dentist to {far}"));
    assert!(told.contains("Dentist, Luca is on ") && told.contains("15:00 to 15:45"), "{told}");
    let told = set.ask("move the dentist to tomorrow at 9:30");
    assert!(told.contains("09:30 to 10:15") && told.contains("At that time there is also Meeting with Bea"), "{told}");
    assert!(set.ctl(&["down"]).status.success());
    set.up();
    set.is_grown();
    let told = set.ask("annulla");
    assert!(told.contains("di nuovo sul calendario"), "{told}");
    assert!(set.ask("what is on my calendar").contains("15:00 to 15:45: Dentist, Luca"));
    assert!(set.ask("undo").contains("as it was before"));
    assert_eq!(standing(&mut world), before);
    // A whole day stays one, and one of two is named by its day.
    let told = set.ask(&format!("move the school trip on my calendar to {far}"));
    assert!(told.contains("School trip is on "), "{told}");
    assert!(set.ask("undo").contains("as it was before"));
    let told = set.ask("cancel the meeting with Bea tomorrow");
    assert!(told.contains("Meeting with Bea on "), "{told}");
    // What somebody has changed since is left as it is.
    let changed = world.ask(&json!({ "all": "anna" }));
    let text =
        changed.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).find(|text| text.contains("CANCELLED"));
    let event = text.unwrap().split("BEGIN:VEVENT").find(|part| part.contains("CANCELLED")).unwrap();
    let body = event.split("END:VEVENT").next().unwrap().replace("Meeting with Bea", "Tea with Bea");
    let text =
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT{body}END:VEVENT\r\nEND:VCALENDAR\r\n");
    assert_eq!(world.ask(&json!({ "put": "/anna/home/one.ics", "text": text })), "ok");
    let told = heard(&set, "undo");
    assert!(told.contains("It was changed since, so it could not be taken back"), "{told}");
    assert!(world.ask(&json!({ "all": "anna" })).to_string().contains("Tea with Bea"));
    set.verify();
}

#[test]
fn series_is_added_one_time_of_it_cancelled_and_both_are_taken_back() {
    let mut world = world();
    let set = set_of(&world);
    let port = world.port("calendar");
    assert_eq!(add(&set, port, "anna", &[], ANNA).0, 0);
    let all = |world: &mut Outside| world.ask(&json!({ "all": "anna" })).to_string();
    let empty = standing(&mut world);
    for (words, wanted, rule) in [
        ("put yoga on the calendar every Tuesday at 18", "18:00 to 19:00, then Tuesday", "RRULE:FREQ=WEEKLY;BYDAY=TU"),
        (
            "add choir to my calendar every other Monday from 20 to 22",
            "20:00 to 22:00, then Monday",
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
        ),
        (
            "metti in calendario pianoforte ogni mercoledì e venerdì alle 16:30 per 2 ore",
            "dalle 16:30 alle 18:30, poi",
            "RRULE:FREQ=WEEKLY;BYDAY=WE,FR",
        ),
        (
            "metti il compleanno di Anna sul calendario ogni anno il 3 maggio",
            "3 maggio",
            "RRULE:FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=3",
        ),
    ] {
        let told = set.ask(words);
        let stands = all(&mut world);
        assert!(told.contains(wanted) && stands.contains(rule), "{words}: {told} {stands}");
        let told = set.ask("undo");
        assert!(told.contains("is off the calendar again"), "{words}: {told}");
        assert_eq!(standing(&mut world), empty, "{words}");
    }
    // One time of a series: the next one, or that of the day which is named; the others stay.
    let _ = set.ask("put yoga on the calendar every day at 18");
    let whole = standing(&mut world);
    let times = |set: &Instance| set.ask("what is on my calendar in the next 5 days").matches("yoga").count();
    let before = times(&set);
    assert!(before >= 4, "{before}");
    for words in ["take yoga off my calendar tomorrow", "togli yoga dal calendario di dopodomani"] {
        let told = set.ask(words);
        assert!(told.contains("The other times stay") || told.contains("Le altre volte restano"), "{words}: {told}");
    }
    assert_eq!(times(&set), before - 2);
    for left in [before - 1, before] {
        let told = set.ask("undo");
        assert!(told.contains("is on the calendar as it was before"), "{told}");
        assert_eq!(times(&set), left);
    }
    assert_eq!(standing(&mut world), whole);
    // The whole series.
    for words in ["take yoga off my calendar for good", "cancella tutte le lezioni di yoga"] {
        // A card first: it is more than one event.
        let asked = set.ctl(&["ask", words]);
        assert_eq!((asked.status.code(), times(&set)), (Some(4), before), "{words}: {asked:?}");
        let (_, cards) = set.json(&["approval", "list"]);
        let card = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting").unwrap();
        let (code, done) = set.json(&["approval", "approve", card["id"].as_str().unwrap()]);
        assert_eq!((code, done["result"]["title"].as_str(), times(&set)), (0, Some("yoga"), 0), "{words}: {done:#}");
        let told = set.ask("undo");
        assert!(told.contains("is on the calendar as it was before"), "{told}");
        assert_eq!((times(&set), standing(&mut world)), (before, whole.clone()), "{words}");
    }
    set.verify();
}

#[test]
fn invitations_are_told_and_what_was_declined_takes_no_time() {
    let mut world = world();
    let set = set_of(&world);
    let port = world.port("calendar");
    assert_eq!(add(&set, port, "anna", &[], ANNA).0, 0);
    for words in ["do I have any invitations?", "ho inviti a cui rispondere?"] {
        let none = set.ask(words);
        assert!(none.contains("There are no invitations") || none.contains("Non ci sono inviti"), "{none}");
    }
    let tomorrow = day(1, "%Y%m%d");
    let mut invite = |name: &str, hour: &str, guests: &str| {
        let text = format!(
            "DTSTART:{tomorrow}T{hour}0000Z\r\nDURATION:PT1H\r\nSUMMARY:{name}\r\nORGANIZER;CN=\"Carla Neri\":mailto:carla@example.org\r\n{guests}"
        );
        put(&mut world, "anna", name, &text);
    };
    invite("gathering", "10", "ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:MAILTO:Anna@example.org");
    invite("lecture", "12", "ATTENDEE;PARTSTAT=DECLINED:mailto:anna@example.org");
    invite("concert", "14", "ATTENDEE;PARTSTAT=ACCEPTED:mailto:anna@example.org");
    invite("others", "16", "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:anna.neri@example.org");
    for (words, wanted) in [
        ("do I have any invitations?", "gathering (Carla Neri invites you, not answered)"),
        ("a quali inviti devo rispondere?", "gathering (ti invita Carla Neri, non hai risposto)"),
    ] {
        let told = set.ask(words);
        assert!(told.contains(wanted), "{words}: {told}");
        assert!(!["lecture", "concert", "others"].iter().any(|other| told.contains(other)), "{words}: {told}");
    }
    let told = set.ask("what is on my calendar tomorrow");
    assert!(told.contains("lecture (declined)") && told.contains("concert") && told.contains("others"), "{told}");
    for (words, free) in [("am I free tomorrow at 12", true), ("am I free tomorrow at 10", false)] {
        assert_eq!(set.ask(words).contains("You are free"), free, "{words}");
    }
    set.verify();
}

#[test]
fn each_person_sees_the_own_calendar_and_nobody_elses() {
    let mut world = world();
    let set = set_of(&world);
    let port = world.port("calendar");
    assert_eq!(set.json(&["people", "add", "Anna", "--role", "owner"]).0, 0);
    assert_eq!(add(&set, port, "anna", &[], ANNA).0, 0);
    let web = Web::of(&set);
    let before = set.json(&["pairing", "list"]).1.to_string();
    let page = web.paired(&set, "guest");
    let (_, pairings) = set.json(&["pairing", "list"]);
    let new = |one: &&str| one.starts_with("http:") && !before.contains(*one);
    let known = pairings["known"].as_array().unwrap();
    let bruno = known.iter().filter_map(|one| one["principal"].as_str()).find(new).unwrap();
    assert_eq!(set.json(&["people", "add", "Bruno", "--role", "adult"]).0, 0);
    assert_eq!(set.json(&["people", "join", "Bruno", bruno]).0, 0);
    let (code, told) = add(&set, port, "bruno", &["--person", "Bruno"], BRUNO);
    assert!(code == 0 && told.contains("what is on my calendar?"), "{told}");
    let tomorrow = day(1, "%Y%m%d");
    put(&mut world, "anna", "a", &format!("DTSTART:{tomorrow}T100000Z\r\nDURATION:PT1H\r\nSUMMARY:canary of Anna"));
    put(&mut world, "bruno", "b", &format!("DTSTART:{tomorrow}T100000Z\r\nDURATION:PT1H\r\nSUMMARY:canary of Bruno"));
    let annas = set.ask("what is on my calendar");
    let brunos = said(&page.say("che appuntamenti ho").until("done"));
    assert!(annas.contains("canary of Anna") && !annas.contains("canary of Bruno"), "{annas}");
    assert!(brunos.contains("canary of Bruno") && !brunos.contains("canary of Anna"), "{brunos}");
    let told = said(&page.say("put the dentist on the calendar tomorrow at 9").until("done"));
    assert!(told.contains("dentist is on the calendar"), "{told}");
    assert!(world.ask(&json!({ "all": "bruno" })).to_string().contains("dentist"));
    assert!(!world.ask(&json!({ "all": "anna" })).to_string().contains("dentist"));
    // The owner's "undo" is about the owner's own acts.
    let _nothing = set.ask("undo");
    assert!(world.ask(&json!({ "all": "bruno" })).to_string().contains("dentist"));
    set.verify();
}

#[test]
fn a_calendar_server_that_lies_is_told_as_one_and_costs_no_strike() {
    let world = world();
    let set = set_of(&world);
    let port = world.port("liar");
    for (user, classes) in [
        ("parrot", &["LoginFailed"][..]),
        ("laughs", &["ServerError"]),
        ("huge", &["ServerError"]),
        ("garbage", &["ServerError"]),
        ("away", &["Elsewhere"]),
        ("round", &["ServerError"]),
        ("lost", &["ServerError"]),
        ("letters", &["ServerError"]),
        ("drip", &["Timeout", "Unreachable"]),
        ("endless", &[""]),
        ("finer", &[""]),
        ("first", &[""]),
        ("nothing", &[""]),
    ] {
        let (code, told) = add(&set, port, user, &["--name", user, "--json"], "a-parrot-repeats-it");
        assert_eq!(code, 0, "{user}: {told}");
        let (_, answer) = set.run("calendar_events", &[&format!("account={user}")]);
        assert!(!answer.to_string().contains("a-parrot-repeats-it"), "{answer:#}");
        let class = answer["result"]["error"]["class"].as_str().unwrap_or_default();
        assert!(answer["result"].is_object() && classes.contains(&class), "{user}: {answer:#}");
        if user == "endless" || user == "finer" {
            assert_eq!(answer["result"]["complete"], false, "{user}: {answer:#}");
        }
    }
    // What changes a calendar hears the same from it, and claims nothing.
    for (user, class) in
        [("garbage", "ServerError"), ("away", "Elsewhere"), ("nothing", "NotFound"), ("endless", "NotFound")]
    {
        let (_, answer) = set.run("calendar_cancel", &["title=x", &format!("account={user}")]);
        assert_eq!(answer["result"]["error"]["class"], class, "{user}: {answer:#}");
    }
    let (_, list) = set.json(&["executor", "list"]);
    let row = list.as_array().unwrap().iter().find(|row| row["name"] == "calendar_events").unwrap();
    assert_eq!(row["state"], "active", "{row:#}");
    set.verify();
}
