//! The door's channel for programs and pages of this machine: HTTP on the loopback. It keeps no token: the caller
//! is known by a digest, which policyd is asked about at each request. It must never take a word under a name that it
//! was not shown the token of, nor hold more for a client than [`limits::bounds`] says.
//!
//! A connection carries one request and is closed, or becomes a WebSocket: there is no second request that something
//! could be smuggled into.
//! [`request::route`] says what there is, [`request::guard`] who may ask at all, [`serve`] does it, [`turns::stream`], [`ws`]
//! and [`turns::record`] send a turn to anyone who comes back; [`page`] has the files of the page; [`documents`] are what is read and written, as
//! [`documents::describe`] says.

pub mod chat;
pub mod documents;
pub mod late_bind;
pub mod limits;
pub mod listener;
pub mod page;
pub mod request;
pub mod serve;
pub mod turns;
pub mod views;
pub mod ws;

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::Channel;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use crate::session::Door;
use crate::session::speaker::{NoteSink, Speaker, SpeakerSession};
use limits::bounds::{
    HEAD_WITHIN, MAX_CALLERS, MAX_CONNECTIONS, MAX_HEAD, MAX_HEADERS, MAX_RECORDS, MAX_UNHEARD, PAIRINGS_IN_ALL,
    PAIRINGS_PER_MINUTE, UNKNOWN_PER_MINUTE, WRONG_PER_MINUTE,
};
use limits::rate::{self, Bucket};
use limits::write_timeout::WriteTimeout;
use request::guard::HostNames;
use request::head::HeadFilter;
use turns::owners;
use turns::record::{Record, TurnStanding};
use turns::stream::CountGuard;

/// How long the door waits when it has no descriptor left for another connection.
const FULL_PAUSE: Duration = Duration::from_millis(200);

/// The HTTP channel.
pub struct Http {
    door: Rc<Door>,
    names: HostNames,
    callers: RefCell<HashMap<String, Rc<Caller>>>,
    records: RefCell<Records>,
    /// Bytes of events kept.
    kept: Rc<Cell<usize>>,
    connections: Rc<Cell<usize>>,
    /// Connections that have not shown yet who they are, oldest first.
    unheard: Rc<RefCell<VecDeque<Rc<Notify>>>>,
    rates: Rates,
    numbers: Numbers,
}

/// How often clients are served.
struct Rates {
    /// Each that is known, in a minute.
    per_minute: u32,
    unknown: Bucket,
    pairings: rate::Sources,
    /// Webhooks whose signature is wrong.
    hooks_wrong: Bucket,
}

/// What was done so far.
#[derive(Default)]
struct Numbers {
    /// Answers by status.
    answered: RefCell<BTreeMap<u16, u64>>,
    /// Connections that were turned away.
    turned_away: Cell<u64>,
}

impl Numbers {
    fn count_turned_away(&self) {
        self.turned_away.set(self.turned_away.get() + 1);
    }
}

/// Turns by name, and in the order in which they were opened.
#[derive(Default)]
struct Records {
    of: HashMap<TurnId, Rc<Record>>,
    order: VecDeque<TurnId>,
}

impl Records {
    /// Which of them is given up first: of what is over the journal has a copy, and of what waits for a card it will have
    /// one; of what is under way nobody else knows what was sent.
    fn least(&self) -> Option<usize> {
        let stands =
            |turn: &TurnId, wanted: fn(&TurnStanding) -> bool| self.of.get(turn).is_none_or(|one| wanted(&one.stand()));
        let oldest = |wanted: fn(&TurnStanding) -> bool| self.order.iter().position(|turn| stands(turn, wanted));
        let over = oldest(|stand| matches!(stand, TurnStanding::Done(_)));
        over.or_else(|| oldest(|stand| *stand == TurnStanding::Suspended)).or((!self.order.is_empty()).then_some(0))
    }
}

/// A person whose token policyd knows.
pub struct Caller {
    /// What his token is known by.
    pub digest: String,
    /// As policyd names him.
    pub principal: String,
    voice: SpeakerSession,
    bucket: Bucket,
    /// How many streams he may have at once.
    most_streams: Cell<usize>,
    streams: Rc<Cell<usize>>,
    /// True once nothing more is sent on streams that were opened before.
    gone: RefCell<watch::Sender<bool>>,
    sockets: owners::Sockets,
    /// Held by the one of the open sockets that waits for what is due.
    awaits_due: tokio::sync::Mutex<()>,
}

impl Http {
    /// The channel of a door that listens at this port, and serves each client so often in a minute.
    #[must_use]
    pub fn new(door: &Rc<Door>, port: u16, per_minute: u32) -> Rc<Self> {
        let http = Rc::new(Self {
            door: Rc::clone(door),
            names: HostNames::new(port),
            callers: RefCell::default(),
            records: RefCell::default(),
            kept: Rc::default(),
            connections: Rc::default(),
            unheard: Rc::default(),
            rates: Rates {
                per_minute,
                unknown: Bucket::new(UNKNOWN_PER_MINUTE),
                pairings: rate::Sources::new(PAIRINGS_PER_MINUTE, PAIRINGS_IN_ALL),
                hooks_wrong: Bucket::new(WRONG_PER_MINUTE),
            },
            numbers: Numbers::default(),
        });
        let heirs = Rc::downgrade(&http);
        door.adopts(Channel::Http, Box::new(move |turn, speaker| heirs.upgrade()?.adopt(turn, &speaker.sender)));
        let shows = Rc::downgrade(&http);
        door.on_owners_card(move |card| {
            if let Some(http) = shows.upgrade() {
                tokio::task::spawn_local(http.owners_card(card.clone()));
            }
        });
        let hears = Rc::downgrade(&http);
        door.on_revoked(move |principal| {
            if let Some(http) = hears.upgrade() {
                http.forget(principal);
            }
        });
        http
    }

    /// Takes connections for as long as the daemon lives. Must run inside a [`tokio::task::LocalSet`].
    pub async fn listen(self: Rc<Self>, listener: TcpListener) {
        tokio::task::spawn_local(Rc::clone(&self).watch_policyd());
        loop {
            match listener.accept().await {
                Ok((stream, from)) => {
                    if self.connections.get() >= MAX_CONNECTIONS {
                        self.numbers.count_turned_away();
                        continue;
                    }
                    tokio::task::spawn_local(Rc::clone(&self).connection_from(TokioIo::new(stream), Some(from.ip())));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(FULL_PAUSE).await;
                }
            }
        }
    }

    /// Serves one connection of which nobody knows where it comes from: one request.
    pub async fn connection<I: Read + Write + Unpin + Send + 'static>(self: Rc<Self>, io: I) {
        self.connection_from(io, None).await;
    }

    /// Serves one connection: one request.
    async fn connection_from<I: Read + Write + Unpin + Send + 'static>(self: Rc<Self>, io: I, from: rate::Source) {
        let _counted = CountGuard::new(&self.connections);
        let unheard = Unauthenticated::enter(&self);
        let cut = Rc::clone(&unheard.cut);
        let unheard = Rc::new(unheard);
        let http = Rc::clone(&self);
        let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(from);
            let (http, unheard) = (Rc::clone(&http), Rc::clone(&unheard));
            // What was begun is done, also when the client does not wait for it.
            let serving = tokio::task::spawn_local(serve::serve(http, request, unheard));
            async move { serving.await.map_err(|error| io::Error::other(error.to_string())) }
        });
        let connection = http1::Builder::new()
            .keep_alive(false)
            .auto_date_header(false)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD)
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .serve_connection(HeadFilter::new(WriteTimeout::new(io)), service)
            .with_upgrades();
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            },
            () = cut.notified() => self.numbers.count_turned_away(),
        }
    }

    /// Anyone who is known by this digest as that principal.
    fn caller(&self, digest: &str, principal: &str) -> Option<Rc<Caller>> {
        let mut callers = self.callers.borrow_mut();
        if let Some(caller) = callers.get(digest) {
            return Some(Rc::clone(caller));
        }
        if callers.len() >= MAX_CALLERS {
            let idle = |caller: &Rc<Caller>| Rc::strong_count(caller) == 1 && caller.streams.get() == 0;
            let gone = callers.iter().find(|(_, caller)| idle(caller)).map(|(digest, _)| digest.clone())?;
            callers.remove(&gone);
        }
        let speaker = Speaker { channel: Channel::Http, sender: digest.to_owned(), lang: None };
        let nobody = Rc::new(Record::new(digest.to_owned(), 0, Rc::default()));
        let caller = Rc::new(Caller {
            digest: digest.to_owned(),
            principal: principal.to_owned(),
            voice: SpeakerSession::new(speaker, self.door.number(), nobody),
            bucket: Bucket::new(self.rates.per_minute),
            most_streams: Cell::new(0),
            streams: Rc::default(),
            gone: RefCell::new(watch::Sender::new(false)),
            sockets: owners::Sockets::default(),
            awaits_due: tokio::sync::Mutex::default(),
        });
        callers.insert(digest.to_owned(), Rc::clone(&caller));
        Some(caller)
    }

    /// A turn of this client that was opened at a door before this one: his session, and what keeps what is sent in it.
    fn adopt(&self, turn: TurnId, digest: &str) -> Option<(u64, Rc<dyn NoteSink>)> {
        let principal = format!("{}:{digest}", Channel::Http.name());
        let caller = self.caller(digest, &principal)?;
        // Asked twice, where a card is answered while its turn is taken back: both receive the same.
        let record = self.record(turn, &caller).unwrap_or_else(|| {
            let record = Record::new(digest.to_owned(), caller.voice.number, Rc::clone(&self.kept));
            self.keep(turn, &record);
            record
        });
        Some((caller.voice.number, Rc::new(record)))
    }

    /// He is a stranger: his streams end, his turns are cancelled, and nothing of them is kept.
    fn forget(&self, principal: &str) {
        let known = self.callers.borrow().values().find(|caller| caller.principal == principal).cloned();
        let Some(caller) = known else { return };
        self.callers.borrow_mut().remove(&caller.digest);
        caller.gone.borrow().send_replace(true);
        self.door.cancel_turns_of(caller.voice.number);
        let mut records = self.records.borrow_mut();
        let Records { of, order } = &mut *records;
        of.retain(|_, record| record.owner != caller.digest);
        order.retain(|turn| of.contains_key(turn));
    }

    /// What a policyd that went away said of a person nobody can say now: streams end, and anyone who comes back is asked
    /// for anew.
    async fn watch_policyd(self: Rc<Self>) {
        let mut generations = self.door.policyd_generations();
        while generations.changed().await.is_ok() {
            for caller in self.callers.borrow().values() {
                caller.gone.replace(watch::Sender::new(false)).send_replace(true);
            }
        }
    }

    /// Keeps what is sent in a turn, for anyone who comes back.
    fn keep(&self, turn: TurnId, record: &Rc<Record>) {
        let mut records = self.records.borrow_mut();
        while records.of.len() >= MAX_RECORDS {
            let Some(given_up) = records.least().and_then(|at| records.order.remove(at)) else { break };
            records.of.remove(&given_up);
        }
        records.order.push_back(turn);
        records.of.insert(turn, Rc::clone(record));
    }

    /// Keeps nothing more of a turn of this caller.
    fn drop_record(&self, turn: TurnId, caller: &Caller) {
        let mut records = self.records.borrow_mut();
        if records.of.get(&turn).is_some_and(|record| record.owner == caller.digest) {
            records.of.remove(&turn);
            records.order.retain(|one| *one != turn);
        }
    }

    /// What was kept of a turn of this caller. Another principal's looks like one that there is not.
    fn record(&self, turn: TurnId, caller: &Caller) -> Option<Rc<Record>> {
        self.records.borrow().of.get(&turn).filter(|record| record.owner == caller.digest).cloned()
    }
}

/// A connection that has not shown yet who it is.
pub struct Unauthenticated {
    queue: Rc<RefCell<VecDeque<Rc<Notify>>>>,
    cut: Rc<Notify>,
}

impl Unauthenticated {
    fn enter(http: &Http) -> Self {
        let mut queue = http.unheard.borrow_mut();
        if queue.len() >= MAX_UNHEARD
            && let Some(oldest) = queue.pop_front()
        {
            oldest.notify_one();
        }
        let cut = Rc::new(Notify::new());
        queue.push_back(Rc::clone(&cut));
        Self { queue: Rc::clone(&http.unheard), cut }
    }

    /// It has shown who it is.
    pub fn is_authenticated(&self) {
        self.queue.borrow_mut().retain(|one| !Rc::ptr_eq(one, &self.cut));
    }
}

impl Drop for Unauthenticated {
    fn drop(&mut self) {
        self.is_authenticated();
    }
}
