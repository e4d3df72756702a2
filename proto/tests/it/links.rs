//! Honest links: answers find their asks, notes come in order, and the end of a peer is noticed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::doc::Doc;
use metnos_proto::doc::card::CardList;
use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::doc::undo::UndoReport;
use metnos_proto::edge::{self, Edge, RpcError, ServeError, Served};
use metnos_proto::edges::{DoorPlanner, DoorPolicyd, door_planner, door_policyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link::{BlockingClient, Outgoing};
use metnos_proto::link_async::{Client, Closed, Cx, MAX_IN_FLIGHT};
use metnos_proto::msg::common::{Channel, Done, Lang, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::TurnForgotten;
use metnos_proto::msg::people::{GroupMembers, KnownSenders, Pair, Paired, WhoseMembers};
use metnos_proto::msg::planner::{
    AttachTurn, CancelTurn, Cancelled, DetachedTurnList, DetachedTurns, OpenTurn, ReleaseTurn, ResumeTurn, Text,
    TurnAttached, TurnOpened, TurnResumed,
};
use metnos_proto::msg::policyd::{
    AnswerCard, Answered, CallRun, CancelHere, CardsHere, ForgetHere, Identified, Identify, KeepFile, PanicHere,
    Panicked, PromptRegistered, RegisterPrompt, SendFile, UndoHere,
};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::{OpenPhase, Phases};

/// Opens every turn, telling its words back as a note; cancels none, and counts how many asks run at once.
#[derive(Default)]
struct Echo {
    at_once: Cell<usize>,
    most: Cell<usize>,
    phases: Phases<OpenPhase>,
    hold: RefCell<Option<Rc<tokio::sync::Notify>>>,
}

impl door_planner::Serve for Echo {
    fn phase_of(
        &self,
        _: &Cx<DoorPlanner>,
        turn: Option<TurnId>,
        _: &door_planner::Ask,
    ) -> Result<OpenPhase, ServeError> {
        Ok(self.phases.of(turn))
    }

    fn enter(&self, _: &Cx<DoorPlanner>, turn: Option<TurnId>, next: Option<OpenPhase>) {
        self.phases.enter(turn, next);
    }

    async fn open_fired(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: metnos_proto::msg::planner::OpenFired,
        [words, _data]: [Sealed; 2],
    ) -> Served<TurnOpened, 0> {
        self.open_turn(cx, ask.open, [words]).await
    }

    async fn open_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: OpenTurn,
        [words]: [Sealed; 1],
    ) -> Served<TurnOpened, 0> {
        let text = String::from_utf8(words.read().unwrap()).unwrap();
        if text == "breach" {
            return Err(ServeError::Violation("the words say so".to_owned()));
        }
        if text == "refuse" {
            return Err(Refusal::new(RefusalCode::Busy, "test.busy", "not now").into());
        }
        cx.notes().send(door_planner::Note::Text(Text { turn: ask.turn, text })).await.unwrap();
        Ok((TurnOpened {}, []))
    }

    async fn resume_turn(self: Rc<Self>, _: Cx<DoorPlanner>, _: ResumeTurn, []: [Sealed; 0]) -> Served<TurnResumed, 1> {
        Ok((TurnResumed {}, [Sealed::new(b"[]").unwrap()]))
    }

    async fn detached_turns(
        self: Rc<Self>,
        _: Cx<DoorPlanner>,
        _: DetachedTurns,
        []: [Sealed; 0],
    ) -> Served<DetachedTurnList, 0> {
        Ok((DetachedTurnList { turns: Vec::new() }, []))
    }

    async fn attach_turn(
        self: Rc<Self>,
        _: Cx<DoorPlanner>,
        _: AttachTurn,
        []: [Sealed; 0],
    ) -> Served<TurnAttached, 1> {
        Ok((TurnAttached {}, [Sealed::new(b"[]").unwrap()]))
    }

    async fn release_turn(self: Rc<Self>, _: Cx<DoorPlanner>, _: ReleaseTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    async fn cancel_turn(self: Rc<Self>, _: Cx<DoorPlanner>, _: CancelTurn, []: [Sealed; 0]) -> Served<Cancelled, 0> {
        self.at_once.set(self.at_once.get() + 1);
        self.most.set(self.most.get().max(self.at_once.get()));
        let hold = self.hold.borrow().clone();
        if let Some(hold) = hold {
            hold.notified().await;
        }
        self.at_once.set(self.at_once.get() - 1);
        Ok((Cancelled { was_open: false }, []))
    }
}

fn turn() -> OpenTurn {
    OpenTurn { turn: TurnId::new(), trace: TraceId::new(), channel: Channel::Cli, lang: Lang::En, unborn: 0 }
}

fn on_tokio<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

#[test]
fn an_ask_is_answered_and_its_note_comes_first() {
    on_tokio(async {
        let (asker, answerer) = edge::pair::<DoorPlanner>(1, None).unwrap();
        tokio::task::spawn_local(door_planner::serve(answerer, Rc::new(Echo::default())));
        let client = Rc::new(Client::<DoorPlanner>::default());
        client.attach(asker).unwrap();
        let mut notes = client.take_notes().unwrap();
        for words in ["one", "two"] {
            client.open_turn(TraceId::new(), turn(), [Sealed::new(words.as_bytes()).unwrap()]).await.unwrap();
            let door_planner::Note::Text(note) = notes.try_recv().unwrap() else { panic!() };
            assert_eq!(note.text, words);
        }
        let refused = client.open_turn(TraceId::NONE, turn(), [Sealed::new(b"refuse").unwrap()]).await;
        assert!(matches!(refused, Err(RpcError::Refused(refusal)) if refusal.rule == "test.busy"));
    });
}

#[test]
fn a_breach_of_protocol_closes_the_link_without_an_answer() {
    on_tokio(async {
        let (asker, answerer) = edge::pair::<DoorPlanner>(1, None).unwrap();
        let serving = tokio::task::spawn_local(door_planner::serve(answerer, Rc::new(Echo::default())));
        let client = Rc::new(Client::<DoorPlanner>::default());
        client.attach(asker).unwrap();
        let asked = client.open_turn(TraceId::NONE, turn(), [Sealed::new(b"breach").unwrap()]).await;
        assert!(matches!(asked, Err(RpcError::Gone(_))), "{asked:?}");
        assert!(matches!(serving.await.unwrap(), Closed::Violation(what) if what == "the words say so"));
    });
}

#[test]
fn client_reports_lying_answerer_and_takes_a_fresh_end() {
    use std::os::fd::AsFd;
    on_tokio(async {
        let (asker, liar) = edge::pair::<DoorPlanner>(1, None).unwrap();
        let client = Rc::new(Client::<DoorPlanner>::default());
        let told = Rc::new(RefCell::new(Vec::new()));
        let telling = Rc::clone(&told);
        client.on_breach(move |what| telling.borrow_mut().push(what.to_owned()));
        client.attach(asker).unwrap();
        let liar = metnos_proto::link::BlockingServer::new(liar).unwrap();
        metnos_proto::socket::send(liar.as_fd(), b"no packet", &[]).unwrap();
        client.generations().wait_for(|generation| *generation == 0).await.unwrap();
        assert_eq!(told.borrow().len(), 1);
        let (asker, answerer) = edge::pair::<DoorPlanner>(2, None).unwrap();
        tokio::task::spawn_local(door_planner::serve(answerer, Rc::new(Echo::default())));
        client.attach(asker).unwrap();
        client.open_turn(TraceId::NONE, turn(), [Sealed::new(b"x").unwrap()]).await.unwrap();
        assert_eq!(told.borrow().len(), 1, "an honest peer is not told of");
    });
}

#[test]
fn a_client_goes_on_with_a_fresh_end_and_what_was_in_flight_is_gone() {
    on_tokio(async {
        let hold = Rc::new(tokio::sync::Notify::new());
        let service = Rc::new(Echo { hold: RefCell::new(Some(Rc::clone(&hold))), ..Echo::default() });
        let client = Rc::new(Client::<DoorPlanner>::default());
        let (asker, answerer) = edge::pair::<DoorPlanner>(1, None).unwrap();
        let first = tokio::task::spawn_local(door_planner::serve(answerer, Rc::clone(&service)));
        client.attach(asker).unwrap();
        let pending = {
            let client = Rc::clone(&client);
            tokio::task::spawn_local(async move {
                client.cancel_turn(TraceId::NONE, CancelTurn { turn: TurnId::NONE }, []).await
            })
        };
        while service.at_once.get() == 0 {
            tokio::task::yield_now().await;
        }
        first.abort();
        assert!(matches!(pending.await.unwrap(), Err(RpcError::Gone(_))));
        let mut generations = client.generations();
        generations.wait_for(|generation| *generation == 0).await.unwrap();
        // An ask that nobody has heard yet waits for the fresh end.
        let (asker, answerer) = edge::pair::<DoorPlanner>(2, None).unwrap();
        tokio::task::spawn_local(door_planner::serve(answerer, Rc::new(Echo::default())));
        let asked = client.open_turn(TraceId::NONE, turn(), [Sealed::new(b"again").unwrap()]);
        let (asked, attached) = tokio::join!(asked, async { client.attach(asker) });
        attached.unwrap();
        asked.unwrap();
        assert_eq!(*generations.borrow_and_update(), 2);
    });
}

#[test]
fn a_flooding_asker_is_served_only_so_many_at_once() {
    on_tokio(async {
        let hold = Rc::new(tokio::sync::Notify::new());
        let service = Rc::new(Echo { hold: RefCell::new(Some(Rc::clone(&hold))), ..Echo::default() });
        let (asker, answerer) = edge::pair::<DoorPlanner>(1, None).unwrap();
        tokio::task::spawn_local(door_planner::serve(answerer, Rc::clone(&service)));
        // Packets by hand: our own client would not send that many.
        let flood = BlockingFlood::new(asker);
        let sent = flood.send_until_full();
        assert!(sent > MAX_IN_FLIGHT, "{sent}");
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(service.at_once.get(), MAX_IN_FLIGHT);
        for _ in 0..sent {
            hold.notify_waiters();
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(service.most.get(), MAX_IN_FLIGHT);
    });
}

struct BlockingFlood(BlockingClient<DoorPlanner>);

impl BlockingFlood {
    fn new(end: edge::AskerEnd<DoorPlanner>) -> Self {
        Self(BlockingClient::new(end).unwrap())
    }

    fn send_until_full(&self) -> usize {
        use metnos_proto::frame::{Header, Kind, encode};
        use std::os::fd::AsFd;
        let ask = door_planner::Ask::CancelTurn(CancelTurn { turn: TurnId::NONE });
        for request in 1.. {
            let header = Header { edge: 2, kind: Kind::Ask, fds: 0, request, trace: TraceId::NONE };
            if metnos_proto::socket::send(self.0.as_fd(), &encode(header, &ask).unwrap(), &[]).is_err() {
                return usize::try_from(request).unwrap() - 1;
            }
        }
        0
    }
}

#[test]
fn a_peer_that_never_answers_is_given_up_on_in_time() {
    on_tokio(async {
        tokio::time::pause();
        let (asker, _silent) = edge::pair::<DoorPlanner>(1, None).unwrap();
        let client = Rc::new(Client::<DoorPlanner>::default());
        client.attach(asker).unwrap();
        let asked = client.cancel_turn(TraceId::NONE, CancelTurn { turn: TurnId::NONE }, []).await;
        assert!(matches!(asked, Err(RpcError::Late { within_ms: 5_000, .. })), "{asked:?}");
    });
}

struct Doorman;

impl door_policyd::ServeBlocking for Doorman {
    fn fire(
        &mut self,
        _: &metnos_proto::link::BlockingServer<metnos_proto::edges::DoorPolicyd>,
        _: metnos_proto::ids::TraceId,
        _: metnos_proto::msg::people::Fire,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::people::Fired, 1> {
        Err(metnos_proto::msg::common::Refusal::new(metnos_proto::msg::common::RefusalCode::Denied, "test", "no")
            .into())
    }

    fn fire_ask(
        &mut self,
        _: &metnos_proto::link::BlockingServer<metnos_proto::edges::DoorPolicyd>,
        _: metnos_proto::ids::TraceId,
        _: metnos_proto::msg::schedule::FireAsk,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::people::Fired, 1> {
        Err(metnos_proto::msg::common::Refusal::new(metnos_proto::msg::common::RefusalCode::Denied, "test", "no")
            .into())
    }

    fn view(
        &mut self,
        _: &metnos_proto::link::BlockingServer<metnos_proto::edges::DoorPolicyd>,
        _: metnos_proto::ids::TraceId,
        _: metnos_proto::msg::people::ViewRequest,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::memoryd::QueryResult, 1> {
        Err(metnos_proto::msg::common::Refusal::new(metnos_proto::msg::common::RefusalCode::Denied, "test", "no")
            .into())
    }

    fn identify(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        ask: Identify,
        []: [Sealed; 0],
    ) -> Served<Identified, 0> {
        let principal = format!("{}:{}", ask.channel.name(), ask.sender);
        Ok((
            Identified {
                principal,
                standing: Standing::Owner,
                level: Level::Supervised,
                lang: Lang::It,
                person: String::new(),
            },
            [],
        ))
    }

    fn register_prompt(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: RegisterPrompt,
        [_]: [Sealed; 1],
    ) -> Served<PromptRegistered, 0> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn pair(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: Pair,
        []: [Sealed; 0],
    ) -> Served<Paired, 0> {
        Ok((Paired::Silence, []))
    }

    fn answer_card(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: AnswerCard,
        []: [Sealed; 0],
    ) -> Served<Answered, 1> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn cards_here(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: CardsHere,
        []: [Sealed; 0],
    ) -> Served<Doc<CardList>, 1> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn keep_file(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: KeepFile,
        _: [Sealed; 1],
    ) -> Served<CallRun, 1> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn send_file(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: SendFile,
        []: [Sealed; 0],
    ) -> Served<CallRun, 2> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn undo_here(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: UndoHere,
        []: [Sealed; 0],
    ) -> Served<Doc<UndoReport>, 1> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn cancel_here(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: CancelHere,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn members_to_look_for(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: WhoseMembers,
        []: [Sealed; 0],
    ) -> Served<KnownSenders, 0> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn group_members(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: GroupMembers,
        []: [Sealed; 0],
    ) -> Served<Identified, 0> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn forget_here(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: ForgetHere,
        []: [Sealed; 0],
    ) -> Served<TurnForgotten, 0> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    fn panic_here(
        &mut self,
        _: &metnos_proto::link::BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: PanicHere,
        []: [Sealed; 0],
    ) -> Served<Panicked, 0> {
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }
}

#[test]
fn the_blocking_ends_speak_to_each_other() {
    let (asker, answerer) = edge::pair::<DoorPolicyd>(1, None).unwrap();
    let server = std::thread::spawn(move || {
        let mut link = metnos_proto::link::BlockingServer::new(answerer).unwrap();
        let mut buffer = metnos_proto::socket::buffer();
        let mut answered = 0;
        loop {
            match link.receive(&mut buffer) {
                Ok(Some(incoming)) => {
                    let outgoing = door_policyd::dispatch(&link, incoming, &mut Doorman).unwrap();
                    link.answer(outgoing).unwrap();
                    answered += 1;
                }
                Ok(None) => std::thread::yield_now(),
                Err(_) => return answered,
            }
        }
    });
    let mut client = BlockingClient::<DoorPolicyd>::new(asker).unwrap();
    let ask = Identify { channel: Channel::Cli, sender: "uid:1000".to_owned(), lang: None, spoke: None };
    let (identified, []) = client.identify(TraceId::NONE, ask, []).unwrap();
    assert_eq!(identified.principal, "cli:uid:1000");
    let ask = RegisterPrompt { channel: Channel::Cli, sender: String::new() };
    let refused = client.register_prompt(TraceId::NONE, ask, [Sealed::new(b"x").unwrap()]);
    assert!(matches!(refused, Err(RpcError::Refused(refusal)) if refusal.rule == "test"));
    assert_eq!(client.next_note(Duration::from_millis(1)).unwrap(), None);
    drop(client);
    assert_eq!(server.join().unwrap(), 2);
}

/// Sends answers to asks that nobody waits for any more, without end, until the other side is gone.
fn babble(answerer: edge::AnswererEnd<DoorPolicyd>) {
    let link = metnos_proto::link::BlockingServer::new(answerer).unwrap();
    let refusal = || Refusal::new(RefusalCode::Busy, "test", "an old answer");
    let stale =
        || Outgoing { request: 0, trace: TraceId::NONE, answer: DoorPolicyd::refused(refusal()), fds: Vec::new() };
    while link.answer(stale()).is_ok() {}
}

#[test]
fn a_peer_that_answers_old_asks_without_end_buys_itself_no_time() {
    let (asker, answerer) = edge::pair::<DoorPolicyd>(1, None).unwrap();
    let babbler = std::thread::spawn(move || babble(answerer));
    let mut client = BlockingClient::<DoorPolicyd>::new(asker).unwrap();
    assert_eq!(client.next_note(Duration::from_millis(20)).unwrap(), None);
    let ask = Identify { channel: Channel::Cli, sender: "uid:1000".to_owned(), lang: None, spoke: None };
    assert!(matches!(client.identify(TraceId::NONE, ask, []), Err(RpcError::Late { .. })));
    drop(client);
    babbler.join().unwrap();
}
