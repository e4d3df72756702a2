//! The installation of docs/operation.md, word for word, on a copy of this machine: what stands there works, and what it
//! leaves behind is a `metnosctl` that everybody finds, and an instance whose owner can work in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use metnos_tests::bins::Build;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const OWNER: u32 = 64_311;

/// The lines of the document that install the service.
fn commands() -> String {
    let text = std::fs::read_to_string(format!("{ROOT}/docs/operation.md")).unwrap();
    let (_, rest) = text.split_once("### Installing the service").unwrap();
    let (_, rest) = rest.split_once("```sh\n").unwrap();
    rest.split_once("\n```").unwrap().0.to_owned()
}

/// A script that does all of it in a view of its own of `/usr`, `/etc` and `/var`, and looks at what came of it.
fn script(work: &Path, programs: &Path) -> String {
    let (work, programs, commands) = (work.display(), programs.display(), commands());
    format!(
        r#"set -euo pipefail
mount --make-rprivate /
mount -t tmpfs tmpfs {work}
for place in usr etc; do
    mkdir -p {work}/$place/upper {work}/$place/work
    mount -t overlay overlay -o lowerdir=/$place,upperdir={work}/$place/upper,workdir={work}/$place/work /$place
done
# No init runs here that could be told anything.
for stub in systemctl apparmor_parser; do
    printf '#!/bin/sh\necho "$0 $*" >> {work}/told\n' > /usr/bin/$stub && chmod 755 /usr/bin/$stub
done
mount -t tmpfs tmpfs /var/lib
useradd --no-create-home --uid {OWNER} metnos-test-owner
mkdir -p {work}/source/target && cp -r {ROOT}/systemd {work}/source/
ln -s {programs} {work}/source/target/release
cd {work}/source
# What a person would type at the questions.
printf 'language = "it"\nowner = "Roberta"\nowner_user = "metnos-test-owner"\ntime_zone = "UTC+3"\nhttp = "off"\n' > answers.toml
metnosctl() {{
    if [ "${{3-}}" = birth ]; then command metnosctl "$@" --answers answers.toml; else command metnosctl "$@"; fi
}}
{commands}
unset -f metnosctl
cd /
test -x /usr/bin/metnosctl && metnosctl --version
ls /usr/share/man/man1/ | grep -q '^metnosctl' && grep -q metnosctl /usr/share/bash-completion/completions/metnosctl
grep -q 'enable --now metnos' {work}/told
# The line of the unit, without systemd.
$(sed -n 's/^ExecStart=//p' /etc/systemd/system/metnos.service) --log {work}/log --ready-fd 1 > {work}/ready &
for _ in $(seq 600); do grep -q . {work}/ready && break; sleep 0.1; done
as_owner() {{ setpriv --reuid {OWNER} --regid {OWNER} --clear-groups env -i PATH=/usr/bin:/bin HOME=/nonexistent "$@"; }}
# A first start tests all executors, which takes minutes on a busy machine.
for _ in $(seq 600); do as_owner metnosctl status --json | grep -q '"unborn": *0\b' && break; sleep 0.4; done
as_owner metnosctl ask 'ciao' | grep -q Roberta
as_owner sh -c 'umask 022; echo latte > /var/lib/metnos/workspace/notes/mia.md'
as_owner metnosctl ask 'leggi notes/mia.md' | grep -q latte
cp /etc/hostname /var/lib/metnos/workspace/notes/host.md
as_owner metnosctl ask 'leggi notes/host.md' | grep -q .
as_owner metnosctl ask 'scrivi pane in notes/sua.md'
as_owner cat /var/lib/metnos/workspace/notes/sua.md | grep -q pane
# Three hours ahead of UTC: the minute when it was asked, or when it was answered.
before=$(date -u -d '+3 hours' +%H:%M)
told=$(as_owner metnosctl ask 'che ore sono')
after=$(date -u -d '+3 hours' +%H:%M)
grep -q -e "$before" -e "$after" <<<"$told"
metnosctl down
echo installed
"#
    )
}

#[test]
fn the_installation_works_as_it_stands_in_the_document() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: this test needs root");
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let programs: PathBuf = Build::Shipped.folder();
    let script = script(work.path(), &programs);
    let mut command = Command::new("unshare");
    // With the last of it everything that was started there ends.
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", &script]);
    let output =
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if String::from_utf8_lossy(&output.stderr).contains("overlay: ") {
        eprintln!("SKIPPED: this machine mounts no overlay: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    assert!(output.status.success() && said.trim_end().ends_with("installed"), "{output:#?}");
}
