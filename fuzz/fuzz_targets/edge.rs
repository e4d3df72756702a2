//! Any packet on one edge of the matrix: it is a word of that edge or an error, never a panic, and a
//! word survives being sent again. Which edge, the name of the target says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::edge::{Edge, Word};
use metnos_proto::edges::{self, EdgeId};
use metnos_proto::frame::{self, FrameError, Header, Kind};
use metnos_proto::link::Hello;

/// Decodes a body as this word; what came out must come out again after a second journey.
fn journey<W: Word + PartialEq>(header: Header, body: &[u8]) -> Result<(), FrameError> {
    let word: W = frame::decode(body)?;
    assert!(word.fds() <= frame::MAX_FDS && !word.name().is_empty());
    let packet = frame::encode(header, &word)?;
    let (again, body) = frame::split(&packet)?;
    assert_eq!(again, header);
    assert_eq!(frame::decode::<W>(body)?, word);
    Ok(())
}

fn packet<E: Edge>(bytes: &[u8]) -> Result<(), FrameError>
where
    E::Ask: PartialEq,
    E::Answer: PartialEq,
    E::Note: PartialEq,
{
    let (header, body) = frame::split(bytes)?;
    match header.kind {
        Kind::Hello => frame::decode::<Hello>(body).map(drop),
        Kind::Ask => journey::<E::Ask>(header, body),
        Kind::Answer => journey::<E::Answer>(header, body),
        Kind::Note => journey::<E::Note>(header, body),
    }
}

macro_rules! by_name {
    ($($edge:ident),* $(,)?) => {
        /// The edge of this target.
        fn decode(bytes: &[u8]) -> Result<(), FrameError> {
            // `edge_planner_policyd` is the edge `PlannerPolicyd`.
            let wanted = env!("CARGO_BIN_NAME").trim_start_matches("edge_").replace('_', "");
            $(
                if stringify!($edge).to_lowercase() == wanted {
                    return packet::<edges::$edge>(bytes);
                }
            )*
            panic!("no edge is named {wanted}");
        }

        // A new edge of the matrix must get its target.
        const _: () = assert!(EdgeId::ALL.len() == [$(stringify!($edge)),*].len());
    };
}

by_name! {
    CtlDoor, DoorPlanner, DoorPolicyd, DoorMind, DoorMemoryd, PlannerPolicyd, PlannerMind, PlannerMemoryd,
    SyntdPolicyd, SyntdMind, SyntdMemoryd, PolicydSandboxd, PolicydMind, PolicydMemoryd, SandboxdMemoryd,
    CtlPolicyd, CtlSandboxd, CtlMind, CtlMemoryd, CtlSyntd,
}

fuzz_target!(|bytes: &[u8]| {
    let _ = decode(bytes);
});
