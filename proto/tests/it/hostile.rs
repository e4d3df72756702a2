//! A liar at the other end of every edge: whatever it sends, its link is closed, nothing
//! panics, no descriptor stays behind, and the honest side goes on.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metnos_proto::edge::{AnswererEnd, AskerEnd, Edge, RawEnd, Side, Visit, Word};
use metnos_proto::edges;
use metnos_proto::frame::{self, HEADER, Header, Kind, MAX_FRAME};
use metnos_proto::ids::TraceId;
use metnos_proto::link::{self, BlockingClient, BlockingServer, Hello, LinkError};
use metnos_proto::link_async::{self, Closed};
use metnos_proto::socket;

/// One packet of a liar.
struct Lie {
    what: &'static str,
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

fn packet(edge: u16, kind: Kind, fds: u8, body: &[u8]) -> Vec<u8> {
    let header = Header { edge, kind, fds, request: 1, trace: TraceId::NONE };
    let mut bytes = frame::encode(header, &()).unwrap();
    bytes.extend_from_slice(body);
    bytes
}

fn pipe_end() -> OwnedFd {
    rustix::pipe::pipe().unwrap().0
}

fn unsealed() -> OwnedFd {
    rustix::fs::memfd_create("unsealed", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap()
}

/// Everything a liar may send after an honest hello, to whichever side.
fn lies<E: Edge>() -> Vec<Lie> {
    let id = E::ID.number();
    let hello = |protocol, schema| postcard::to_stdvec(&Hello { protocol, schema }).unwrap();
    let ours = hello(frame::PROTOCOL, E::SCHEMA_KEY);
    let mut long = packet(id, Kind::Ask, 0, &[]);
    long.resize(MAX_FRAME + 1, 0);
    vec![
        Lie { what: "a second hello", bytes: packet(id, Kind::Hello, 0, &ours), fds: vec![] },
        Lie { what: "another edge", bytes: packet(id + 1, Kind::Ask, 0, &[0]), fds: vec![] },
        Lie {
            what: "no such kind",
            bytes: {
                let mut p = packet(id, Kind::Ask, 0, &[0]);
                p[2] = 9;
                p
            },
            fds: vec![],
        },
        Lie { what: "no such word", bytes: packet(id, Kind::Ask, 0, &[0xff, 0xff, 0x03]), fds: vec![] },
        Lie { what: "no such answer", bytes: packet(id, Kind::Answer, 0, &[0xff, 0xff, 0x03]), fds: vec![] },
        Lie { what: "no such note", bytes: packet(id, Kind::Note, 0, &[0xff, 0xff, 0x03]), fds: vec![] },
        Lie { what: "half a header", bytes: vec![1; HEADER - 1], fds: vec![] },
        Lie { what: "more than a frame", bytes: long, fds: vec![] },
        Lie { what: "a hundred descriptors declared", bytes: packet(id, Kind::Ask, 100, &[0]), fds: vec![] },
        Lie { what: "a descriptor with a hello", bytes: packet(id, Kind::Hello, 1, &ours), fds: vec![pipe_end()] },
        Lie {
            what: "five descriptors",
            bytes: packet(id, Kind::Ask, 4, &[0]),
            fds: (0..5).map(|_| pipe_end()).collect(),
        },
        Lie { what: "memory that is not sealed", bytes: packet(id, Kind::Ask, 1, &[0]), fds: vec![unsealed()] },
        Lie {
            what: "bytes after the words",
            bytes: packet(id, Kind::Hello, 0, &[&ours[..], &[0]].concat()),
            fds: vec![],
        },
    ]
}

/// What may come instead of an honest hello.
fn false_hellos<E: Edge>() -> Vec<Lie> {
    let id = E::ID.number();
    let hello = |protocol, schema| postcard::to_stdvec(&Hello { protocol, schema }).unwrap();
    let mut key = E::SCHEMA_KEY;
    key[7] ^= 1;
    vec![
        Lie { what: "another schema", bytes: packet(id, Kind::Hello, 0, &hello(frame::PROTOCOL, key)), fds: vec![] },
        Lie { what: "another protocol", bytes: packet(id, Kind::Hello, 0, &hello(2, E::SCHEMA_KEY)), fds: vec![] },
        Lie { what: "no hello at all", bytes: packet(id, Kind::Note, 0, &[0]), fds: vec![] },
        Lie { what: "half a hello", bytes: packet(id, Kind::Hello, 0, &[1]), fds: vec![] },
    ]
}

fn tell(socket: BorrowedFd<'_>, lie: &Lie) {
    // Five descriptors are more than our own sender accepts; the kernel takes them.
    let fds: Vec<_> = lie.fds.iter().map(AsFd::as_fd).collect();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = rustix::net::SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        assert!(control.push(rustix::net::SendAncillaryMessage::ScmRights(&fds)));
    }
    let bytes = [std::io::IoSlice::new(&lie.bytes)];
    rustix::net::sendmsg(socket, &bytes, &mut control, rustix::net::SendFlags::NOSIGNAL).unwrap();
}

fn honest_hello<E: Edge>() -> Lie {
    let body = postcard::to_stdvec(&Hello::of::<E>()).unwrap();
    Lie { what: "hello", bytes: packet(E::ID.number(), Kind::Hello, 0, &body), fds: vec![] }
}

fn raw(edge: edges::EdgeId, side: Side, fd: OwnedFd) -> RawEnd {
    RawEnd { edge, side, generation: 1, peer: None, fd }
}

/// Asks and answers, one of each kind that the edge has, as far as zeroes make one.
fn first_ask<E: Edge>() -> Option<E::Ask> {
    postcard::take_from_bytes(&[0; 4096]).ok().map(|(ask, _)| ask)
}

struct LyingAskers;

impl Visit for LyingAskers {
    fn visit<E: Edge>(&mut self) {
        for (greet, lie) in with_greeting::<E>() {
            let (liar, honest) = socket::pair().unwrap();
            if greet {
                tell(liar.as_fd(), &honest_hello::<E>());
            }
            tell(liar.as_fd(), &lie);
            // On tokio.
            let closed = on_tokio(async move {
                let end = AnswererEnd::<E>::new(raw(E::ID, Side::Answerer, honest)).unwrap();
                link_async::serve::<E, _, _>(end, |_, ask, _| async move { panic!("served {ask:?}") }).await
            });
            assert!(matches!(closed, Closed::Violation(_)), "{:?}: {}: {closed:?}", E::ID, lie.what);
            // In a poll loop.
            let (liar, honest) = socket::pair().unwrap();
            if greet {
                tell(liar.as_fd(), &honest_hello::<E>());
            }
            tell(liar.as_fd(), &lie);
            let end = AnswererEnd::<E>::new(raw(E::ID, Side::Answerer, honest)).unwrap();
            let error = BlockingServer::new(end).unwrap().receive(&mut socket::buffer()).unwrap_err();
            assert!(!matches!(error, LinkError::Gone), "{:?}: {}: {error}", E::ID, lie.what);
        }
    }
}

struct LyingAnswerers;

impl Visit for LyingAnswerers {
    fn visit<E: Edge>(&mut self) {
        let Some(ask) = first_ask::<E>() else { panic!("{:?}: no ask of zeroes", E::ID) };
        let payloads =
            || (0..ask.fds()).map(|_| metnos_proto::payload::Sealed::new(b"{}").unwrap()).collect::<Vec<_>>();
        for (greet, lie) in with_greeting::<E>() {
            let (liar, honest) = socket::pair().unwrap();
            if greet {
                tell(liar.as_fd(), &honest_hello::<E>());
            }
            tell(liar.as_fd(), &lie);
            let asked = on_tokio({
                let (ask, payloads) = (ask.clone(), payloads());
                async move {
                    let client = Rc::new(link_async::Client::<E>::default());
                    client.attach(AskerEnd::new(raw(E::ID, Side::Asker, honest)).unwrap()).unwrap();
                    tokio::time::timeout(Duration::from_secs(20), client.ask(TraceId::NONE, ask, payloads))
                        .await
                        .unwrap()
                }
            });
            assert!(asked.is_err(), "{:?}: {}: {asked:?}", E::ID, lie.what);
            let (liar, honest) = socket::pair().unwrap();
            if greet {
                tell(liar.as_fd(), &honest_hello::<E>());
            }
            tell(liar.as_fd(), &lie);
            let end = AskerEnd::<E>::new(raw(E::ID, Side::Asker, honest)).unwrap();
            let asked = BlockingClient::new(end).unwrap().ask(TraceId::NONE, ask.clone(), payloads());
            assert!(asked.is_err(), "{:?}: {}: {asked:?}", E::ID, lie.what);
        }
    }
}

fn with_greeting<E: Edge>() -> Vec<(bool, Lie)> {
    let after = lies::<E>().into_iter().map(|lie| (true, lie));
    after.chain(false_hellos::<E>().into_iter().map(|lie| (false, lie))).collect()
}

fn on_tokio<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// Held by each test here: they count the descriptors of the process, which tests that run as
/// threads of one process share.
static DESCRIPTORS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_descriptors() -> usize {
    // A first runtime may open what the process then keeps, such as the pipe for signals.
    on_tokio(async {});
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn every_edge_closes_on_a_lying_asker() {
    let _alone = alone();
    let before = open_descriptors();
    edges::visit_all(&mut LyingAskers);
    assert_eq!(open_descriptors(), before, "a descriptor stayed behind");
}

#[test]
fn every_edge_closes_on_a_lying_answerer() {
    let _alone = alone();
    let before = open_descriptors();
    edges::visit_all(&mut LyingAnswerers);
    assert_eq!(open_descriptors(), before, "a descriptor stayed behind");
}

#[test]
fn too_few_or_too_many_payloads_close_the_edge() {
    let _alone = alone();
    struct Counts(usize);
    impl Visit for Counts {
        fn visit<E: Edge>(&mut self) {
            let ask = first_ask::<E>().unwrap();
            let body = postcard::to_stdvec(&ask).unwrap();
            for (header, sent) in
                [(ask.fds() + 1, ask.fds() + 1), (ask.fds(), ask.fds() + 1), (ask.fds() + 1, ask.fds())]
            {
                let (liar, honest) = socket::pair().unwrap();
                tell(liar.as_fd(), &honest_hello::<E>());
                let fds: Vec<OwnedFd> = (0..sent)
                    .map(|_| metnos_proto::payload::Sealed::new(b"{}").unwrap().as_fd().try_clone_to_owned().unwrap())
                    .collect();
                let bytes = packet(E::ID.number(), Kind::Ask, u8::try_from(header).unwrap(), &body);
                tell(liar.as_fd(), &Lie { what: "count", bytes, fds });
                let end = AnswererEnd::<E>::new(raw(E::ID, Side::Answerer, honest)).unwrap();
                let error = BlockingServer::new(end).unwrap().receive(&mut socket::buffer()).unwrap_err();
                assert!(matches!(error, LinkError::Protocol(_)), "{:?}: {error}", E::ID);
                self.0 += 1;
            }
        }
    }
    let mut counts = Counts(0);
    edges::visit_all(&mut counts);
    assert_eq!(counts.0, 3 * edges::EdgeId::ALL.len());
}

mod any_bytes {
    use super::*;
    use proptest::prelude::*;

    struct Words<'a>(&'a [u8], RefCell<u32>);

    impl Visit for Words<'_> {
        fn visit<E: Edge>(&mut self) {
            fn stable<W: Word>(bytes: &[u8]) {
                if let Ok(word) = frame::decode::<W>(bytes) {
                    let again = postcard::to_stdvec(&word).unwrap();
                    let same = frame::decode::<W>(&again).unwrap();
                    assert_eq!(format!("{word:?}"), format!("{same:?}"));
                }
            }
            stable::<E::Ask>(self.0);
            stable::<E::Answer>(self.0);
            stable::<E::Note>(self.0);
            for kind in [Kind::Hello, Kind::Ask, Kind::Answer, Kind::Note] {
                let _ = link::inspect::<E>(&packet(E::ID.number(), kind, 0, self.0));
            }
            *self.1.borrow_mut() += 1;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn no_bytes_make_any_edge_panic_and_what_is_read_is_written_the_same(
            // Small numbers are the interesting ones: they are the variants and lengths.
            bytes in proptest::collection::vec(prop_oneof![3 => 0u8..20, 1 => any::<u8>()], 0..200)
        ) {
            let mut words = Words(&bytes, RefCell::new(0));
            edges::visit_all(&mut words);
            prop_assert_eq!(words.1.into_inner() as usize, edges::EdgeId::ALL.len());
        }
    }
}
