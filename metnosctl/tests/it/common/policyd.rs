//! The policyd of the scripted daemons: what it tells the owner.

use ed25519_dalek::Signer;
use metnos_proto::chain::Anchor;
use metnos_proto::doc::Doc;
use metnos_proto::doc::automation::AutomationAnswer;
use metnos_proto::doc::budget::BudgetAnswer;
use metnos_proto::doc::card::{CardList, CardView};
use metnos_proto::doc::executor::{ExecutorImported, ExecutorRecord, LifecycleAnswer, QuarantineReport};
use metnos_proto::doc::grant::GrantList;
use metnos_proto::doc::people::{AutonomyAnswer, BrokenSeals, PairingAnswer, PersonsAnswer};
use metnos_proto::doc::policy::PolicyCheck;
use metnos_proto::doc::schedule::{ScheduleHistory, ScheduleList};
use metnos_proto::doc::undo::{ActList, UndoReport};
use metnos_proto::doc::vaglio::{ConstitutionReport, VaglioAnswer};
use metnos_proto::doc::vault::{AccountAnswer, AccountKept, SecretVersion, VaultAnswer};
use metnos_proto::edge::Served;
use metnos_proto::edges::{CtlPolicyd, ctl_policyd};
use metnos_proto::ids::{Sha256, TraceId};
use metnos_proto::link::BlockingServer;
use metnos_proto::msg::accounts::*;
use metnos_proto::msg::common::*;
use metnos_proto::msg::lifecycle::*;
use metnos_proto::msg::people::*;
use metnos_proto::msg::policyd::*;
use metnos_proto::msg::schedule::*;
use metnos_proto::msg::vaglio::*;
use metnos_proto::msg::vault_budget::*;
use metnos_proto::payload::Sealed;

use serde_json::json;

use super::card::CARD;
use super::daemons::*;
use super::owned;

impl ctl_policyd::ServeBlocking for Daemon {
    fn automation(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: metnos_proto::msg::people::AutomationAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<AutomationAnswer>, 1> {
        self.heard(format!("{ask:?}"));
        told(&owned::automation(&ask))
    }

    fn run_call(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: RunCall,
        [args]: [Sealed; 1],
    ) -> Served<CallRun, 1> {
        let args = String::from_utf8(args.read().unwrap()).unwrap();
        self.heard(format!("{} {args}", ask.executor));
        let (acted, result) = self.lines().call.unwrap();
        Ok((CallRun { turn: TURN, acted }, [sealed(&result)]))
    }

    fn executors(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: Executors,
        _: [Sealed; 0],
    ) -> Served<ExecutorList, 0> {
        let quarantined = self.lines().quarantined;
        let row = ExecutorRow {
            id: id(),
            state: if quarantined { ExecutorState::Quarantined } else { ExecutorState::Active },
            why: if quarantined { "main.py is not what was signed".into() } else { String::new() },
            summary: "Read a file.".into(),
            class: "read".into(),
        };
        Ok((ExecutorList { rows: vec![row] }, []))
    }

    fn show_executor(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: ShowExecutor,
        _: [Sealed; 0],
    ) -> Served<Doc<ExecutorRecord>, 1> {
        if ask.name != "fs_read" {
            let refusal =
                Refusal::new(RefusalCode::Unknown, "executor.unknown", format!("there is no executor {}", ask.name));
            return Err(refusal.into());
        }
        let properties = r#"{"path": {"type": "string"}, "limit": {"type": "integer"}}"#;
        let schema = format!(r#"{{"definitions": {{"Input": {{"properties": {properties}}}}}}}"#);
        let record = format!(
            r#"{{"name": "fs_read", "version": "1.0.0", "versions": ["1.0.0"], "state": "active", "why": "", "schema": {schema}}}"#
        );
        Ok(Doc::seal(&serde_json::from_str(&record).unwrap())?)
    }

    fn policy_status(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: PolicyStatus,
        _: [Sealed; 0],
    ) -> Served<PolicyReport, 0> {
        Ok((
            PolicyReport {
                turns: 0,
                running: 0,
                decisions_total: 4,
                denials_total: 1,
                public_key: Sha256(key().verifying_key().to_bytes()).hex(),
                undecided: String::new(),
                signed_line: 0,
                unsigned_lines: 0,
                unborn: 0,
                stopped_ms: 0,
                stopped_by: String::new(),
                disabled: Vec::new(),
                notices: Vec::new(),
            },
            [],
        ))
    }

    fn vaglio(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: VaglioAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<VaglioAnswer>, 1> {
        self.heard(format!("vaglio {ask:?}"));
        told(&owned::vaglio(&ask))
    }

    fn rite(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: Rite,
        _: [Sealed; 0],
    ) -> Served<Doc<ConstitutionReport>, 1> {
        self.heard(format!("rite {ask:?}"));
        told(&owned::constitution(self.lines().constitution_pending))
    }

    fn pairing(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: PairingAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<PairingAnswer>, 1> {
        self.heard(format!("pairing {ask:?}"));
        told(&owned::pairing(&ask))
    }

    fn persons(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: PersonsAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<PersonsAnswer>, 1> {
        self.heard(format!("persons {ask:?}"));
        told(&owned::persons(&ask))
    }

    fn seals(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: SealAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<BrokenSeals>, 1> {
        self.heard(format!("seals {ask:?}"));
        told(&owned::seals())
    }

    fn autonomy(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: AutonomyAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<AutonomyAnswer>, 1> {
        self.heard(format!("autonomy {ask:?}"));
        told(&owned::autonomy(&ask))
    }

    fn vault(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: VaultAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<VaultAnswer>, 1> {
        self.heard(format!("vault {ask:?}"));
        told(&owned::vault(&ask))
    }

    fn vault_put(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: VaultPut,
        [value]: [Sealed; 1],
    ) -> Served<Doc<SecretVersion>, 1> {
        self.heard(format!("vault_put {ask:?} of {} bytes", value.len()));
        told(&SecretVersion { name: ask.name, version: 1 })
    }

    fn accounts(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: AccountAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<AccountAnswer>, 1> {
        self.heard(format!("accounts {ask:?}"));
        told(&owned::accounts(&ask))
    }

    fn account_put(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: AccountPut,
        [password]: [Sealed; 1],
    ) -> Served<Doc<AccountKept>, 1> {
        self.heard(format!("account_put {ask:?} of {} bytes", password.len()));
        let account = owned::account(&ask.of.person, &ask.of.name, &ask.host, ask.port, &ask.user);
        told(&AccountKept { account, replaced: false })
    }

    fn budget(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: BudgetAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<BudgetAnswer>, 1> {
        self.heard(format!("budget {ask:?}"));
        told(&owned::budget(&ask))
    }

    fn check_policy(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: metnos_proto::msg::policyd::CheckPolicy,
        [args]: [Sealed; 1],
    ) -> Served<Doc<PolicyCheck>, 1> {
        self.heard(format!("{} {} {}", ask.principal, ask.executor, String::from_utf8(args.read().unwrap()).unwrap()));
        let steps = r#"[{"step": "executor", "outcome": "passed", "why": "there"}, {"step": "guard", "outcome": "deny", "why": "core"}]"#;
        let explained = format!(
            r#"{{"principal": "p", "standing": "owner", "level": "supervised", "without_asking": "w", "executor": "e",
                "verdict": "deny", "rule": "guard.path", "why": "core", "remedy": "copy it", "steps": {steps}, "arguments": [],
                "raised_until_ms": null}}"#
        );
        Ok(Doc::seal(&serde_json::from_str(&explained).unwrap())?)
    }

    fn approvals(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: Approvals,
        _: [Sealed; 0],
    ) -> Served<Doc<CardList>, 1> {
        Ok(Doc::seal(&CardList(vec![serde_json::from_str(CARD).unwrap()]))?)
    }

    fn show_approval(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: ShowApproval,
        _: [Sealed; 0],
    ) -> Served<Doc<CardView>, 1> {
        Ok(Doc::seal(&serde_json::from_str(CARD).unwrap())?)
    }

    fn decide_approval(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: Decide,
        _: [Sealed; 0],
    ) -> Served<Answered, 1> {
        self.heard(format!("{:?} {} {}", ask.answer, ask.id, ask.digest));
        if matches!(ask.answer, Answer::No | Answer::Never) {
            return Ok((Answered { state: "denied".into(), runs: Vec::new() }, [sealed("[]")]));
        }
        let (acted, result) = self.lines().call.unwrap();
        let runs = vec![CallRun { turn: TURN, acted }];
        Ok((Answered { state: "approved".into(), runs }, [sealed(&format!("[{result}]"))]))
    }

    fn grants(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: Grants,
        _: [Sealed; 0],
    ) -> Served<Doc<GrantList>, 1> {
        Ok(Doc::seal(&GrantList(Vec::new()))?)
    }

    fn revoke_grant(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: RevokeGrant,
        _: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.heard(format!("revoke {}", ask.id));
        Ok((Done {}, []))
    }

    fn codes_enrol(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: CodesEnrol,
        _: [Sealed; 0],
    ) -> Served<CodesEnrolled, 0> {
        Ok((CodesEnrolled { secret: "GEZDGNBV".into(), uri: "otpauth://totp/Metnos".into() }, []))
    }

    fn codes_confirm(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: CodesConfirm,
        _: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.heard(format!("code {}", ask.code));
        Ok((Done {}, []))
    }

    fn codes_remove(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: CodesRemove,
        _: [Sealed; 0],
    ) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn policy_canaries(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: PolicyCanaries,
        _: [Sealed; 0],
    ) -> Served<PolicyCanaried, 0> {
        let canary = |control: &str| PolicyCanary {
            control: control.into(),
            attempt: "something".into(),
            stopped: true,
            by: "a.rule".into(),
            detail: String::new(),
        };
        Ok((
            PolicyCanaried { canaries: ["guard", "schema", "laws", "labels", "approval", "panic"].map(canary).into() },
            [],
        ))
    }

    fn panic(&mut self, _: &BlockingServer<CtlPolicyd>, _: TraceId, _: Panic, _: [Sealed; 0]) -> Served<Panicked, 0> {
        self.heard("panic".to_owned());
        Ok((Panicked { killed: 2 }, []))
    }

    fn resume(&mut self, _: &BlockingServer<CtlPolicyd>, _: TraceId, _: Resume, _: [Sealed; 0]) -> Served<Switched, 0> {
        self.heard("resume".to_owned());
        Ok((Switched { changed: true }, []))
    }

    fn switch_executor(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: SwitchExecutor,
        _: [Sealed; 0],
    ) -> Served<Switched, 0> {
        self.heard(format!("switch {} {}", ask.name, ask.on));
        Ok((Switched { changed: true }, []))
    }

    fn lift_quarantine(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: LiftQuarantine,
        _: [Sealed; 0],
    ) -> Served<Doc<QuarantineReport>, 1> {
        self.heard(format!("readmit {:?} {} {}", ask.name, ask.relock, ask.confirm));
        let set_aside = json!({
            "name": "fs_read", "version": "1.0.0", "why": "main.py\u{1b}[2J", "since_ms": 1, "way": "lift", "fault": "",
            "signed": "blake3:00", "now": "blake3:00",
        });
        let answer = json!({
            "executors": [set_aside], "digest": if ask.relock { "" } else { "blake3:11" },
            "confirmed": !ask.confirm.is_empty(), "done": false,
        });
        Ok(Doc::seal(&serde_json::from_value(answer).unwrap())?)
    }

    fn life(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: LifecycleAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<LifecycleAnswer>, 1> {
        self.heard(format!("life {ask:?}"));
        if let LifecycleAsk::Sign(word) = &ask {
            let card = json!({
                "summary": "", "class": "read", "reversible": true, "profile": "pure", "capabilities": [], "quotas": {},
                "origin": {"kind": "own"}, "created_by": "", "cases": [{"name": "c", "passed": true, "detail": ""}],
                "manifest": "", "code": "def run():\u{1b}[2J ...", "schema": "",
                "digests": {"manifest": "", "code": "", "schema": "", "profile": ""},
            });
            let waits = word.confirm.is_empty();
            let answer = json!({
                "name": "fs_read", "version": "1.0.0", "state": if waits { "staged" } else { "active" },
                "digest": if waits { "blake3:33" } else { "" }, "changed": !waits,
                "card": if waits { card } else { serde_json::Value::Null },
            });
            return Ok(Doc::seal(&serde_json::from_value(answer).unwrap())?);
        }
        let waits = matches!(&ask, LifecycleAsk::Revoke(word) if word.confirm.is_empty());
        let answer = json!({
            "name": "fs_read", "version": "1.0.0", "state": if waits { "active" } else { "archived" },
            "why": "a\u{1b}[2Jb", "digest": if waits { "blake3:22" } else { "" }, "changed": !waits,
        });
        Ok(Doc::seal(&serde_json::from_value(answer).unwrap())?)
    }

    fn export_executor(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: ExportExecutor,
        _: [Sealed; 0],
    ) -> Served<Done, 1> {
        self.heard(format!("export {}", ask.name));
        Ok((Done {}, [sealed(r#"{"version": "1.0.0", "provenance": {"exporter": "00"}}"#)]))
    }

    fn import_executor(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: ImportExecutor,
        [parcel]: [Sealed; 1],
    ) -> Served<Doc<ExecutorImported>, 1> {
        self.heard(format!("import {}", String::from_utf8_lossy(&parcel.read().unwrap())));
        let origin = json!({
            "kind": "imported", "exporter": "00", "exported_ms": 1, "born_ms": 1, "came_through": [], "by": "", "at_ms": 1,
            "manifest": "", "code": "", "schema": "",
        });
        let answer = json!({"name": "a\u{1b}[2Jb", "version": "1.0.0", "state": "staged", "origin": origin});
        Ok(Doc::seal(&serde_json::from_value(answer).unwrap())?)
    }

    fn undo(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: Undo,
        _: [Sealed; 0],
    ) -> Served<Doc<UndoReport>, 1> {
        self.heard(format!("undo {:?}", ask.turn.map(|turn| turn.to_string())));
        let turn = TURN.to_string();
        Ok(Doc::seal(&UndoReport { turn, acts: Vec::new(), undone: 0, kept: 0, left: 0, already: 1 })?)
    }

    fn undoable(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: Undoable,
        _: [Sealed; 0],
    ) -> Served<Doc<ActList>, 1> {
        Ok(Doc::seal(&ActList(Vec::new()))?)
    }

    fn schedules(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: ScheduleAsk,
        _: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Ok(Doc::seal(&ScheduleList(Vec::new()))?)
    }

    fn show_schedule(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: ShowSchedule,
        _: [Sealed; 0],
    ) -> Served<Doc<ScheduleHistory>, 1> {
        Err(Refusal::new(RefusalCode::Unknown, "schedule.unknown", "there is no schedule of this number").into())
    }

    fn anchors(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: Anchors,
        _: [Sealed; 0],
    ) -> Served<AnchorList, 1> {
        let mut signature = key().sign(&anchor().signed_bytes()).to_bytes();
        if self.lines().forged_anchor {
            signature[0] ^= 1;
        }
        let text = anchor().to_line(&signature) + "\n";
        Ok((AnchorList { anchors: 1, next: 0, broken: self.lines().broken }, [sealed(&text)]))
    }

    fn copy_registry(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        _: CopyRegistry,
        _: [Sealed; 0],
    ) -> Served<Done, 1> {
        Ok((Done {}, [sealed("a database")]))
    }

    fn redact(
        &mut self,
        _: &BlockingServer<CtlPolicyd>,
        _: TraceId,
        ask: RedactPayload,
        _: [Sealed; 0],
    ) -> Served<Redacted, 0> {
        self.heard(format!("redact {} {}", ask.seq, ask.why));
        Ok((Redacted { seq: 8 }, []))
    }
}

/// The key of the scripted policyd.
pub fn key() -> ed25519_dalek::SigningKey {
    ed25519_dalek::SigningKey::from_bytes(&[5; 32])
}

/// A head that it has signed.
pub fn anchor() -> Anchor {
    Anchor { seq: 7, hash: Sha256([3; 32]), root: Sha256([4; 32]), ts_ms: 1000 }
}
