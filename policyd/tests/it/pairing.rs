//! Pairing and levels over the real edges: a code is good once, a revoked sender is a stranger at once, and a raise ends
//! by itself, in the middle of a turn, too.

use std::rc::Rc;

use crate::peers::{OWNER, World, act, denied, run, sealed};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::{CtlPolicyd, DoorPolicyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::{Channel, Level, Refusal, Standing};
use metnos_proto::msg::people::{
    ApprovePairing, AutonomyAsk, GroupMembers, Invite, Pair, Paired, PairingAsk, SetLevel, WhoseMembers,
};
use metnos_proto::msg::policyd::{CheckPolicy, ForgetHere, Identify, RegisterPrompt};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

const MINUTE_MS: u64 = 60_000;

async fn knock(door: &Rc<Client<DoorPolicyd>>, channel: Channel, sender: &str, code: &str) -> Paired {
    let ask = Pair { channel, sender: sender.into(), code: code.into() };
    door.pair(TraceId::NONE, ask, []).await.unwrap().0
}

async fn pairing(owner: &Rc<Client<CtlPolicyd>>, ask: PairingAsk) -> Result<Value, Refusal> {
    let (_, [document]) = owner.pairing(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?;
    Ok(serde_json::from_slice(&document.read().unwrap()).unwrap())
}

async fn autonomy(
    owner: &Rc<Client<CtlPolicyd>>,
    principal: &str,
    level: Level,
    seconds: u32,
) -> Result<Value, Refusal> {
    let ask = AutonomyAsk::Set(SetLevel { principal: principal.into(), level, seconds });
    let (_, [document]) = owner.autonomy(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?;
    Ok(serde_json::from_slice(&document.read().unwrap()).unwrap())
}

fn approve(channel: Channel, code: &str) -> PairingAsk {
    PairingAsk::Approve(ApprovePairing { channel, code: code.into(), standing: Standing::Guest, person: String::new() })
}

async fn standing(door: &Rc<Client<DoorPolicyd>>, channel: Channel, sender: &str) -> (Standing, Level) {
    let ask = Identify { channel, sender: sender.into(), lang: None, spoke: None };
    let who = door.identify(TraceId::NONE, ask, []).await.unwrap().0;
    (who.standing, who.level)
}

fn code(paired: Paired) -> String {
    match paired {
        Paired::Code(code) => code.code,
        other @ (Paired::Known | Paired::Silence) => panic!("{other:?}"),
    }
}

#[test]
fn approved_pairing_code_gives_standing_on_each_channel_until_revoked() {
    run(async {
        for (channel, sender) in [(Channel::Telegram, "4711"), (Channel::Http, "token:a"), (Channel::Cli, "uid:1001")] {
            let folder = tempfile::tempdir().unwrap();
            let world = World::usual(folder.path()).await;
            let (door, owner) = (world.door().await, world.owner(OWNER).await);
            let code = code(knock(&door, channel, sender, "").await);
            assert_eq!(standing(&door, channel, sender).await, (Standing::Stranger, Level::ReadOnly));
            assert!(!world.took().iter().any(|line| line.contains(&code)), "a code is in no line");
            pairing(&owner, approve(channel, &code.to_lowercase())).await.unwrap();
            assert_eq!(pairing(&owner, approve(channel, &code)).await.unwrap_err().rule, "pairing.code", "single use");
            assert_eq!(standing(&door, channel, sender).await, (Standing::Guest, Level::ReadOnly));
            let ask = RegisterPrompt { channel, sender: sender.into() };
            let turn = door
                .register_prompt(TraceId::NONE, ask.clone(), [Sealed::new(b"read a").unwrap()])
                .await
                .unwrap()
                .0
                .turn;
            let planner = world.planner(7).await;
            let name = format!("{}:{sender}", channel.name());
            pairing(&owner, PairingAsk::Revoke(name.clone())).await.unwrap();
            assert_eq!(standing(&door, channel, sender).await.0, Standing::Stranger);
            let late = planner.act(TraceId::NONE, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a"}))]).await;
            assert_eq!(late.unwrap_err().into_refusal().rule, "turn.unknown", "his open turn is over");
            let again = door.register_prompt(TraceId::NONE, ask, [Sealed::new(b"read a").unwrap()]).await;
            assert_eq!(again.unwrap_err().into_refusal().rule, "principal.unpaired");
            assert_eq!(pairing(&owner, PairingAsk::Revoke(name)).await.unwrap_err().rule, "pairing.unknown");
        }
    });
}

#[test]
fn invitation_works_once_and_only_its_standing_survives_restart() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let (door, owner) = (world.door().await, world.owner(OWNER).await);
        let invite = Invite { channel: Channel::Http, standing: Standing::Owner, person: String::new() };
        let code = pairing(&owner, PairingAsk::Invite(invite)).await.unwrap()["code"].as_str().unwrap().to_owned();
        assert_eq!(knock(&door, Channel::Telegram, "x", &code).await, Paired::Silence, "another channel");
        assert_eq!(knock(&door, Channel::Http, "page", &code).await, Paired::Known);
        assert_eq!(knock(&door, Channel::Http, "thief", &code).await, Paired::Silence);
    });
    run(async {
        let world = World::usual(folder.path()).await;
        let door = world.door().await;
        assert_eq!(standing(&door, Channel::Http, "page").await, (Standing::Owner, Level::Supervised));
        assert_eq!(standing(&door, Channel::Http, "thief").await.0, Standing::Stranger);
    });
}

#[test]
fn group_is_nobody_and_no_more_than_its_least_member() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let (door, owner) = (world.door().await, world.owner(OWNER).await);
        let on = Channel::Telegram;
        for (sender, standing) in [("7", Standing::Owner), ("8", Standing::Adult), ("9", Standing::Guest)] {
            let invite = PairingAsk::Invite(Invite { channel: on, standing, person: String::new() });
            let code = pairing(&owner, invite).await.unwrap()["code"].as_str().unwrap().to_owned();
            assert_eq!(knock(&door, on, sender, &code).await, Paired::Known);
        }
        // An invitation is for the one who bears it.
        let invite = PairingAsk::Invite(Invite { channel: on, standing: Standing::Owner, person: String::new() });
        let invited = pairing(&owner, invite).await.unwrap()["code"].as_str().unwrap().to_owned();
        let shown = code(knock(&door, on, "-5", &invited).await);
        let as_owner = ApprovePairing { channel: on, code: shown, standing: Standing::Owner, person: String::new() };
        assert_eq!(pairing(&owner, PairingAsk::Approve(as_owner)).await.unwrap_err().rule, "pairing.group");
        assert_eq!(standing(&door, on, "-5").await.0, Standing::Stranger);
        let shown = code(knock(&door, on, "-5", "").await);
        let as_adult = ApprovePairing { channel: on, code: shown, standing: Standing::Adult, person: String::new() };
        pairing(&owner, PairingAsk::Approve(as_adult)).await.unwrap();
        let guest = (Standing::Guest, Level::ReadOnly);
        assert_eq!(standing(&door, on, "-5").await, guest, "it was not said yet who is in it");
        let told = async |members: &[&str], are_all| {
            let members = members.iter().map(|one| (*one).to_owned()).collect();
            let ask = GroupMembers { channel: on, group: "-5".into(), members, are_all };
            let who = door.group_members(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?.0;
            Ok::<_, Refusal>((who.standing, who.level))
        };
        let adult = (Standing::Adult, Level::Supervised);
        assert_eq!(told(&["7", "8"], true).await.unwrap(), adult);
        assert_eq!(standing(&door, on, "-5").await, adult);
        for (members, are_all) in
            [(&["7", "8"][..], false), (&["7", "9"], true), (&["7", "77"], true), (&[], true), (&["9"], true)]
        {
            assert_eq!(told(&["7", "8"], true).await.unwrap(), adult);
            let register = || {
                let ask = RegisterPrompt { channel: on, sender: "-5".into() };
                door.register_prompt(TraceId::NONE, ask, [Sealed::new(b"read a").unwrap()])
            };
            let turn = register().await.unwrap().0.turn;
            let refused = told(members, are_all).await.unwrap_err();
            assert_eq!(refused.rule, "principal.members", "{members:?} {are_all}");
            assert_eq!(standing(&door, on, "-5").await, guest);
            // What was said there before is theirs who were there; what is under way there is over.
            assert_eq!(register().await.unwrap_err().into_refusal().rule, "principal.members");
            let late = world
                .planner(9)
                .await
                .act(TraceId::NONE, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a"}))])
                .await;
            assert_eq!(late.unwrap_err().into_refusal().rule, "turn.unknown");
        }
        // No more than a member does without asking, whatever was set for it; and believed for its time only.
        assert_eq!(told(&["7", "8"], true).await.unwrap(), adult);
        let _ = autonomy(&owner, "telegram:-5", Level::Full, 3_600).await;
        assert_eq!(standing(&door, on, "-5").await, adult);
        world.clock.set(world.clock.get() + metnos_policyd::people::groups::BELIEVED_MS);
        assert_eq!(standing(&door, on, "-5").await, guest);
        let known = door.members_to_look_for(TraceId::NONE, WhoseMembers { channel: on }, []).await.unwrap().0;
        assert_eq!(known.senders, ["7", "8", "9"]);
        let no = GroupMembers { channel: on, group: "8".into(), members: Vec::new(), are_all: true };
        let refused = door.group_members(TraceId::NONE, no, []).await.unwrap_err().into_refusal();
        assert_eq!(refused.rule, "principal.group", "a person is no group");
    });
}

#[test]
fn five_wrong_codes_lock_out_and_void() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let (door, owner) = (world.door().await, world.owner(OWNER).await);
        let invite = || {
            let (channel, standing) = (Channel::Telegram, Standing::Guest);
            PairingAsk::Invite(Invite { channel, standing, person: String::new() })
        };
        let good = pairing(&owner, invite()).await.unwrap()["code"].as_str().unwrap().to_owned();
        let wrong = if good == "A0-ECHO-00" { "A0-ECHO-01" } else { "A0-ECHO-00" };
        for _ in 0..5 {
            assert_eq!(knock(&door, Channel::Telegram, "x", wrong).await, Paired::Silence);
        }
        assert_eq!(knock(&door, Channel::Telegram, "x", &good).await, Paired::Silence);
        assert_eq!(knock(&door, Channel::Telegram, "y", &good).await, Paired::Silence);
        let waits = code(knock(&door, Channel::Telegram, "z", "").await);
        for round in 1..=5 {
            let rule = pairing(&owner, approve(Channel::Telegram, "nonsense")).await.unwrap_err().rule;
            assert_eq!(rule, if round < 5 { "pairing.code" } else { "pairing.locked" });
        }
        assert_eq!(pairing(&owner, approve(Channel::Telegram, &waits)).await.unwrap_err().rule, "pairing.code");
    });
}

#[test]
fn codes_are_sent_once_a_minute_and_expire_after_ten() {
    let folder = tempfile::tempdir().unwrap();
    let second = run(async {
        let world = World::usual(folder.path()).await;
        let (door, owner) = (world.door().await, world.owner(OWNER).await);
        let first = code(knock(&door, Channel::Telegram, "4711", "").await);
        assert_eq!(knock(&door, Channel::Telegram, "4711", "").await, Paired::Silence);
        assert_eq!(knock(&door, Channel::Telegram, "4711", "let me in").await, Paired::Silence, "no code, no try");
        world.clock.set(world.clock.get() + MINUTE_MS);
        assert_eq!(code(knock(&door, Channel::Telegram, "4711", "").await), first);
        world.clock.set(world.clock.get() + 9 * MINUTE_MS);
        assert_eq!(pairing(&owner, approve(Channel::Telegram, &first)).await.unwrap_err().rule, "pairing.code");
        code(knock(&door, Channel::Telegram, "4711", "").await)
    });
    run(async {
        let world = World::usual(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(pairing(&owner, approve(Channel::Telegram, &second)).await.unwrap_err().rule, "pairing.code");
    });
}

#[test]
fn pairing_is_refused_for_scheduler_guest_and_stranger_standing() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let (door, owner, other) = (world.door().await, world.owner(OWNER).await, world.owner(1001).await);
        assert_eq!(knock(&door, Channel::Scheduler, "x", "").await, Paired::Silence);
        let invite = |channel, standing| PairingAsk::Invite(Invite { channel, standing, person: String::new() });
        for (channel, standing) in [(Channel::Metnos, Standing::Guest), (Channel::Cli, Standing::Stranger)] {
            assert_eq!(pairing(&owner, invite(channel, standing)).await.unwrap_err().rule, "pairing.form");
        }
        assert_eq!(
            pairing(&other, invite(Channel::Cli, Standing::Owner)).await.unwrap_err().rule,
            "principal.unpaired"
        );
        // A paired guest at the terminal is still nobody on the admin edge.
        let code = code(knock(&door, Channel::Cli, "uid:1001", "").await);
        pairing(&owner, approve(Channel::Cli, &code)).await.unwrap();
        assert_eq!(
            pairing(&other, invite(Channel::Cli, Standing::Owner)).await.unwrap_err().rule,
            "principal.unpaired"
        );
    });
}

#[test]
fn a_raise_ends_by_itself_also_in_an_open_turn_and_is_shown_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let me = format!("uid:{OWNER}");
    run(async {
        let world = World::usual(folder.path()).await;
        let (door, owner) = (world.door().await, world.owner(OWNER).await);
        assert_eq!(autonomy(&owner, "owner", Level::Full, 0).await.unwrap_err().rule, "autonomy.level");
        assert_eq!(autonomy(&owner, "telegram:1", Level::Supervised, 60).await.unwrap_err().rule, "autonomy.level");
        let turn = world.say("read a").await;
        autonomy(&owner, "owner", Level::Full, 60).await.unwrap();
        assert_eq!(standing(&door, Channel::Cli, &me).await.1, Level::Full);
        let check = async || {
            let ask = CheckPolicy { principal: "owner".into(), executor: "fs_read".into() };
            let (_, [text]) = owner.check_policy(TraceId::NONE, ask, [sealed(&json!({"path": "a"}))]).await.unwrap();
            serde_json::from_slice::<Value>(&text.read().unwrap()).unwrap()
        };
        let explained = check().await;
        assert_eq!(explained["level"], "full");
        assert!(explained["raised_until_ms"].as_u64().is_some());
        world.clock.set(world.clock.get() + 60_000);
        assert_eq!(standing(&door, Channel::Cli, &me).await.1, Level::Supervised);
        assert_eq!((&check().await["level"], &check().await["raised_until_ms"]), (&"supervised".into(), &Value::Null));
        // The open turn was opened before the raise and goes on after it, at the level that holds.
        let planner = world.planner(3).await;
        planner.act(TraceId::NONE, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a"}))]).await.unwrap();
        autonomy(&owner, "owner", Level::ReadOnly, 0).await.unwrap();
        assert!(world.took().iter().any(|line| line.contains("autonomy")));
        let (acted, []) = planner.act(TraceId::NONE, act(turn, 2, "nothing"), [sealed(&json!({}))]).await.unwrap();
        assert_eq!(denied(acted), "executor.unknown");
    });
    run(async {
        let world = World::usual(folder.path()).await;
        assert_eq!(
            standing(&world.door().await, Channel::Cli, &me).await.1,
            Level::ReadOnly,
            "what was set for good stays"
        );
    });
}

#[test]
fn pairing_lockout_survives_restart_and_ends_on_time() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let door = world.door().await;
        for _ in 0..6 {
            assert_eq!(knock(&door, Channel::Telegram, "x", "A0-ECHO-00").await, Paired::Silence);
        }
    });
    run(async {
        let world = World::usual(folder.path()).await;
        let door = world.door().await;
        world.clock.set(59 * MINUTE_MS);
        assert_eq!(knock(&door, Channel::Telegram, "x", "").await, Paired::Silence);
        code(knock(&door, Channel::Telegram, "y", "").await);
        world.clock.set(61 * MINUTE_MS);
        code(knock(&door, Channel::Telegram, "x", "").await);
    });
}

#[test]
fn redaction_uses_the_identified_principal_and_has_a_daily_limit() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let (door, turn) = (world.door().await, TurnId::new());
        let forget = async |channel, sender: &str| {
            let ask = ForgetHere { channel, sender: sender.into(), turn };
            door.forget_here(TraceId::NONE, ask, [])
                .await
                .map(|(forgotten, [])| forgotten.lines)
                .map_err(|error| error.into_refusal().rule)
        };
        assert_eq!(forget(Channel::Telegram, "4711").await, Err("principal.unpaired".into()));
        let owner = format!("uid:{OWNER}");
        assert_eq!(forget(Channel::Cli, &owner).await, Ok(2));
        assert!(world.log.borrow().contains(&format!("forget_turn cli:{owner}")), "{:?}", world.log.borrow());
        let mut last = Ok(2);
        for _ in 0..200 {
            last = forget(Channel::Cli, &owner).await;
            if last.is_err() {
                break;
            }
        }
        assert_eq!(last, Err("forget.today".into()));
    });
}
