//! `metnosctl models`, through a whole set and a server that others have written: the owner's way to a model, and where
//! its key is and is not.

use std::io::Write;

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Aimock, KEY, kinds};
use serde_json::json;

/// `metnosctl` with something on its standard input.
fn piped(set: &Instance, words: &[&str], input: &str) -> std::process::Output {
    use std::process::Stdio;
    let mut command = set.command("metnosctl");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn owner_manages_models_and_key_is_visible_to_mind_only() {
    let server = Aimock::start(&[]);
    let lines: Vec<String> = kinds(server.port).iter().map(|(_, line)| format!("\"{line}\"")).collect();
    let config = format!("# mine\n[models]\nsubstrates = [{}]\n", lines.join(", "));
    let mut set = Plan::new().config(&config).start();
    let written = std::fs::read_to_string(set.home().join("metnos.toml")).unwrap();
    assert!(written.starts_with(&config));
    let (code, listed) = set.json(&["models", "list"]);
    assert_eq!((code, listed["substrates"].as_array().unwrap().len()), (0, 4), "{listed:#}");
    // What does not answer is not written down.
    let (code, _) = set.json(&["models", "set", "interface", "openai/gpt-4o"]);
    assert_eq!(code, 1);
    assert_eq!(std::fs::read_to_string(set.home().join("metnos.toml")).unwrap(), written);
    for kind in ["anthropic", "openai", "xai", "ollama"] {
        let output = piped(&set, &["models", "key", kind], &format!("{KEY}\n"));
        assert!(output.status.success(), "{output:?}");
    }
    let (_, scanned) = set.json(&["models", "scan"]);
    let openai = scanned["substrates"].as_array().unwrap().iter().find(|one| one["name"] == "openai").unwrap();
    assert!(openai["models"].as_array().unwrap().iter().any(|one| one["model"] == "openai/gpt-4o"), "{scanned:#}");
    let before = set.pids()["mind"];
    for model in ["anthropic/claude-3-5-sonnet-20241022", "xai/grok-4", "ollama/qwen3", "openai/gpt-4o"] {
        let (code, done) = set.json(&["models", "set", "interface", model]);
        assert_eq!(code, 0, "{model}: {done:#}");
        let (code, tested) = set.json(&["models", "test"]);
        assert_eq!((code, &tested["tests"][0]["model"]), (0, &json!(model)), "{tested:#}");
    }
    assert_ne!(set.pids()["mind"], before, "mind was not started anew");
    // What a try has cost stands in the ledger, under a name of its own.
    metnos_tests::until("the tries in the ledger", std::time::Duration::from_secs(20), || {
        set.json(&["spend"]).1.to_string().contains("metnos:test").then_some(())
    });
    let text = std::fs::read_to_string(set.home().join("metnos.toml")).unwrap();
    assert_eq!(text, written.replace(&config, &format!("{config}interface = [\"openai/gpt-4o\"]\n")));
    let (_, status) = set.json(&["status"]);
    assert!(status["models"].to_string().contains("openai/gpt-4o"), "{status:#}");
    // A line that names what there is not leaves mind as it is.
    set.write_config(&text.replace("openai/gpt-4o", "nobody/gpt-4o"));
    assert!(!set.ctl(&["daemon", "restart", "mind"]).status.success());
    assert_eq!(set.json(&["models", "test", "interface"]).0, 0);
    set.write_config(&text);

    for (name, pid) in set.pids() {
        for file in ["environ", "cmdline"] {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{name}: {file}");
        }
    }
    set.down();
    assert!(!set.logs().contains(KEY));
    let mut holders = Vec::new();
    let mut folders = vec![set.home().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(KEY) {
                holders.push(entry.path().strip_prefix(set.home()).unwrap().display().to_string());
            }
        }
    }
    holders.sort();
    assert_eq!(holders, [".mind/model.anthropic", ".mind/model.ollama", ".mind/model.openai", ".mind/model.xai"]);
}
