//! What a manifest may say, what it may not, and where no path leads.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

const MANIFEST: &str = r#"
[executor]
name = "fs_read"
version = "1.0.0"
created_at = 2026-04-25T08:12:00Z
created_by = "seed"
summary = "Read a file of the workspace and return its content."
examples = ["read notes/journal.md", "leggi la lista della spesa"]

[contract]
input_schema = "schema.json#/definitions/Input"
output_schema = "schema.json#/definitions/Output"
error_classes = ["NotFound", "PermissionDenied", "TooLarge"]
idempotent = true
side_effects = false

[sandbox]
profile = "fs-read-workspace"
capabilities = [ { fs_read = ["workspace/"] } ]
quotas = { wall_s = 2, cpu_s = 2, ram_mb = 64, output_mb = 4, writes_per_day = 0, bytes_per_day = 0 }

[effects]
class = "read"
reversible = true
[args]
"/path" = "path"
[output]
default = "X"
V = ["/size", "/sha"]

[audit]
trace_topic = "executor.fs_read"
"#;

const SCHEMA: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","definitions":{
"Input":{"type":"object","additionalProperties":false,"required":["path"],
  "properties":{"path":{"type":"string","maxLength":4096},"many":{"type":"array","items":{"type":"string"}}}},
"Output":{"type":"object","additionalProperties":false,"properties":{
  "size":{"type":"integer"},"content":{"type":"string"},"when":{"$ref":"#/definitions/When"},
  "kind":{"enum":["a","b"]},"prose":{"enum":["two words"]},"loose":{"type":"string","maxLength":64,"pattern":"^.*$"},
  "sha":{"type":"string","maxLength":64,"pattern":"^[0-9a-f]{64}$"}}},
"When":{"type":"string","format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}}}"##;

fn manifest() -> Manifest {
    Manifest::parse(MANIFEST.as_bytes()).unwrap()
}

fn refused(from: &str, to: &str) -> ManifestError {
    assert!(MANIFEST.contains(from), "{from}");
    Manifest::parse(MANIFEST.replace(from, to).as_bytes()).unwrap_err()
}

fn field_of(error: &ManifestError) -> &str {
    match error {
        ManifestError::Field { field, .. } => field,
        other @ (ManifestError::TooLong { .. } | ManifestError::NotUtf8 | ManifestError::Syntax { .. }) => {
            panic!("{other}")
        }
    }
}

#[test]
fn the_example_of_the_design_is_a_manifest() {
    let manifest = manifest();
    assert_eq!(manifest.id().to_string(), "fs_read 1.0.0");
    assert_eq!(manifest.role("/path"), Role::Path);
    assert_eq!(manifest.role("/other"), Role::Payload);
    assert_eq!(manifest.output.integrity("/size"), Integrity::Vouched);
    assert_eq!(manifest.output.integrity("/content"), Integrity::Untrusted);
    assert_eq!(manifest.sandbox.quotas.output_bytes(), 4 << 20);
    assert!(lint(&manifest, &Schema::parse(SCHEMA.as_bytes()).unwrap()).is_empty());
}

#[test]
fn quotas_that_are_silent_have_the_defaults_of_the_design() {
    let text = MANIFEST.replace(
        "quotas = { wall_s = 2, cpu_s = 2, ram_mb = 64, output_mb = 4, writes_per_day = 0, bytes_per_day = 0 }",
        "",
    );
    let quotas = Manifest::parse(text.as_bytes()).unwrap().sandbox.quotas;
    assert_eq!((quotas.cpu_s, quotas.ram_mb, quotas.wall_s, quotas.output_mb), (5, 256, 15, 2));
}

#[test]
fn effects_that_are_silent_are_the_worst() {
    let text = MANIFEST.replace("[effects]\nclass = \"read\"\nreversible = true\n", "");
    let manifest = Manifest::parse(text.as_bytes()).unwrap();
    assert_eq!(manifest.effects.class, Class::Send);
    assert!(!manifest.effects.reversible);
}

#[test]
fn unknown_field_is_refused() {
    for (from, to) in [
        ("name = ", "colour = 1\nname = "),
        ("idempotent = true", "idempotent = true\nmaybe = 1"),
        ("wall_s = 2", "wall_s = 2, fast = true"),
        ("fs_read = [\"workspace/\"]", "fs_peek = [\"workspace/\"]"),
        ("class = \"read\"", "class = \"reading\""),
        ("\"/path\" = \"path\"", "\"/path\" = \"file\""),
        ("default = \"X\"", "default = \"T\""),
        ("name = \"fs_read\"", "name = \"fs_read\"\nname = \"fs_read\""),
        ("[audit]", "[more]\n[audit]"),
    ] {
        assert!(matches!(refused(from, to), ManifestError::Syntax { .. }), "{to}");
    }
}

#[test]
fn a_field_that_holds_what_it_may_not_is_named() {
    for (from, to, field) in [
        ("name = \"fs_read\"", "name = \"Fs_read\"", "executor.name"),
        ("version = \"1.0.0\"", "version = \"1.0\"", "executor.version"),
        ("version = \"1.0.0\"", "version = \"01.0.0\"", "executor.version"),
        ("created_at = 2026-04-25T08:12:00Z", "created_at = 2026-04-25", "executor.created_at"),
        ("created_by = \"seed\"", "created_by = \"me\"", "executor.created_by"),
        ("created_by = \"seed\"", "created_by = \"synt:\"", "executor.created_by"),
        ("summary = \"Read", "summary = \"\\nRead", "executor.summary"),
        (
            "examples = [\"read notes/journal.md\", \"leggi la lista della spesa\"]",
            "examples = []",
            "executor.examples",
        ),
        ("definitions/Input", "definitions/Other", "contract.input_schema"),
        ("[\"NotFound\",", "[\"not found\",", "contract.error_classes"),
        ("[\"NotFound\",", "[\"TooLarge\",", "contract.error_classes"),
        ("side_effects = false", "side_effects = false\nundo = \"../x\"", "contract.undo"),
        ("fs-read-workspace", "fs read", "sandbox.profile"),
        ("fs-read-workspace", "mine", "sandbox.profile"),
        ("fs-read-workspace\"", "fs-read-workspace\"\nhash = \"sha1:00\"", "sandbox.hash"),
        ("fs-read-workspace", "pure", "sandbox.capabilities"),
        ("fs-read-workspace", "net-example", "sandbox.capabilities"),
        ("{ fs_read = [\"workspace/\"] }", "{ fs_read = [] }", "sandbox.capabilities.fs_read"),
        ("\"workspace/\"", "\"workspace/../x/\"", "sandbox.capabilities.fs_read"),
        ("ram_mb = 64", "ram_mb = 47", "sandbox.quotas.ram_mb"),
        ("output_mb = 4", "output_mb = 17", "sandbox.quotas.output_mb"),
        ("wall_s = 2", "wall_s = 0", "sandbox.quotas.wall_s"),
        ("\"/path\" = \"path\"", "\"path\" = \"path\"", "args"),
        ("V = [\"/size\", \"/sha\"]", "V = [\"\"]", "output.V"),
        ("reversible = true", "reversible = true\nidempotent = false", "effects.idempotent"),
        ("executor.fs_read", "executor.other", "audit.trace_topic"),
    ] {
        let error = refused(from, to);
        assert_eq!(field_of(&error), field, "{to}: {error}");
    }
}

#[test]
fn planners_are_offered_what_does_not_say_otherwise() {
    assert!(manifest().contract.offered);
    let with = |more: &str| {
        let text = MANIFEST.replace("side_effects = false", &format!("side_effects = false\n{more}"));
        Manifest::parse(text.as_bytes())
    };
    assert!(!with("offered = false").unwrap().contract.offered);
    assert!(with("offered = true").unwrap().contract.offered);
    assert!(matches!(with("offered = \"no\"").unwrap_err(), ManifestError::Syntax { .. }));
    // It says so where it is shown, too.
    let shown = serde_json::to_value(with("offered = false").unwrap().contract).unwrap();
    assert_eq!(shown["offered"], serde_json::json!(false));
    assert!(serde_json::to_value(manifest().contract).unwrap().get("offered").is_none());
}

#[test]
fn quotas_hold_at_their_edges() {
    for (quota, cap) in [("wall_s = 2", 120), ("cpu_s = 2", 60), ("ram_mb = 64", 1024), ("output_mb = 4", 16)] {
        let name = quota.split(' ').next().unwrap();
        let at = |value: u32| Manifest::parse(MANIFEST.replace(quota, &format!("{name} = {value}")).as_bytes());
        assert!(at(cap).is_ok(), "{name}");
        assert!(at(cap + 1).is_err(), "{name}");
    }
    assert!(Manifest::parse(MANIFEST.replace("ram_mb = 64", "ram_mb = 48").as_bytes()).is_ok());
}

#[test]
fn code_that_nobody_has_approved_has_tighter_quotas_than_all_other() {
    let pure = |profile: &str, quotas: &str| {
        let at = MANIFEST.find("profile = ").unwrap();
        let until = at + MANIFEST[at..].find("[effects]").unwrap();
        let sandbox = format!("profile = \"{profile}\"\ncapabilities = []\n{quotas}\n\n");
        Manifest::parse(MANIFEST.replace(&MANIFEST[at..until], &sandbox).as_bytes())
    };
    let quotas = |wall_s: u32, cpu_s: u32, ram_mb: u32| {
        format!("quotas = {{ wall_s = {wall_s}, cpu_s = {cpu_s}, ram_mb = {ram_mb}, output_mb = 2 }}")
    };
    assert!(pure("synth", &quotas(2, 2, 64)).is_ok());
    // Those it has when it names none are those of approved code.
    for (wide, field) in [
        (quotas(3, 2, 64), "sandbox.quotas.wall_s"),
        (quotas(2, 3, 64), "sandbox.quotas.cpu_s"),
        (quotas(2, 2, 65), "sandbox.quotas.ram_mb"),
        (String::new(), "sandbox.quotas.wall_s"),
    ] {
        assert!(pure("pure", &wide).is_ok(), "{wide}");
        assert_eq!(field_of(&pure("synth", &wide).unwrap_err()), field, "{wide}");
    }
}

#[test]
fn a_manifest_that_is_too_long_is_not_read() {
    let padded = |length: usize| format!("{MANIFEST}#{}", " ".repeat(length - MANIFEST.len() - 1));
    assert!(Manifest::parse(padded(MAX_MANIFEST_BYTES).as_bytes()).is_ok());
    assert_eq!(
        Manifest::parse(padded(MAX_MANIFEST_BYTES + 1).as_bytes()),
        Err(ManifestError::TooLong { bytes: MAX_MANIFEST_BYTES + 1 })
    );
    assert_eq!(Manifest::parse(b"\xff"), Err(ManifestError::NotUtf8));
}

#[test]
fn a_grant_is_read_one_way_only() {
    assert_eq!(PathGrant::parse("workspace/"), Some(PathGrant::Workspace(String::new())));
    assert_eq!(PathGrant::parse("workspace/notes/"), Some(PathGrant::Workspace("notes".to_owned())));
    assert_eq!(PathGrant::parse("~/Pictures/"), Some(PathGrant::Home("Pictures".to_owned())));
    assert_eq!(PathGrant::parse("/srv/media/"), Some(PathGrant::Absolute("/srv/media".to_owned())));
    for bad in [
        "",
        "/",
        "~/",
        "workspace",
        "notes/",
        "workspace//",
        "workspace/./",
        "workspace/a/../b/",
        "/srv",
        "~x/",
        "workspace/\n/",
    ] {
        assert_eq!(PathGrant::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn folders_that_no_profile_may_grant_are_refused_with_their_ancestors() {
    for folder in [
        "/etc/",
        "/root/x/",
        "/proc/1/",
        "~/.ssh/",
        "~/.config/metnos/",
        "~/.config/",
        "/var/",
        "/opt/x/",
        "/ETC/",
        "workspace/.audit/",
    ] {
        let error = refused("\"workspace/\"", &format!("\"{folder}\""));
        assert_eq!(field_of(&error), "sandbox.capabilities.fs_read", "{folder}: {error}");
    }
    let open = MANIFEST
        .replace("fs-read-workspace", "fs-pictures")
        .replace("\"workspace/\"", "\"~/Pictures/\", \"/srv/media/\"");
    assert!(Manifest::parse(open.as_bytes()).is_ok());
}

#[test]
fn a_host_is_read_one_way_only() {
    let host = |host: &str, below, port| Some(NetGrant::Host { host: host.to_owned(), below, port });
    assert_eq!(NetGrant::parse("api.telegram.org"), host("api.telegram.org", false, 443));
    assert_eq!(NetGrant::parse("*.example.org:8443"), host("example.org", true, 8443));
    assert_eq!(NetGrant::parse("argument /url"), Some(NetGrant::Argument("/url".to_owned())));
    assert_eq!(NetGrant::parse("account mail"), Some(NetGrant::Account(AccountKind::Mail)));
    for written in ["example.org:443", "*.example.org:8443", "argument /to/0", "account mail"] {
        assert_eq!(NetGrant::parse(written).unwrap().to_string(), written);
    }
    for bad in [
        "argument url",
        "account",
        "account Mail",
        "account  mail",
        "account mails",
        "argument  /url",
        "",
        "localhost",
        "example.org.",
        ".example.org",
        "Example.org",
        "127.0.0.1",
        "[::1]",
        "0x7f.1",
        "a.b:0",
        "a.b:080",
        "a.b:65536",
        "a.b:1:2",
        "-a.b",
        "a-.b",
        "*.*.b",
        "*",
        "*.",
        "a b.c",
        "a.b%eth0",
        "user@a.b",
        "a.b/",
        "é.it",
        "a..b",
        "a.b\0",
    ] {
        assert_eq!(NetGrant::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn an_account_is_granted_alone() {
    let with = |capabilities: &str| {
        let text = MANIFEST
            .replace("fs-read-workspace", "net-account")
            .replace("{ fs_read = [\"workspace/\"] }", capabilities);
        Manifest::parse(text.as_bytes())
    };
    assert_eq!(with("{ net = [\"account mail\"] }").unwrap().account(), Some(AccountKind::Mail));
    assert_eq!(with("{ net = [\"example.org\"] }").unwrap().account(), None);
    for beside in [
        "{ net = [\"account mail\", \"example.org\"] }",
        "{ net = [\"argument /path\", \"account mail\"] }",
        "{ net = [\"account mail\", \"account mail\"] }",
        "{ net = [\"account mail\"] }, { secret = [\"imap\"] }",
        "{ net = [\"account mail sending\", \"example.org\"] }",
        "{ net = [\"account mail sending\", \"account calendar\"] }",
        "{ net = [\"account mail sending\", \"account mail sending\"] }",
        "{ net = [\"account mail\", \"account mail sending\"] }, { fs_read = [\"workspace/\"] }",
    ] {
        assert_eq!(field_of(&with(beside).unwrap_err()), "sandbox.capabilities", "{beside}");
    }
    let both = with("{ net = [\"account mail\", \"account mail sending\"] }").unwrap();
    assert_eq!((both.account(), both.sends_mail()), (Some(AccountKind::Mail), true));
    let sends = with("{ net = [\"account mail sending\"] }").unwrap();
    assert_eq!((sends.account(), sends.sends_mail()), (Some(AccountKind::Mail), true));
    assert!(!with("{ net = [\"account mail\"] }").unwrap().sends_mail());
    let thinks = MANIFEST
        .replace("fs-read-workspace", "net-account")
        .replace("{ fs_read = [\"workspace/\"] }", "{ net = [\"account mail\"] }")
        .replace("[effects]", "[mind]\nrole = \"fast\"\ninstruction = \"Say it.\"\nmax_tokens = 10\n\n[effects]");
    assert_eq!(field_of(&Manifest::parse(thinks.as_bytes()).unwrap_err()), "sandbox.capabilities");
}

#[test]
fn an_unknown_reach_of_a_schema_is_refused() {
    assert!(Schema::parse(SCHEMA.as_bytes()).is_ok());
    for (from, to) in [
        ("#/definitions/When", "https://example.org/when"),
        ("#/definitions/When", "#"),
        ("\"additionalProperties\":false,\"required\"", "\"required\""),
        ("2020-12", "2019-09"),
        ("\"Output\":{\"type\":\"object\"", "\"Output\":{\"type\":\"array\""),
        ("\"definitions\":{", "\"$id\":\"x\",\"definitions\":{"),
    ] {
        assert!(matches!(Schema::parse(SCHEMA.replace(from, to).as_bytes()), Err(SchemaError::Shape { .. })), "{to}");
    }
    assert!(matches!(Schema::parse(b"{}{}"), Err(SchemaError::Json(_))));
}

fn findings(change: impl FnOnce(&mut Manifest)) -> Vec<&'static str> {
    let mut manifest = manifest();
    change(&mut manifest);
    lint(&manifest, &Schema::parse(SCHEMA.as_bytes()).unwrap()).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn only_bounded_atoms_may_be_vouched_for() {
    for pointer in ["/size", "/sha", "/when", "/kind"] {
        assert!(findings(|m| m.output.vouched = vec![pointer.to_owned()]).is_empty(), "{pointer}");
    }
    for pointer in ["/content", "/prose", "/loose"] {
        assert_eq!(findings(|m| m.output.vouched = vec![pointer.to_owned()]), ["lint.vouched"], "{pointer}");
    }
    assert_eq!(findings(|m| m.output.vouched = vec!["/nothing".to_owned()]), ["lint.pointer"]);
}

#[test]
fn a_synthesised_executor_vouches_for_no_text() {
    let synthesised = |pointer: &str| {
        findings(|m| {
            m.executor.created_by = "synt:01ABC".to_owned();
            m.output.vouched = vec![pointer.to_owned()];
        })
    };
    assert_eq!(synthesised("/sha"), ["lint.vouched"]);
    assert!(synthesised("/size").is_empty());
}

#[test]
fn a_class_that_the_rest_denies_is_found() {
    assert_eq!(findings(|m| m.sandbox.capabilities.push(Capability::Net(vec!["a.b".to_owned()]))), ["lint.class"]);
    assert_eq!(
        findings(|m| m.sandbox.capabilities.push(Capability::FsWrite(vec!["workspace/".to_owned()]))),
        ["lint.class"]
    );
    assert_eq!(findings(|m| m.sandbox.capabilities.push(Capability::Secret(vec!["x".to_owned()]))), ["lint.class"]);
    assert_eq!(findings(|m| m.contract.side_effects = true), ["lint.class"]);
    // What only prints has none; what may write has.
    let shell = |m: &mut Manifest, more: &[Capability]| {
        (m.effects.class, m.sandbox.capabilities) = (Class::Shell, vec![Capability::Exec(vec!["*".to_owned()])]);
        m.sandbox.capabilities.extend(more.iter().cloned());
    };
    assert!(findings(|m| shell(m, &[])).is_empty());
    // What reads may run a program that it names itself: nobody tells it another, or a word of a command.
    let reads = |program: &str, role| {
        let exec = Capability::Exec(vec![program.to_owned()]);
        findings(|m| {
            m.sandbox.capabilities.push(exec);
            m.args = [("/many/*".to_owned(), role)].into();
        })
    };
    assert!(reads("/usr/bin/wc", Role::Payload).is_empty());
    assert_eq!(reads("*", Role::Payload), ["lint.class"]);
    assert_eq!(reads("/usr/bin/wc", Role::Argv), ["lint.class"]);
    assert_eq!(findings(|m| shell(m, &[Capability::FsWrite(vec!["workspace/".to_owned()])])), ["lint.class"]);
    assert_eq!(findings(|m| m.effects.class = Class::Send), ["lint.class"]);
    assert_eq!(findings(|m| m.sandbox.quotas.writes_per_day = 1), ["lint.quota"]);
}

#[test]
fn what_reaches_the_server_that_sends_is_judged_as_sending() {
    let with = |class, offered| {
        findings(|m| {
            m.sandbox.capabilities =
                vec![Capability::Net(vec!["account mail".to_owned(), "account mail sending".to_owned()])];
            (m.effects.class, m.contract.offered) = (class, offered);
            m.contract.side_effects = class != Class::Read;
        })
    };
    for class in [Class::Read, Class::NetRead, Class::SelfCreate, Class::SelfModify, Class::Destroy] {
        assert!(with(class, true).contains(&"lint.class"), "{class}");
    }
    assert!(with(Class::Send, true).is_empty());
    assert!(with(Class::Read, false).is_empty(), "nobody but the owner calls it by its name");
}

#[test]
fn only_what_makes_something_new_says_which_paths_it_only_reads() {
    let with = |class, pointer: &str| {
        findings(|m| {
            (m.effects.class, m.contract.side_effects) = (class, class != Class::Read);
            m.contract.reads = vec![pointer.to_owned()];
        })
    };
    assert_eq!(with(Class::Read, "/path"), ["lint.reads"]);
    assert_eq!(with(Class::SelfModify, "/path"), ["lint.reads"]);
    assert_eq!(with(Class::SelfCreate, "/other"), ["lint.reads"]);
}

#[test]
fn a_role_that_does_not_fit_its_argument_is_found() {
    let with = |pointer: &str, role| findings(|m| m.args = [(pointer.to_owned(), role)].into());
    assert!(with("/many/*", Role::Payload).is_empty());
    assert_eq!(with("/many", Role::Path), ["lint.role"]);
    assert_eq!(with("/many/*", Role::Path), ["lint.role"], "a path without a longest length");
    assert_eq!(with("/other", Role::Flag), ["lint.pointer"]);
}

#[test]
fn a_signature_covers_the_digests_in_their_order() {
    let digest = |byte| Blake3([byte; 32]);
    let bytes =
        signed_bytes(&ExecutorDigests { manifest: digest(1), code: digest(2), schema: digest(3), profile: digest(4) });
    assert_eq!(bytes.chunks(32).map(|part| part[0]).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(bytes.chunks(32).all(|part| part.iter().all(|byte| *byte == part[0])));
    assert_eq!(profile_lock_text(&digest(0)), format!("blake3:{}\n", "00".repeat(32)));
}

#[test]
fn versions_order_as_numbers() {
    assert!(parse_version("1.10.0") > parse_version("1.9.9"));
    for bad in ["", "1", "1.0.0.0", "1.0.x", "-1.0.0", "1..0", "1.0.0-a", "4294967296.0.0", "+1.0.0"] {
        assert_eq!(parse_version(bad), None, "{bad}");
    }
}

fn places() -> Places {
    Places { workspace: "/root/.local/share/metnos/workspace".to_owned(), home: "/home/anna".to_owned() }
}

#[test]
fn every_way_to_write_a_closed_path_is_that_path() {
    for path in [
        "/etc/shadow",
        "//etc/shadow",
        "/./etc//shadow",
        "/home/../etc/shadow",
        "../../../etc/passwd",
        "a/../../../../../etc/passwd",
        "/ETC/shadow",
        "/proc/self/environ",
        "/root/.bashrc",
        "~/.ssh/id_ed25519",
        "~/x/../.SSH/config",
        "/home/bob/.gnupg/x",
        "notes/.ssh/id",
        ".audit/2026-01-01.jsonl",
        "../.policy/instance.key",
        "~/.config/metnos/x",
        "/opt/other/x",
        "/run/user/0",
        "/var/run/docker.sock",
        "/root/.local/share/metnos/run/control.sock",
        "/root/.local/share/metnos/workspace/../.mnestome/x",
        "/\u{200b}etc/shadow",
        "/ｅｔｃ/shadow",
        "../etc",
        "/root/.local/share/metnos/workspace/.soul",
    ] {
        assert!(check(path).is_some(), "{path}");
    }
}

fn check(path: &str) -> Option<Forbidden> {
    forbidden::check(path, &places())
}

#[test]
fn ordinary_owner_paths_are_not_closed() {
    for path in [
        "notes/welcome.md",
        "",
        ".",
        "etc/passwd",
        "a/../b",
        "/home/anna/Pictures/x",
        "/root/.local/share/metnos/workspace/etc/x",
        "proc",
    ] {
        assert_eq!(check(path), None, "{path}");
    }
    assert_eq!(check("/etc/shadow").unwrap().place, "/etc");
}

#[test]
fn path_below_workspace_is_distinguished_from_escaping_one() {
    let within = |path: &str| forbidden::within_workspace(path, &places());
    assert_eq!(within("./notes//a.md").as_deref(), Some("notes/a.md"));
    assert_eq!(within("notes/../a.md").as_deref(), Some("a.md"));
    assert_eq!(within("/root/.local/share/metnos/workspace/a").as_deref(), Some("a"));
    assert_eq!(within("").as_deref(), Some(""));
    for path in ["..", "a/../../b", "/srv/x", "/root/.local/share/metnos/workspace2/a", "~/a", "a\0"] {
        assert_eq!(within(path), None, "{path}");
    }
}

proptest! {
    #[test]
    fn dots_and_slashes_never_hide_a_closed_tree(
        tree in prop::sample::select(forbidden::CLOSED_TREES), ups in 0_usize..9, slashes in 1_usize..4,
        upper in any::<bool>(), tail in "[a-z]{0,8}",
    ) {
        let place = if upper { tree.0.to_uppercase() } else { tree.0.to_owned() };
        let noisy = place.replace('/', &format!("{}./x/../", "/".repeat(slashes)));
        let absolute = format!("{}{noisy}/{tail}", "/..".repeat(ups));
        prop_assert!(check(&absolute).is_some(), "{}", absolute);
        let relative = format!("../{}{}/{tail}", "../".repeat(ups), noisy.trim_start_matches('/'));
        prop_assert!(check(&relative).is_some(), "{}", relative);
    }

    #[test]
    fn a_closed_name_is_closed_wherever_it_stands(
        name in prop::sample::select(forbidden::CLOSED_NAMES), head in "(/|~/|)[a-z]{1,6}(/[a-z]{1,6}){0,3}", tail in "(/[a-z]{1,6}){0,2}",
    ) {
        let path = format!("{head}/{}{tail}", name.0);
        prop_assert!(check(&path).is_some(), "{}", path);
    }

    #[test]
    fn a_path_within_the_workspace_stays_within_it_when_normalised(path in "[a-z./~]{0,40}") {
        if let Some(inside) = forbidden::within_workspace(&path, &places()) {
            prop_assert!(!inside.split('/').any(|part| part == ".." || part == "."));
            prop_assert!(!inside.starts_with('/'));
            // A file may be called `~`; behind `./` it is read as one.
            prop_assert_eq!(forbidden::within_workspace(&format!("./{inside}"), &places()), Some(inside));
        }
    }

    #[test]
    fn any_text_is_a_manifest_or_an_error_and_never_a_panic(text in ".{0,400}") {
        prop_assert!(Manifest::parse(text.as_bytes()).is_err());
    }
}

fn with_examples(examples: &str) -> Result<Manifest, ManifestError> {
    let plain = "examples = [\"read notes/journal.md\", \"leggi la lista della spesa\"]";
    Manifest::parse(MANIFEST.replace(plain, &format!("examples = [{examples}]")).as_bytes())
}

fn with_patterns(patterns: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(format!("{MANIFEST}{patterns}").as_bytes())
}

#[test]
fn example_is_a_text_or_a_promise_of_arguments() {
    let text = r#""read it", { say = "read the trip", args = { path = "notes/trip.md" }, files = ["notes/trip.md", "x/"] },
        { say = "show it", args = { text = { "$ref" = "c1#/content" } }, from = { executor = "fs_read", args = { n = 1 } } }"#;
    let manifest = with_examples(text).unwrap();
    let [plain, promise, chain] = manifest.executor.examples.as_slice() else { panic!() };
    assert_eq!((plain.say(), plain.args()), ("read it", None));
    assert_eq!(promise.args().unwrap()["path"], "notes/trip.md");
    assert_eq!(promise.files(), ["notes/trip.md", "x/"]);
    assert_eq!((chain.from().unwrap().executor.as_str(), &chain.from().unwrap().args["n"]), ("fs_read", &1.into()));
    let written = serde_json::to_value(&manifest.executor.examples).unwrap();
    assert_eq!(written[0], "read it");
    assert_eq!(serde_json::from_value::<Vec<Example>>(written).unwrap(), manifest.executor.examples);
}

#[test]
fn unusable_example_is_refused_with_its_place() {
    for (bad, named) in [
        (r#"{ say = "x", arg = {} }"#, "unknown field `arg`"),
        ("1", "a text, or a table with `say` and `args`"),
        (r#"{ args = {} }"#, "missing field `say`"),
        (r#"{ say = "x", files = ["a"] }"#, "`executor.examples[0].args` is `missing`"),
        (r#"{ say = "x", args = {}, files = ["../a"] }"#, "`executor.examples[0].files` is `../a`"),
        (r#"{ say = "x", args = {}, files = ["/a"] }"#, "`executor.examples[0].files` is `/a`"),
        (r#"{ say = "x", args = {}, from = { executor = "A", args = {} } }"#, "`executor.examples[0].from` is `A`"),
        (r#"{ say = "x", args = { when = 2026-01-01 } }"#, "`executor.examples[0].args`"),
        (r#""y", """#, "`executor.examples[1]` is ``"),
    ] {
        let told = with_examples(bad).unwrap_err().to_string();
        assert!(told.contains(named), "{bad}: {told}");
    }
}

#[test]
fn examples_are_accepted_up_to_each_limit() {
    use super::example::{MAX_EXAMPLE, MAX_EXAMPLES, MAX_FILES};
    let many = |count: usize| with_examples(&vec!["\"x\""; count].join(", "));
    assert!(many(MAX_EXAMPLES).is_ok() && many(MAX_EXAMPLES + 1).is_err() && many(0).is_err());
    let long = |count: usize| with_examples(&format!("\"{}\"", "è".repeat(count)));
    assert!(long(MAX_EXAMPLE).is_ok() && long(MAX_EXAMPLE + 1).is_err());
    let files = |count: usize| {
        let files = vec!["\"a\""; count].join(", ");
        with_examples(&format!("{{ say = \"x\", args = {{}}, files = [{files}] }}"))
    };
    assert!(files(MAX_FILES).is_ok() && files(MAX_FILES + 1).is_err());
}

#[test]
fn patterns_are_accepted_up_to_each_limit() {
    use super::pattern::{MAX_ALTERNATIVES, MAX_LINE, MAX_LINES, MAX_NESTING, MAX_TABLES, parse};
    let table = |lines: usize| format!("[[patterns]]\nlang = \"it\"\nsay = [{}]\n", vec!["\"leggi\""; lines].join(","));
    assert!(with_patterns(&table(MAX_LINES)).is_ok());
    assert!(with_patterns(&table(MAX_LINES + 1)).is_err() && with_patterns(&table(0)).is_err());
    assert!(with_patterns(&table(1).repeat(MAX_TABLES)).is_ok());
    assert!(with_patterns(&table(1).repeat(MAX_TABLES + 1)).is_err());
    assert!(parse(&"è".repeat(MAX_LINE)).is_ok() && parse(&"è".repeat(MAX_LINE + 1)).is_err());
    let nested = |depth: usize| format!("a {}b{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(MAX_NESTING)).is_ok() && parse(&nested(MAX_NESTING + 1)).is_err());
    // Each optional word doubles them: two to the ninth is the limit.
    let doubled = |times: u32| format!("a{}", " [b]".repeat(usize::try_from(times).unwrap()));
    assert!(MAX_ALTERNATIVES.is_power_of_two());
    assert!(
        parse(&doubled(MAX_ALTERNATIVES.ilog2())).is_ok() && parse(&doubled(MAX_ALTERNATIVES.ilog2() + 1)).is_err()
    );
}

#[test]
fn unreadable_pattern_is_refused_with_what_was_expected() {
    for (line, expected) in [
        ("read {path", "`}` to close the slot"),
        ("read (a|b", "`)` to close the group"),
        ("read (a|b]", "`)` to close the group"),
        ("read a)", "an opening one"),
        ("read }", "an opening one"),
        ("read a|b", "only inside of brackets"),
        ("read (a||b)", "words or slots in each alternative"),
        ("read []", "words or slots in each alternative"),
        ("", "words or slots in each alternative"),
        ("read {}", "slots such as"),
        ("read {a b}", "slots such as"),
        ("read {path:thing}", "a kind of slot: one of file, folder"),
        ("read {path} {path}", "one slot for the argument `/path`"),
        ("read {a} [{a/b}]", "one slot for the argument `/a/b`"),
        ("[read] [it]", "cannot be missing"),
    ] {
        let told = with_patterns(&format!("[[patterns]]\nlang = \"en\"\nsay = [\"x\", \"{line}\"]\n"));
        let told = told.unwrap_err().to_string();
        assert!(told.contains("patterns[0].say") && told.contains(expected), "{line}: {told}");
    }
    let lang = with_patterns("[[patterns]]\nlang = \"de\"\nsay = [\"x\"]\n").unwrap_err().to_string();
    assert!(lang.contains("`de`") && lang.contains("`en` or `it`"), "{lang}");
    let both = with_patterns("[[patterns]]\nlang = \"en\"\nsay = [\"x {path}\"]\nargs = { path = \"a\" }\n");
    assert!(both.unwrap_err().to_string().contains("not both"));
    let beside = "[[patterns]]\nlang = \"en\"\nsay = [\"sum {all/0/column}\"]\nargs = { all = [{ op = \"sum\" }] }\n";
    assert!(with_patterns(beside).is_ok());
    assert!(with_patterns(&beside.replace("op", "column")).is_err());
}

#[test]
fn line_is_read_into_words_slots_and_groups() {
    use super::pattern::{Part, SlotKind, parse};
    let word = |text: &str| Part::Word(text.to_owned());
    let slot = |pointer: &str, kind| Part::Slot(pointer.to_owned(), kind);
    assert_eq!(
        parse("(add|put in) {a/0/b:text}[to {path}]").unwrap(),
        [
            Part::Any(vec![vec![word("add")], vec![word("put"), word("in")]]),
            slot("/a/0/b", Some(SlotKind::Text)),
            Part::Maybe(vec![vec![word("to"), slot("/path", None)]]),
        ]
    );
}

#[test]
fn pattern_of_what_does_more_than_read_begins_with_a_word() {
    let changes = |line: &str| {
        let text =
            MANIFEST.replace("side_effects = false", "side_effects = true").replace("\"read\"\n", "\"self_modify\"\n");
        Manifest::parse(format!("{text}[[patterns]]\nlang = \"en\"\nsay = [\"{line}\"]\n").as_bytes())
    };
    for good in ["add {path}", "(add|put to) {path}", "[do] add {path}"] {
        assert!(changes(good).is_ok(), "{good}: {:?}", changes(good));
    }
    for bad in ["{path} add", "(add|{path}) it", "[{path}] add"] {
        assert!(changes(bad).unwrap_err().to_string().contains("begins with a word"), "{bad}");
        assert!(with_patterns(&format!("[[patterns]]\nlang = \"en\"\nsay = [\"{bad}\"]\n")).is_ok(), "{bad}");
    }
}

#[test]
fn pattern_fills_only_what_the_schema_has() {
    let schema = Schema::parse(SCHEMA.as_bytes()).unwrap();
    let found = |line: &str, args: &str| {
        let text = format!("[[patterns]]\nlang = \"en\"\nsay = [\"{line}\"]\nargs = {{ {args} }}\n");
        let found = lint(&with_patterns(&text).unwrap(), &schema);
        let own: Vec<String> = found.into_iter().filter(|one| one.rule == "lint.pattern").map(|one| one.what).collect();
        own.join(" ")
    };
    assert_eq!((found("read {path:file}", ""), found("read {many/0:word}", "")), (String::new(), String::new()));
    for (line, args, told) in [
        ("read {file}", "", "`/file`"),
        ("read it", "file = 1", "`file`"),
        ("read {path:number}", "", "no number"),
        ("read {path:choice}", "", "does not list"),
        ("read {many}", "", "neither a text nor a number"),
        ("read {many:text}", "", "no text"),
    ] {
        assert!(found(line, args).contains(told), "{line}: {}", found(line, args));
    }
}

#[test]
fn address_is_one_mailbox_at_one_host() {
    for right in ["anna@example.org", "a.b+c@mail.Example.org", "o'neill@example.org"] {
        assert!(is_mail_address(right), "{right}");
    }
    for wrong in [
        "anna",
        "anna@",
        "@example.org",
        "anna@localhost",
        "a@b@example.org",
        "a b@example.org",
        "a,b@example.org",
        "anna@example.org\r\nBcc: x@example.org",
        ".anna@example.org",
        "an..na@example.org",
        "<anna@example.org>",
        "anna@127.0.0.1",
        "\u{e4}@example.org",
    ] {
        assert!(!is_mail_address(wrong), "{wrong:?}");
    }
}
