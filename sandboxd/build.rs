//! Makes the seal (`seal/`), a module of CPython that sandboxd carries in itself: cargo cannot make it a dependency of a
//! binary. It must depend on nothing but the compiler.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=seal");
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let out = PathBuf::from(variable("OUT_DIR")).join("_metnos_seal.so");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "_metnos_seal", "lib.rs"])
        .args(["-D", "warnings", "-C", "panic=abort", "-C", "opt-level=s", "-C", "strip=symbols"])
        .args(["--target", &variable("TARGET"), "-o"])
        .arg(&out)
        .current_dir("seal");
    // Test builds know one more word, see `KEEP` in seal/order.rs.
    rustc.args(["--check-cfg", "cfg(feature, values(\"attack\"))"]);
    if std::env::var_os("CARGO_FEATURE_ATTACK").is_some() {
        rustc.args(["--cfg", "feature=\"attack\""]);
    }
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    let status = rustc.status().unwrap_or_else(|error| panic!("the compiler does not run: {error}"));
    assert!(status.success(), "the seal does not build");
}
