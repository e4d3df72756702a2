//! A plan is what it says, hashes what it is, and cannot be made of forbidden things.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use metnos_proto::control::FolderSettings;
use metnos_proto::executor::{Manifest, Quotas, forbidden};

use super::testing::{installation, reader as plan, writer};
use super::*;

#[test]
fn the_plan_of_a_reader_shows_the_workspace_and_nothing_of_the_owner() {
    let plan = plan();
    let grants: Vec<_> = plan.spec().mounts.iter().filter(|mount| mount.purpose == MountPurpose::Grant).collect();
    assert_eq!(grants.len(), 1);
    assert_eq!((grants[0].source.as_str(), grants[0].target.as_str()), (WORKSPACE, WORKSPACE));
    assert_eq!(grants[0].flags, MountFlags::READ);
    let pure = installation().pure_plan("pure", &Quotas::default()).unwrap();
    assert!(pure.spec().mounts.iter().all(|mount| mount.purpose != MountPurpose::Grant));
    assert_ne!(pure.hash(), plan.hash());
}

#[test]
fn the_hash_is_the_same_today_and_tomorrow() {
    // A golden value: whoever changes the format or a default sees it here, and raises PLAN_FORMAT.
    assert_eq!(plan().hash(), plan().hash());
    assert_eq!(plan().hash().to_string(), GOLDEN);
}

const GOLDEN: &str = "blake3:667f21764f58c90ed87769f7acc04a1762d11aff4879401c6de2f20582adeb26";

#[test]
fn the_interpreters_version_does_not_change_the_hash_but_its_abi_does() {
    let manifest = Manifest::parse(include_bytes!("../../../executors/fs_read/manifest.toml")).unwrap();
    let mut other = installation();
    other.interpreter.version = "3.11.99".to_owned();
    assert_eq!(other.plan(&manifest).unwrap().hash(), plan().hash());
    other.interpreter.abi = "cpython-312-x86_64-linux-gnu".to_owned();
    assert_ne!(other.plan(&manifest).unwrap().hash(), plan().hash());
}

/// The plan of an executor of this profile that is granted this.
fn granted(installation: &Installation, profile: &str, capabilities: &str) -> Result<Plan, PlanError> {
    let text = String::from_utf8_lossy(include_bytes!("../../../executors/fs_read/manifest.toml")).into_owned();
    let text = text.replace("fs-read-workspace", profile).replace("{ fs_read = [\"workspace/\"] }", capabilities);
    installation.plan(&Manifest::parse(text.as_bytes()).unwrap())
}

#[test]
fn a_grant_this_version_cannot_give_is_refused_by_name() {
    let with = |profile: &str, capability: &str| granted(&installation(), profile, capability);
    assert!(with("fs-notes", "{ fs_read = [\"workspace/notes/\"] }").is_ok());
    let unlisted = with("shell-listed", "{ exec = [\"/usr/bin/id\"] }");
    assert_eq!(unlisted, Err(PlanError::UnlistedProgram("/usr/bin/id".to_owned())));
    let unfit = with("shell-listed", "{ exec = [\"*\", \"/usr/bin/awk\"] }").unwrap_err();
    assert!(unfit.to_string().contains("/usr/bin/awk") && unfit.to_string().contains("a link"), "{unfit}");
}

#[test]
fn outside_folder_is_granted_only_below_a_listed_one_with_same_rights() {
    let with = |capability: &str| granted(&installation(), "fs-pictures", capability);
    let plan =
        with("{ fs_read = [\"~/Pictures/2024/\", \"workspace/notes/\"] }, { fs_write = [\"/srv/photos/new/\"] }")
            .unwrap();
    let shown = |purpose| plan.spec().mounts.iter().find(|mount| mount.purpose == purpose).unwrap();
    let read = shown(MountPurpose::Outside);
    assert_eq!((read.source.as_str(), &read.flags), ("/outside/home/ada/Pictures/2024", &MountFlags::READ));
    assert_eq!(read.source, read.target);
    let write = shown(MountPurpose::OutsideWrite);
    assert_eq!(
        (write.source.as_str(), write.target.as_str()),
        ("/outside-writable/srv/photos/new", "/outside/srv/photos/new")
    );
    assert_eq!((write.flags, plan.spec().modes.as_slice()), (MountFlags::WRITE, [Mode::Execed].as_slice()));
    assert_eq!(plan.spec().home, "/home/ada");
    assert!(plan.spec().masks.contains(&"/outside/srv/photos/new".to_owned()));
    let rights = |path: &str| plan.spec().places.iter().find(|place| place.path == path).map(|place| place.right);
    assert_eq!(rights("/outside/home/ada/Pictures/2024"), Some(Right::Read));
    assert_eq!(rights("/outside/srv/photos/new"), Some(Right::Change));
    for (capability, key) in [
        ("{ fs_write = [\"~/Pictures/\"] }", "writable"),
        ("{ fs_read = [\"~/Music/\"] }", "folders"),
        ("{ fs_read = [\"/srv/\"] }", "folders"),
        ("{ fs_read = [\"/srv/photos2/\"] }", "folders"),
        ("{ fs_read = [\"workspace/\", \"/usr/share/doc/\"] }", "folders"),
    ] {
        let made = with(capability);
        assert!(matches!(&made, Err(PlanError::Unlisted(_, found)) if *found == key), "{capability}: {made:?}");
    }
    let nobodys = Installation { folders: FolderSettings::default(), ..installation() };
    assert!(granted(&nobodys, "fs-pictures", "{ fs_read = [\"~/Pictures/\"] }").is_err());
    // What is listed wrongly is closed all the same.
    let listed = FolderSettings { home: String::new(), read: vec!["/home/bob".into()], write: Vec::new() };
    let careless = Installation { folders: listed, ..installation() };
    let made = granted(&careless, "fs-bob", "{ fs_read = [\"/home/bob/\"] }");
    assert!(matches!(made, Err(PlanError::Forbidden { .. })), "{made:?}");
}

#[test]
fn plan_hash_depends_on_home_and_folder_list_only_where_used() {
    let home = |home: &str| {
        let read = vec![format!("{home}/Pictures")];
        Installation { folders: FolderSettings { home: home.to_owned(), read, write: Vec::new() }, ..installation() }
    };
    let plan = |installation: &Installation, what: &str| granted(installation, "fs-x", what).unwrap().hash();
    let (outside, inside) = ("{ fs_read = [\"~/Pictures/\"] }", "{ fs_read = [\"workspace/\"] }");
    assert_ne!(plan(&home("/home/ada"), outside), plan(&home("/home/bob"), outside));
    assert_eq!(plan(&home("/home/ada"), inside), plan(&home("/home/bob"), inside));
    assert_eq!(plan(&home("/home/ada"), outside), plan(&installation(), outside), "only what is shown counts");
}

#[test]
fn birth_plan_replaces_each_outside_folder_with_a_scratch_folder() {
    let plan =
        granted(&installation(), "fs-x", "{ fs_read = [\"~/Pictures/\"] }, { fs_write = [\"/srv/photos/\"] }").unwrap();
    let born = plan.with_scratch("/scratch/7").unwrap();
    let sources: Vec<&str> = born.spec().mounts.iter().map(|mount| mount.source.as_str()).collect();
    for (source, owners) in [
        ("/scratch/7-outside/home/ada/Pictures", "/outside/home/ada/Pictures"),
        ("/scratch/7-outside/srv/photos", "/outside-writable/srv/photos"),
    ] {
        assert!(sources.contains(&source) && !sources.contains(&owners), "{sources:?}");
    }
}

/// The plan of an executor with this network.
fn networked(installation: &Installation, rules: &str) -> Result<Plan, PlanError> {
    let text = String::from_utf8_lossy(include_bytes!("../../../executors/web_fetch/manifest.toml")).into_owned();
    let text = text.replace("\"argument /url\"", rules);
    installation.plan(&Manifest::parse(text.as_bytes()).unwrap())
}

#[test]
fn networked_plan_has_egress_descriptors_and_is_never_prewarmed() {
    let plan = networked(&installation(), "\"example.org\", \"argument /url\"").unwrap();
    let egress = plan.egress().unwrap();
    assert_eq!(egress.rules, ["example.org:443", "argument /url"]);
    assert_eq!(plan.spec().modes, [Mode::Execed]);
    assert_eq!(plan.spec().namespaces, Namespace::ALL, "its network namespace is as empty as any");
    let handed = plan.spec().descriptors.iter().filter(|(_, what)| what == "egress").count();
    assert_eq!(handed, usize::from(egress.connections));
    assert!(plan.spec().mounts.iter().any(|mount| mount.target == CA_FILE && mount.flags == MountFlags::READ));
    assert!(plan.spec().preload.contains(&"_ssl".to_owned()));
    let other = networked(&installation(), "\"example.net\", \"argument /url\"").unwrap();
    assert_ne!(plan.hash(), other.hash());
    // One without network has nothing of it, and the hash that it always had.
    assert!(super::testing::reader().egress().is_none());
    assert!(!String::from_utf8(canonical(super::testing::reader().spec())).unwrap().contains("egress"));
}

#[test]
fn a_network_without_authorities_or_out_of_bounds_cannot_be_made() {
    let without = Installation { net: None, ..installation() };
    assert_eq!(networked(&without, "\"example.org\"").unwrap_err(), PlanError::NoCertificates);
    let changed = |change: fn(&mut Spec)| {
        let mut spec = networked(&installation(), "\"example.org\"").unwrap().spec().clone();
        change(&mut spec);
        Plan::new(spec)
    };
    assert!(changed(|_| {}).is_ok());
    for result in [
        changed(|spec| spec.modes = Mode::LADDER.to_vec()),
        changed(|spec| spec.egress = None),
        changed(|spec| spec.egress.iter_mut().for_each(|egress| egress.rules.clear())),
        changed(|spec| spec.egress.iter_mut().for_each(|egress| egress.connections = 0)),
        changed(|spec| spec.egress.iter_mut().for_each(|egress| egress.connections = 200)),
        changed(|spec| spec.egress.iter_mut().for_each(|egress| egress.bytes = u64::MAX)),
        changed(|spec| {
            for mount in spec.mounts.iter_mut().filter(|mount| mount.purpose == MountPurpose::Certificates) {
                (mount.source, mount.target) = ("/etc/ssl/private".to_owned(), "/etc/ssl/private".to_owned());
            }
        }),
    ] {
        assert!(result.is_err());
    }
}

#[test]
fn a_scratch_plan_differs_only_in_where_the_workspace_comes_from() {
    let scratch = plan().with_scratch("/scratch/1").unwrap();
    let grant = scratch.spec().mounts.iter().find(|mount| mount.purpose == MountPurpose::Grant).unwrap();
    assert_eq!((grant.source.as_str(), grant.target.as_str()), ("/scratch/1", WORKSPACE));
    assert_ne!(scratch.hash(), plan().hash());
    for bad in ["/workspace", "/scratch", "/scratch/../etc", "/etc"] {
        assert!(plan().with_scratch(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_writer_may_change_the_workspace_but_not_the_executors_in_it() {
    let plan = writer("\"workspace/\"").unwrap();
    let of = |purpose| plan.spec().mounts.iter().filter(move |mount| mount.purpose == purpose).collect::<Vec<_>>();
    let grants = of(MountPurpose::WriteGrant);
    assert_eq!((grants.len(), grants[0].source.as_str(), grants[0].target.as_str()), (1, WRITABLE, WORKSPACE));
    assert_eq!(grants[0].flags, MountFlags::WRITE);
    assert!(
        grants[0].flags.no_exec && grants[0].flags.no_suid && grants[0].flags.no_dev && grants[0].flags.no_symfollow
    );
    let guards = of(MountPurpose::Guard);
    assert_eq!((guards.len(), guards[0].target.as_str()), (1, "/workspace/executors"));
    assert_eq!(guards[0].flags, MountFlags::READ);
    assert!(plan.spec().places.contains(&Place { path: WORKSPACE.to_owned(), folder: true, right: Right::Change }));
    // A birth test's workspace holds no executors.
    let scratch = plan.with_scratch("/scratch/7").unwrap();
    assert!(scratch.spec().mounts.iter().all(|mount| mount.purpose != MountPurpose::Guard));
    assert!(scratch.spec().mounts.iter().any(|mount| mount.source == "/scratch/7" && !mount.flags.read_only));
    assert!(
        writer("\"workspace/notes/\"").unwrap().spec().mounts.iter().all(|mount| mount.purpose != MountPurpose::Guard)
    );
}

#[test]
fn a_plan_that_lets_the_executors_be_written_cannot_be_made() {
    for folder in ["\"workspace/executors/\"", "\"workspace/executors/fs_read/\""] {
        assert!(matches!(writer(folder), Err(PlanError::BadMount { .. })), "{folder}");
    }
    let changed = |change: fn(&mut Vec<Mount>)| {
        let mut spec = writer("\"workspace/\", \"workspace/notes/\"").unwrap().spec().clone();
        change(&mut spec.mounts);
        Plan::new(spec)
    };
    assert!(changed(|_| {}).is_ok());
    assert!(changed(|mounts| mounts.retain(|mount| mount.purpose != MountPurpose::Guard)).is_err());
    assert!(changed(|mounts| mounts.reverse()).is_err());
    assert!(
        changed(|mounts| mounts.iter_mut().for_each(|mount| if mount.purpose == MountPurpose::Guard {
            mount.source = "/workspace/notes".to_owned()
        }))
        .is_err()
    );
    assert!(
        changed(|mounts| mounts.iter_mut().for_each(|mount| if mount.purpose == MountPurpose::Guard {
            mount.flags.read_only = false
        }))
        .is_err()
    );
    // From where only reading is granted, nothing is written, and the other way round.
    assert!(
        changed(|mounts| mounts.iter_mut().for_each(|mount| if mount.purpose == MountPurpose::WriteGrant {
            mount.source = mount.target.clone()
        }))
        .is_err()
    );
}

#[test]
fn the_narrower_of_two_grants_lies_on_top_and_a_folder_is_granted_once() {
    let text = String::from_utf8_lossy(include_bytes!("../../../executors/fs_read/manifest.toml")).into_owned();
    let text = text.replace("fs-read-workspace", "fs-write-workspace").replace(
        "{ fs_read = [\"workspace/\"] }",
        "{ fs_read = [\"workspace/\", \"workspace/notes/\"] }, { fs_write = [\"workspace/notes/\"] }",
    );
    let plan = installation().plan(&Manifest::parse(text.as_bytes()).unwrap()).unwrap();
    let grants: Vec<_> = plan
        .spec()
        .mounts
        .iter()
        .filter(|mount| matches!(mount.purpose, MountPurpose::Grant | MountPurpose::WriteGrant))
        .map(|mount| (mount.source.as_str(), mount.target.as_str()))
        .collect();
    assert_eq!(grants, [(WORKSPACE, WORKSPACE), ("/writable/notes", "/workspace/notes")]);
}

fn with_mount(change: impl FnOnce(&mut Mount), purpose: MountPurpose) -> Result<Plan, PlanError> {
    let mut spec = plan().spec().clone();
    let mount = spec.mounts.iter_mut().find(|mount| mount.purpose == purpose).unwrap();
    change(mount);
    Plan::new(spec)
}

#[test]
fn no_mount_can_be_writable_against_its_purpose_or_gain_anything() {
    for purpose in
        [MountPurpose::Program, MountPurpose::Library, MountPurpose::Stdlib, MountPurpose::Device, MountPurpose::Grant]
    {
        assert!(with_mount(|_| {}, purpose).is_ok());
        assert!(with_mount(|mount| mount.flags.read_only = false, purpose).is_err());
        assert!(with_mount(|mount| mount.flags.no_suid = false, purpose).is_err());
        assert!(with_mount(|mount| mount.flags.no_symfollow = false, purpose).is_err());
        assert!(with_mount(|mount| mount.flags.no_dev = !mount.flags.no_dev, purpose).is_err());
        assert!(with_mount(|mount| mount.flags.no_exec = !mount.flags.no_exec, purpose).is_err());
        assert!(with_mount(|mount| mount.folder = !mount.folder, purpose).is_err());
    }
}

#[test]
fn executable_mount_from_the_workspace_is_rejected() {
    for purpose in [MountPurpose::Program, MountPurpose::Library, MountPurpose::Stdlib] {
        let inside = "/workspace/notes/python".to_owned();
        let made = with_mount(|mount| (mount.source, mount.target) = (inside.clone(), inside), purpose);
        assert!(matches!(made, Err(PlanError::BadMount { .. })));
    }
}

#[test]
fn limits_hold_at_their_edges() {
    let with = |change: fn(&mut Spec)| {
        let mut spec = plan().spec().clone();
        change(&mut spec);
        Plan::new(spec)
    };
    assert!(with(|spec| spec.limits.wall_s = 120).is_ok());
    assert_eq!(with(|spec| spec.limits.wall_s = 121), Err(PlanError::BadLimit("wall_s")));
    assert_eq!(with(|spec| spec.limits.wall_s = 0), Err(PlanError::BadLimit("wall_s")));
    assert_eq!(with(|spec| spec.inner_id = 0), Err(PlanError::BadLimit("inner_id")));
    assert!(with(|spec| spec.umask = 0o077).is_ok());
    assert_eq!(with(|spec| spec.umask = 0o022), Err(PlanError::BadLimit("umask")));
    assert_eq!(with(|spec| spec.umask = 0), Err(PlanError::BadLimit("umask")));
    assert_eq!(with(|spec| spec.program_fd = 64), Err(PlanError::BadLimit("program_fd")));
    assert_eq!(
        with(|spec| {
            spec.namespaces.pop();
        }),
        Err(PlanError::BadLimit("namespaces"))
    );
    assert_eq!(with(|spec| spec.mounts = vec![spec.mounts[0].clone(); MAX_MOUNTS + 1]), Err(PlanError::TooManyMounts));
    assert!(matches!(with(|spec| spec.mounts.push(spec.mounts[0].clone())), Err(PlanError::BadMount { .. })));
}

proptest! {
    #[test]
    fn a_plan_that_shows_a_forbidden_path_or_one_above_it_cannot_be_made(
        tree in prop::sample::select(forbidden::CLOSED_TREES), below in "(/[a-z]{1,5}){0,2}", up in any::<bool>(),
        purpose in prop::sample::select(vec![MountPurpose::Program, MountPurpose::Library, MountPurpose::Stdlib, MountPurpose::Grant]), which in 0..3,
    ) {
        let path = if up { tree.0.rsplit_once('/').map_or("", |(above, _)| above).to_owned() } else { format!("{}{below}", tree.0) };
        let made = with_mount(|mount| {
            if which != 1 { mount.source = path.clone(); }
            if which != 0 { mount.target = path.clone(); }
        }, purpose);
        prop_assert!(made.is_err(), "{}", path);
    }

    #[test]
    fn plan_with_closed_or_foreign_outside_folder_is_rejected(
        tree in prop::sample::select(forbidden::CLOSED_TREES), name in prop::sample::select(forbidden::CLOSED_NAMES),
        below in "(/[a-z]{1,5}){0,2}", other in "/[a-z]{1,5}/[a-z]{1,5}", writes: bool,
    ) {
        let capability = if writes { "{ fs_write = [\"/srv/photos/\"] }" } else { "{ fs_read = [\"~/Pictures/\"] }" };
        let plan = granted(&installation(), "fs-x", capability).unwrap();
        let purpose = if writes { MountPurpose::OutsideWrite } else { MountPurpose::Outside };
        let from = if writes { OUTSIDE_WRITABLE } else { OUTSIDE };
        let made = |source: &str, target: &str| {
            let mut spec = plan.spec().clone();
            let at = spec.mounts.iter().position(|mount| mount.purpose == purpose).unwrap();
            (spec.mounts[at].source, spec.mounts[at].target) = (source.to_owned(), target.to_owned());
            spec.masks = masks_of(target);
            Plan::new(spec)
        };
        let show = |path: &str| made(&format!("{from}{path}"), &format!("{OUTSIDE}{path}"));
        if metnos_proto::executor::outside::closed(&other).is_none() {
            prop_assert!(show(&other).is_ok(), "{}", other);
            prop_assert!(made(&format!("{from}{other}"), &format!("{OUTSIDE}{other}x")).is_err(), "under another name");
            prop_assert!(made(&format!("{from}{other}"), &other).is_err(), "elsewhere in the sandbox");
            prop_assert!(made(&format!("{WORKSPACE}{other}"), &format!("{OUTSIDE}{other}")).is_err(), "from the workspace");
        }
        for path in [format!("{}{below}", tree.0), format!("/srv/a/{}{below}", name.0), "/srv".to_owned(), "/home/ada".to_owned()] {
            prop_assert!(show(&path).is_err(), "{}", path);
        }
        prop_assert!(made(from, OUTSIDE).is_err(), "all of them at once");
    }

    #[test]
    fn a_plan_that_grants_a_folder_without_looking_through_it_cannot_be_made(
        which in any::<prop::sample::Index>(), writes: bool, more in "/[a-z./]{0,20}",
    ) {
        let plan = if writes { writer("\"workspace/\", \"workspace/notes/\"").unwrap() } else { plan() };
        let masks = &plan.spec().masks;
        let grants = plan.spec().mounts.iter().filter(|mount| matches!(mount.purpose, MountPurpose::Grant | MountPurpose::WriteGrant)).count();
        prop_assert_eq!(masks.len(), grants);
        let mut less = plan.spec().clone();
        less.masks.remove(which.index(masks.len()));
        prop_assert!(Plan::new(less).is_err());
        let mut other = plan.spec().clone();
        other.masks.push(more);
        prop_assert!(Plan::new(other).is_err(), "what is not granted is not looked through");
    }

    #[test]
    fn flipping_any_byte_of_the_canonical_form_changes_the_hash(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let mut bytes = canonical(plan().spec());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert_ne!(Blake3(blake3::derive_key(CONTEXT, &bytes)), plan().hash());
    }

    #[test]
    fn changing_any_field_changes_the_hash(which in 0_usize..34) {
        let mut spec = plan().spec().clone();
        change(&mut spec, which);
        prop_assert_ne!(canonical(&spec), canonical(plan().spec()), "{}", which);
        if let Ok(changed) = Plan::new(spec) {
            prop_assert_ne!(changed.hash(), plan().hash());
        }
    }
}

/// The covers of a folder.
fn masks_of(target: &str) -> Vec<String> {
    vec![target.to_owned()]
}

/// Changes one field, by number.
fn change(spec: &mut Spec, which: usize) {
    match which {
        0 => spec.format += 1,
        1 => spec.profile.push('x'),
        2 => spec.namespaces.swap(0, 1),
        3 => spec.hostname.push('x'),
        4 => spec.inner_id += 1,
        5 => spec.root.bytes -= 1,
        6 => spec.root.files += 1,
        7 => spec.tmp.bytes += 1,
        8 => spec.mounts.swap(0, 1),
        9 => spec.mounts[0].source.push('x'),
        10 => spec.mounts[0].flags.no_exec = true,
        11 => spec.places[0].right = Right::Own,
        12 => spec.places.swap(0, 1),
        13 => spec.seccomp = Blake3::of(b"other"),
        14 => spec.limits.wall_s += 1,
        15 => spec.limits.address_bytes += 1,
        16 => spec.limits.processes += 1,
        17 => drop(spec.argv.pop()),
        18 => spec.env[0].1.push('x'),
        19 => spec.descriptors.push((4, "more".to_owned())),
        20 => spec.program_fd += 1,
        21 => spec.abi.push('x'),
        22 => spec.host = Blake3::of(b"other"),
        23 => spec.start_seccomp = Blake3::of(b"other"),
        24 => spec.seal = Blake3::of(b"other"),
        25 => spec.preload.push("x".to_owned()),
        26 => spec.places[0].folder = !spec.places[0].folder,
        27 => drop(spec.modes.pop()),
        28 => drop(spec.masks.pop()),
        32 => spec.keeps_trash = !spec.keeps_trash,
        29 => spec.umask |= 0o100,
        30 => spec.limits.disk_bytes -= 1,
        31 => spec.limits.disk_files -= 1,
        33 => spec.limits.gives_bytes += 1,
        _ => spec.limits.output_bytes -= 1,
    }
}
