//! The broker against a model of the world: processes that hold ends.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::os::fd::AsFd;

use metnos_proto::socket;
use proptest::prelude::*;

use super::*;

/// Every daemon with the ends it was handed; a later end of an edge replaces the earlier.
#[derive(Default)]
struct World {
    ends: HashMap<(RoleName, EdgeId, Side), (u32, OwnedFd)>,
    newest: HashMap<EdgeId, u32>,
}

impl ControlLines for World {
    fn hand(&mut self, to: RoleName, end: EdgeEnd, fd: OwnedFd) -> Result<(), HandoverError> {
        let last = self.newest.entry(end.edge).or_default();
        match end.side {
            Side::Asker => assert!(end.generation > *last, "a generation came twice"),
            Side::Answerer if end.edge.is_admin() => assert!(end.generation > *last && end.peer.is_some()),
            Side::Answerer => assert_eq!(end.generation, *last, "the two ends of a pair differ"),
        }
        *last = end.generation;
        self.ends.insert((to, end.edge, end.side), (end.generation, fd));
        Ok(())
    }
}

impl World {
    fn end(&self, edge: EdgeId, side: Side) -> Option<&(u32, OwnedFd)> {
        let role = if side == Side::Asker { edge.asker() } else { edge.answerer() };
        self.ends.get(&(role, edge, side))
    }

    fn die(&mut self, role: RoleName) {
        self.ends.retain(|(holder, ..), _| *holder != role);
    }

    /// What must hold after every event.
    fn check(&self, broker: &Broker) {
        for (edge, channel) in broker.between() {
            let both = broker.is_live(edge.asker()) && broker.is_live(edge.answerer());
            assert_eq!(channel.up, both, "{edge:?}");
            match (self.end(edge, Side::Asker), self.end(edge, Side::Answerer)) {
                (Some((one, asker)), Some((two, answerer))) if both => {
                    assert_eq!((*one, *two), (channel.generation, channel.generation), "{edge:?}");
                    assert_connected(asker, answerer);
                }
                (None, Some((_, orphan))) | (Some((_, orphan)), None) => {
                    // The peer's death is seen: nobody else holds the other end.
                    let seen = socket::receive(orphan.as_fd(), &mut [0; 8]).unwrap();
                    assert!(seen.is_none(), "{edge:?}: an end was kept");
                }
                (asker, answerer) => assert!(!both && asker.is_none() && answerer.is_none(), "{edge:?}"),
            }
        }
    }
}

fn assert_connected(one: &OwnedFd, two: &OwnedFd) {
    for (from, to) in [(one, two), (two, one)] {
        socket::send(from.as_fd(), b"?", &[]).unwrap();
        assert_eq!(socket::receive(to.as_fd(), &mut [0; 8]).unwrap().unwrap().len, 1);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Arrive(Vec<RoleName>),
    Die(RoleName),
    Replace(RoleName),
}

fn daemon() -> impl Strategy<Value = RoleName> {
    proptest::sample::select(RoleName::daemons().collect::<Vec<_>>())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        proptest::collection::vec(daemon(), 1..8).prop_map(Step::Arrive),
        daemon().prop_map(Step::Die),
        daemon().prop_map(Step::Replace),
    ]
}

fn play(broker: &mut Broker, world: &mut World, step: Step) {
    match step {
        Step::Arrive(mut roles) => {
            roles.retain(|role| !broker.is_live(*role));
            let wires = broker.arrived(&roles);
            assert!(wire(&wires, world).is_empty());
        }
        Step::Die(role) => {
            world.die(role);
            broker.gone(role);
        }
        Step::Replace(role) => {
            world.die(role);
            let wires = broker.arrived(&[role]);
            assert!(wire(&wires, world).is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn each_live_pair_of_daemons_has_exactly_one_current_channel(
        steps in proptest::collection::vec(step(), 1..40)
    ) {
        let (mut broker, mut world) = (Broker::default(), World::default());
        for step in steps {
            play(&mut broker, &mut world, step);
            world.check(&broker);
        }
    }

    #[test]
    fn a_broker_that_comes_back_knows_what_it_knew(steps in proptest::collection::vec(step(), 1..20)) {
        let (mut broker, mut world) = (Broker::default(), World::default());
        for step in steps {
            play(&mut broker, &mut world, step);
        }
        let live: Vec<RoleName> = RoleName::daemons().filter(|role| broker.is_live(*role)).collect();
        let generations: Vec<(EdgeId, u32)> = broker.between().map(|(edge, channel)| (edge, channel.generation)).collect();
        let mut resumed = Broker::resumed(&live, &generations);
        prop_assert_eq!(&resumed, &broker);
        prop_assert_eq!(resumed.arrived(&[]), vec![]);
        world.check(&resumed);
    }
}

#[test]
fn all_daemons_together_make_each_edge_once() {
    let mut broker = Broker::default();
    let all: Vec<RoleName> = RoleName::daemons().collect();
    let wires = broker.arrived(&all);
    let wanted: Vec<EdgeId> = EdgeId::ALL.iter().copied().filter(|edge| !edge.is_admin()).collect();
    assert_eq!(wires.iter().map(|wire| wire.edge).collect::<Vec<_>>(), wanted);
    assert!(wires.iter().all(|wire| wire.generation == 1));
}

#[test]
fn broken_channel_waits_for_its_pause_when_others_arrive() {
    let mut broker = Broker::default();
    let _ = broker.arrived(&[RoleName::Planner, RoleName::Policyd]);
    broker.broken(EdgeId::PlannerPolicyd);
    assert_eq!(broker.arrived(&[]), vec![]);
    assert_eq!(
        broker.arrived(&[RoleName::Mind]).iter().map(|wire| wire.edge).collect::<Vec<_>>(),
        [EdgeId::PlannerMind, EdgeId::PolicydMind]
    );
    let again = broker.arrived(&[RoleName::Planner]);
    assert!(again.contains(&Wire { edge: EdgeId::PlannerPolicyd, generation: 2 }), "a new process starts afresh");
}

#[test]
fn a_broken_channel_is_made_anew_once_and_only_between_the_living() {
    let mut broker = Broker::default();
    let _ = broker.arrived(&[RoleName::Planner, RoleName::Policyd]);
    let edge = EdgeId::PlannerPolicyd;
    assert_eq!(broker.mended(edge), None, "it was not broken");
    broker.broken(edge);
    assert_eq!(broker.mended(edge), Some(Wire { edge, generation: 2 }));
    assert_eq!(broker.mended(edge), None);
    broker.broken(edge);
    broker.gone(RoleName::Policyd);
    assert_eq!(broker.mended(edge), None);
}

#[test]
fn metnosctl_gets_an_end_only_to_a_live_daemon_that_it_may_speak_to() {
    let (mut broker, mut world) = (Broker::default(), World::default());
    assert_eq!(broker.admin(RoleName::Memoryd), None);
    let _ = broker.arrived(&[RoleName::Memoryd, RoleName::Planner]);
    assert_eq!(broker.admin(RoleName::Planner), None, "the planner has no admin edge");
    for generation in 1..3 {
        let wire = broker.admin(RoleName::Memoryd).unwrap();
        assert_eq!(wire, Wire { edge: EdgeId::CtlMemoryd, generation });
        let (end, fd) = connect(wire, PeerCred { pid: 7, uid: 1000 }, &mut world).unwrap();
        assert_eq!((end.side, end.generation, end.peer), (Side::Asker, generation, None));
        assert_connected(&fd, &world.ends[&(RoleName::Memoryd, EdgeId::CtlMemoryd, Side::Answerer)].1);
    }
}
