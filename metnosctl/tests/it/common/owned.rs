//! What the scripted daemons say about what the owner looks after: proposals, the constitution, people, levels, hooks,
//! secrets and budgets. Texts that others may have written would clear a screen.

use metnos_proto::doc::automation::*;
use metnos_proto::doc::budget::*;
use metnos_proto::doc::models::ModelTest;
use metnos_proto::doc::people::*;
use metnos_proto::doc::vaglio::*;
use metnos_proto::doc::vault::*;
use metnos_proto::msg::accounts::AccountAsk;
use metnos_proto::msg::common;
use metnos_proto::msg::door::HookSecret;
use metnos_proto::msg::people::{AutomationAsk, AutonomyAsk, PairingAsk, PersonsAsk};
use metnos_proto::msg::vaglio::VaglioAsk;
use metnos_proto::msg::vault_budget::{BudgetAsk, VaultAsk};

/// A text that would clear a screen.
const NASTY: &str = "t\u{1b}[2J";

fn proposal() -> Proposal {
    let end = WeighedEnd { fit: 0.5, part: 0.25, slug: "order".into(), threshold: 0.5, weight: 0.5 };
    Proposal {
        id: "a".into(),
        kind: "tidy".into(),
        subject: "notes".into(),
        title: NASTY.into(),
        effect: NASTY.into(),
        touches: vec!["notes/".into()],
        reversible: true,
        urgency: 0.5,
        confidence: 0.5,
        way: ProposalWay::Digest,
        state: ProposalState::Waiting,
        answer: None,
        made_ms: 1,
        due_ms: 1,
        told_ms: 0,
        raise: None,
        to: String::new(),
        weighed: Weighed {
            alignment: 0.5,
            brake: 1.0,
            ends: vec![end],
            estimate: true,
            judge: "lexical".into(),
            needed: 0.15,
            product: 0.5,
            rule: "vaglio.digest".into(),
            why: NASTY.into(),
        },
    }
}

pub fn vaglio(ask: &VaglioAsk) -> VaglioAnswer {
    match ask {
        VaglioAsk::Digest | VaglioAsk::Unasked | VaglioAsk::Due => VaglioAnswer::Proposals(vec![proposal()]),
        VaglioAsk::Explain(_) | VaglioAsk::Answer(_) => VaglioAnswer::Proposal(Box::new(proposal())),
        VaglioAsk::Telos => VaglioAnswer::Telos(TelosReport {
            ends: vec![TelosEnd {
                slug: "order".into(),
                phrase: NASTY.into(),
                declared: 0.5,
                learned: 1.0,
                weight: 0.5,
                threshold: 0.5,
                note: String::new(),
            }],
            fault: String::new(),
            brake: 1.0,
            quiet: false,
        }),
    }
}

pub fn constitution(pending: bool) -> ConstitutionReport {
    let laws = vec![Law { name: "n".into(), text: NASTY.into() }];
    let in_force = LawsInForce { digest: "d".into(), laws: laws.clone(), since_ms: 1 };
    ConstitutionReport {
        in_force: (!pending).then_some(in_force),
        file: LawsInFile { digest: "blake3:ab".into(), laws, fault: String::new() },
        pending,
        why: if pending { "changed".into() } else { String::new() },
    }
}

pub fn pairing(ask: &PairingAsk) -> PairingAnswer {
    let (standing, channel) = (Standing::Guest, "http".to_owned());
    match ask {
        PairingAsk::List => PairingAnswer::People(PeopleList {
            known: vec![KnownPrincipal {
                principal: "telegram:1".into(),
                standing,
                since_ms: 1,
                lang: Lang::It,
                person: Some(NASTY.into()),
            }],
            waiting: vec![WaitingStranger { channel: channel.clone(), sender: NASTY.into(), seconds: 9 }],
            invitations: vec![OpenInvitation { channel, standing: Standing::Owner, seconds: 9 }],
        }),
        PairingAsk::Approve(_) => PairingAnswer::Known(PrincipalPaired { principal: "telegram:1".into(), standing }),
        PairingAsk::Invite(_) => {
            PairingAnswer::Invited(Invitation { code: "K7-DELTA-19".into(), channel, standing, seconds: 600 })
        }
        PairingAsk::Revoke(name) => PairingAnswer::Revoked(gone(name)),
        PairingAsk::Speaks(ask) => {
            PairingAnswer::Speaks(LanguageSet { principal: ask.principal.clone(), lang: ask.lang.into() })
        }
    }
}

pub fn seals() -> BrokenSeals {
    let (who, why) = (NASTY.to_owned(), NASTY.to_owned());
    BrokenSeals(vec![BrokenSeal { who, principals: vec!["telegram:1".into()], why, until_ms: 1 }])
}

pub fn persons(ask: &PersonsAsk) -> PersonsAnswer {
    let person = |name: &str| PersonView {
        name: name.to_owned(),
        role: Role::Child,
        also: vec![NASTY.into()],
        principals: vec!["telegram:1".into()],
        may_call: Vec::new(),
        channel: Some("telegram".to_owned()),
        quiet: None,
        reached_at: Some("telegram:1".into()),
        folder: Some(NASTY.into()),
        since_ms: 1,
    };
    match ask {
        PersonsAsk::List => PersonsAnswer::Persons(PersonList(vec![person(NASTY)])),
        PersonsAsk::Show(name) => PersonsAnswer::Person(person(name)),
        PersonsAsk::Add(ask) => PersonsAnswer::Person(person(&ask.name)),
        PersonsAsk::Change(ask) => PersonsAnswer::Person(person(&ask.name)),
        PersonsAsk::Join(ask) => PersonsAnswer::Person(person(&ask.person)),
        PersonsAsk::Remove(name) => PersonsAnswer::Removed(PersonRemoved {
            name: name.clone(),
            revoked: vec!["telegram:1".into()],
            turns_ended: 2,
        }),
    }
}

fn gone(name: &str) -> Unpaired {
    Unpaired { principal: name.to_owned(), standing: Standing::Stranger, turns_ended: 0 }
}

pub fn autonomy(ask: &AutonomyAsk) -> AutonomyAnswer {
    match ask {
        AutonomyAsk::Show => AutonomyAnswer::Levels(vec![PrincipalLevel {
            principal: "cli:uid:1".into(),
            standing: Standing::Owner,
            level: Level::Full,
            raised_until_ms: Some(1),
        }]),
        AutonomyAsk::Set(ask) => AutonomyAnswer::Set(LevelSet {
            principal: ask.principal.clone(),
            level: ask.level.into(),
            raised_until_ms: None,
        }),
    }
}

pub fn automation(ask: &AutomationAsk) -> AutomationAnswer {
    let level = Level::from(common::Level::ReadOnly).name().to_owned();
    match ask {
        AutomationAsk::List => AutomationAnswer::All(vec![Automatic {
            principal: "hook:post".into(),
            level,
            says: NASTY.into(),
            since_ms: 1,
        }]),
        AutomationAsk::Add(ask) => AutomationAnswer::Added(AutomationAdded {
            principal: format!("{}:{}", ask.channel.name(), ask.name),
            says: ask.says.clone(),
            level,
        }),
        AutomationAsk::Remove(name) => AutomationAnswer::Removed(gone(name)),
    }
}

pub fn hook(ask: &HookSecret) -> HookAnswer {
    match ask {
        HookSecret::List => HookAnswer::All(Vec::new()),
        HookSecret::Make(name) => {
            HookAnswer::Made(HookMade { name: name.clone(), secret: "whsec_x".into(), path: format!("/hooks/{name}") })
        }
        HookSecret::Remove(name) => HookAnswer::Removed(HookRemoved { name: name.clone(), removed: true }),
    }
}

pub fn vault(ask: &VaultAsk) -> VaultAnswer {
    match ask {
        VaultAsk::List => VaultAnswer::Secrets(Vec::new()),
        VaultAsk::Remove(name) => VaultAnswer::Removed(SecretRemoved { name: name.clone(), removed: true }),
        VaultAsk::Grant(ask) => VaultAnswer::Granted(SecretGranted {
            name: ask.secret.clone(),
            executor: ask.executor.clone(),
            files: "blake3:00".into(),
        }),
        VaultAsk::Withdraw(ask) => {
            VaultAnswer::Withdrawn(SecretWithdrawn { name: ask.secret.clone(), executor: ask.executor.clone() })
        }
    }
}

pub fn accounts(ask: &AccountAsk) -> AccountAnswer {
    match ask {
        AccountAsk::List => AccountAnswer::Accounts(vec![account("Anna", "work", NASTY, 993, NASTY)]),
        AccountAsk::Remove(of) => AccountAnswer::Removed(AccountRemoved {
            person: of.person.clone(),
            kind: of.kind.name().to_owned(),
            name: of.name.clone(),
        }),
    }
}

pub fn account(person: &str, name: &str, host: &str, port: u16, user: &str) -> AccountRow {
    let text = str::to_owned;
    AccountRow {
        person: text(person),
        kind: text("mail"),
        name: text(name),
        host: text(host),
        port,
        user: text(user),
        smtp_host: text("smtp.example.org"),
        smtp_port: 465,
        address: text("anna@example.org"),
        devices: String::new(),
        since_ms: 1,
    }
}

pub fn budget(ask: &BudgetAsk) -> BudgetAnswer {
    match ask {
        BudgetAsk::Show(_) => BudgetAnswer::Report(BudgetReport {
            budgets: vec![BudgetRow {
                principal: "cli:uid:1".into(),
                budget: "calls.day".into(),
                used: 9,
                limit: 10,
                money: false,
                changed_until_ms: Some(1),
            }],
            births_left_today: 1,
            calls_per_minute: 60,
            day_ends_ms: 2,
        }),
        BudgetAsk::Raise(ask) => BudgetAnswer::Raised(BudgetRaised {
            principal: ask.of.principal.clone(),
            budget: ask.of.budget.clone(),
            limit: ask.limit,
            until_ms: 1,
        }),
        BudgetAsk::Restore(of) => {
            BudgetAnswer::Restored(BudgetRestored { principal: of.principal.clone(), budget: of.budget.clone() })
        }
    }
}

pub fn model_test(model: &str) -> ModelTest {
    ModelTest {
        model: model.to_owned(),
        ok: false,
        why: NASTY.into(),
        remedy: String::new(),
        said: String::new(),
        took_ms: 1,
        price_known: false,
        usage: None,
    }
}
