//! The page, in Debian's Chromium as people would use it: `peers/page/page.mjs` drives the browser, and each journey there is one
//! test here. Pictures of every view lie in `peers/page/pictures` of the target directory afterwards.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use metnos_tests::bins::{Build, node};
use metnos_tests::http::Web;
use metnos_tests::instance::{Instance, Plan};

fn start() -> Instance {
    start_at(0)
}

fn start_at(port: u16) -> Instance {
    let set = Plan::new().config(&format!("[http]\nlisten = \"127.0.0.1:{port}\"\n")).start();
    let _born = Web::of(&set);
    set
}

fn tools() -> PathBuf {
    let tools = Build::Shipped.folder().parent().expect("a target directory").join("peers/page");
    assert!(tools.join("node_modules").is_dir(), "{} is missing: ./metnos test installs it (npm)", tools.display());
    tools
}

/// A link that leads into the page, as the owner would get it.
fn link(set: &Instance, whose: &[&str]) -> String {
    let (code, made) = set.json(&[&["web"], whose].concat());
    assert_eq!(code, 0, "{made:#}");
    made["link"].as_str().unwrap().to_owned()
}

/// Runs a journey; what it asks for meanwhile is done by `please`.
fn journey(name: &str, links: &[String], mut please: impl FnMut(&str)) {
    let tools = tools();
    let mut child = Command::new(node())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/page/page.mjs"))
        .arg(&tools)
        .arg(tools.join("pictures"))
        .arg(name)
        .args(links)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node is installed");
    let mut answers = child.stdin.take().unwrap();
    let mut is_done = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(what) = line.strip_prefix("please ") {
            please(what);
            writeln!(answers, "done").unwrap();
        }
        is_done |= line == "done";
    }
    let status = child.wait().unwrap();
    assert!(status.success() && is_done, "the journey of {name} did not get to its end: {status}");
}

#[test]
fn owner_talks_plans_and_looks_around_on_the_page() {
    let set = start();
    journey("owner", &[link(&set, &[])], |_| {});
    set.verify();
}

#[test]
fn every_view_is_accessible_and_fits_in_both_languages_and_themes() {
    let set = start();
    journey("looks", &[link(&set, &[])], |_| {});
}

#[test]
fn childs_card_decided_in_one_window_leaves_the_owners_other_one() {
    let set = start();
    assert_eq!(set.json(&["people", "add", "Giulia", "--role", "child"]).0, 0);
    let file = set.workspace("notes/shopping.md");
    journey("cards", &[link(&set, &[]), link(&set, &["--person", "Giulia"])], |_| {
        metnos_tests::until("the file is gone", metnos_tests::http::WITHIN, || (!file.exists()).then_some(()));
    });
    set.verify();
}

#[test]
fn nothing_that_anybody_wrote_becomes_markup_on_the_page() {
    let set = start();
    std::fs::write(
        set.workspace("notes/hostile.md"),
        "<img src=x onerror=alert(6)>\u{202e}txt.exe\u{202c} <b>not bold</b>\n# A <i>heading</i>\n\
         - [one](javascript:alert(7))\n- **two** `three`\n",
    )
    .unwrap();
    journey("hostile", &[link(&set, &[])], |_| {});
}

#[test]
fn page_comes_back_with_the_door_and_opens_without_it() {
    // A door that comes back is to be found where it was.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut set = start_at(free);
    let link = link(&set, &[]);
    let set = std::cell::RefCell::new(&mut set);
    journey("again", &[link], |what| match what {
        "kill the door" => {
            let set = set.borrow();
            let old = set.pids()["gatewayd"];
            assert_eq!(set.json(&["daemon", "restart", "gatewayd"]).0, 0);
            set.wait_back("gatewayd", old);
        }
        _ => {
            set.borrow_mut().down();
        }
    });
}

#[test]
fn stranger_on_the_page_comes_in_by_a_code_that_is_good_once() {
    let set = start();
    journey("stranger", &[link(&set, &[]), link(&set, &["--as", "guest"])], |_| {});
}

#[test]
fn reminder_that_is_due_appears_on_an_open_page() {
    let set = start();
    journey("reminded", &[link(&set, &[])], |_| {});
    set.verify();
}

#[test]
fn scripts_of_the_page_hold_their_types() {
    let output = Command::new(node())
        .arg(tools().join("node_modules/typescript/bin/tsc"))
        .args(["--project", concat!(env!("CARGO_MANIFEST_DIR"), "/../web/jsconfig.json")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
