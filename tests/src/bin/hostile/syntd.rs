//! A syntd that is the attacker's: it says each of its words as often as it can. What came of it
//! stands in its log.

use std::rc::Rc;

use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::{SyntdMemoryd, SyntdMind, SyntdPolicyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::ExecutorId;
use metnos_proto::msg::drafting::{OfferDraft, TryDraft};
use metnos_proto::msg::memoryd::{AgerProposals, Gaps};
use metnos_proto::msg::mind::Draft;
use metnos_proto::msg::policyd::{EndDrafts, FundDrafts, GrowthQuota};
use metnos_proto::msg::vaglio::Propose;
use metnos_proto::payload::Sealed;
use metnos_proto::role::Syntd;

use crate::life::{self, Failure, outcome, sealed};

/// How often each word is said that needs nothing but a frame.
const TIMES: u32 = 2_000;
/// How many prompts it has.
const PROMPTS: u32 = 200;

/// Lives as syntd.
pub fn live() -> Result<(), Failure> {
    life::live::<Syntd>(open)
}

fn open(daemon: &mut Daemon<Syntd>) -> Result<(), BootError> {
    let (policyd, mind, memoryd) = (daemon.asks()?, daemon.asks()?, daemon.asks()?);
    let prompts = (0..PROMPTS).map(|_| sealed("sign this")).collect();
    tokio::task::spawn_local(flood(policyd, mind, memoryd, prompts));
    Ok(())
}

async fn flood(
    policyd: Rc<Client<SyntdPolicyd>>,
    mind: Rc<Client<SyntdMind>>,
    memoryd: Rc<Client<SyntdMemoryd>>,
    mut prompts: Vec<Result<Sealed, RpcError>>,
) {
    let mut last = Vec::new();
    // Both as urgent and as sure as can be, and one of them about what nobody may touch.
    for (subject, touches) in [("harmless", vec![]), ("core", vec![".policy/instance.key".to_owned()])] {
        let ask = || Propose {
            kind: "synthesis".to_owned(),
            subject: subject.to_owned(),
            title: format!("Something {subject}"),
            effect: "Everything becomes better.".to_owned(),
            touches: touches.clone(),
            reversible: true,
            urgency_milli: 1_000,
            confidence_milli: 1_000,
        };
        // Nothing is received before the owner's constitution stands.
        for _ in 0..TIMES {
            let proposed = policyd.propose(TraceId::NONE, ask(), []).await;
            let said = outcome(proposed, |(proposed, [])| format!("proposed {:?}", proposed.way));
            if !said.starts_with("refused constitution") {
                eprintln!("hostile syntd: {said}");
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    for _ in 0..TIMES {
        let quota = policyd.growth_quota(TraceId::NONE, GrowthQuota {}, []).await;
        let gaps = memoryd.gaps(TraceId::NONE, Gaps {}, []).await;
        last = vec![
            outcome(quota, |(left, [])| format!("births {}", left.births_today)),
            outcome(gaps, |(gaps, [])| format!("gaps {}", gaps.gaps.len())),
        ];
        let after = AgerProposals { after_seq: u64::MAX, after_id: "'; DROP TABLE mnests".repeat(64) };
        let proposed = memoryd.ager_proposals(TraceId::NONE, after, []).await;
        last.push(outcome(proposed, |(list, [])| format!("proposals {}", list.proposals.len())));
        // As much as can be said, for a run of its own, for another's, and for a turn.
        for run in [TurnId::NONE, TurnId::new()] {
            let funded = policyd.fund_drafts(TraceId::NONE, FundDrafts { run, tokens: u64::MAX }, []).await;
            last.push(outcome(funded, |(funded, [])| format!("funded {}", funded.tokens)));
            let ended = policyd.end_drafts(TraceId::NONE, EndDrafts { run }, []).await;
            last.push(outcome(ended, |_| "ended".to_owned()));
            // And what it has written itself, in the name of an executor that everybody trusts.
            let id = ExecutorId { name: "fs_read".to_owned(), version: "9.0.0".to_owned() };
            let Ok(files) = sealed("{\"main.py\": \"import os\"}") else { continue };
            let tried = policyd.try_draft(TraceId::NONE, TryDraft { run, id: id.clone() }, [files]).await;
            last.push(outcome(tried, |_| "tried".to_owned()));
            let Ok(files) = sealed("{\"main.py\": \"import os\"}") else { continue };
            let ask = OfferDraft { run, id, wish: "\u{1b}[2J".repeat(400), model: "m".repeat(4_000) };
            last.push(outcome(policyd.offer_draft(TraceId::NONE, ask, [files]).await, |_| "offered".to_owned()));
        }
        let draft = match prompts.pop() {
            Some(Ok(prompt)) => {
                mind.draft(
                    TraceId::NONE,
                    Draft { turn: TurnId::NONE, thought: u32::MAX, max_tokens: u32::MAX },
                    [prompt],
                )
                .await
            }
            Some(Err(error)) => Err(error),
            None => continue,
        };
        last.push(outcome(draft, |_| "drafted".to_owned()));
    }
    eprintln!("hostile syntd has said everything: {}", last.join("; "));
}
