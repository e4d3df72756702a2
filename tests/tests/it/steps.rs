//! A turn with a small model on a server that holds replies to a schema, through a whole set: the server is scripted, and
//! signs its models as llama.cpp does.

use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, plain, say};
use metnos_tests::script::{Reply, openai};
use metnos_tests::until;
use serde_json::{Value, json};

/// How long mind may take to find out what its server is.
const WITHIN: Duration = Duration::from_secs(20);

/// A server as llama.cpp's: its list is signed, and each reply is what `think` makes of the request. The requests are kept.
fn server(think: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Liar {
    let number = Mutex::new(0);
    Liar::start(move |_, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let meta = json!({ "n_ctx": 8192, "n_ctx_train": 32768, "n_params": 1_777_088_000_u64 });
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model", "owned_by": "llamacpp", "meta": meta }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        let mut number = number.lock().unwrap();
        *number += 1;
        say(stream, &openai(*number, &Reply::Writes(think(&body).to_string())));
    })
}

fn set_with(server: &Liar, more: &str) -> Instance {
    let port = server.port;
    let set = Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"there openai http://127.0.0.1:{port}/v1\"]\ninterface = [\"there/m\"]\n{more}"
        ))
        .start();
    let found = || {
        let (_, list) = set.json(&["models", "list"]);
        let model = &list["roles"][0]["models"][0];
        (model["constrained"] == true || !more.is_empty()).then_some(())
    };
    until("mind to find out what its server is", WITHIN, found);
    // The planner asks mind once more a few seconds after the link to it has come about.
    std::thread::sleep(Duration::from_millis(3_500));
    set
}

fn put(set: &Instance, path: &str, text: &str) {
    let file = set.workspace(path);
    std::fs::write(&file, text).unwrap();
    std::os::unix::fs::chown(&file, Some(set.owner()), Some(set.owner())).unwrap();
}

/// The schema that a request holds the reply to.
fn schema(body: &Value) -> &Value {
    &body["response_format"]["json_schema"]["schema"]
}

fn properties(body: &Value) -> &Value {
    &schema(body)["properties"]
}

/// What was sent to the server.
fn bodies(server: &Liar) -> Vec<Value> {
    let heard = server.heard();
    let posts = heard.iter().filter(|one| one.starts_with("POST "));
    posts.map(|one| serde_json::from_str(one.split_once("\r\n\r\n").unwrap().1).unwrap()).collect()
}

#[test]
fn small_model_reads_what_files_say_of_a_question_before_it_chooses() {
    let server = server(|body| match properties(body)["found"].is_object() {
        true => json!({ "found": true, "text": "It expires on 14 March 2027." }),
        false => json!({ "do": "answer", "text": "It comes on Friday." }),
    });
    let set = set_with(&server, "");
    put(&set, "notes/car.md", "Insurance: expires on 14 March 2027\n");
    let said = set.ask("tell me until when our good old car is insured");
    assert!(said.contains("It expires on 14 March 2027."), "{said}");
    assert_eq!(bodies(&server).len(), 1, "one thought: {:#?}", bodies(&server));
    // What stands nowhere it makes up, and that is not shown.
    let output = set.ctl(&["ask", "when does the piano tuner come?"]);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(said.contains("what I found does not say it") && !said.contains("Friday"), "{said}");
    set.verify();
}

#[test]
fn small_model_answers_in_three_steps_each_held_to_a_schema() {
    let server = server(|body| {
        if schema(body)["anyOf"].is_array() {
            json!({ "do": "text_search" })
        } else if properties(body)["pattern"].is_object() {
            json!({ "pattern": ["insurance"] })
        } else {
            json!({ "found": true, "text": "It expires on 14 March 2027." })
        }
    });
    let set = set_with(&server, "");
    put(&set, "notes/car.md", "Insurance: expires on 14 March 2027\n");
    let said = set.ask("I wonder until when our good old car is insured");
    assert!(said.contains("It expires on 14 March 2027."), "{said}");
    let bodies = bodies(&server);
    assert_eq!(bodies.len(), 3, "{bodies:#?}");
    for body in &bodies {
        assert!(body.get("tools").is_none() && body["response_format"]["type"] == "json_schema", "{body:#}");
        assert_eq!(body["temperature"], json!(0.0));
    }
    let said =
        |body: &Value| -> Vec<String> { body["messages"].as_array().unwrap().iter().map(Value::to_string).collect() };
    for pair in bodies.windows(2) {
        assert!(said(&pair[1]).starts_with(&said(&pair[0])), "a server reads nothing twice");
    }
    assert!(said(&bodies[2]).concat().contains("14 March 2027"), "what was found is shown");
    assert!(said(&bodies[0]).concat().len() <= 3_200, "{}", said(&bodies[0]).concat().len());
    set.verify();
}

#[test]
fn small_model_that_chooses_unasked_effect_is_stopped() {
    // It wants to delete whatever it is asked, and says that it has done it. No words ask for that, not even those that name a
    // file: what deletes is not offered.
    let server = server(|body| {
        if schema(body)["anyOf"].is_array() {
            json!({ "do": "fs_delete" })
        } else if properties(body)["path"].is_object() {
            json!({ "path": "notes/car.md" })
        } else {
            json!({ "found": true, "text": "I deleted everything." })
        }
    });
    let set = set_with(&server, "");
    put(&set, "notes/car.md", "Insurance: expires on 14 March 2027\n");
    for words in [
        "tell me until when our good old car is insured",
        "racconta qualcosa della nostra vecchia macchina",
        "what might the file notes/car.md mean for the two of us",
    ] {
        let mut command = set.command("metnosctl");
        let output = command.args(["ask", words]).stdin(std::process::Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!said.contains("I deleted everything"), "{said}");
        assert!(set.workspace("notes/car.md").exists(), "{said}");
    }
    set.verify();
}

#[test]
fn owner_decides_whether_a_model_works_in_steps() {
    let server = server(|_| json!({ "any": "thing" }));
    for (line, wanted) in [("steps", true), ("no-steps", false)] {
        let set = set_with(&server, &format!("contexts = [\"there/m 4096 {line}\"]\n"));
        let (_, list) = set.json(&["models", "list"]);
        assert_eq!(list["roles"][0]["models"][0]["constrained"], wanted, "{line}");
        let shown = String::from_utf8_lossy(&set.ctl(&["models", "list"]).stdout).into_owned();
        assert_eq!(shown.contains("4096 tokens, in steps"), wanted, "{shown}");
    }
}
