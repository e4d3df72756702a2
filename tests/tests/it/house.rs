//! The house in a running set: a counterpart of Home Assistant's REST API. What words name is switched, looked at and undone; what opens
//! the house is done after a yes alone; what the owner has not listed is not there.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use metnos_tests::instance::{Instance, Plan};
use serde_json::{Value, json};

const DEVICES: &str = "light.kitchen,light.living,switch.*,climate.*,sensor.*,cover.*,lock.*,scene.*";

struct House {
    process: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    port: u16,
    token: String,
}

impl House {
    fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/home.py");
        let mut process = Command::new("/usr/bin/python3")
            .args(["-I", "-B", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let asks = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).expect("the house has started");
        let port = u16::try_from(told["port"].as_u64().unwrap()).unwrap();
        Self { process, asks, answers, port, token: told["token"].as_str().unwrap().to_owned() }
    }

    fn ask(&mut self, what: &Value) -> Value {
        writeln!(self.asks.as_mut().unwrap(), "{what}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn state(&mut self, device: &str) -> Value {
        self.ask(&json!({ "state": device }))[0].clone()
    }

    /// A set whose owner has listed the address of the house, or has not.
    fn set(&self, is_listed: bool) -> Instance {
        let private = if is_listed { format!("\"127.0.0.1:{}\"", self.port) } else { String::new() };
        let config = format!("[net]\nprivate = [{private}]\n");
        let set = Plan::new().config(&config).start();
        set.is_grown();
        set
    }

    fn connect(&self, set: &Instance, token: &str, devices: &str) -> (i32, String) {
        let port = self.port.to_string();
        let mut ctl = set.command("metnosctl");
        ctl.args(["account", "add", "home", "--host", "127.0.0.1", "--port", &port, "--devices", devices]);
        let mut child = ctl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{token}").unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code().unwrap(), text)
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.asks = None;
        let _ = self.process.wait();
    }
}

fn heard(set: &Instance, words: &str) -> String {
    let output = set.ctl(&["ask", words]);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn devices_are_switched_as_people_say_it_and_undo_sets_them_back() {
    let mut house = House::start();
    let mut set = house.set(true);
    let none = heard(&set, "turn on the kitchen light");
    assert!(none.to_lowercase().contains("no home account"), "{none}");
    let token = house.token.clone();
    let (code, told) = house.connect(&set, &token, DEVICES);
    assert!(code == 0 && told.contains("The house answers."), "{code} {told}");
    for (words, wanted, device, shows) in [
        ("turn on the kitchen light", "Kitchen light (Kitchen): on", "light.kitchen", "on"),
        ("spegni la luce in soggiorno", "Luce soggiorno (Soggiorno): spento", "light.living", "off"),
        ("lower the blinds in the bedroom", "Bedroom blinds (Bedroom): closed", "cover.bedroom", "closed"),
        ("set the thermostat to 21 degrees", "set to 21 \u{b0}C", "climate.home", "heat"),
        ("accendi la presa fountain", "Fountain plug (Garden): acceso", "switch.fountain", "on"),
    ] {
        let before = house.ask(&json!({ "state": device }));
        let told = heard(&set, words);
        assert!(told.contains(wanted), "{words}: {told}");
        assert_eq!(house.state(device), shows, "{words}");
        if words.starts_with("lower") {
            assert!(set.ctl(&["down"]).status.success());
            set.up();
            set.is_grown();
        }
        let told = heard(&set, "undo");
        assert!(told.contains("as before") || told.contains("as they were"), "{words}: {told}");
        assert_eq!(house.ask(&json!({ "state": device })), before, "{words}");
    }
    // Several at once, a scene, and what is so already.
    let told = heard(&set, "dim the lights to 40 percent");
    assert!(told.contains("Kitchen light") && told.contains("Luce soggiorno"), "{told}");
    assert_eq!(house.ask(&json!({ "state": "light.kitchen" })), json!(["on", 102]));
    assert!(heard(&set, "undo").contains("as they were"));
    assert_eq!(house.ask(&json!({ "state": "light.living" })), json!(["on", 128]));
    let told = heard(&set, "activate the scene evening");
    assert!(told.contains("Evening"), "{told}");
    assert_eq!(house.state("light.kitchen"), "on");
    let _ = heard(&set, "undo");
    assert_eq!((house.state("light.kitchen"), house.state("light.living")), (json!("off"), json!("on")));
    assert!(heard(&set, "turn off the kitchen light").contains("it is so already"));
    // Questions are answered, and switch nothing.
    for (words, wanted) in [
        ("is the kitchen light on?", "Kitchen light (Kitchen): off"),
        ("which lights are on", "Luce soggiorno (Soggiorno): on"),
        ("il garage \u{e8} chiuso?", "Garage door: chiuso"),
        ("quali luci sono accese", "Luce soggiorno (Soggiorno): acceso"),
    ] {
        let told = heard(&set, words);
        assert!(told.contains(wanted), "{words}: {told}");
    }
    // What was not listed is not there.
    let told = heard(&set, "turn off the light in the studio");
    assert!(told.contains("I know no device of that name"), "{told}");
    assert_eq!(house.state("light.secret"), "on");
    let everywhere = format!("{}{:?}", set.logs(), set.chronicle());
    assert!(!everywhere.contains(&token), "the token was told");
    set.verify();
}

#[test]
fn what_opens_the_house_is_done_after_a_yes_and_told_as_it_is() {
    let mut house = House::start();
    let set = house.set(true);
    let token = house.token.clone();
    assert_eq!(house.connect(&set, &token, DEVICES).0, 0);
    for (words, device, before, after) in [
        ("open the garage", "cover.garage", "closed", "open"),
        ("unlock the front door", "lock.front", "locked", "unlocked"),
        ("chiudi a chiave la porta dell'ingresso", "lock.front", "unlocked", "locked"),
    ] {
        assert_eq!(house.state(device), before, "{words}");
        let (code, done) = set.approved(words);
        assert!(code == 0 && house.state(device) == after, "{words}: {done:#}");
    }
    // What closes may be all of them.
    assert_eq!(house.ask(&json!({ "set": "unlocked", "of": "lock.front" })), "ok");
    let (code, done) = set.approved("lock all the doors");
    assert!(code == 0 && house.state("lock.front") == "locked" && house.state("lock.cellar") == "locked", "{done:#}");
    // Not by the way of the others, not even as a part of a scene or a group, nor by a plug that is wired to a gate.
    for arguments in [
        ["do=open", "name=garage"],
        ["do=run", "name=leaving"],
        ["do=open", "name=ground floor"],
        ["do=on", "name=gate opener"],
    ] {
        let (_, told) = set.run("home_act", &arguments);
        assert!(told.to_string().contains("Guarded"), "{told:#}");
    }
    for name in ["name=mystery", "name=crooked", "name=many"] {
        let (_, told) = set.run("home_act", &["do=run", name]);
        assert!(told.to_string().contains("CannotDo"), "{name}: {told:#}");
    }
    assert_eq!(house.state("lock.front"), "locked");
    // A device that does not react is reported.
    assert_eq!(house.ask(&json!({ "stuck": "light.kitchen" })), "ok");
    let told = heard(&set, "turn on the kitchen light");
    assert!(told.contains("does not show that it is done"), "{told}");
    assert_eq!(house.ask(&json!({ "stuck": "cover.garage" })), "ok");
    assert!(set.approved("close the garage").1.to_string().contains("NotDone"));
    for lie in ["garbage", "list", "deep", "huge", "error", "nan"] {
        assert_eq!(house.ask(&json!({ "lie": lie })), "ok");
        let (_, told) = set.run("home_list", &[]);
        let class = told["result"]["error"]["class"].as_str().unwrap_or("none");
        let is_told = matches!(class, "ServerError" | "Timeout" | "Unreachable") || told["result"]["ok"] == true;
        assert!(is_told, "{lie}: {told:#}");
    }
    let (_, shown) = set.json(&["executor", "show", "home_list"]);
    assert_eq!(shown["state"], "active", "a server that lies costs no strike: {shown:#}");
    set.verify();
}

#[test]
fn a_house_is_reached_at_its_listed_address_with_its_token_alone() {
    let house = House::start();
    let set = house.set(false);
    let token = house.token.clone();
    let (code, told) = house.connect(&set, &token, DEVICES);
    assert!(code == 1 && told.contains("may not be reached"), "{code} {told}");
    let listed = house.set(true);
    let (code, told) = house.connect(&listed, "another-token", DEVICES);
    assert!(code == 1 && told.contains("does not accept the access token"), "{code} {told}");
    for devices in ["", "*", "light"] {
        let (code, told) = house.connect(&listed, &token, devices);
        assert!(code == 1 && told.contains("devices"), "{devices:?}: {told}");
    }
    set.verify();
}
