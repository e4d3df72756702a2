//! An order is read as it was written, and nothing else is an order.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::layout::{CANARIES, COVER, LANDLOCK, MAX_ORDER, Order, PROGRAMS};
use super::*;
use crate::confine::seccomp::Stage;
use crate::plan::testing::{installation, reader, writer};

fn filter() -> Filter {
    Filter::load(Stage::Sealed).unwrap()
}

fn text(path: &[u8]) -> String {
    String::from_utf8(path.strip_suffix(b"\0").unwrap().to_vec()).unwrap()
}

#[test]
fn seal_order_round_trips_from_the_plan() {
    let plan = writer("\"workspace/\"").unwrap();
    let bytes = of_plan(&plan, &filter(), Some(7), &[WORKSPACE, "/workspace/executors"]);
    let order = Order::read(&bytes).unwrap();
    assert_eq!(order.steps, CANARIES | LANDLOCK);
    let mounts: Vec<_> = order.mounts.map(text).collect();
    assert_eq!(mounts, ["/workspace", "/workspace/executors"]);
    assert_eq!(order.limits.collect::<Vec<_>>().len(), limits(&plan.spec().limits).len());
    assert_eq!(order.handled_files, AccessFs::from_all(ABI::V7).bits());
    assert_ne!((order.handled_ports, order.scopes), (0, 0));
    let places: Vec<_> = order.places.map(|(path, rights)| (text(path), rights)).collect();
    assert_eq!(places.len(), plan.spec().places.len());
    assert!(places.iter().all(|(_, rights)| rights & AccessFs::Execute as u64 == 0), "nothing may be executed");
    assert_eq!(order.filter, filter().bytes());
}

#[test]
fn program_runner_may_execute_only_listed_programs_and_loader() {
    let manifest = include_bytes!("../../../executors/shell_run/manifest.toml");
    let plan = installation().plan(&metnos_proto::executor::Manifest::parse(manifest).unwrap()).unwrap();
    let bytes = of_plan(&plan, &filter(), Some(7), &[]);
    let order = Order::read(&bytes).unwrap();
    assert_eq!(order.steps, CANARIES | LANDLOCK | PROGRAMS);
    let may_run = order.places.filter(|(_, rights)| rights & AccessFs::Execute as u64 != 0);
    let may_run: Vec<String> = may_run.map(|(path, _)| text(path)).collect();
    assert_eq!(may_run, ["/lib64/ld-linux-x86-64.so.2", "/usr/bin/ls", "/usr/bin/wc"]);
    assert!(!Order::read(&of_plan(&reader(), &filter(), Some(7), &[])).unwrap().has(PROGRAMS));
}

#[test]
fn older_kernel_receives_only_rights_it_knows() {
    let bytes = of_plan(&reader(), &filter(), Some(2), &[WORKSPACE]);
    let order = Order::read(&bytes).unwrap();
    assert_eq!((order.handled_ports, order.scopes), (0, 0));
    assert!(order.places.into_iter().all(|(_, rights)| rights & !order.handled_files == 0));
    let waived = of_plan(&reader(), &filter(), None, &[WORKSPACE]);
    assert!(!Order::read(&waived).unwrap().has(LANDLOCK));
}

#[test]
fn mount_points_are_made_when_only_a_part_of_the_workspace_is_granted() {
    let narrow = of_plan(&writer("\"workspace/notes/\"").unwrap(), &filter(), Some(7), &["/workspace/notes"]);
    assert!(Order::read(&narrow).unwrap().has(COVER));
    // A fresh interpreter has its mounts already.
    let execed = of_plan(&writer("\"workspace/notes/\"").unwrap(), &filter(), Some(7), &[]);
    let order = Order::read(&execed).unwrap();
    assert!(!order.has(COVER) && order.descriptors() == 0);
}

#[test]
fn the_zygotes_order_takes_the_right_to_execute_and_tries_nothing() {
    let bytes = of_zygote();
    let order = Order::read(&bytes).unwrap();
    assert_eq!((order.steps, order.descriptors()), (0, 0));
    assert_eq!(order.filter, Filter::no_exec().bytes());
}

#[test]
fn the_seal_makes_the_same_small_world_as_the_plan() {
    // What a warm child does before it knows its plan stands in the seal; both must say the same.
    let (seal, spec) = (include_str!("../../seal/lib.rs"), reader().spec().clone());
    let tmp = format!("KERNEL.memory(c\"{}\", c\"{}\", c\"0700\")", spec.tmp.bytes, spec.tmp.files);
    let ids = format!("c\"self/uid_map\", b\"{0} {0} 1\\n\"", spec.inner_id);
    let name = format!("KERNEL.name(b\"{}\")", spec.hostname);
    for part in [tmp, ids, name] {
        assert!(seal.contains(&part), "{part}");
    }
}

proptest! {
    #[test]
    fn a_cut_or_longer_order_is_none(cut in any::<prop::sample::Index>(), more in 1_usize..40) {
        let whole = of_plan(&reader(), &filter(), Some(7), &[WORKSPACE]);
        prop_assert!(Order::read(&whole).is_some());
        prop_assert!(Order::read(&whole[..cut.index(whole.len())]).is_none());
        let longer = [whole.as_slice(), &vec![0; more]].concat();
        prop_assert!(Order::read(&longer).is_none());
    }

    #[test]
    fn any_bytes_are_an_order_or_none_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), version in any::<bool>()) {
        let mut bytes = bytes;
        if version && bytes.len() > 2 {
            bytes[0] = layout::VERSION;
            bytes[1] &= 7;
        }
        if let Some(order) = Order::read(&bytes) {
            prop_assert!(order.mounts.into_iter().all(|path| path.ends_with(b"\0")));
            prop_assert!(!order.filter.is_empty() && bytes.len() <= MAX_ORDER);
        }
    }
}
