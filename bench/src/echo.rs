//! A typed ask beside a raw echo of 200 bytes over the same kind of socket, with the same kind of loop on
//! both sides: plain poll, and tokio.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::thread::JoinHandle;

use metnos_proto::doc::Doc;
use metnos_proto::doc::card::CardList;
use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::doc::undo::UndoReport;
use metnos_proto::edge::{self, Edge, RawEnd, Served, Side};
use metnos_proto::edges::{DoorPolicyd, door_policyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link::{BlockingClient, BlockingServer};
use metnos_proto::link_async::{Client, Cx};
use metnos_proto::msg::common::{Channel, Lang, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::TurnForgotten;
use metnos_proto::msg::people::{GroupMembers, KnownSenders, Pair, Paired, WhoseMembers};
use metnos_proto::msg::policyd::{
    AnswerCard, Answered, CallRun, CancelHere, CardsHere, ForgetHere, Identified, Identify, KeepFile, PanicHere,
    Panicked, PromptRegistered, RegisterPrompt, SendFile, UndoHere,
};
use metnos_proto::payload::Sealed;
use metnos_proto::socket;
use rustix::event::{PollFd, PollFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::stats::{Table, Times, on_one_processor};

/// The size of the raw packet, and about that of the typed one.
const BYTES: usize = 200;
/// Asks in one round; rounds of both kinds alternate.
const ASKS: usize = 500;
/// Rounds of each kind.
const ROUNDS: usize = 40;

/// Measures both loops.
pub fn measure(table: &mut Table) {
    on_one_processor(|| both(table));
}

fn both(table: &mut Table) {
    let (mut raw, mut typed) = (Times::default(), Times::default());
    for _ in 0..ROUNDS {
        raw_polled(&mut raw);
        typed_polled(&mut typed);
    }
    rows(table, "poll loop", &raw, &typed);
    let (mut raw, mut typed) = (Times::default(), Times::default());
    for _ in 0..ROUNDS {
        raw_tokio(&mut raw);
        typed_tokio(&mut typed);
    }
    rows(table, "tokio", &raw, &typed);
}

fn rows(table: &mut Table, kind: &str, raw: &Times, typed: &Times) {
    table.times(&format!("raw echo of {BYTES} B, {kind}"), raw, String::new(), "");
    let beside = format!("{:.2} × the raw echo", typed.ratio_to(raw));
    table.times(&format!("typed ask, {kind}"), typed, beside, "≤ 1.25 ×");
}

/// An ask whose packet is about as large as the raw one.
fn identify() -> Identify {
    Identify { channel: Channel::Cli, sender: "s".repeat(BYTES - 35), lang: None, spoke: None }
}

fn identified() -> Identified {
    Identified {
        principal: "p".repeat(BYTES - 35),
        standing: Standing::Owner,
        level: Level::Supervised,
        lang: Lang::En,
        person: String::new(),
    }
}

// ---- poll --------------------------------------------------------------

fn wait(fd: BorrowedFd<'_>) {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    rustix::event::poll(&mut fds, None).unwrap();
}

/// Receives one packet as the links do: try, and wait only when there is none; `false` at the end.
fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> bool {
    loop {
        match rustix::net::recv(fd, &mut *buffer, rustix::net::RecvFlags::DONTWAIT) {
            Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::AGAIN) => wait(fd),
            Err(error) => panic!("the raw echo: {error}"),
        }
    }
}

fn send(fd: BorrowedFd<'_>, bytes: &[u8]) {
    rustix::net::send(fd, bytes, rustix::net::SendFlags::NOSIGNAL).unwrap();
}

fn raw_polled(times: &mut Times) {
    let (ours, theirs) = socket::pair().unwrap();
    let server = std::thread::spawn(move || {
        let mut buffer = [0; BYTES];
        while receive(theirs.as_fd(), &mut buffer) {
            send(theirs.as_fd(), &buffer);
        }
    });
    let mut buffer = [7; BYTES];
    for _ in 0..ASKS {
        times.time(|| {
            send(ours.as_fd(), &buffer);
            receive(ours.as_fd(), &mut buffer)
        });
    }
    end(ours, server);
}

fn end(ours: OwnedFd, server: JoinHandle<()>) {
    drop(ours);
    server.join().unwrap();
}

struct Answers;

impl door_policyd::ServeBlocking for Answers {
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
        _link: &BlockingServer<DoorPolicyd>,
        _trace: TraceId,
        _ask: Identify,
        []: [Sealed; 0],
    ) -> Served<Identified, 0> {
        Ok((identified(), []))
    }

    fn register_prompt(
        &mut self,
        _link: &BlockingServer<DoorPolicyd>,
        _trace: TraceId,
        _ask: RegisterPrompt,
        [_words]: [Sealed; 1],
    ) -> Served<PromptRegistered, 0> {
        Ok((PromptRegistered { turn: TurnId::NONE, trace: TraceId::NONE, unborn: 0 }, []))
    }

    fn pair(&mut self, _: &BlockingServer<DoorPolicyd>, _: TraceId, _: Pair, []: [Sealed; 0]) -> Served<Paired, 0> {
        Ok((Paired::Silence, []))
    }

    fn answer_card(
        &mut self,
        _link: &BlockingServer<DoorPolicyd>,
        _trace: TraceId,
        _ask: AnswerCard,
        []: [Sealed; 0],
    ) -> Served<Answered, 1> {
        Ok((Answered { state: String::new(), runs: Vec::new() }, [Sealed::new(b"[]").unwrap()]))
    }

    fn cards_here(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: CardsHere,
        []: [Sealed; 0],
    ) -> Served<Doc<CardList>, 1> {
        Ok(Doc::seal(&CardList(Vec::new()))?)
    }

    fn keep_file(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: KeepFile,
        _: [Sealed; 1],
    ) -> Served<CallRun, 1> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    fn send_file(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: SendFile,
        []: [Sealed; 0],
    ) -> Served<CallRun, 2> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    fn undo_here(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: UndoHere,
        []: [Sealed; 0],
    ) -> Served<Doc<UndoReport>, 1> {
        Ok(Doc::seal(&UndoReport { turn: String::new(), acts: Vec::new(), undone: 0, kept: 0, left: 0, already: 0 })?)
    }

    fn cancel_here(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: CancelHere,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    fn members_to_look_for(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: WhoseMembers,
        []: [Sealed; 0],
    ) -> Served<KnownSenders, 0> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    fn group_members(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: GroupMembers,
        []: [Sealed; 0],
    ) -> Served<Identified, 0> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    fn forget_here(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: ForgetHere,
        []: [Sealed; 0],
    ) -> Served<TurnForgotten, 0> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    fn panic_here(
        &mut self,
        _: &BlockingServer<DoorPolicyd>,
        _: TraceId,
        _: PanicHere,
        []: [Sealed; 0],
    ) -> Served<Panicked, 0> {
        Ok((Panicked { killed: 0 }, []))
    }
}

fn typed_polled(times: &mut Times) {
    let (asker, answerer) = edge::pair::<DoorPolicyd>(1, None).unwrap();
    let server = std::thread::spawn(move || {
        let mut server = BlockingServer::new(answerer).unwrap();
        let mut buffer = socket::buffer();
        loop {
            match server.receive(&mut buffer) {
                Ok(Some(incoming)) => {
                    let outgoing = door_policyd::dispatch(&server, incoming, &mut Answers).unwrap();
                    server.answer(outgoing).unwrap();
                }
                Ok(None) => wait(server.as_fd()),
                Err(_) => return,
            }
        }
    });
    let mut client = BlockingClient::new(asker).unwrap();
    let ask = identify();
    for _ in 0..ASKS {
        let ask = ask.clone();
        times.time(|| client.identify(TraceId::NONE, ask, []).unwrap());
    }
    drop(client);
    server.join().unwrap();
}

// ---- tokio -------------------------------------------------------------

fn on_tokio<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

async fn receive_watched(fd: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> bool {
    let received = fd.async_io(Interest::READABLE, |fd| {
        rustix::net::recv(fd, &mut *buffer, rustix::net::RecvFlags::DONTWAIT).map_err(io::Error::from)
    });
    received.await.is_ok_and(|(_, length)| length > 0)
}

fn raw_tokio(times: &mut Times) {
    let (ours, theirs) = socket::pair().unwrap();
    let server = std::thread::spawn(move || {
        on_tokio(async move {
            let theirs = metnos_proto::sys::watch(theirs).unwrap();
            let mut buffer = [0; BYTES];
            while receive_watched(&theirs, &mut buffer).await {
                send(theirs.get_ref().as_fd(), &buffer);
            }
        });
    });
    on_tokio(async {
        let ours = metnos_proto::sys::watch(ours).unwrap();
        let mut buffer = [7; BYTES];
        for _ in 0..ASKS {
            let began = std::time::Instant::now();
            send(ours.get_ref().as_fd(), &buffer);
            assert!(receive_watched(&ours, &mut buffer).await);
            times.push(began.elapsed());
        }
    });
    server.join().unwrap();
}

impl door_policyd::Serve for Answers {
    async fn fire(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: metnos_proto::msg::people::Fire,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::people::Fired, 1> {
        Err(metnos_proto::msg::common::Refusal::new(metnos_proto::msg::common::RefusalCode::Denied, "test", "no")
            .into())
    }

    async fn fire_ask(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: metnos_proto::msg::schedule::FireAsk,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::people::Fired, 1> {
        Err(metnos_proto::msg::common::Refusal::new(metnos_proto::msg::common::RefusalCode::Denied, "test", "no")
            .into())
    }

    async fn view(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: metnos_proto::msg::people::ViewRequest,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::memoryd::QueryResult, 1> {
        Err(metnos_proto::msg::common::Refusal::new(metnos_proto::msg::common::RefusalCode::Denied, "test", "no")
            .into())
    }

    async fn identify(self: Rc<Self>, _cx: Cx<DoorPolicyd>, _ask: Identify, []: [Sealed; 0]) -> Served<Identified, 0> {
        Ok((identified(), []))
    }

    async fn register_prompt(
        self: Rc<Self>,
        _cx: Cx<DoorPolicyd>,
        _ask: RegisterPrompt,
        [_words]: [Sealed; 1],
    ) -> Served<PromptRegistered, 0> {
        Ok((PromptRegistered { turn: TurnId::NONE, trace: TraceId::NONE, unborn: 0 }, []))
    }

    async fn pair(self: Rc<Self>, _: Cx<DoorPolicyd>, _: Pair, []: [Sealed; 0]) -> Served<Paired, 0> {
        Ok((Paired::Silence, []))
    }

    async fn answer_card(
        self: Rc<Self>,
        _cx: Cx<DoorPolicyd>,
        _ask: AnswerCard,
        []: [Sealed; 0],
    ) -> Served<Answered, 1> {
        Ok((Answered { state: String::new(), runs: Vec::new() }, [Sealed::new(b"[]").unwrap()]))
    }

    async fn cards_here(self: Rc<Self>, _: Cx<DoorPolicyd>, _: CardsHere, []: [Sealed; 0]) -> Served<Doc<CardList>, 1> {
        Ok(Doc::seal(&CardList(Vec::new()))?)
    }

    async fn keep_file(self: Rc<Self>, _: Cx<DoorPolicyd>, _: KeepFile, _: [Sealed; 1]) -> Served<CallRun, 1> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    async fn send_file(self: Rc<Self>, _: Cx<DoorPolicyd>, _: SendFile, []: [Sealed; 0]) -> Served<CallRun, 2> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    async fn undo_here(self: Rc<Self>, _: Cx<DoorPolicyd>, _: UndoHere, []: [Sealed; 0]) -> Served<Doc<UndoReport>, 1> {
        Ok(Doc::seal(&UndoReport { turn: String::new(), acts: Vec::new(), undone: 0, kept: 0, left: 0, already: 0 })?)
    }

    async fn cancel_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: CancelHere,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    async fn members_to_look_for(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: WhoseMembers,
        []: [Sealed; 0],
    ) -> Served<KnownSenders, 0> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    async fn group_members(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: GroupMembers,
        []: [Sealed; 0],
    ) -> Served<Identified, 0> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    async fn forget_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: ForgetHere,
        []: [Sealed; 0],
    ) -> Served<TurnForgotten, 0> {
        Err(Refusal::new(RefusalCode::Denied, "bench", "no").into())
    }

    async fn panic_here(self: Rc<Self>, _: Cx<DoorPolicyd>, _: PanicHere, []: [Sealed; 0]) -> Served<Panicked, 0> {
        Ok((Panicked { killed: 0 }, []))
    }
}

fn typed_tokio(times: &mut Times) {
    let (ours, theirs) = socket::pair().unwrap();
    let raw = |fd, side| RawEnd { edge: DoorPolicyd::ID, side, generation: 1, peer: None, fd };
    let answerer = edge::AnswererEnd::<DoorPolicyd>::new(raw(theirs, Side::Answerer)).unwrap();
    let asker = edge::AskerEnd::<DoorPolicyd>::new(raw(ours, Side::Asker)).unwrap();
    let server = std::thread::spawn(move || {
        on_tokio(async move {
            door_policyd::serve(answerer, Rc::new(Answers)).await;
        });
    });
    on_tokio(async {
        let client = Rc::new(Client::<DoorPolicyd>::default());
        client.attach(asker).unwrap();
        let ask = identify();
        for _ in 0..ASKS {
            let ask = ask.clone();
            let began = std::time::Instant::now();
            client.identify(TraceId::NONE, ask, []).await.unwrap();
            times.push(began.elapsed());
        }
    });
    server.join().unwrap();
}
