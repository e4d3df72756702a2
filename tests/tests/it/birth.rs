//! The first interview: at a terminal, stopped and taken up again, and from a file; what it writes is what the daemons
//! then go by.

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::terminal::{CTRL_C, Terminal};
use serde_json::{Value, json};

fn text(set: &Instance, path: &str) -> String {
    std::fs::read_to_string(set.home().join(path)).unwrap()
}

/// `birth --json --answers -` with this text.
fn answered(set: &Instance, answers: &str, more: &[&str]) -> (i32, Value) {
    use std::io::Write;
    let mut command = set.command("metnosctl");
    command.args(["--json", "birth", "--answers", "-"]).args(more);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap_or(-1), document)
}

fn keys(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect()
}

#[test]
fn an_interview_is_stopped_taken_up_again_and_done() {
    let mut set = Plan::new().prepare();
    let mut terminal = Terminal::of_owner(&set, &["birth"], &[("LANG", "en_GB.UTF-8")]);
    terminal.until("language [en]: ");
    terminal.says("tedesco");
    terminal.until("en or it");
    terminal.until("language [en]: ");
    terminal.says("it");
    // From here on it speaks the language that was answered.
    terminal.until("Come si chiama il maggiordomo?");
    terminal.until("name [Metnos]: ");
    terminal.says("Alfredo");
    terminal.until("owner: ");
    terminal.types("Rob");
    terminal.types(CTRL_C);
    terminal.until("riprende da qui");
    let (code, _) = terminal.over();
    assert_eq!(code, 1);
    assert!(!set.workspace("").exists(), "nothing is made before it was shown");
    let kept: toml::Table = text(&set, ".birth.toml").parse().unwrap();
    assert_eq!(kept["answers"]["name"].as_str(), Some("Alfredo"));
    assert!(kept["answers"].get("owner").is_none(), "what was not finished is no answer");

    // Taken up by `up`, which asks where a person sits there; only what is missing, and not what the configuration says.
    let mut terminal = Terminal::of_owner(&set, &["up", "--detach"], &[]);
    terminal.until("Ci sono già 3 risposte");
    terminal.until("owner: ");
    terminal.says("Roberta");
    terminal.until("time_zone [");
    terminal.says("Europa/Roma");
    terminal.until("Europe/Rome");
    terminal.until("time_zone [");
    terminal.says("Europe/Rome");
    terminal.until("place: ");
    terminal.says("Trieste");
    terminal.until("telos: ");
    terminal.says("le carte in ordine; la calma in casa");
    terminal.until("da 3 a 7 fini");
    terminal.until("telos: ");
    terminal.says("le carte in ordine; la calma in casa; niente di irreversibile");
    terminal.until("model_server [none]: ");
    terminal.says("");
    terminal.until("telegram [no]: ");
    terminal.says("sì");
    let plan = terminal.until("n si ferma qui");
    for part in ["Alfredo", "Roberta", "workspace/TELOS.md", "instance.lang"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    // One answer is given anew before anything is done.
    terminal.until("› ");
    terminal.says("owner");
    terminal.until("owner [Roberta]: ");
    terminal.says("Roberta Verdi");
    terminal.until("n si ferma qui");
    terminal.until("› ");
    terminal.says("");
    terminal.until("metnosctl telegram token");
    terminal.until("Metnos is ready");
    assert_eq!(terminal.over().0, 0);
    assert!(text(&set, "workspace/USER.md").contains("- Name: Roberta Verdi\n"));
    assert!(text(&set, "workspace/USER.md").contains("- Time zone: Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)\n"));
    assert!(text(&set, "workspace/USER.md").contains("- Place: Trieste\n"));
    assert!(text(&set, "workspace/IDENTITY.md").contains("I am Alfredo, the butler of this household."));
    // The daemons go by it: the language, and an order of ends that policyd has read.
    let mut talk = Terminal::of_owner(&set, &["chat"], &[]);
    talk.until("Metnos ascolta");
    drop(talk);
    let (_, ends) = set.json(&["vaglio", "telos"]);
    assert!(ends.to_string().contains("niente di irreversibile"), "{ends}");
    assert!(set.ctl(&["down"]).status.success());
    set.up();
    set.down();
}

#[test]
fn answers_from_a_file_are_written_once_and_what_the_owner_changed_stays() {
    let mut set = Plan::new().prepare();
    let answers = "language = \"it\"\nname = \"Alfredo\"\nowner = \"Roberta\"\ntime_zone = \"UTC+1\"\n\
                   telos = [\"le carte in ordine\", \"la calma; sempre\", \"la fiducia\"]\n\
                   model_server = \"local ollama http://127.0.0.1:9\"\nmodel = \"local/qwen3\"\ntelegram = true\n";
    let (code, done) = answered(&set, answers, &[]);
    assert_eq!((code, &done["created"], &done["kept"]), (0, &json!(true), &json!([])), "{done:#}");
    assert_eq!(
        keys(&done["set"]),
        ["language", "model_server", "model", "name", "owner", "time_zone", "telos"],
        "{done:#}"
    );
    let next: Vec<&str> =
        done["next"].as_array().unwrap().iter().map(|next| next["command"].as_str().unwrap()).collect();
    assert_eq!(
        next,
        [
            "metnosctl up --detach",
            "metnosctl people add Roberta --role owner",
            "metnosctl models key local",
            "metnosctl models test interface",
            "metnosctl telegram token",
            "metnosctl pairing invite telegram --as owner",
        ]
    );
    // The very same again changes nothing; an own word stays, and is named; unless it is to make room.
    let (code, again) = answered(&set, answers, &[]);
    assert_eq!((code, &again["set"], &again["created"]), (0, &json!([]), &json!(false)), "{again:#}");
    let user = text(&set, "workspace/USER.md");
    std::fs::write(set.workspace("USER.md"), user.replace("Name: Roberta", "Name: Bobby")).unwrap();
    let (code, kept) = answered(&set, "owner = \"Rosa\"\nname = \"Gina\"\n", &[]);
    assert_eq!((code, keys(&kept["set"]), keys(&kept["kept"])), (0, vec!["name"], vec!["owner"]), "{kept:#}");
    assert_eq!(kept["kept"][0]["before"], "Bobby");
    assert!(text(&set, "workspace/USER.md").contains("- Name: Bobby\n"));
    let (_, replaced) = answered(&set, "", &["--replace"]);
    assert_eq!(keys(&replaced["set"]), ["owner"], "{replaced:#}");
    assert!(text(&set, "workspace/USER.md").contains("- Name: Rosa\n"));
    // The daemons take what was written.
    set.up();
    let (_, models) = set.json(&["models", "list"]);
    assert_eq!(models["roles"][0]["models"][0]["model"], "local/qwen3", "{models:#}");
    let (_, restart) = answered(&set, "language = \"en\"\n", &[]);
    assert_eq!(restart["next"][0]["why"], "restart", "{restart:#}");
    set.verify();
    set.down();
}

#[test]
fn a_bad_answer_is_named_with_what_is_wanted_and_nothing_is_written() {
    let set = Plan::new().prepare();
    for (answers, parts) in [
        ("nam = \"x\"", &["`nam`", "did you mean `name`"][..]),
        ("language = \"de\"", &["language", "`de`", "en or it"]),
        ("lingua = \"it\"\nlanguage = \"it\"", &["`lingua`", "non c'è"]),
        ("time_zone = \"Europe/Rom\"", &["time_zone", "`Europe/Rom`", "Europe/Rome"]),
        ("telos = [\"one\"]", &["telos", "3 to 7"]),
        ("model_server = \"x\"", &["model_server", "NAME KIND ADDRESS"]),
        ("model_server = \"a ollama http://127.0.0.1:1\"\nmodel = \"b/c\"", &["model", "`b/c`"]),
        ("http = \"0.0.0.0:1\"", &["http", "127.0.0.1:42618"]),
        ("telegram = \"123:secret\"", &["telegram", "yes or no"]),
        ("name = \"a\\u001b[2J\"", &["name", "1 to 64"]),
        ("name = ", &["-: 1: "]),
    ] {
        let (code, said) = answered(&set, answers, &[]);
        assert_eq!((code, &said["error"]["code"]), (2, &json!("usage")), "{answers}: {said}");
        let why = said["error"]["why"].as_str().unwrap();
        assert!(parts.iter().all(|part| why.contains(part)), "{answers}: {why}");
        assert!(!why.contains('\u{1b}'));
        let remedy = said["error"]["remedy"].as_str().unwrap();
        let unchanged = if answers.contains("\"it\"") { "nulla è stato cambiato" } else { "nothing was changed" };
        assert!(remedy.starts_with(unchanged), "{answers}: {remedy}");
    }
    assert!(!set.home().join(".birth.toml").exists() && !set.workspace("").exists());
    let mut ctl = set.command("metnosctl");
    let italian = ctl.args(["birth", "--answers", "/no/such"]).env("LC_ALL", "it_IT.UTF-8").output().unwrap();
    let told = String::from_utf8_lossy(&italian.stderr).into_owned();
    assert!(told.contains("prende le risposte da un file"), "{told}");
    let nobody = set.json(&["birth"]);
    assert_eq!((nobody.0, nobody.1["error"]["remedy"].as_str().unwrap().contains("--answers")), (2, true));
    assert_eq!(set.json(&["birth", "--answers", "/no/such"]).0, 2);
}
