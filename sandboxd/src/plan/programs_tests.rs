//! Who may run listed programs is shown those and no other, and nothing else can be executed.
#![allow(clippy::unwrap_used)]

use metnos_proto::executor::Manifest;

use super::testing::installation;
use super::*;

/// The plan of an executor that is granted this.
fn granted(installation: &Installation, profile: &str, capabilities: &str) -> Result<Plan, PlanError> {
    let text = include_str!("../../../executors/fs_read/manifest.toml");
    let text = text.replace("fs-read-workspace", profile).replace("{ fs_read = [\"workspace/\"] }", capabilities);
    installation.plan(&Manifest::parse(text.as_bytes()).unwrap())
}

const RUNS_ALL: &str = "{ exec = [\"*\"] }, { fs_read = [\"workspace/\"] }";

#[test]
fn program_runner_plan_mounts_only_listed_programs_and_libraries() {
    let plan = granted(&installation(), "shell-listed", RUNS_ALL).unwrap();
    let spec = plan.spec();
    // What is listed and not there is left out where the list is taken as it is.
    assert_eq!(spec.commands, ["/usr/bin/ls", "/usr/bin/wc"]);
    let of = |purpose| spec.mounts.iter().filter(move |mount| mount.purpose == purpose);
    assert!(of(MountPurpose::Command).all(|mount| mount.flags == MountFlags::CODE && mount.source == mount.target));
    assert_eq!(of(MountPurpose::Command).count(), 2);
    assert_eq!(of(MountPurpose::Library).filter(|mount| mount.target.contains("libselinux")).count(), 1);
    assert_eq!(of(MountPurpose::Grant).map(|mount| mount.flags).collect::<Vec<_>>(), [MountFlags::READ]);
    let run: Vec<&str> =
        spec.places.iter().filter(|place| place.right == Right::Run).map(|place| place.path.as_str()).collect();
    assert_eq!(run, ["/lib64/ld-linux-x86-64.so.2", "/usr/bin/ls", "/usr/bin/wc"]);
    // The loader could run whatever may be read and mapped: so the interpreter's own file may not even be read.
    assert!(!spec.places.iter().any(|place| place.path == spec.argv[0]));
    assert_eq!([spec.seccomp, spec.start_seccomp], installation().programs_seccomp);
    assert_eq!((spec.modes.as_slice(), plan.runs()), ([Mode::Execed].as_slice(), Runs::Programs));
    let folders = spec.env.iter().find(|(name, _)| name == "LD_LIBRARY_PATH").unwrap();
    assert!(folders.1.split(':').any(|folder| folder == "/opt-lib"), "{}", folders.1);
    let data: Vec<_> = of(MountPurpose::ProgramData).map(|mount| (mount.target.as_str(), mount.flags)).collect();
    assert_eq!(data, [("/usr/share/words", MountFlags::READ)]);
    let words = Place { path: "/usr/share/words".to_owned(), folder: true, right: Right::Read };
    assert!(spec.places.contains(&words));
    let without = granted(&installation(), "shell-listed", "{ exec = [\"/usr/bin/ls\"] }").unwrap();
    assert!(without.spec().mounts.iter().all(|mount| mount.purpose != MountPurpose::ProgramData), "another program's");
    // Nobody else has any of it.
    let reader = granted(&installation(), "fs-x", "{ fs_read = [\"workspace/\"] }").unwrap();
    assert!(reader.spec().mounts.iter().all(|mount| mount.purpose != MountPurpose::Command));
    assert!(reader.spec().places.iter().all(|place| place.right != Right::Run));
    assert_eq!([reader.spec().seccomp, reader.spec().start_seccomp], installation().seccomp);
}

#[test]
fn another_list_of_programs_is_another_sandbox_only_for_whom_it_concerns() {
    let mut more = installation();
    more.programs.listed.push("/usr/bin/cat".to_owned());
    let libraries = vec!["/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned()];
    more.programs.found.push(crate::machine::commands::Command {
        path: "/usr/bin/cat".to_owned(),
        libraries,
        data: vec![],
    });
    let hash = |installation: &Installation, what: &str| granted(installation, "shell-listed", what).unwrap().hash();
    assert_ne!(hash(&installation(), RUNS_ALL), hash(&more, RUNS_ALL));
    for what in ["{ exec = [\"/usr/bin/wc\"] }", "{ fs_read = [\"workspace/\"] }"] {
        assert_eq!(hash(&installation(), what), hash(&more, what), "{what}");
    }
    // With nothing listed it is a sandbox like any other.
    let none = Installation { programs: crate::machine::commands::Programs::default(), ..installation() };
    let plan = granted(&none, "shell-listed", "{ exec = [\"*\"] }").unwrap();
    assert_eq!((plan.runs(), plan.spec().modes.as_slice()), (Runs::Nothing, Mode::LADDER.as_slice()));
    assert_eq!([plan.spec().seccomp, plan.spec().start_seccomp], none.seccomp);
}

#[test]
fn program_that_is_not_installed_is_left_out_even_where_it_is_named() {
    let wanted = "{ exec = [\"/usr/bin/none\", \"/usr/bin/wc\"] }";
    let plan = granted(&installation(), "shell-listed", wanted).unwrap();
    assert_eq!(plan.spec().commands, ["/usr/bin/wc"]);
    // Once it is there, it is another sandbox, which the owner is shown first.
    let mut later = installation();
    later.programs.missing.clear();
    later.programs.found.push(crate::machine::commands::Command {
        path: "/usr/bin/none".to_owned(),
        libraries: vec![],
        data: vec![],
    });
    assert_ne!(granted(&later, "shell-listed", wanted).unwrap().hash(), plan.hash());
}

#[test]
fn no_plan_lets_anything_be_executed_that_is_not_listed() {
    let good = granted(&installation(), "shell-listed", RUNS_ALL).unwrap();
    let with = |change: &dyn Fn(&mut Spec)| {
        let mut spec = good.spec().clone();
        change(&mut spec);
        Plan::new(spec)
    };
    assert!(with(&|_| {}).is_ok());
    let place = |path: &str, right| Place { path: path.to_owned(), folder: false, right };
    let data = |spec: &mut Spec, change: &dyn Fn(&mut Mount)| {
        change(spec.mounts.iter_mut().find(|mount| mount.purpose == MountPurpose::ProgramData).unwrap());
    };
    let wrong: [&dyn Fn(&mut Spec); 13] = [
        &|spec| spec.places.push(place("/usr/bin/python3.11", Right::Run)),
        &|spec| spec.places.push(place("/usr/bin/id", Right::Run)),
        &|spec| spec.places.push(place("/usr/lib/x86_64-linux-gnu/libc.so.6", Right::Run)),
        &|spec| spec.places.push(Place { folder: true, ..place("/workspace", Right::Run) }),
        &|spec| spec.commands.clear(),
        &|spec| spec.commands.push("/usr/bin/id".to_owned()),
        &|spec| drop(spec.commands.pop()),
        &|spec| spec.modes = Mode::LADDER.to_vec(),
        &|spec| data(spec, &|mount| mount.flags = MountFlags::CODE),
        &|spec| data(spec, &|mount| mount.flags = MountFlags::WRITE),
        &|spec| data(spec, &|mount| mount.folder = false),
        &|spec| data(spec, &|mount| mount.source = "/workspace/words".to_owned()),
        &|spec| {
            let mount = spec.mounts.iter_mut().find(|mount| mount.purpose == MountPurpose::Command).unwrap();
            mount.source = "/workspace/wc".to_owned();
            mount.target = mount.source.clone();
        },
    ];
    for (at, change) in wrong.into_iter().enumerate() {
        assert!(with(change).is_err(), "{at}");
    }
}
