//! People of the same machine who are not the owner: what a stranger reaches, how he becomes known, and what stays the
//! owner's. Needs root, which can be several users.

mod as_root {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::Output;

    use metnos_tests::instance::{Instance, Plan};

    const STRANGER: u32 = 54_321;

    fn said(set: &Instance, words: &[&str]) -> (i32, String) {
        let mut ctl = set.command("metnosctl");
        let Output { status, stdout, stderr } = ctl.args(words).uid(STRANGER).gid(STRANGER).output().unwrap();
        (status.code().unwrap(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
    }

    #[test]
    fn local_stranger_is_paired_by_owner_and_gains_nothing_else() {
        let set = Plan::new().as_root().start();
        for folder in set.home().ancestors().take(3).collect::<Vec<_>>() {
            let mode = std::fs::metadata(folder).unwrap().permissions().mode();
            std::fs::set_permissions(folder, PermissionsExt::from_mode(mode | 0o011)).unwrap();
        }
        let (code, heard) = said(&set, &["ask", "read notes/welcome.md"]);
        assert!(code == 1 && heard.contains("pairing approve cli "), "{code} {heard}");
        let shown = heard.split("pairing approve cli ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        let closed = |known: bool| {
            for words in [
                &["status"][..],
                &["down"],
                &["panic"],
                &["daemon", "restart", "policyd"],
                &["executor", "list"],
                &["audit", "tail"],
                &["approval", "list"],
                &["pairing", "list"],
                &["pairing", "approve", "cli", &shown],
                &["secret", "list"],
                &["budget", "show"],
                &["run", "fs_read", "path=notes/welcome.md"],
            ] {
                let (code, heard) = said(&set, words);
                assert!(code != 0 && heard.contains("owner"), "{known} {words:?}: {code} {heard}");
            }
        };
        closed(false);
        let (code, known) = set.json(&["pairing", "approve", "cli", &shown]);
        assert_eq!((code, known["principal"].as_str()), (0, Some("cli:uid:54321")), "{known:#}");
        let (code, heard) = said(&set, &["ask", "what time is it"]);
        assert!(code == 0 && !heard.is_empty(), "{code} {heard}");
        let (code, heard) = said(&set, &["ask", "read notes/welcome.md"]);
        assert!(code != 0 && heard.contains("shared"), "a guest reads what is shared: {code} {heard}");
        closed(true);
        let (code, _) = set.json(&["pairing", "revoke", "cli:uid:54321"]);
        assert_eq!(code, 0);
        let (code, heard) = said(&set, &["ask", "read notes/welcome.md"]);
        assert!(code != 0 && heard.contains("not known"), "{code} {heard}");
        // However often he knocks, the owner is received.
        for _ in 0..100 {
            drop(said(&set, &["status"]));
        }
        assert_eq!(set.json(&["status"]).0, 0);
        set.verify();
    }
}
