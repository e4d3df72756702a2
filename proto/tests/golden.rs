//! Every change of the wire is a visible difference in `wire.golden`.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use metnos_proto::control;
use metnos_proto::edge::{Edge, Visit};
use metnos_proto::edges::{self, EdgeId};

struct Describe(String);

impl Visit for Describe {
    fn visit<E: Edge>(&mut self) {
        let key: String = E::SCHEMA_KEY.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(self.0, "{}  key {key}\n", E::description()).unwrap();
    }
}

/// The line with which the part of the control star begins.
const STAR: &str = "control star\n";

#[test]
fn the_wire_is_the_one_in_the_golden_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire.golden");
    let golden = std::fs::read_to_string(path).unwrap();
    let mut now = Describe(String::new());
    edges::visit_all(&mut now);
    // The attack build has one word more on the control star: there the edges alone are compared.
    let star = if cfg!(feature = "attack") {
        golden[golden.rfind(STAR).unwrap()..].to_owned()
    } else {
        control::description()
    };
    let now = now.0 + &star;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &now).unwrap();
        return;
    }
    assert!(
        golden == now,
        "the wire has changed: if that is meant, run the test with UPDATE_GOLDEN=1 and review the difference of {path}"
    );
}

#[test]
fn every_edge_has_its_own_number_and_key() {
    struct Keys(Vec<[u8; 8]>);
    impl Visit for Keys {
        fn visit<E: Edge>(&mut self) {
            self.0.push(E::SCHEMA_KEY);
        }
    }
    let mut keys = Keys(Vec::new());
    edges::visit_all(&mut keys);
    assert_eq!(keys.0.len(), EdgeId::ALL.len());
    keys.0.sort_unstable();
    keys.0.dedup();
    assert_eq!(keys.0.len(), EdgeId::ALL.len());
    let mut numbers: Vec<u16> = EdgeId::ALL.iter().map(|edge| edge.number()).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), EdgeId::ALL.len());
    assert!(!numbers.contains(&control::CONTROL_EDGE));
}

#[test]
fn asks_go_uphill_only_and_nobody_but_policyd_asks_sandboxd() {
    use metnos_proto::role::RoleName;
    for edge in EdgeId::ALL {
        assert!(edge.asker().rank() < edge.answerer().rank(), "{edge:?}");
        assert_ne!(edge.asker(), RoleName::Memoryd, "memoryd asks nobody");
        assert_ne!(edge.asker(), RoleName::Mind, "mind asks nobody");
        if edge.answerer() == RoleName::Sandboxd {
            assert!(matches!(edge.asker(), RoleName::Policyd | RoleName::Ctl), "{edge:?}");
        }
        assert_eq!(EdgeId::from_number(edge.number()), Some(*edge));
    }
}
