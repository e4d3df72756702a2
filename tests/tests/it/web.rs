//! The net, as executors have it: a real server of names, real web servers with and without TLS, and a set that
//! may reach them because its owner listed their addresses.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use metnos_tests::chronicle::count;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::outside::certificate;
use metnos_tests::procfs::{self, Status};
use serde_json::Value;

/// What the set meets outside.
pub(crate) struct World {
    servers: Child,
    folder: tempfile::TempDir,
    names: u16,
    pub(crate) http: u16,
    pub(crate) https: u16,
}

impl World {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        certificate(folder.path(), &["site.example", "turns.example"]);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/web.py");
        let mut servers = Command::new("/usr/bin/python3")
            .args(["-I", "-B", script])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(servers.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ports: Value = serde_json::from_str(&line).unwrap();
        let port = |name: &str| u16::try_from(ports[name].as_u64().unwrap()).unwrap();
        Self { names: port("names"), http: port("http"), https: port("https"), servers, folder }
    }

    /// A set that may reach it.
    pub(crate) fn set(&self) -> Instance {
        self.set_of(Plan::new(), "")
    }

    /// The same, with more in its configuration.
    pub(crate) fn set_of(&self, plan: Plan, more: &str) -> Instance {
        let ca = self.folder.path().join("cert.pem");
        let config = format!(
            "[net]\nprivate = [\"127.0.0.1:{}\", \"127.0.0.1:{}\"]\nresolvers = [\"127.0.0.1:{}\"]\nca_bundle = \"{}\"\n{more}",
            self.http,
            self.https,
            self.names,
            ca.display()
        );
        plan.config(&config).start()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.servers.kill();
        let _ = self.servers.wait();
    }
}

/// What `web_fetch` makes of an address: its result, or the class of its error.
fn fetch(set: &Instance, url: &str) -> Result<Value, (String, String)> {
    let (code, answer) = set.run("web_fetch", &[&format!("url={url}")]);
    let result = &answer["result"];
    if code == 0 {
        return Ok(result.clone());
    }
    let text = |pointer: &str| result.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert!(!text("/error/class").is_empty(), "{url}: {answer:#}");
    Err((text("/error/class"), text("/error/message")))
}

#[test]
fn a_page_is_fetched_and_the_chronicle_has_where_from() {
    let world = World::start();
    let set = world.set();
    let (page, lines) = set.recording(|| fetch(&set, &format!("http://site.example:{}/page", world.http)).unwrap());
    assert_eq!(page["title"], "A page");
    let text = page["text"].as_str().unwrap();
    assert!(
        text.contains("# News") && text.contains("One & two [more](/more).") && text.contains("- second"),
        "{text}"
    );
    assert!(!text.contains("evil") && text.contains("as  it\nstands"), "{text}");
    assert_eq!(count(&lines, "run_ended"), 1);
    let ended = lines.iter().find(|line| line.kind() == "run_ended").unwrap();
    let visit = &ended.0["payload"]["visits"][0];
    assert_eq!((visit["host"].as_str(), visit["address"].as_str()), (Some("site.example"), Some("127.0.0.1")));
    assert_eq!(visit["port"], world.http);
    assert!(visit["received"].as_u64().unwrap() > 300 && visit["refused"] == "", "{visit}");
    // Behind TLS, over an alias, in another encoding, by way of another page of the same place.
    for url in
        [format!("https://site.example:{}/plain", world.https), format!("http://alias.example:{}/plain", world.http)]
    {
        assert_eq!(fetch(&set, &url).unwrap()["text"], "perch\u{e9} no?\n", "{url}");
    }
    assert_eq!(fetch(&set, &format!("http://site.example:{}/latin", world.http)).unwrap()["text"], "perch\u{e9}");
    let moved = fetch(&set, &format!("http://site.example:{}/same", world.http)).unwrap();
    assert!(moved["url"].as_str().unwrap().ends_with("/page"));
    set.verify();
}

#[test]
fn nothing_but_the_place_that_was_decided_on_is_reached() {
    let world = World::start();
    let set = world.set();
    let (http, https) = (world.http, world.https);
    for (url, class) in [
        (format!("http://metadata.example:{http}/x"), "Forbidden"),
        (format!("http://lan.example:{http}/x"), "Forbidden"),
        (format!("http://chain.example:{http}/x"), "Forbidden"),
        (format!("http://six.example:{http}/x"), "Forbidden"),
        (format!("http://mapped.example:{http}/x"), "Forbidden"),
        (format!("http://127.0.0.1:{http}/page"), "Forbidden"),
        (format!("http://[::1]:{http}/page"), "Forbidden"),
        (format!("http://none.example:{http}/"), "DnsError"),
        (format!("http://site.example:{}/", world.names), "Forbidden"),
        // A redirect into the home network, and one to another place: both are told and neither is followed.
        (format!("http://site.example:{http}/home"), "Redirect"),
        (format!("http://site.example:{http}/away"), "Redirect"),
        (format!("http://site.example:{http}/round"), "Redirect"),
        // The certificate is another's.
        (format!("https://other.example:{https}/page"), "TlsError"),
        (format!("http://site.example:{http}/image"), "NotText"),
        (format!("http://site.example:{http}/missing"), "HttpError"),
        (format!("http://site.example:{http}/declared"), "TooLarge"),
    ] {
        let error = fetch(&set, &url).unwrap_err();
        assert_eq!(error.0, class, "{url}: {}", error.1);
    }
    // A name whose answer changes: what was vetted is what was dialled, and the next call is vetted anew.
    let turning = format!("http://turns.example:{http}/plain");
    assert!(fetch(&set, &turning).is_ok());
    assert_eq!(fetch(&set, &turning).unwrap_err().0, "Forbidden");
}

#[test]
fn endless_response_is_truncated_and_slow_one_times_out() {
    let world = World::start();
    let set = world.set();
    let endless = fetch(&set, &format!("http://site.example:{}/endless", world.http)).unwrap();
    assert_eq!((endless["truncated"].as_bool(), endless["size"].as_u64()), (Some(true), Some(2_000_000)));
    let (code, slow) = set.run("web_fetch", &[&format!("url=http://site.example:{}/slow", world.http)]);
    assert_eq!(code, 1);
    let timed_out = slow["outcome"] == "timeout" || slow.pointer("/result/error/class") == Some(&"Timeout".into());
    assert!(timed_out, "{slow:#}");
}

#[test]
fn set_serves_without_ca_bundle_and_reports_it_missing() {
    let set = Plan::new().config("[net]\nca_bundle = \"/nonexistent/ca.pem\"\n").start();
    let (_, list) = set.json(&["executor", "list"]);
    let text = list.to_string();
    assert!(text.contains("ca-certificates"), "{list:#}");
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
}

/// The processes of this name, with their parents.
fn named(name: &str) -> Vec<(u32, u32)> {
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| number(entry.ok()?));
    let of = |pid| Status::of(pid).filter(|status| status.get("Name") == name && procfs::alive(pid));
    all.filter_map(|pid| Some((pid, of(pid)?.get("PPid").parse().ok()?))).collect()
}

fn children(name: &str, parent: u32) -> Vec<u32> {
    named(name).into_iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
}

mod as_root {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use metnos_tests::until;

    use super::*;

    const HELPER: &str = "metnos-egress";

    /// What dials: its user is no daemon's, and it has no right of root and no group of theirs.
    fn is_nobody_else(set: &Instance, pid: u32) -> u32 {
        let status = Status::of(pid).unwrap();
        let daemons: BTreeSet<u32> = set.pids().into_values().collect();
        let of = |what: &str| -> BTreeSet<u32> {
            daemons.iter().flat_map(|daemon| Status::of(*daemon).unwrap().ids(what)).collect()
        };
        let (uid, gid) = (status.ids("Uid"), status.ids("Gid"));
        assert!(uid.iter().all(|id| *id == uid[0] && *id != 0) && !of("Uid").contains(&uid[0]), "{uid:?}");
        assert!(gid.iter().all(|id| *id == gid[0] && *id != 0) && !of("Gid").contains(&gid[0]), "{gid:?}");
        assert_eq!(status.get("Groups"), "", "no group besides");
        assert_eq!(status.hex("CapEff").zip(status.hex("CapPrm")), Some((0, 0)));
        assert_eq!((status.get("NoNewPrivs"), status.get("Seccomp")), ("1", "2"));
        uid[0]
    }

    #[test]
    fn egress_helper_runs_as_a_user_of_its_own() {
        let world = World::start();
        let set = world.set_of(Plan::new().as_root(), "");
        let [nursery] = children(HELPER, set.supervisor())[..] else { panic!("{:?}", named(HELPER)) };
        let user = is_nobody_else(&set, nursery);
        assert!(fetch(&set, &format!("http://site.example:{}/page", world.http)).is_ok());
        // While a call waits for an answer that does not come, its helper is there, as the same user.
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| set.run("web_fetch", &[&format!("url=http://site.example:{}/slow", world.http)]));
            let helper =
                until("a helper of the call", Duration::from_secs(20), || children(HELPER, nursery).first().copied());
            assert_eq!(is_nobody_else(&set, helper), user);
            slow.join().unwrap();
        });
        // It goes with its sandboxd, and the next one has another.
        let sandboxd = set.pids()["sandboxd"];
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(sandboxd.cast_signed()).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        set.wait_back("sandboxd", sandboxd);
        until("another nursery alone", Duration::from_secs(20), || {
            let all = children(HELPER, set.supervisor());
            (all.len() == 1 && all[0] != nursery).then_some(())
        });
        assert!(fetch(&set, &format!("http://site.example:{}/page", world.http)).is_ok());
    }
}
