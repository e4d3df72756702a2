//! What the door may ask policyd, always under the name of a sender on a channel: who he is, what he said, and what he
//! may answer, see, take back or stop.

use std::rc::Rc;

use metnos_proto::doc::Doc;
use metnos_proto::doc::card::CardList;
use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::doc::undo::UndoReport;
use metnos_proto::edge::Served;
use metnos_proto::edges::{DoorPolicyd, door_policyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::{Channel, Lang, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::{QueryResult, TurnForgotten};
use metnos_proto::msg::people::{Fire, Fired, GroupMembers, KnownSenders, Pair, Paired, ViewRequest, WhoseMembers};
use metnos_proto::msg::policyd::{
    AnswerCard, Answered, CallRun, CancelHere, CardsHere, ForgetHere, Identified, Identify, KeepFile, PanicHere,
    Panicked, PromptRegistered, RegisterPrompt, SendFile, UndoHere,
};
use metnos_proto::msg::schedule::FireAsk;
use metnos_proto::payload::Sealed;

use crate::approvals::AnswerPath;
use crate::calls::inbox;
use crate::calls::turns::Turn;
use crate::people::pairing::automations::is_automatic;
use crate::people::principal::{Principal, stranger};
use crate::policy::Policy;
use crate::policy::direct::By;
use crate::refusals::internal;
use crate::serve::words;
use crate::vault::guard::told;

impl door_policyd::Serve for Policy {
    async fn identify(self: Rc<Self>, cx: Cx<DoorPolicyd>, ask: Identify, []: [Sealed; 0]) -> Served<Identified, 0> {
        self.people.door_is(cx.notes());
        let it = self.people.who(ask.channel, &ask.sender)?;
        Ok((self.identified(it, ask.lang, ask.spoke), []))
    }

    async fn register_prompt(
        self: Rc<Self>,
        cx: Cx<DoorPolicyd>,
        ask: RegisterPrompt,
        [said]: [Sealed; 1],
    ) -> Served<PromptRegistered, 0> {
        let principal = self.people.who(ask.channel, &ask.sender)?;
        match principal.standing {
            // Nobody speaks on the channel of hooks and timers: they fire.
            Standing::Owner | Standing::Adult | Standing::Guest if !is_automatic(ask.channel) => {}
            Standing::Owner | Standing::Adult | Standing::Guest | Standing::Stranger => {
                return Err(stranger(&principal).into());
            }
        }
        self.people.check_members(&principal)?;
        let words = words(&said)?;
        if let Some(name) = self.secrets.secret_in(std::iter::once(words.as_str())) {
            return Err(told(&name).into());
        }
        self.people.door_is(cx.notes());
        let (turn, trace) = (TurnId::new(), TraceId::new());
        let now = self.base.clock.monotonic_ms();
        let world = self.people.world(&principal);
        let (name, lang) = (principal.name.clone(), world.lang);
        let mut opened = Turn::new(trace, principal, world, &words, now);
        let mut turns = self.calls.turns.borrow_mut();
        if let Some(before) = turns.exchange_words(&name, &words, now) {
            opened.flow.follows(&before, &words, lang);
            if let Some(offered) = metnos_reflex::dialogue::agreed_to(&words, &before, lang) {
                opened.flow.agrees_to(&offered, lang);
            }
            opened.earlier.add(&before, lang);
        }
        let evicted = turns.open(turn, opened, now)?;
        drop(turns);
        if let Some(evicted) = evicted {
            self.forget(evicted);
        }
        Ok((PromptRegistered { turn, trace, unborn: self.executors.unborn() }, []))
    }

    async fn fire(self: Rc<Self>, cx: Cx<DoorPolicyd>, ask: Fire, []: [Sealed; 0]) -> Served<Fired, 1> {
        self.people.door_is(cx.notes());
        let (fired, says) = self.people.fire(&ask, &|turn| self.forget(turn))?;
        let says = Sealed::new(says.as_bytes())
            .map_err(|error| Refusal::new(RefusalCode::Internal, "words.seal", error.to_string()))?;
        Ok((fired, [says]))
    }

    async fn fire_ask(self: Rc<Self>, cx: Cx<DoorPolicyd>, ask: FireAsk, []: [Sealed; 0]) -> Served<Fired, 1> {
        self.people.door_is(cx.notes());
        let (fired, what) = Policy::fire_ask(&self, ask).await?;
        let what = Sealed::new(what.as_bytes())
            .map_err(|error| Refusal::new(RefusalCode::Internal, "words.seal", error.to_string()))?;
        Ok((fired, [what]))
    }

    async fn view(self: Rc<Self>, _: Cx<DoorPolicyd>, ask: ViewRequest, []: [Sealed; 0]) -> Served<QueryResult, 1> {
        let (looked, page) = self.executors.view(&ask).await?;
        Ok((looked, [page]))
    }

    async fn pair(self: Rc<Self>, _: Cx<DoorPolicyd>, ask: Pair, []: [Sealed; 0]) -> Served<Paired, 0> {
        Ok((self.people.pair(ask).await?, []))
    }

    async fn members_to_look_for(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: WhoseMembers,
        []: [Sealed; 0],
    ) -> Served<KnownSenders, 0> {
        Ok((self.people.members_to_look_for(ask.channel), []))
    }

    async fn group_members(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: GroupMembers,
        []: [Sealed; 0],
    ) -> Served<Identified, 0> {
        let it = self.people.group_is(&ask)?;
        if let Err(refusal) = self.people.check_members(&it) {
            // Turns that are open were opened for other members.
            self.people.end_turns(&it.name, &|turn| self.forget(turn)).await;
            return Err(refusal.into());
        }
        Ok((self.identified(it, None, None), []))
    }

    async fn answer_card(self: Rc<Self>, cx: Cx<DoorPolicyd>, ask: AnswerCard, []: [Sealed; 0]) -> Served<Answered, 1> {
        let principal = self.people.who(ask.channel, &ask.sender)?;
        match principal.standing {
            Standing::Owner | Standing::Adult | Standing::Guest => {}
            Standing::Stranger => return Err(stranger(&principal).into()),
        }
        self.people.door_is(cx.notes());
        let (answered, results) =
            Policy::answer(&self, principal, AnswerPath::Soft, (&ask.id, &ask.digest), &ask.answer, &ask.code).await?;
        Ok((answered, [results]))
    }

    async fn cards_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: CardsHere,
        []: [Sealed; 0],
    ) -> Served<Doc<CardList>, 1> {
        let principal = self.known(ask.channel, &ask.sender)?;
        Ok(Doc::seal(&self.approvals.cards.cards_of(&principal))?)
    }

    async fn keep_file(
        self: Rc<Self>,
        cx: Cx<DoorPolicyd>,
        ask: KeepFile,
        [content]: [Sealed; 1],
    ) -> Served<CallRun, 1> {
        let principal = self.known(ask.channel, &ask.sender)?;
        self.people.door_is(cx.notes());
        let _place = self.calls.files.place(&principal)?;
        let own = self.people.persons.borrow().folder_of(&principal.name);
        let arguments = inbox::arguments(&ask.name, &content, own.as_deref())?;
        let with = (arguments, Some(content));
        let (run, result, _) = self.direct_with(principal, inbox::KEEPER.to_owned(), with, By::Sent).await?;
        Ok((run, [result]))
    }

    async fn send_file(self: Rc<Self>, cx: Cx<DoorPolicyd>, ask: SendFile, []: [Sealed; 0]) -> Served<CallRun, 2> {
        let principal = self.known(ask.channel, &ask.sender)?;
        self.people.door_is(cx.notes());
        let _place = self.calls.files.place(&principal)?;
        let with = (inbox::wanted(&ask.path, ask.channel)?, None);
        let (run, result, file) = self.direct_with(principal, inbox::FETCHER.to_owned(), with, By::Sent).await?;
        let nothing = || Sealed::new(b"").map_err(|error| internal(&error.to_string()));
        Ok((run, [result, file.map_or_else(nothing, Ok)?]))
    }

    async fn undo_here(
        self: Rc<Self>,
        cx: Cx<DoorPolicyd>,
        ask: UndoHere,
        []: [Sealed; 0],
    ) -> Served<Doc<UndoReport>, 1> {
        let principal = self.known(ask.channel, &ask.sender)?;
        self.people.door_is(cx.notes());
        let report = match ask.thing.as_str() {
            "" => Policy::undo(&self, &principal, None).await?,
            called => Policy::undo_thing(&self, &principal, called).await?,
        };
        Ok(Doc::seal(&report)?)
    }

    async fn cancel_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: CancelHere,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        let principal = self.known(ask.channel, &ask.sender)?;
        Ok(Doc::seal(&Policy::cancel(&self, &principal, ask.number).await?)?)
    }

    async fn forget_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: ForgetHere,
        []: [Sealed; 0],
    ) -> Served<TurnForgotten, 0> {
        let principal = self.known(ask.channel, &ask.sender)?;
        Ok((Policy::forget_words(&self, &principal, ask.turn).await?, []))
    }

    async fn panic_here(self: Rc<Self>, _: Cx<DoorPolicyd>, ask: PanicHere, []: [Sealed; 0]) -> Served<Panicked, 0> {
        let principal = self.known(ask.channel, &ask.sender)?;
        match principal.standing {
            Standing::Owner => Ok((Panicked { killed: self.stop_all(&principal).await? }, [])),
            Standing::Adult | Standing::Guest | Standing::Stranger => {
                let why = "only the owner stops everything";
                Err(Refusal::new(RefusalCode::Denied, "panic.owner", why).into())
            }
        }
    }
}

impl Policy {
    /// Who somebody is, as the door learns it.
    fn identified(&self, it: Principal, says: Option<Lang>, spoke: Option<Lang>) -> Identified {
        let lang = self.people.speaks(&it, says, spoke);
        let person = self.people.person_of(&it.name);
        Identified { principal: it.name, standing: it.standing, level: it.level, lang, person }
    }

    /// A known sender on a channel: anyone who is a stranger is notified.
    pub(crate) fn known(&self, channel: Channel, sender: &str) -> Result<Principal, Refusal> {
        let principal = self.people.who(channel, sender)?;
        match principal.standing {
            Standing::Owner | Standing::Adult | Standing::Guest => {
                self.people.check_members(&principal)?;
                Ok(principal)
            }
            Standing::Stranger => Err(stranger(&principal)),
        }
    }
}
