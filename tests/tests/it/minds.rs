//! mind, alone and locked, among servers of models: real ones of every kind, and one that lies.

use std::io::Write;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::ids::{Blake3, TraceId};
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::mind::{EndFund, Fund, Judge, ListModels, PutKey, ScanModels, StopThinking, TestModel, Think};
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::{Block, CallResult, Message, ModelCall, Prompt, Stop, Tool};
use metnos_tests::minds::{
    Aimock, KEY, Liar, Lone, STREAM, came, kinds, piece, plain, prompt, say, sealed, settings, whole, with_mind,
};
use metnos_tests::procfs;
use serde_json::{Value, json};

async fn give_key(mind: &Lone, substrate: &str, key: &str) {
    let ask = PutKey { substrate: substrate.to_owned() };
    let _kept = mind.owner.put_key(TraceId::NONE, ask, [Sealed::new(key.as_bytes()).unwrap()]).await.unwrap();
}

fn tool(name: &str) -> Tool {
    Tool { name: name.into(), description: "does it".into(), input: json!({"type": "object", "properties": {}}) }
}

#[test]
fn each_provider_is_one_config_line_and_streams_text_and_calls() {
    let server = Aimock::start(&[]);
    for (kind, line) in kinds(server.port) {
        let model = format!("{kind}/some-model");
        with_mind(settings(&[line], &[("interface", &[&model])]), &[], async |mind: Rc<Lone>| {
            // Without its key the server refuses, and the command is named.
            let refused = mind.say("hello").await.unwrap_err();
            assert_eq!(refused.rule, "mind.key", "{kind}: {refused:?}");
            assert!(refused.remedy.contains(&format!("metnosctl models key {kind}")), "{refused:?}");
            assert_eq!(mind.told().await.failed, "key");
            give_key(&mind, kind, KEY).await;

            let (thought, reply, sent) = mind.say("hello").await.unwrap();
            assert_eq!(thought.model, model);
            assert_eq!(reply.text, "Hi there, perché no? This reply comes in several pieces.", "{kind}");
            assert_eq!((reply.stop, mind.said_on_the_way()), (Stop::End, reply.text.clone()));
            let note = mind.told().await;
            assert_eq!(
                (note.usage.clone(), note.sent, note.failed.as_str()),
                (thought.usage.clone(), Blake3::of(&sent), "")
            );
            assert!(thought.usage.tokens_in > 0 && thought.usage.tokens_out > 0);
            let body: Value = serde_json::from_slice(&sent).unwrap();
            assert_eq!((&body["model"], &body["stream"]), (&json!("some-model"), &json!(true)));
            assert!(!String::from_utf8(sent).unwrap().contains(KEY));

            let turn = mind.turn().await;
            let mut asked = prompt("what is there");
            asked.tools = vec![tool("fs_list"), tool("clock_now")];
            let (_, reply, _) = mind.think(turn, 1, &asked).await.unwrap();
            assert_eq!(reply.stop, Stop::Calls, "{kind}");
            let names: Vec<&str> = reply.calls.iter().map(|call| call.name.as_str()).collect();
            assert_eq!(names, ["fs_list", "clock_now"]);
            assert_eq!(serde_json::from_str::<Value>(&reply.calls[0].arguments).unwrap(), json!({"path": "notes"}));
        });
    }
}

/// Everything that a request can hold.
fn rich() -> Prompt {
    let call = ModelCall { id: "call_1".into(), name: "fs_list".into(), arguments: "{\"path\":\"a\"}".into() };
    let result = CallResult { id: "call_1".into(), name: "fs_list".into(), text: "[]".into(), failed: false };
    Prompt {
        system: vec![Block { text: "laws".into(), cache: true }, Block { text: "capsule".into(), cache: false }],
        tools: vec![tool("fs_list")],
        messages: vec![
            Message::User { text: "list a".into() },
            Message::Assistant { text: "at once".into(), calls: vec![call] },
            Message::Results { results: vec![result] },
            Message::User { text: "hello".into() },
        ],
        schema: None,
        temperature: Some(20),
    }
}

#[test]
fn conversations_work_with_independent_model_servers() {
    let server = Aimock::start(&[]);
    for (kind, line) in kinds(server.port) {
        let model = format!("{kind}/m");
        with_mind(settings(&[line], &[("interface", &[&model])]), &[], async |mind: Rc<Lone>| {
            give_key(&mind, kind, KEY).await;
            let turn = mind.turn().await;
            let (_, reply, _) = mind.think(turn, 1, &rich()).await.unwrap();
            assert!(reply.text.starts_with("Hi there"), "{kind}: {reply:?}");
        });
    }
    // It has read each message as what it was, whatever the format.
    for asked in server.journal() {
        let Some(messages) = asked["body"]["messages"].as_array() else { continue };
        let roles: Vec<&str> = messages.iter().map(|one| one["role"].as_str().unwrap()).collect();
        assert!(roles.contains(&"assistant") && roles.contains(&"tool"), "{roles:?}");
    }
}

#[test]
fn a_server_in_chaos_fails_a_thought_cleanly_in_every_format() {
    for (word, classes) in [
        ("--chaos-drop", &["mind.overloaded"][..]),
        ("--chaos-malformed", &["mind.broken"]),
        ("--chaos-disconnect", &["mind.unreachable", "mind.broken"]),
        ("--chaos-ratelimit", &["mind.limited"]),
    ] {
        let server = Aimock::start(&[word, "1"]);
        let lines = kinds(server.port);
        let substrates: Vec<String> = lines.iter().map(|(_, line)| line.clone()).collect();
        for (kind, _) in &lines {
            let model = format!("{kind}/m");
            with_mind(settings(&substrates, &[("interface", &[&model])]), &[], async |mind: Rc<Lone>| {
                give_key(&mind, kind, KEY).await;
                let refused = mind.say("hello").await.unwrap_err();
                assert!(classes.contains(&refused.rule.as_str()), "{word} {kind}: {refused:?}");
                assert_eq!(mind.told().await.usage.tokens_out, 0);
                mind.solo.borrow_mut().ping();
            });
        }
    }
}

/// mind with one OpenAI-compatible liar, `a/m`.
fn with_liar(
    lie: impl Fn(usize, &str, &mut std::net::TcpStream) + Send + Sync + 'static,
    test: impl AsyncFnOnce(Rc<Lone>, &Liar),
) {
    let liar = Liar::start(lie);
    let line = format!("a openai http://127.0.0.1:{}/v1", liar.port);
    with_mind(settings(&[line], &[("interface", &["a/m"]), ("judge", &["a/m"])]), &[], async |mind: Rc<Lone>| {
        test(Rc::clone(&mind), &liar).await;
        mind.solo.borrow_mut().ping();
    });
}

fn refused_by(lie: impl Fn(usize, &str, &mut std::net::TcpStream) + Send + Sync + 'static) -> (Refusal, usize) {
    let mut out = None;
    with_liar(lie, async |mind, liar| {
        let refused = mind.say("hello").await.unwrap_err();
        let note = mind.told().await;
        assert_eq!(format!("mind.{}", note.failed), refused.rule);
        out = Some((refused, liar.asked()));
    });
    out.unwrap()
}

#[test]
fn invalid_server_reply_is_refused_and_retried_only_when_useful() {
    type Case = (&'static str, usize, fn(usize, &str, &mut std::net::TcpStream));
    let cases: &[Case] = &[
        ("mind.too_much", 1, |_, _, stream| {
            let _ = stream.write_all(STREAM.as_bytes());
            while stream.write_all(piece(&"x".repeat(4_000)).as_bytes()).is_ok() {}
        }),
        ("mind.too_much", 1, |_, _, stream| {
            // A line without an end.
            let _ = stream.write_all(STREAM.as_bytes());
            while stream.write_all(&[b'x'; 65_536]).is_ok() {}
        }),
        ("mind.late", 1, |_, _, stream| {
            let _ = stream.write_all(format!("{STREAM}{}", piece("half")).as_bytes());
            std::thread::sleep(Duration::from_secs(30));
        }),
        ("mind.broken", 1, |_, _, stream| say(stream, &format!("{STREAM}{}", piece("half")))),
        ("mind.broken", 1, |_, _, stream| say(stream, &format!("{STREAM}{}data: {{\"choices\":[", piece("half")))),
        ("mind.broken", 3, |_, _, stream| say(stream, &format!("{STREAM}data: {{\"choices\":[],\"choices\":[]}}\n\n"))),
        ("mind.broken", 3, |_, _, stream| say(stream, &format!("{STREAM}data: {}\n\n", "[".repeat(200)))),
        ("mind.broken", 3, |_, _, stream| {
            let _ = stream.write_all(format!("{STREAM}data: ").as_bytes());
            let _ = stream.write_all(b"\xff\xfe\n\n");
            say(stream, "");
        }),
        ("mind.broken", 3, |_, _, stream| say(stream, &whole("x").replace("text/event-stream", "text/html"))),
        ("mind.broken", 3, |_, _, stream| {
            say(stream, &whole("x").replace("Connection: close", "Content-Encoding: gzip\r\nConnection: close"));
        }),
        ("mind.overloaded", 3, |_, _, stream| say(stream, &plain("529 Overloaded", "", "{}"))),
        ("mind.rejected", 1, |_, _, stream| {
            say(stream, &plain("400 No", "", "{\"error\":{\"message\":\"too long\"}}"))
        }),
        // A pause that is longer than anybody waits: not asked again.
        ("mind.limited", 1, |_, _, stream| say(stream, &plain("429 Slow", "Retry-After: 3600\r\n", "{}"))),
        ("mind.broken", 3, |_, _, stream| say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
        ("mind.unreachable", 3, |_, _, stream| say(stream, "SSH-2.0-OpenSSH_9\r\n\r\n")),
        ("mind.unreachable", 3, |_, _, stream| {
            say(stream, &format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)))
        }),
    ];
    for (at, (rule, tries, lie)) in cases.iter().enumerate() {
        let (refused, asked) = refused_by(*lie);
        assert_eq!((refused.rule.as_str(), asked), (*rule, *tries), "case {at}: {refused:?}");
    }
}

#[test]
fn a_server_that_wants_to_be_left_alone_is_and_then_answers() {
    let lie = |at: usize, _: &str, stream: &mut std::net::TcpStream| match at {
        0 => say(stream, &plain("429 Slow", "Retry-After: 1\r\n", "{\"error\":{\"message\":\"slow down\"}}")),
        1 => say(stream, &plain("500 Oops", "", "boom")),
        _ => say(stream, &whole("at last")),
    };
    with_liar(lie, async |mind, liar| {
        let began = std::time::Instant::now();
        let (thought, reply, _) = mind.say("hello").await.unwrap();
        assert_eq!((reply.text.as_str(), liar.asked()), ("at last", 3));
        assert!(began.elapsed() >= Duration::from_secs(1), "the server's word was not kept");
        assert_eq!((thought.usage.tokens_in, thought.usage.tokens_out, thought.usage.counted), (20, 5, true));
    });
}

#[test]
fn redirects_are_not_followed_and_data_after_end_is_ignored() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let port = elsewhere.local_addr().unwrap().port();
    let lie = move |at: usize, _: &str, stream: &mut std::net::TcpStream| match at {
        0 => say(
            stream,
            &format!(
                "HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:{port}/v1/chat/completions\r\nContent-Length: 0\r\n\r\n"
            ),
        ),
        _ => say(stream, &format!("{}{}", whole("yes"), piece("and no"))),
    };
    with_liar(lie, async |mind, _| {
        assert_eq!(mind.say("hello").await.unwrap_err().rule, "mind.rejected");
        assert!(elsewhere.accept().is_err(), "the redirect was followed");
        assert_eq!(mind.say("hello").await.unwrap().1.text, "yes");
    });
}

#[test]
fn mind_connects_to_the_configured_ports_and_the_kernel_stops_every_other() {
    let (granted, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let line = format!("a openai http://127.0.0.1:{}/v1", port(&granted));
    let attempts = |waive: &[metnos_jail::Layer]| {
        let mut out = Vec::new();
        with_mind(settings(std::slice::from_ref(&line), &[]), waive, async |mind: Rc<Lone>| {
            let mut solo = mind.solo.borrow_mut();
            assert!(!waive.is_empty() || solo.ready.lock.contains(&format!("connects {}", port(&granted))));
            for aim in [&granted, &other] {
                out.push(solo.attempt("inet-connect", &port(aim).to_string()).unwrap().0);
            }
        });
        out
    };
    const EACCES: i32 = 13;
    assert_eq!(attempts(&[]), [0, EACCES]);
    // Without that layer nothing of the kernel stands before it.
    assert_eq!(attempts(&[metnos_jail::Layer::Landlock]), [0, 0]);
}

#[test]
fn model_key_exists_only_in_mind_and_header_and_survives_restart() {
    let lie = |_: usize, request: &str, stream: &mut std::net::TcpStream| {
        // A server that repeats the key in everything it says.
        let key =
            request.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap_or("none").to_owned();
        say(stream, &plain("401 No", "", &json!({"error": {"message": format!("bad key {key}")}}).to_string()));
    };
    with_liar(lie, async |mind, liar| {
        give_key(&mind, "a", KEY).await;
        let refused = mind.say("hello").await.unwrap_err();
        assert_eq!(refused.rule, "mind.key");
        let (_, [tested]) = mind.owner.test_model(TraceId::NONE, TestModel { model: "a/m".into() }, []).await.unwrap();
        let (_, [listed]) = mind.owner.list_models(TraceId::NONE, ListModels {}, []).await.unwrap();
        let (_, [scanned]) = mind.owner.scan_models(TraceId::NONE, ScanModels {}, []).await.unwrap();
        assert!(liar.heard()[0].contains(&format!("authorization: Bearer {KEY}")));
        assert!(!liar.heard()[0].split_once("\r\n\r\n").unwrap().1.contains(KEY), "it is in a body");
        let pid = mind.solo.borrow().pid();
        let proc = |name: &str| {
            String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()).into_owned()
        };
        let text = |sealed: &Sealed| String::from_utf8(sealed.read().unwrap()).unwrap();
        let everything = [
            format!("{refused:?}"),
            text(&tested),
            text(&listed),
            text(&scanned),
            mind.solo.borrow().log(),
            proc("environ"),
            proc("cmdline"),
        ];
        for one in &everything {
            assert!(!one.contains(KEY) && !one.contains(&KEY[..14]), "{one}");
        }
        assert!(text(&listed).contains("\"key\":\"owner\""));
        let file = mind.folder().join(".mind/model.a");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{KEY}\n"));
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        give_key(&mind, "a", "").await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
        let before = liar.asked();
        let _refused = mind.say("hello").await.unwrap_err();
        assert!(!liar.heard()[before].contains("authorization"), "it is sent though it was taken away");
        assert!(procfs::alive(pid));
    });
}

#[test]
fn stopped_thought_ends_at_once_and_closes_the_connection() {
    let (gone, seen) = std::sync::mpsc::channel();
    let gone = std::sync::Mutex::new(gone);
    let lie = move |_: usize, _: &str, stream: &mut std::net::TcpStream| {
        let _ = stream.write_all(format!("{STREAM}{}", piece("half a")).as_bytes());
        let mut byte = [0];
        let _ = std::io::Read::read(stream, &mut byte);
        gone.lock().unwrap().send(()).unwrap();
    };
    with_liar(lie, async |mind, _| {
        let turn = mind.turn().await;
        let asked = prompt("hello");
        let thinking = mind.think(turn, 1, &asked);
        let stopping = async {
            let delta = mind.deltas.lock().await.recv().await;
            assert!(delta.is_some());
            let (stopped, []) =
                mind.planner.stop_thinking(TraceId::NONE, StopThinking { turn, thought: 1 }, []).await.unwrap();
            assert!(stopped.was_open);
        };
        let (came, ()) = tokio::join!(thinking, stopping);
        let (thought, reply, _) = came.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("half a", Stop::Stopped));
        assert!(thought.usage.tokens_in > 0 && !thought.usage.counted);
        assert_eq!(mind.told().await.usage, thought.usage);
        assert!(seen.recv_timeout(Duration::from_secs(10)).is_ok(), "the connection stayed open");
        // The end of the turn stops what is under way.
        let turn = mind.turn().await;
        let thinking = mind.think(turn, 1, &asked);
        let ending = async {
            let _delta = mind.deltas.lock().await.recv().await;
            mind.policyd.end_fund(TraceId::NONE, EndFund { turn }, []).await.unwrap()
        };
        let (came, _) = tokio::join!(thinking, ending);
        assert_eq!(came.unwrap().1.stop, Stop::Stopped);
        assert_eq!(mind.think(turn, 2, &asked).await.unwrap_err().rule, "mind.fund");
    });
}

#[test]
fn turn_is_charged_by_price_table_and_unaffordable_thought_is_not_sent() {
    let liar = Liar::start(|_, _, stream| say(stream, &whole("yes")));
    let mut models = settings(&[format!("a openai http://127.0.0.1:{}/v1", liar.port)], &[("interface", &["a/m"])]);
    models.prices =
        vec!["a/m 2020-01-01 1000 2000".into(), "a/m 2021-01-01 100 200".into(), "a/m 2999-01-01 1 1".into()];
    with_mind(models, &[], async |mind: Rc<Lone>| {
        let turn = mind.turn().await;
        let (thought, ..) = mind.think(turn, 1, &prompt("hello")).await.unwrap();
        assert_eq!(thought.usage.micro, 20 * 100 + 5 * 200);
        let fund = |tokens, micro| Fund { turn, tokens, micro, drafts: false };
        let (used, []) = mind.policyd.fund(TraceId::NONE, fund(26, 1_000_000), []).await.unwrap();
        assert_eq!((used.tokens, used.micro), (25, 3_000));
        assert_eq!(mind.think(turn, 2, &prompt("hello")).await.unwrap_err().rule, "mind.fund.tokens");
        let _used = mind.policyd.fund(TraceId::NONE, fund(1_000_000, 3_001), []).await.unwrap();
        let refused = mind.think(turn, 2, &prompt("hello")).await.unwrap_err();
        assert!(refused.rule == "mind.fund.money" && refused.remedy.contains("metnosctl budget"), "{refused:?}");
        assert_eq!(liar.asked(), 1);
    });
}

#[test]
fn fallback_model_is_used_only_if_configured_and_lost_model_is_stale() {
    let there = Liar::start(|_, request, stream| {
        if request.contains("\"model\":\"gone\"") {
            say(
                stream,
                &plain(
                    "404 No",
                    "",
                    "{\"error\":{\"message\":\"The model `gone` does not exist\",\"code\":\"model_not_found\"}}",
                ),
            );
        } else {
            say(stream, &whole("from the second"));
        }
    });
    let line = format!("a openai http://127.0.0.1:{}/v1", there.port);
    let roles: &[(&str, &[&str])] = &[("interface", &["a/gone", "a/second"]), ("fast", &["a/gone"])];
    with_mind(settings(&[line], roles), &[], async |mind: Rc<Lone>| {
        let (thought, reply, _) = mind.say("hello").await.unwrap();
        assert_eq!((thought.model.as_str(), reply.text.as_str()), ("a/second", "from the second"));
        assert_eq!(mind.told().await.model, "a/second");
        let asked = there.asked();
        let turn = mind.turn().await;
        let fast = Think { turn, thought: 1, role: "fast".into(), max_tokens: 10 };
        let refused = came(mind.planner.think(TraceId::NONE, fast, [sealed(&prompt("hello"))]).await).unwrap_err();
        assert_eq!(refused.rule, "mind.stale");
        assert!(refused.remedy.contains("metnosctl models set fast"), "{refused:?}");
        assert_eq!(there.asked(), asked, "what is known to be gone is not asked for");
        let (_, [listed]) = mind.owner.list_models(TraceId::NONE, ListModels {}, []).await.unwrap();
        let listed: Value = serde_json::from_slice(&listed.read().unwrap()).unwrap();
        assert_eq!(listed["roles"][0]["models"][0]["stale"], true);
    });
}

#[test]
fn unlisted_model_is_stale_until_listed_again_without_substitute() {
    let there = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let listed = std::sync::Arc::clone(&there);
    let server = Liar::start(move |_, request, stream| {
        if !request.starts_with("GET ") {
            return say(stream, &whole("yes"));
        }
        let mut models = vec![json!({"id": "other", "object": "model"})];
        if listed.load(std::sync::atomic::Ordering::SeqCst) {
            models.push(json!({"id": "m", "object": "model"}));
        }
        say(stream, &plain("200 OK", "", &json!({"object": "list", "data": models}).to_string()));
    });
    let line = format!("a openai http://127.0.0.1:{}/v1", server.port);
    with_mind(settings(&[line], &[("interface", &["a/m"])]), &[], async |mind: Rc<Lone>| {
        let scan = async || -> Value {
            let (_, [scanned]) = mind.owner.scan_models(TraceId::NONE, ScanModels {}, []).await.unwrap();
            serde_json::from_slice(&scanned.read().unwrap()).unwrap()
        };
        let asked = |server: &Liar| server.heard().iter().filter(|one| one.starts_with("POST ")).count();
        assert_eq!(scan().await["substrates"][0]["stale"], json!([]));
        assert_eq!(mind.say("hello").await.unwrap().0.model, "a/m");
        there.store(false, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(scan().await["substrates"][0]["stale"], json!(["a/m"]));
        let before = asked(&server);
        assert_eq!(mind.say("hello").await.unwrap_err().rule, "mind.stale");
        assert_eq!(asked(&server), before, "another model was asked in its place");
        there.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(scan().await["substrates"][0]["stale"], json!([]));
        assert_eq!(mind.say("hello").await.unwrap().0.model, "a/m");
    });
}

#[test]
fn flooding_planner_does_not_delay_or_read_the_judge() {
    // Whatever the planner asks for hangs; the judge's server is the same.
    let lie = |_: usize, request: &str, stream: &mut std::net::TcpStream| {
        if request.contains("weigh this") {
            say(stream, &whole("0.7"));
        } else {
            let _ = stream.write_all(format!("{STREAM}{}", piece("never done")).as_bytes());
            std::thread::sleep(Duration::from_secs(60));
        }
    };
    let liar = Liar::start(lie);
    let line = format!("a openai http://127.0.0.1:{}/v1", liar.port);
    let mut models = settings(&[line], &[("interface", &["a/m"]), ("judge", &["a/m"])]);
    models.between_seconds = 60;
    with_mind(models, &[], async |mind: Rc<Lone>| {
        let mut floods = Vec::new();
        for _ in 0..8 {
            let turn = mind.turn().await;
            for thought in 1..=8 {
                let mind = Rc::clone(&mind);
                floods.push(tokio::task::spawn_local(async move { mind.think(turn, thought, &prompt("flood")).await }));
            }
        }
        // Every place of the planner at that server is taken.
        metnos_tests::until("a flood", Duration::from_secs(20), || (liar.asked() >= 16).then_some(()));
        let _first = mind.deltas.lock().await.recv().await;
        let judging = mind.policyd.judge(TraceId::NONE, Judge { max_tokens: 20 }, [sealed(&prompt("weigh this"))]);
        let judged =
            tokio::time::timeout(Duration::from_secs(10), judging).await.expect("the judge waits behind the planner");
        assert_eq!(came(judged).unwrap().1.text, "0.7");
        assert!(!mind.said_on_the_way().contains("0.7"), "the planner hears the judge");
        floods.drain(..).for_each(|flood| flood.abort());
    });
}
