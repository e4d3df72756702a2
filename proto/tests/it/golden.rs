//! Every change of the wire is a visible difference in `wire.golden`.

use std::fmt::Write;

use metnos_proto::control;
use metnos_proto::edge::{Edge, Order, Visit};
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

/// Between these lines of the architecture stands which edges have phases.
const PHASES: (&str, &str) = ("<!-- phases: written with UPDATE_GOLDEN=1 -->\n", "<!-- end of phases -->\n");

/// Every edge with its machine, or with the reason for having none.
fn phases() -> String {
    let mut table = "| edge | asks → answers | phases |\n|---|---|---|\n".to_owned();
    for edge in EdgeId::ALL {
        let order = match edge.order() {
            Order::Machine(name, rule) => format!("`{name}`: {rule}"),
            Order::Free(reason) => format!("none: {reason}"),
        };
        let (asker, answerer) = (edge.asker().text(), edge.answerer().text());
        writeln!(table, "| `{edge:?}` | {asker} → {answerer} | {order} |").unwrap();
    }
    table
}

#[test]
fn architecture_lists_every_edge_with_its_phases() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/architecture.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(PHASES.0).unwrap();
    let (table, after) = rest.split_once(PHASES.1).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, [before, PHASES.0, &phases(), PHASES.1, after].concat()).unwrap();
        return;
    }
    assert_eq!(table, phases(), "run the test with UPDATE_GOLDEN=1 and review the difference of {path}");
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
