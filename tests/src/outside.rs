//! Servers of the outside world that a test starts: a script of `tests/peers` that says its ports, and answers what it is asked, a line
//! for a line. They speak TLS with a certificate of the test.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// Writes `cert.pem` and `key.pem` into the folder: a certificate of its own for these names, which is its own authority.
///
/// # Panics
/// Without openssl.
pub fn certificate(folder: &Path, names: &[&str]) {
    let names: Vec<String> = names.iter().map(|name| format!("DNS:{name}")).collect();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=test.example", "-addext", &format!("subjectAltName={}", names.join(","))])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder)
        .output()
        .expect("openssl is installed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A script that runs.
#[derive(Debug)]
pub struct Outside {
    process: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
    ports: Value,
}

impl Outside {
    /// Starts a script of `tests/peers` with a certificate for these names.
    ///
    /// # Panics
    /// When it says no ports.
    #[must_use]
    pub fn start(script: &str, names: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its mode");
        certificate(folder.path(), names);
        let mut process = Command::new("/usr/bin/python3")
            .args(["-I", "-B"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script))
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let asks = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("its output"));
        let mut outside = Self { process, asks, answers, folder, ports: Value::Null };
        outside.ports = outside.answer();
        outside
    }

    /// One of its ports.
    ///
    /// # Panics
    /// When it has none of this name.
    #[must_use]
    pub fn port(&self, name: &str) -> u16 {
        self.ports[name].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port of this name")
    }

    /// One of its addresses, with the port.
    ///
    /// # Panics
    /// When it has none of this name.
    #[must_use]
    pub fn address(&self, name: &str) -> String {
        self.ports[name].as_str().expect("an address of this name").to_owned()
    }

    /// What the configuration of a set says that reaches it: at these addresses, by its names and with its certificate.
    #[must_use]
    pub fn config(&self, addresses: &[String]) -> String {
        let private: Vec<String> = addresses.iter().map(|address| format!("\"{address}\"")).collect();
        let ca = self.folder.path().join("cert.pem");
        let names = self.port("names");
        format!(
            "[net]\nprivate = [{}]\nresolvers = [\"127.0.0.1:{names}\"]\nca_bundle = \"{}\"\n",
            private.join(", "),
            ca.display()
        )
    }

    /// Asks it something.
    ///
    /// # Panics
    /// When it is gone.
    pub fn ask(&mut self, what: &Value) -> Value {
        writeln!(self.asks.as_mut().expect("it runs"), "{what}").expect("it listens");
        self.answer()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("it said {line:?}: are its packages installed?"))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // The end of what it reads ends it, and what it has started.
        self.asks = None;
        let _ended = self.process.wait();
    }
}
