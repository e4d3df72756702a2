//! The way to a model's server through a whole set: a server of names, servers behind TLS with certificates of an authority
//! of the test's own, and what is refused of them: another's name, an old one, a stranger's, an address of the home network.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use metnos_tests::instance::{Instance, Plan};
use serde_json::Value;

const KEY: &str = "sk-tls-4d1f8a3b7c90";

/// Certificates: one authority, one that nobody knows, and what they signed.
const MAKE: &str = r#"
set -eu
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
authority() {
    key "$1"
    openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 30 -out "$1.pem" \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
}
# NAME AUTHORITY SUBJECT-ALTERNATIVE-NAME FROM UNTIL
leaf() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
    : > "$1.index"
    printf 'subjectAltName=%s\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n' "$3" > "$1.ext"
    printf '[ca]\ndefault_ca=d\n[d]\ndatabase=%s.index\nnew_certs_dir=.\nserial=%s.serial\ndefault_md=sha256\npolicy=p\nrand_serial=yes\n[p]\ncommonName=supplied\n' "$1" "$1" > "$1.conf"
    openssl ca -batch -notext -config "$1.conf" -cert "$2.pem" -keyfile "$2.key" -in "$1.csr" -out "$1.pem" \
        -startdate "$4" -enddate "$5" -extfile "$1.ext"
}
authority ca
authority stranger
leaf good ca DNS:models.example 20200101000000Z 20991231235959Z
leaf address ca IP:127.0.0.1 20200101000000Z 20991231235959Z
leaf old ca DNS:old.example 20200101000000Z 20200201000000Z
leaf early ca DNS:early.example 20980101000000Z 20991231235959Z
leaf unknown stranger DNS:unknown.example 20200101000000Z 20991231235959Z
leaf home ca DNS:home.example 20200101000000Z 20991231235959Z
chmod a+r *
"#;

/// Names, where they are said to be, and what is shown there.
const SERVERS: [&str; 8] = [
    "models.example=127.0.0.1=good",
    "127.0.0.1=127.0.0.1=address",
    "wrong.example=127.0.0.1=good",
    "old.example=127.0.0.1=old",
    "early.example=127.0.0.1=early",
    "unknown.example=127.0.0.1=unknown",
    // The owner has not said that this name may lead home.
    "home.example=127.0.0.1=home",
    "lan.example=192.168.1.77=home",
];

struct World {
    servers: Child,
    said: BufReader<ChildStdout>,
    ports: Value,
    folder: tempfile::TempDir,
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let made = Command::new("sh").args(["-c", MAKE]).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/tls.py");
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-I", "-B", script]).arg(folder.path()).args(SERVERS);
        let mut servers = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(servers.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        Self { ports: serde_json::from_str(&line).unwrap(), servers, said, folder }
    }

    fn port(&self, name: &str) -> u16 {
        u16::try_from(self.ports[name].as_u64().unwrap()).unwrap()
    }

    /// What the server of this name has heard.
    fn heard(&mut self, name: &str) -> Vec<Value> {
        self.servers.stdin.as_mut().unwrap().write_all(b"?\n").unwrap();
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()[name].as_array().unwrap().clone()
    }

    /// A set with a substrate for each, called after the first part of its name, which trusts these authorities.
    fn set(&self, authorities: &Path) -> Instance {
        let names = SERVERS.map(|line| line.split('=').next().unwrap());
        let one = |name: &&str| format!("\"{} openai https://{name}:{}/v1\"", called(name), self.port(name));
        let substrates: Vec<String> = names.iter().map(one).collect();
        let listed = names.iter().filter(|name| !name.starts_with("home") && !name.starts_with("lan"));
        let private: Vec<String> = listed.map(|name| format!("\"127.0.0.1:{}\"", self.port(name))).collect();
        Plan::new()
            .config(&format!(
                "[net]\nresolvers = [\"127.0.0.1:{}\"]\nprivate = [{}]\nca_bundle = \"{}\"\n\n[models]\nsubstrates = [{}]\n",
                self.port("names"),
                private.join(", "),
                authorities.display(),
                substrates.join(", ")
            ))
            .start()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.servers.kill();
        let _ = self.servers.wait();
    }
}

/// What the substrate of a name is called.
fn called(name: &str) -> &str {
    if name.starts_with("127") { "address" } else { name.split('.').next().unwrap() }
}

/// What came of trying a model of the substrate.
fn tried(set: &Instance, name: &str) -> Value {
    let (_, answer) = set.json(&["models", "test", &format!("{}/m", called(name))]);
    answer["tests"][0].clone()
}

fn give_key(set: &Instance, name: &str) {
    let mut command = set.command("metnosctl");
    command.args(["models", "key", called(name)]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn tls_server_is_verified_by_name_and_impostor_is_refused() {
    let mut world = World::start();
    let set = world.set(&world.folder.path().join("ca.pem"));
    for name in SERVERS.map(|line| line.split('=').next().unwrap()) {
        give_key(&set, name);
    }
    for name in ["models.example", "127.0.0.1"] {
        let done = tried(&set, name);
        assert_eq!((&done["ok"], &done["said"]), (&true.into(), &format!("ready, says {name}").into()), "{done:#}");
        let heard = world.heard(name);
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0]["key"], format!("Bearer {KEY}"), "{heard:?}");
        assert_eq!(heard[0]["host"], format!("{name}:{}", world.port(name)), "{heard:?}");
    }
    for (name, why) in [
        ("wrong.example", "NotValidForName"),
        ("old.example", "Expired"),
        ("early.example", "NotValidYet"),
        ("unknown.example", "UnknownIssuer"),
        ("home.example", "127.0.0.1"),
        ("lan.example", "192.168.1.77"),
    ] {
        let done = tried(&set, name);
        assert_eq!(done["ok"], false, "{name}: {done:#}");
        let said = done["why"].as_str().unwrap();
        let spaced = |text: &str| text.to_lowercase().replace(' ', "");
        assert!(spaced(said).contains(&spaced(why)), "{name}: {said}");
        assert!(!done["remedy"].as_str().unwrap().is_empty(), "{done:#}");
        assert!(world.heard(name).is_empty(), "{name} has heard something, and a key with it");
    }
    set.verify();
}

#[test]
fn authorities_that_are_not_there_or_are_others_leave_no_way() {
    let mut world = World::start();
    for bundle in ["stranger.pem", "nobody.pem", "good.key"] {
        let set = world.set(&world.folder.path().join(bundle));
        give_key(&set, "models.example");
        let done = tried(&set, "models.example");
        assert_eq!(done["ok"], false, "{bundle}: {done:#}");
        assert!(world.heard("models.example").is_empty(), "{bundle}");
    }
}
