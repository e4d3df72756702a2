//! Files over Telegram, of every size that a bot may fetch and above: whole or not at all, bounded for each person, and nobody
//! waits for the file of another.

use metnos_tests::chronicle::count;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::{Emulator, Fault};

const OWNER: i64 = 5_001;
const GUEST: i64 = 5_002;
const MIB: usize = 1 << 20;

fn with_people() -> (Instance, Emulator) {
    let server = Emulator::start();
    let set = Plan::new().config(&server.config()).start();
    set.is_grown();
    server.serves(&set);
    server.settled();
    for (who, standing) in [(OWNER, "owner"), (GUEST, "guest")] {
        server.knows(&set, who, standing);
        server.told(who, "you are known here");
    }
    (set, server)
}

/// Bytes without a period that a piece could have.
fn noise(bytes: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()
    };
    let mut all = Vec::with_capacity(bytes + 4);
    while all.len() < bytes {
        all.extend_from_slice(&next());
    }
    all.truncate(bytes);
    all
}

fn give(set: &Instance, path: &str, bytes: &[u8]) {
    let file = set.workspace(path);
    std::fs::write(&file, bytes).unwrap();
    std::os::unix::fs::chown(&file, Some(set.owner()), Some(set.owner())).unwrap();
}

/// What is in the inbox, drafts and all.
fn inbox(set: &Instance) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(set.workspace("inbox")) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn kill(set: &Instance, name: &str) -> u32 {
    let old = set.pids()[name];
    let pid = rustix::process::Pid::from_raw(i32::try_from(old).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    old
}

#[test]
fn a_file_of_19_mib_goes_in_and_out_byte_for_byte() {
    let (set, server) = with_people();
    let bytes = noise(19 * MIB, 1);
    server.send_file(OWNER, "film.mp4", &bytes, "", Some(bytes.len()));
    server.told(OWNER, "Kept as inbox/film.mp4 (19922944 bytes)");
    assert!(std::fs::read(set.workspace("inbox/film.mp4")).unwrap() == bytes);
    assert_eq!(inbox(&set), ["film.mp4"], "no draft is left");
    // The same once more is there once.
    server.send_file(OWNER, "film.mp4", &bytes, "", None);
    server.told(OWNER, "The very same file");
    server.say(OWNER, "/file inbox/film.mp4");
    let sent = server.until("the file", |state| {
        state.messages.iter().find(|one| one.chat == OWNER && one.file.is_some()).and_then(|one| one.file.clone())
    });
    assert!(sent.0 == "film.mp4" && sent.1 == bytes);
    set.verify();
}

#[test]
fn the_largest_file_goes_both_ways_and_one_byte_more_neither() {
    let (set, server) = with_people();
    let largest = noise(20 * MIB, 2);
    server.send_file(OWNER, "largest.bin", &largest, "", Some(largest.len()));
    server.told(OWNER, "Kept as inbox/largest.bin (20971520 bytes)");
    server.say(OWNER, "/file inbox/largest.bin");
    let sent = server.until("the file", |state| {
        state.messages.iter().find(|one| one.chat == OWNER && one.file.is_some()).and_then(|one| one.file.clone())
    });
    assert!(sent.0 == "largest.bin" && sent.1 == largest);
    // One more byte, by what is said of it and by what the servers say.
    let over = vec![7; 20 * MIB + 1];
    server.send_file(OWNER, "over.bin", &over, "", Some(over.len()));
    server.told(OWNER, "This file has 20.1 MiB, and a bot can fetch at most 20 MiB");
    server.send_file(OWNER, "over.bin", &over, "", None);
    server.told(OWNER, "This file has more than 20 MiB");
    give(&set, "over.bin", &over);
    server.say(OWNER, "/file over.bin");
    server.told(OWNER, "over.bin has 20.1 MiB, and at most 20 MiB are sent here");
    assert_eq!(inbox(&set), ["largest.bin"]);
    // The chronicle has the digest of a file and nothing of its content.
    let longest = set.chronicle().iter().map(|line| line.to_text().len()).max().unwrap();
    assert!(longest < 64 << 10, "{longest}");
    set.verify();
}

#[test]
fn a_download_that_breaks_in_the_middle_begins_anew() {
    let (set, server) = with_people();
    let bytes = noise(3 * MIB, 3);
    server.fail("file", Fault::Half);
    server.fail("file", Fault::Half);
    server.send_file(OWNER, "a.bin", &bytes, "", None);
    server.told(OWNER, "Kept as inbox/a.bin (3145728 bytes)");
    assert!(std::fs::read(set.workspace("inbox/a.bin")).unwrap() == bytes);
    assert_eq!(inbox(&set), ["a.bin"]);
    assert_eq!(count(&set.chronicle(), "run_started"), 1, "what broke off was not handed on");
    set.verify();
}

#[test]
fn slow_download_delays_no_other_sender() {
    let (set, server) = with_people();
    let slow = noise(2 * MIB, 4);
    server.fail("file", Fault::HalfThenRest);
    server.send_file(GUEST, "slow.bin", &slow, "", None);
    server.until("a file that hangs", |state| (state.hanging > 0).then_some(()));
    let quick = noise(MIB, 5);
    server.send_file(OWNER, "quick.bin", &quick, "", None);
    server.told(OWNER, "Kept as inbox/quick.bin");
    server.say(OWNER, "/status");
    server.say(OWNER, "read notes/shopping.md");
    server.told(OWNER, "latte");
    server.release();
    server.told(GUEST, "waits for a yes");
    assert_eq!(inbox(&set), ["quick.bin"]);
    assert!(std::fs::read(set.workspace("inbox/quick.bin")).unwrap() == quick);
    set.verify();
}

#[test]
fn a_door_that_is_killed_in_a_download_leaves_nothing_half_done() {
    let (set, server) = with_people();
    let bytes = noise(5 * MIB, 6);
    server.fail("file", Fault::HalfThenRest);
    server.send_file(OWNER, "a.bin", &bytes, "", None);
    server.until("a file that hangs", |state| (state.hanging > 0).then_some(()));
    let old = kill(&set, "gatewayd");
    server.release();
    assert_eq!(inbox(&set), Vec::<String>::new());
    set.wait_back("gatewayd", old);
    server.told(OWNER, "Kept as inbox/a.bin");
    server.settled();
    assert_eq!(inbox(&set), ["a.bin"]);
    assert!(std::fs::read(set.workspace("inbox/a.bin")).unwrap() == bytes);
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("inbox/a")).count(), 1);
    set.verify();
}

#[test]
fn a_guest_has_a_bound_on_what_waits_for_the_owner() {
    let (set, server) = with_people();
    let (first, second) = (noise(12 * MIB, 7), noise(12 * MIB, 8));
    server.send_file(GUEST, "first.bin", &first, "", None);
    server.told(GUEST, "waits for a yes");
    server.send_file(GUEST, "second.bin", &second, "", None);
    server.told(GUEST, "bytes of files wait");
    assert!(inbox(&set).is_empty());
    let approve = || {
        let (_, cards) = set.json(&["approval", "list"]);
        set.json(&["approval", "approve", cards[0]["id"].as_str().unwrap()]).0
    };
    assert_eq!(approve(), 0);
    assert!(std::fs::read(set.workspace("inbox/first.bin")).unwrap() == first);
    // Now there is room again; but what waits is gone with the process that it waits in.
    let before = server.chat(GUEST).len();
    server.send_file(GUEST, "second.bin", &second, "", None);
    server.until("a second card", |state| {
        let told = state.messages.iter().filter(|one| one.chat == GUEST).skip(before);
        told.filter(|one| one.text.contains("waits for a yes")).count().checked_sub(1)
    });
    let old = kill(&set, "policyd");
    set.wait_back("policyd", old);
    assert_ne!(approve(), 0);
    assert_eq!(inbox(&set), ["first.bin"], "nothing is kept that nobody has");
    set.verify();
}

#[test]
fn a_flood_of_files_is_refused_at_its_bound_and_the_owner_is_heard() {
    let (set, server) = with_people();
    server.fail("file", Fault::HalfThenRest);
    for number in 0..30 {
        server.send_file(GUEST, &format!("{number}.bin"), &noise(MIB, number), "", None);
    }
    server.until("a file that hangs", |state| (state.hanging > 0).then_some(()));
    let refused = |state: &metnos_tests::telegram::State| {
        let of_guest = state.messages.iter().filter(|one| one.chat == GUEST);
        of_guest.filter(|one| one.text.contains("Too many files at once")).count()
    };
    server.until("eighteen that are refused", |state| (refused(state) == 18).then_some(()));
    server.say(OWNER, "read notes/shopping.md");
    server.told(OWNER, "latte");
    server.release();
    server.settled();
    // The others were fetched one after the other; each is a question for the owner, as far as there is room.
    assert_eq!(server.with(|state| refused(state)), 18);
    assert!(inbox(&set).is_empty());
    set.verify();
}

#[test]
fn a_name_of_a_secret_or_a_path_neither_hides_a_file_nor_brings_it_out() {
    let (set, server) = with_people();
    let key = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n";
    for (sent, kept) in [("../../.env", "env"), ("..\\x\\.hidden", "hidden"), ("...", "document-")] {
        server.send_file(OWNER, sent, key, "", None);
        server.told(OWNER, &format!("inbox/{kept}"));
    }
    assert!(inbox(&set).iter().all(|name| !name.starts_with('.')), "{:?}", inbox(&set));
    // What is named like a secret is the owner's alone, and nothing leads out of the workspace.
    give(&set, "shared/id_rsa", key);
    for (who, path) in [(GUEST, "shared/id_rsa"), (OWNER, "../.env"), (OWNER, "inbox/../../metnos.toml")] {
        let before = server.chat(who).len();
        server.say(who, &format!("/file {path}"));
        let told = server.until(path, |state| state.messages.iter().filter(|one| one.chat == who).nth(before).cloned());
        assert!(told.file.is_none() && told.text.contains("not sent"), "{path}: {told:?}");
    }
    set.verify();
}
