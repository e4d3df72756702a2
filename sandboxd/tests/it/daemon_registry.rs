//! The pool on disk against what was signed.

use crate::fixture::{PoolOnDisk, flip, installation};
use metnos_proto::executor::profile_lock_text;
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};
use metnos_proto::msg::sandboxd::{PoolEntry, PoolListing};
use metnos_proto::parcel::Texts;
use metnos_sandboxd::plan::MountPurpose;
use metnos_sandboxd::pool::registry::{Denial, MAX_FAULT_BYTES, MAX_QUARANTINED, MAX_REVOKED};

const SIGNED: [&str; 5] = ["manifest.toml", "main.py", "schema.json", "profile.lock", "manifest.sig"];

fn found(denial: Denial) -> String {
    match denial {
        Denial::Found(why) => why,
        other @ (Denial::Known(_) | Denial::Later(_) | Denial::Revoked | Denial::Untrusted) => panic!("{other:?}"),
    }
}

#[test]
fn signed_executor_verifies_and_unsigned_is_a_candidate() {
    let pool = PoolOnDisk::new();
    let (signed, digests) = pool.signed("fs_read");
    let unsigned = pool.seed("fs_list");
    let mut registry = pool.trusting();
    assert_eq!(registry.ids().unwrap(), [unsigned.clone(), signed.clone()]);
    let entry = registry.inspect(&signed).unwrap().entry;
    assert_eq!(entry, PoolEntry { id: signed.clone(), digests: digests.clone(), fault: String::new(), signed: true });
    let entry = registry.inspect(&unsigned).unwrap().entry;
    assert_eq!((entry.signed, entry.fault.as_str()), (false, ""));
    assert_eq!(entry.digests, pool.digests(&unsigned));
    assert_eq!(registry.for_run(&signed, &digests).unwrap().executor.digests, digests);
}

#[test]
fn nothing_verifies_before_a_key_is_trusted_nor_under_another_key() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    let mut registry = pool.registry();
    assert_eq!(registry.for_run(&id, &digests).unwrap_err(), Denial::Untrusted);
    assert!(!registry.inspect(&id).unwrap().entry.signed);
    let other = ed25519_dalek::SigningKey::from_bytes(&[8; 32]).verifying_key().to_bytes();
    registry.trust(&other).unwrap();
    assert_eq!(registry.trust(&pool.public_key()).unwrap_err().rule, "trust.other");
    registry.trust(&other).unwrap();
    let entry = registry.inspect(&id).unwrap().entry;
    assert_eq!((entry.signed, entry.fault.as_str()), (false, ""), "it is a candidate to another instance");
    assert!(found(registry.for_run(&id, &digests).unwrap_err()).contains("manifest.sig"));
}

#[test]
fn a_key_that_is_none_or_weak_is_not_trusted() {
    let mut registry = PoolOnDisk::new().registry();
    // The point of order one: it verifies signatures that nobody made.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    assert_eq!(registry.trust(&neutral).unwrap_err().rule, "trust.key");
    assert_eq!(registry.trust(&[2; 32]).unwrap_err().rule, "trust.key");
}

#[test]
fn flipped_bit_in_signed_file_is_found_despite_restored_mtime() {
    for loaded in [false, true] {
        for file in SIGNED {
            let pool = PoolOnDisk::new();
            let (id, digests) = pool.signed("fs_read");
            let mut registry = pool.trusting();
            if loaded {
                registry.for_run(&id, &digests).unwrap();
            }
            let path = pool.file(&id, file);
            let before = std::fs::read(&path).unwrap();
            flip(&path, before.len() / 2);
            let why = found(registry.for_run(&id, &digests).unwrap_err());
            assert!(why.contains(file), "{file}: {why}");
            std::fs::write(&path, before).unwrap();
            assert_eq!(registry.for_run(&id, &digests).unwrap_err(), Denial::Known(why.clone()), "it stays set aside");
            assert_eq!(registry.for_run(&id, &digests).unwrap_err().refusal(&id).rule, "executor.quarantined");
            let entry = registry.inspect(&id).unwrap().entry;
            assert!(!entry.signed && entry.fault.contains("in quarantine"), "{entry:?}");
        }
    }
}

#[test]
fn quarantine_is_lifted_only_for_the_files_the_owner_was_shown() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    let mut registry = pool.trusting();
    let path = pool.file(&id, "main.py");
    let right = std::fs::read(&path).unwrap();
    flip(&path, 10);
    found(registry.for_run(&id, &digests).unwrap_err());
    assert_eq!(registry.clear_findings(&id, &digests).unwrap_err().rule, "birth.changed");
    std::fs::write(&path, right).unwrap();
    let other = ExecutorDigests { profile: Blake3::of(b"other"), ..digests.clone() };
    assert_eq!(registry.clear_findings(&id, &other).unwrap_err().rule, "birth.changed");
    assert!(matches!(registry.for_run(&id, &digests).unwrap_err(), Denial::Known(_)), "it stays set aside");
    assert!(pool.registry().clear_findings(&id, &digests).is_err(), "not before a key is trusted");
    registry.clear_findings(&id, &digests).unwrap();
    registry.for_run(&id, &digests).unwrap();
    // What is wrong again is set aside again.
    flip(&path, 10);
    found(registry.for_run(&id, &digests).unwrap_err());
}

#[test]
fn revoked_executor_stays_blocked_with_valid_signature() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    let (other, others) = pool.signed("fs_list");
    let mut registry = pool.trusting();
    registry.for_run(&id, &digests).unwrap();
    assert!(pool.registry().revoke_texts(&id, &digests).is_err(), "not before a key is trusted");
    registry.revoke_texts(&id, &digests).unwrap();
    registry.revoke_texts(&id, &digests).unwrap();
    let relocked = ExecutorDigests { profile: Blake3::of(b"another sandbox"), ..digests.clone() };
    for digests in [&digests, &relocked] {
        assert_eq!(registry.for_run(&id, digests).unwrap_err(), Denial::Revoked);
        assert_eq!(registry.for_birth(&id, digests).unwrap_err().rule, "executor.revoked");
        assert_eq!(registry.clear_findings(&id, digests).unwrap_err().rule, "executor.revoked");
        assert_eq!(registry.install(&id, digests, &[7; 64]).unwrap_err().rule, "executor.revoked");
    }
    let looked = registry.inspect(&id).unwrap();
    assert!(
        !looked.entry.signed && looked.entry.fault.contains("revoked") && looked.quarantined.is_none(),
        "{looked:?}"
    );
    assert_eq!(registry.for_run(&id, &digests).unwrap_err().refusal(&id).rule, "executor.revoked", "nor after a look");
    registry.for_run(&other, &others).unwrap();
    // Full, what is known still counts and what is not is refused.
    for n in 1..MAX_REVOKED {
        let texts = ExecutorDigests { code: Blake3::of(&n.to_le_bytes()), ..others.clone() };
        registry.revoke_texts(&other, &texts).unwrap();
    }
    assert_eq!(registry.revoke_texts(&other, &others).unwrap_err().rule, "executor.revoked");
    registry.revoke_texts(&id, &digests).unwrap();
}

#[test]
fn staged_executor_is_tried_without_grants_and_replaces_nothing() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    let registry = pool.trusting();
    let texts = registry.texts(&id, &digests).unwrap();
    assert_eq!(registry.stage(&id, &texts).unwrap_err().rule, "stage.taken");
    let name = |name: &str, version: &str| ExecutorId { name: name.into(), version: version.into() };
    let of = |name: &str, version: &str| Texts {
        manifest: texts
            .manifest
            .replace("\"fs_read\"", &format!("\"{name}\""))
            .replace("executor.fs_read", &format!("executor.{name}"))
            .replace("\"3.1.0\"", &format!("\"{version}\"")),
        ..texts.clone()
    };
    assert!(
        pool.registry().stage(&name("other", "1.0.0"), &of("other", "1.0.0")).is_err(),
        "not before a key is trusted"
    );
    for wrong in
        [name("../other", "1.0.0"), name("other", "../1.0.0"), name("other", "2.0.0"), name("another", "1.0.0")]
    {
        assert_eq!(registry.stage(&wrong, &of("other", "1.0.0")).unwrap_err().rule, "stage.unfit", "{wrong}");
    }
    let other = name("other", "1.0.0");
    // Something stands in its place that is no version, or leads elsewhere.
    std::fs::create_dir(pool.path().join("other")).unwrap();
    std::os::unix::fs::symlink("/tmp", pool.path().join("other/1.0.0")).unwrap();
    let refusal = registry.stage(&other, &of("other", "1.0.0")).unwrap_err();
    assert_eq!(refusal.rule, "stage.taken", "{refusal:?}");
    std::fs::remove_file(pool.path().join("other/1.0.0")).unwrap();
    registry.stage(&other, &of("other", "1.0.0")).unwrap();
    let mut registry = pool.trusting();
    let entry = registry.inspect(&other).unwrap().entry;
    assert!(!entry.signed && entry.fault.is_empty(), "{entry:?}");
    assert!(matches!(registry.for_run(&other, &entry.digests), Err(Denial::Found(_))), "nobody has signed it");
    let registry = pool.trusting();
    let (own, ..) = registry.for_birth(&other, &entry.digests).unwrap();
    let (tried, ..) = registry.for_trial(&other, &entry.digests).unwrap();
    assert!(
        own.plan.spec().mounts.iter().any(|mount| mount.purpose == MountPurpose::Grant),
        "it asks for the workspace"
    );
    assert!(tried.plan.spec().mounts.iter().all(|mount| mount.purpose != MountPurpose::Grant), "and is not given it");
    assert!(tried.plan.egress().is_none() && tried.plan.spec().profile == "synth");
}

#[test]
fn every_single_bit_of_the_lock_and_the_signature_counts() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    for file in ["profile.lock", "manifest.sig"] {
        let path = pool.file(&id, file);
        let whole = std::fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, bytes).unwrap();
            let denial = pool.trusting().for_run(&id, &digests).unwrap_err();
            assert!(found(denial).contains(file), "bit {bit} of {file}");
        }
        for bytes in [&[][..], &whole[..whole.len() - 1], &[&whole[..], b"\n"].concat()] {
            std::fs::write(&path, bytes).unwrap();
            assert!(found(pool.trusting().for_run(&id, &digests).unwrap_err()).contains(file));
        }
        std::fs::write(&path, whole).unwrap();
    }
}

#[test]
fn unregistered_executor_does_not_run_with_valid_signature() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    let other = Blake3::of(b"other");
    for wrong in [
        ExecutorDigests { manifest: other, ..digests.clone() },
        ExecutorDigests { code: other, ..digests.clone() },
        ExecutorDigests { schema: other, ..digests.clone() },
        ExecutorDigests { profile: other, ..digests.clone() },
    ] {
        let mut registry = pool.trusting();
        registry.inspect(&id).unwrap();
        found(registry.for_run(&id, &wrong).unwrap_err());
    }
}

#[test]
fn missing_or_symlinked_file_fails_verification() {
    for file in SIGNED {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let (path, aside) = (pool.file(&id, file), pool.path().join("aside"));
        std::fs::rename(&path, &aside).unwrap();
        assert!(found(pool.trusting().for_run(&id, &digests).unwrap_err()).contains("not there"), "{file}");
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        assert!(found(pool.trusting().for_run(&id, &digests).unwrap_err()).contains("no plain file"), "{file}");
    }
}

#[test]
fn a_whole_folder_of_another_executor_in_its_place_is_not_it() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    let (other, _) = pool.signed("fs_list");
    for file in SIGNED {
        std::fs::copy(pool.file(&other, file), pool.file(&id, file)).unwrap();
    }
    let mut registry = pool.trusting();
    let entry = registry.inspect(&id).unwrap().entry;
    assert!(!entry.signed && entry.fault.contains("says that it is fs_list"), "{entry:?}");
    found(registry.for_run(&id, &digests).unwrap_err());
}

#[test]
fn changed_executor_is_quarantined_once_when_listed() {
    let pool = PoolOnDisk::new();
    let (id, _) = pool.signed("fs_read");
    let mut registry = pool.trusting();
    assert!(registry.inspect(&id).unwrap().quarantined.is_none());
    flip(&pool.file(&id, "schema.json"), 40);
    assert!(registry.inspect(&id).unwrap().quarantined.is_some());
    assert!(registry.inspect(&id).unwrap().quarantined.is_none());
}

#[test]
fn changed_profile_lock_is_a_fault_only_for_signed_executors() {
    let pool = PoolOnDisk::new();
    let (id, _) = pool.signed("fs_read");
    std::fs::write(pool.file(&id, "profile.lock"), profile_lock_text(&Blake3::of(b"other"))).unwrap();
    let entry = pool.trusting().inspect(&id).unwrap().entry;
    assert!(!entry.signed && entry.fault.contains("profile.lock"), "{entry:?}");
    std::fs::remove_file(pool.file(&id, "manifest.sig")).unwrap();
    let entry = pool.trusting().inspect(&id).unwrap().entry;
    assert_eq!((entry.signed, entry.fault.as_str()), (false, ""));
}

#[test]
fn an_installed_executor_is_whole_on_the_disk_and_verifies_at_once() {
    let pool = PoolOnDisk::new();
    let id = pool.seed("text_stats");
    let digests = pool.digests(&id);
    let signature = pool.signature(&digests);
    let mut registry = pool.trusting();
    registry.install(&id, &digests, &signature).unwrap();
    // Again, as after an end in the middle.
    registry.install(&id, &digests, &signature).unwrap();
    registry.for_run(&id, &digests).unwrap();
    let mut fresh = pool.trusting();
    assert!(fresh.inspect(&id).unwrap().entry.signed);
    assert_eq!(std::fs::read_to_string(pool.path().join("text_stats/CURRENT")).unwrap(), "2.0.0\n");
    std::fs::write(pool.path().join("text_stats/CURRENT"), "3.0.0\n").unwrap();
    fresh.install(&id, &digests, &signature).unwrap();
    let current = std::fs::read_to_string(pool.path().join("text_stats/CURRENT")).unwrap();
    assert_eq!(current, "3.0.0\n", "it never goes back");
}

#[test]
fn install_is_refused_with_wrong_signature_or_changed_files() {
    let pool = PoolOnDisk::new();
    let id = pool.seed("text_stats");
    let digests = pool.digests(&id);
    let mut registry = pool.trusting();
    let mut signature = pool.signature(&digests);
    signature[5] ^= 1;
    assert_eq!(registry.install(&id, &digests, &signature).unwrap_err().rule, "install.signature");
    assert_eq!(registry.install(&id, &digests, &signature[..63]).unwrap_err().rule, "install.signature");
    signature[5] ^= 1;
    flip(&pool.file(&id, "main.py"), 10);
    assert_eq!(registry.install(&id, &digests, &signature).unwrap_err().rule, "birth.changed");
    assert!(!pool.file(&id, "manifest.sig").exists() && !pool.file(&id, "profile.lock").exists());
    assert_eq!(registry.for_birth(&id, &digests).unwrap_err().rule, "birth.changed");
}

#[test]
fn malformed_executor_is_listed_with_its_fault() {
    let pool = PoolOnDisk::new();
    let id = pool.seed("fs_read");
    let mut registry = pool.trusting();
    let mut fault = |file: &str, bytes: &[u8]| {
        let path = pool.file(&id, file);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let entry = registry.inspect(&id).unwrap().entry;
        std::fs::write(&path, before).unwrap();
        assert!(!entry.fault.is_empty() && entry.fault.len() <= MAX_FAULT_BYTES, "{entry:?}");
        entry.fault
    };
    assert!(fault("manifest.toml", b"[executor]").contains("manifest.toml"));
    assert!(fault("manifest.toml", &[b'#'; 20_000]).contains("manifest.toml"));
    assert!(fault("schema.json", b"{\"a\":1,\"a\":2}").contains("twice"));
    assert!(fault("main.py", b"\xff").contains("UTF-8"));
}

#[test]
fn a_listing_of_the_most_and_longest_entries_fits_one_frame() {
    let digest = Blake3([255; 32]);
    let entry = PoolEntry {
        id: ExecutorId { name: "n".repeat(48), version: "4294967295.4294967295.4294967295".into() },
        digests: ExecutorDigests { manifest: digest, code: digest, schema: digest, profile: digest },
        fault: "f".repeat(MAX_FAULT_BYTES),
        signed: true,
    };
    let listing = PoolListing { entries: vec![entry; metnos_proto::msg::policyd::MAX_EXECUTORS] };
    let header = metnos_proto::frame::Header {
        edge: 12,
        kind: metnos_proto::frame::Kind::Answer,
        fds: 0,
        request: u64::MAX,
        trace: metnos_proto::ids::TraceId::NONE,
    };
    let answer = metnos_proto::edges::policyd_sandboxd::Answer::Pool(listing);
    assert!(metnos_proto::frame::encode(header, &answer).is_ok());
}

#[test]
fn names_that_nobody_can_have_do_not_fill_the_memory() {
    let pool = PoolOnDisk::new();
    let (id, digests) = pool.signed("fs_read");
    let mut registry = pool.trusting();
    for number in 0..MAX_QUARANTINED + 10 {
        let made_up = ExecutorId { name: format!("made_up_{number}"), version: "1.0.0".into() };
        found(registry.for_run(&made_up, &digests).unwrap_err());
    }
    let last = ExecutorId { name: format!("made_up_{}", MAX_QUARANTINED + 9), version: "1.0.0".into() };
    found(registry.for_run(&last, &digests).unwrap_err());
    registry.for_run(&id, &digests).unwrap();
    assert_eq!(
        installation().plan(&registry.for_run(&id, &digests).unwrap().executor.manifest).unwrap().hash(),
        digests.profile
    );
}
