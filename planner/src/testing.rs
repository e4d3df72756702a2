//! What the tests of the planner share: channels, a clock that stands still, and candidates.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::future::Future;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use metnos_proto::edge::{AnswererEnd, AskerEnd, Edge, PeerCred, RawEnd, Side};
use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::executor::{Manifest, Schema};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Lang;
use metnos_proto::payload::Sealed;
use tokio::task::LocalSet;

/// Runs a test on a clock that jumps to the next deadline as soon as nothing else can happen.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// Both ends of a fresh channel.
pub fn ends<E: Edge>(generation: u32, uid: Option<u32>) -> (AskerEnd<E>, AnswererEnd<E>) {
    let (a, b) = metnos_proto::socket::pair().unwrap();
    let peer = uid.map(|uid| PeerCred { pid: 1, uid });
    let raw = |side, fd: OwnedFd| RawEnd { edge: E::ID, side, generation, peer, fd };
    (AskerEnd::new(raw(Side::Asker, a)).unwrap(), AnswererEnd::new(raw(Side::Answerer, b)).unwrap())
}

/// A client with its end attached.
pub fn client<E: Edge>(end: AskerEnd<E>) -> Rc<Client<E>> {
    let client = Rc::new(Client::<E>::default());
    client.attach(end).unwrap();
    client
}

/// Lets everything that can happen happen, until `done`.
pub async fn until(done: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if done() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("it never came to pass");
}

pub fn sealed(bytes: &[u8]) -> Sealed {
    Sealed::new(bytes).unwrap()
}

macro_rules! seed {
    ($name:literal) => {
        candidate(
            include_bytes!(concat!("../../executors/", $name, "/manifest.toml")),
            include_str!(concat!("../../executors/", $name, "/schema.json")),
        )
    };
}

/// The executors of the seed set, by their own files, among others that the reflex must not confuse
/// them with.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates = vec![seed!("fs_read"), seed!("fs_list"), seed!("text_stats")];
    let others: Vec<Candidate> =
        serde_json::from_str(include_str!("../../crates/reflex/tests/data/others.json")).unwrap();
    candidates.extend(others);
    candidates
}

/// Executors that a household asks for most, by their own files.
pub fn household() -> Vec<Candidate> {
    vec![
        seed!("text_search"),
        seed!("fs_read"),
        seed!("fs_append"),
        seed!("fs_find"),
        seed!("fs_list"),
        seed!("text_stats"),
        seed!("clock_now"),
        seed!("fs_delete"),
        seed!("fs_write"),
        seed!("csv_query"),
    ]
}

/// What asks a server outside for the weather.
pub fn weather() -> Candidate {
    seed!("weather_get")
}

fn candidate(manifest: &[u8], schema: &str) -> Candidate {
    let manifest = Manifest::parse(manifest).unwrap();
    Candidate::of(&manifest, &Schema::parse(schema.as_bytes()).unwrap())
}

/// An envelope with these candidates and nothing else.
pub fn envelope(candidates: Vec<Candidate>, lang: Lang) -> Envelope {
    Envelope { nonce: 1, principal: "cli:uid:1000".into(), ..Envelope::empty(candidates, lang) }
}
