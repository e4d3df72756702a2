//! The channel of the terminal: what a session may ask the door, under the name that the supervisor vouches for.

use std::rc::Rc;

use metnos_proto::doc::Doc;
use metnos_proto::doc::automation::{HookAnswer, HookRemoved};
use metnos_proto::edge::{ServeError, Served};
use metnos_proto::edges::{CtlDoor, ctl_door};
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::{Channel, Done, Refusal, RefusalCode};
use metnos_proto::msg::door::{
    AnswerHere, DoorReport, DoorStatus, FireTimer, Greet, Greeted, HookSecret, MAX_TOKEN, PutToken, RemindMe, Reminded,
    Said, Say, Stop,
};
use metnos_proto::msg::people::{Paired, StrangersCode};
use metnos_proto::msg::planner::Cancelled;
use metnos_proto::msg::policyd::Answered;
use metnos_proto::payload::Sealed;
use zeroize::Zeroizing;

use super::say::Taken;
use super::speaker::{Speaker, SpeakerSession};
use super::{MAX_SESSIONS, Session};
use crate::telegram::api::is_token;

impl ctl_door::Serve for Session {
    async fn say(self: Rc<Self>, cx: Cx<CtlDoor>, Say {}: Say, [words]: [Sealed; 1]) -> Served<Said, 0> {
        let voice = self.voice(&cx)?;
        if self.is_turned_away {
            let why = format!("{MAX_SESSIONS} sessions are open already");
            let busy = Refusal::new(RefusalCode::Busy, "door.sessions", why);
            return Err(busy.remedy("close one, or ask again in a moment").into());
        }
        match self.door.say(&voice, words).await? {
            Taken::Opened(turn) => Ok((Said { turn }, [])),
            Taken::Stranger(paired) => Err(stranger(&voice.speaker, paired).into()),
        }
    }

    async fn greet(self: Rc<Self>, cx: Cx<CtlDoor>, Greet {}: Greet, []: [Sealed; 0]) -> Served<Greeted, 0> {
        let voice = self.voice(&cx)?;
        Ok((Greeted { lang: self.door.identify(&voice.speaker).await?.lang }, []))
    }

    async fn stop(self: Rc<Self>, _cx: Cx<CtlDoor>, Stop { turn }: Stop, []: [Sealed; 0]) -> Served<Cancelled, 0> {
        Ok((self.door.stop(self.number, turn).await?, []))
    }

    async fn answer(self: Rc<Self>, cx: Cx<CtlDoor>, ask: AnswerHere, []: [Sealed; 0]) -> Served<Answered, 1> {
        let voice = self.voice(&cx)?;
        Ok(self.door.answer(&voice.speaker, ask).await?)
    }

    async fn put_token(
        self: Rc<Self>,
        cx: Cx<CtlDoor>,
        PutToken {}: PutToken,
        [token]: [Sealed; 1],
    ) -> Served<Done, 0> {
        self.only_owner(&cx, "the bot's token, only the owner gives")?;
        let invalid = |why: String| Refusal::new(RefusalCode::Invalid, "door.token", why);
        if token.len() > MAX_TOKEN {
            return Err(invalid(format!("a token has at most {MAX_TOKEN} bytes")).into());
        }
        let bytes = Zeroizing::new(token.read().map_err(|error| invalid(error.to_string()))?);
        let text = std::str::from_utf8(&bytes).map_err(|_| invalid("what came is no text".to_owned()))?.trim();
        if !text.is_empty() && !is_token(text) {
            let why =
                "what came has not the form of a bot's token: digits, a colon, and about 35 letters, digits and signs";
            return Err(invalid(why.to_owned())
                .remedy("@BotFather shows it after /newbot, and again after /token")
                .into());
        }
        let mut kept = self.door.token.borrow_mut();
        let holder = kept.as_mut().map_err(|why| Refusal::new(RefusalCode::Unavailable, "door.token", why.clone()))?;
        holder
            .put(text.as_bytes())
            .map_err(|error| Refusal::new(RefusalCode::Unavailable, "door.token", error.to_string()))?;
        Ok((Done {}, []))
    }

    async fn hook_secret(
        self: Rc<Self>,
        cx: Cx<CtlDoor>,
        ask: HookSecret,
        []: [Sealed; 0],
    ) -> Served<Doc<HookAnswer>, 1> {
        self.only_owner(&cx, "the secrets of webhooks, only the owner has made")?;
        let hooks = self.door.hooks();
        let answer = match ask {
            HookSecret::List => HookAnswer::All(hooks.list()?),
            HookSecret::Make(name) => HookAnswer::Made(hooks.make(&name)?),
            HookSecret::Remove(name) => {
                let removed = hooks.remove(&name)?;
                HookAnswer::Removed(HookRemoved { name, removed })
            }
        };
        Ok(Doc::seal(&answer)?)
    }

    async fn fire_timer(self: Rc<Self>, cx: Cx<CtlDoor>, ask: FireTimer, []: [Sealed; 0]) -> Served<Said, 0> {
        self.only_owner(&cx, "timers are the owner's")?;
        let voice = SpeakerSession {
            speaker: Speaker { channel: Channel::Timer, sender: ask.name, lang: None },
            ..self.voice(&cx)?
        };
        Ok((Said { turn: self.door.fire(&voice, None).await? }, []))
    }

    async fn remind_me(self: Rc<Self>, cx: Cx<CtlDoor>, ask: RemindMe, []: [Sealed; 0]) -> Served<Reminded, 0> {
        let voice = self.voice(&cx)?;
        Ok((self.next_reminder(&voice, ask).await?, []))
    }

    async fn door_status(
        self: Rc<Self>,
        cx: Cx<CtlDoor>,
        DoorStatus {}: DoorStatus,
        []: [Sealed; 0],
    ) -> Served<DoorReport, 0> {
        self.only_owner(&cx, "only the owner may see the state of the door")?;
        Ok((self.door.report(), []))
    }
}

impl Session {
    fn only_owner(&self, cx: &Cx<CtlDoor>, why: &str) -> Result<(), Refusal> {
        if cx.peer.is_some_and(|peer| self.door.sessions.is_owner(peer.uid)) {
            return Ok(());
        }
        Err(Refusal::new(RefusalCode::Denied, "door.owner", why))
    }

    /// Who speaks here, as the supervisor vouches for him.
    fn voice(&self, cx: &Cx<CtlDoor>) -> Result<SpeakerSession, ServeError> {
        let Some(peer) = cx.peer else {
            return Err(ServeError::Violation("a session without a vouched-for user".to_owned()));
        };
        let speaker = Speaker { channel: Channel::Cli, sender: format!("uid:{}", peer.uid), lang: None };
        let (sink, opening) = (Rc::new(cx.notes()), Rc::clone(&self.opening));
        Ok(SpeakerSession { speaker, number: self.number, sink, mark: String::new(), opening })
    }
}

/// What a stranger at the terminal receives: a code for the owner, or that his own was good.
fn stranger(speaker: &Speaker, paired: Paired) -> Refusal {
    let sender = &speaker.sender;
    let why = format!("{sender} is not known to this instance, so nothing that it says is taken");
    let denied = |rule, why: String| Refusal::new(RefusalCode::Denied, rule, why);
    match paired {
        Paired::Known => denied("door.paired", format!("the code was good: {sender} is known here from now on"))
            .remedy("say what you wish"),
        Paired::Silence => denied("door.stranger", why).remedy("ask the owner of the instance"),
        Paired::Code(StrangersCode { code, seconds }) => denied("door.stranger", why).remedy(format!(
            "have the owner type, within {} minutes: metnosctl pairing approve {} {code}",
            seconds.div_ceil(60),
            speaker.channel.name(),
        )),
    }
}
