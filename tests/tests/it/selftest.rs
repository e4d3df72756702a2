//! The owner has the escape suite tried on a running instance: all of it is stopped there, while the owner's own files stay as
//! they are, and calls go on.

use metnos_tests::instance::Instance;
use serde_json::Value;

/// The fewest cases that the design asks for.
const LEAST: u64 = 150;

#[test]
fn selftest_stops_all_hostile_executors_and_files_are_unchanged() {
    let set = Instance::start();
    let before = set.run("fs_list", &["path=notes"]).1["result"].clone();
    let (code, tested) = set.json(&["sandbox", "selftest"]);
    let families = tested["families"].as_array().unwrap_or_else(|| panic!("{tested:#}"));
    let cases = || families.iter().flat_map(|family| family["cases"].as_array().unwrap());
    let escaped: Vec<&Value> = cases().filter(|case| case["held"] == false).collect();
    assert!(code == 0 && escaped.is_empty(), "{escaped:#?}");
    assert!(tested["tried"].as_u64().unwrap() >= LEAST && tested["held"] == tested["tried"], "{tested:#}");
    // On more than one step of the ladder, and with the layers that this kernel has.
    for carrier in ["execed", "warm"] {
        assert!(cases().any(|case| case["carrier"] == carrier), "{carrier}: {tested:#}");
    }
    assert!(tested["layers"].to_string().contains("seccomp"), "{tested:#}");
    // Behind its own lock, too, sandboxd can tell what its pool costs.
    assert!(tested["layers"].to_string().contains(" KiB in the zygote"), "{tested:#}");
    assert_eq!(set.run("fs_list", &["path=notes"]).1["result"], before);
    set.verify();
}
