//! Stands in for syntd, with its real ends and its lock, and has one small thing drafted again and again, in one run. What
//! came of it stands in its log, a line each. It must never be told anything but over those ends.

#[path = "../hostile/life.rs"]
mod life;

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::{SyntdMemoryd, SyntdMind, SyntdPolicyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::mind::Draft;
use metnos_proto::msg::policyd::FundDrafts;
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::Reply;
use metnos_proto::role::Syntd;

/// How many prompts it has.
const PROMPTS: u32 = 400;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(250);
/// What it wants for all of them.
const TOKENS: u64 = 100_000;

fn main() -> ExitCode {
    match life::live::<Syntd>(open) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("drafter: {error}");
            ExitCode::FAILURE
        }
    }
}

fn open(daemon: &mut Daemon<Syntd>) -> Result<(), BootError> {
    let (policyd, mind) = (daemon.asks()?, daemon.asks()?);
    let memoryd: Rc<Client<SyntdMemoryd>> = daemon.asks()?;
    let asked = serde_json::json!({ "system": [], "tools": [], "messages": [{ "from": "user", "text": "DRAFT-THIS" }], "schema": null, "temperature": null });
    let prompts = (0..PROMPTS).map(|_| life::sealed(&asked.to_string())).collect();
    tokio::task::spawn_local(async move {
        draft(policyd, mind, prompts).await;
        drop(memoryd);
    });
    Ok(())
}

async fn draft(policyd: Rc<Client<SyntdPolicyd>>, mind: Rc<Client<SyntdMind>>, prompts: Vec<Result<Sealed, RpcError>>) {
    let (mut run, mut thought, mut said) = (TurnId::NONE, 0, String::new());
    for prompt in prompts {
        let Ok(prompt) = prompt else { continue };
        if run == TurnId::NONE {
            let funded = policyd.fund_drafts(TraceId::NONE, FundDrafts { run, tokens: TOKENS }, []).await;
            let now = life::outcome(funded, |(funded, [])| {
                (run, thought) = (funded.run, 0);
                format!("run {} with {} tokens", funded.run, funded.tokens)
            });
            // Each once: what stands in the way may stand there for a while.
            if now != said {
                eprintln!("drafter: {now}");
                said = now;
            }
        }
        if run != TurnId::NONE {
            thought += 1;
            let ask = Draft { turn: run, thought, max_tokens: 50 };
            let drafted = life::outcome(mind.draft(TraceId::NONE, ask, [prompt]).await, |(by, [reply, _])| {
                let reply: Option<Reply> = reply.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                format!("`{}` by {}", reply.map_or_else(|| "no reply".to_owned(), |reply| reply.text), by.model)
            });
            eprintln!("drafter: {run} {thought}: {drafted}");
            if drafted.starts_with("refused") {
                run = TurnId::NONE;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
