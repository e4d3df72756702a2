//! What a person keeps for himself: the private folder, which policyd names to nobody else and sandboxd shows to no other call,
//! whoever asks, the owner among them.

use metnos_tests::http::{Web, said};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::Emulator;
use serde_json::Value;

const GIFT: &str = "a ring for the anniversary";

/// What a configuration has for pages.
pub(crate) const HTTP: &str = "[http]\nlisten = \"127.0.0.1:0\"\n";

/// A household: Marta owns the machine; the others speak on pages of their own.
pub(crate) struct House {
    pub(crate) set: Instance,
    pub(crate) marco: Web,
    pub(crate) luca: Web,
    pub(crate) rosa: Web,
}

impl House {
    pub(crate) fn new() -> Self {
        Self::of(Plan::new().config(HTTP).start())
    }

    /// The same in a set that serves HTTP.
    pub(crate) fn of(set: Instance) -> Self {
        set.is_grown();
        assert_eq!(set.json(&["people", "add", "Marta", "--role", "owner"]).0, 0);
        let web = Web::of(&set);
        let person = |name: &str, role: &str| {
            let paired = web.paired(&set, "guest");
            let (_, all) = set.json(&["pairing", "list"]);
            let known = all["known"].as_array().cloned().unwrap_or_default();
            let nobody = |one: &&Value| one["person"].as_str().unwrap_or_default().is_empty();
            let principals = known.iter().filter(nobody).filter_map(|one| one["principal"].as_str());
            let principal = principals.filter(|name| name.starts_with("http:")).find(|name| {
                let (_, people) = set.json(&["people", "list"]);
                !people.to_string().contains(*name)
            });
            let principal = principal.unwrap_or_else(|| panic!("{all:#}"));
            assert_eq!(set.json(&["people", "add", name, "--role", role]).0, 0);
            let (code, joined) = set.json(&["people", "join", name, principal]);
            assert_eq!(code, 0, "{joined:#}");
            paired
        };
        let (marco, luca, rosa) = (person("Marco", "adult"), person("Luca", "child"), person("Rosa", "guest"));
        Self { set, marco, luca, rosa }
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.set.workspace(path)).unwrap_or_default()
    }
}

/// What a person is answered.
type Says<'a> = &'a dyn Fn(&str) -> String;

fn ask(who: &Web, words: &str) -> String {
    said(&who.say(words).until("done"))
}

#[test]
fn a_note_is_the_persons_own_unless_it_is_for_everybody() {
    let house = House::new();
    let (set, marco) = (&house.set, &house.marco);
    let told = ask(marco, &format!("note that I ordered {GIFT}"));
    assert!(told.contains("for you alone"), "{told}");
    assert!(house.text("people/marco/notes.md").contains(GIFT), "{told}");
    assert!(!set.workspace("notes/notes.md").exists());
    let told = ask(marco, "annota per tutti che lunedì viene l'idraulico");
    assert!(!told.contains("solo per te") && house.text("notes/notes.md").contains("l'idraulico"), "{told}");
    let told = set.ask("note that the tax return is due");
    assert!(told.contains("for you alone") && house.text("people/marta/notes.md").contains("tax return"), "{told}");
    // Each reads what is the household's, and what is the own.
    for (mine, everybodys, others) in [
        (ask(marco, "what did I note today"), "l'idraulico", "tax return"),
        (set.ask("cosa ho annotato oggi?"), "l'idraulico", GIFT),
    ] {
        assert!(mine.contains(everybodys) && !mine.contains(others), "{mine}");
    }
    assert!(ask(marco, "what did I note about the anniversary").contains(GIFT));
    // Neither does what is kept for taking it back hold a word for others.
    let hidden = set.run("text_search", &["pattern=ring", "hidden=true"]).1.to_string();
    assert!(!hidden.contains(GIFT) && !hidden.contains("people/marco"), "{hidden}");
    // Taken back one after the other, each from the notebook where it stands.
    let _ = ask(marco, "annulla");
    assert!(!house.text("notes/notes.md").contains("l'idraulico"));
    assert!(house.text("people/marco/notes.md").contains(GIFT));
    let _ = ask(marco, "undo");
    assert!(!house.text("people/marco/notes.md").contains(GIFT));
    assert!(house.text("people/marta/notes.md").contains("tax return"), "what is another's stays");
    set.verify();
}

#[test]
fn nobody_else_is_shown_a_private_folder_in_any_way() {
    let house = House::new();
    let (set, marco) = (&house.set, &house.marco);
    for (who, text) in [("marco", GIFT), ("marta", "my diary of anger"), ("luca", "I failed the test")] {
        std::fs::create_dir_all(set.workspace(&format!("people/{who}"))).unwrap();
        std::fs::write(set.workspace(&format!("people/{who}/diary.md")), format!("# Diary\n\n{text}\n")).unwrap();
    }
    let owner = |words: &str| {
        let output = set.ctl(&["ask", words]);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let (page, child, guest) =
        (|words: &str| ask(marco, words), |words: &str| ask(&house.luca, words), |words: &str| ask(&house.rosa, words));
    let all: [(&str, Says<'_>, &str); 4] = [
        ("marta", &owner, "diary of anger"),
        ("marco", &page, GIFT),
        ("luca", &child, "failed the test"),
        ("", &guest, "-"),
    ];
    let secrets = ["diary of anger", GIFT, "failed the test"];
    for (me, says, mine) in all {
        let mut words = vec![
            "read diary.md".to_owned(),
            "read the diary".to_owned(),
            "find ring in my notes".to_owned(),
            "where did I write about anger".to_owned(),
            "which note mentions the test".to_owned(),
            "search for \"ring\" in people".to_owned(),
            "dove ho scritto della rabbia".to_owned(),
            "find files called diary.md".to_owned(),
            "what is in the folder people".to_owned(),
            "what files are in people".to_owned(),
            "how many files are there".to_owned(),
            "undo".to_owned(),
        ];
        for folder in ["marta", "marco", "luca"] {
            for form in [
                "read people/{}/diary.md",
                "leggi people/{}/diary.md",
                "list people/{}",
                "delete people/{}/diary.md",
                "how many words are in people/{}/diary.md",
                "rename people/{}/diary.md to stolen.md",
                "add milk to people/{}/diary.md",
                "write people/{}/new.md: hello",
            ] {
                if folder != me {
                    words.push(form.replace("{}", folder));
                }
            }
        }
        for words in words {
            let told = says(&words);
            let read: Vec<&&str> = secrets.iter().filter(|one| **one != mine && told.contains(**one)).collect();
            assert!(read.is_empty(), "{me}: {words}: {told}");
        }
        if !me.is_empty() {
            let told = says(&format!("read people/{me}/diary.md"));
            assert!(told.contains(mine), "{me}: {told}");
        }
    }
    // The owner's own calls, argument by argument.
    let found = |executor: &str, pairs: &[&str]| set.run(executor, pairs).1.to_string();
    let searched = found("text_search", &["pattern=ring"]) + &found("text_search", &["pattern=anger"]);
    assert!(searched.contains("diary of anger") && !searched.contains(GIFT), "{searched}");
    let listed = found("fs_find", &["name=diary.md"]);
    assert!(listed.contains("people/marta/diary.md") && !listed.contains("marco"), "{listed}");
    let counted = found("fs_count", &["path=people"]) + &found("fs_list", &["path=people"]);
    assert!(!counted.contains("diary of") && !counted.contains("marco/diary.md"), "{counted}");
    let read = found("fs_read", &["path=people/marco/diary.md"]);
    assert!(read.contains("people.private") && !read.contains(GIFT), "{read}");
    for who in ["marta", "marco", "luca"] {
        let names: Vec<_> = std::fs::read_dir(set.workspace(&format!("people/{who}"))).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{who}: nothing was added and nothing taken away: {names:?}");
    }
    let (_, cards) = set.json(&["approval", "list"]);
    assert!(!cards.to_string().contains("people/"), "nobody is asked about it: {cards:#}");
    set.verify();
}

#[test]
fn a_file_that_a_person_sends_goes_to_the_own_folder_and_to_nobody_else() {
    const MARTA: i64 = 5_001;
    const MARCO: i64 = 5_002;
    let server = Emulator::start();
    let set = Plan::new().config(&server.config()).start();
    set.is_grown();
    server.serves(&set);
    server.settled();
    for (who, standing, name, role) in [(MARTA, "owner", "Marta", "owner"), (MARCO, "guest", "Marco", "adult")] {
        server.knows(&set, who, standing);
        server.told(who, "The code was good");
        assert_eq!(set.json(&["people", "add", name, "--role", role]).0, 0);
        assert_eq!(set.json(&["people", "join", name, &format!("telegram:{who}")]).0, 0);
    }
    server.send_file(MARCO, "contract.pdf", b"signed by Marco", "", None);
    server.told(MARCO, "Kept as people/marco/inbox/contract.pdf");
    assert_eq!(std::fs::read(set.workspace("people/marco/inbox/contract.pdf")).unwrap(), b"signed by Marco");
    assert!(!set.workspace("inbox").exists());
    server.say(MARTA, "/file people/marco/inbox/contract.pdf");
    let told = server.told(MARTA, "private folder");
    assert!(told.file.is_none(), "{told:?}");
    server.say(MARCO, "/file people/marco/inbox/contract.pdf");
    let (chat, bytes) =
        server.until("the file", |state| state.messages.iter().find_map(|one| Some((one.chat, one.file.clone()?.1))));
    assert_eq!((chat, bytes.as_slice()), (MARCO, b"signed by Marco".as_slice()));
    server.say(MARCO, "/undo");
    server.told(MARCO, "is taken out of the inbox again");
    assert!(!set.workspace("people/marco/inbox/contract.pdf").exists());
    set.verify();
}

#[test]
fn owner_reads_along_only_by_a_rite_that_the_person_hears_of() {
    const DIARY: &str = "quarrel with the neighbour about the hedge";
    let house = House::new();
    let (set, marco) = (&house.set, &house.marco);
    assert!(!ask(marco, &format!("note that I had a {DIARY}")).is_empty());
    assert!(ask(marco, "remind me tomorrow at 9 to buy hedge shears").contains("9:00"));
    let own = set.ask("remind me tomorrow at 10 to call grandma");
    assert!(own.contains("10:00"), "{own}");
    let (_, people) = set.json(&["people", "show", "Marco"]);
    let principal = people["principals"][0].as_str().unwrap().to_owned();
    let views = |set: &Instance| {
        let views = [
            vec!["audit", "tail", "-n", "500"],
            vec!["audit", "search", "hedge", "-n", "500"],
            vec!["audit", "search", "--peer", &principal, "-n", "500"],
            vec!["schedule", "list"],
            vec!["schedule", "show", "1"],
            vec!["memory", "late", "--peer", &principal],
            vec!["memory", "search", "hedge", "--peer", &principal],
            vec!["audit", "export"],
            vec!["undo", "list", "--json"],
        ];
        let shown = |view: &Vec<&str>| {
            let output = set.ctl(view);
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        views.iter().map(|view| (view.join(" "), shown(view))).collect::<Vec<_>>()
    };
    for (view, shown) in views(set) {
        assert!(!shown.contains("hedge"), "{view}: {shown}");
        assert!(!view.starts_with("undo") || shown.contains("note_add") && !shown.contains("people/marco"), "{shown}");
        // One's own is there.
        if view.contains("tail") || view == "schedule list" {
            assert!(shown.contains("call grandma"), "{view}: {shown}");
        }
    }
    let (code, lines) = set.json(&["audit", "search", "--peer", &principal, "-n", "500"]);
    let added = lines.as_array().unwrap().iter().find(|line| line["event_type"] == "run_ended");
    let added = added.unwrap_or_else(|| panic!("{code}: {lines:#}"));
    assert_eq!(added["payload"]["sealed"]["shown"]["executor"], "note_add", "{added:#}");
    // Nobody is read in secret: without a reason, or where nobody hears of it.
    assert_eq!(set.json(&["people", "add", "Carla", "--role", "child"]).0, 0);
    for refused in [
        ["seal", "break", "Carla", "--reason", "x"],
        ["seal", "break", "Marta", "--reason", "x"],
        ["seal", "break", "Marco", "--reason", " "],
    ] {
        assert_ne!(set.json(&refused).0, 0, "{refused:?}");
    }
    assert!(!set.json(&["audit", "tail", "-n", "500"]).1.to_string().contains("hedge"));
    let (code, seals) = set.json(&["seal", "break", "Marco", "--reason", "he is missing"]);
    assert_eq!(
        (code, &seals[0]["who"], &seals[0]["principals"][0]),
        (0, &"Marco".into(), &principal.as_str().into()),
        "{seals:#}"
    );
    // What tells him is not taken back.
    let (_, all) = set.json(&["schedule", "list"]);
    let message = all.as_array().unwrap().iter().find(|one| one["kind"] == "message");
    let number = message.unwrap_or_else(|| panic!("{all:#}"))["number"].to_string();
    assert_ne!(set.json(&["schedule", "cancel", &number]).0, 0);
    for (view, shown) in views(set) {
        if view.starts_with("undo") {
            assert!(shown.contains("people/marco"), "{shown}");
            continue;
        }
        let withheld = view == "audit search hedge -n 500" && !shown.contains("hedge");
        assert!(!withheld && (shown.contains("hedge") || !shown.contains("sealed")), "{view}: {shown}");
    }
    let told = ask(marco, "hello");
    assert!(
        told.contains("The owner of this house reads") && told.contains("He is missing")
            || told.contains("he is missing"),
        "{told}"
    );
    assert_eq!(set.json(&["seal", "close", "Marco"]).1, serde_json::json!([]));
    for (view, shown) in views(set) {
        assert!(!shown.contains("hedge"), "{view}: {shown}");
    }
    let (_, record) = set.json(&["audit", "search", "seal_broken"]);
    assert!(record.to_string().contains("he is missing"), "{record:#}");
    set.verify();
}

#[test]
fn what_a_person_said_is_found_and_forgotten_by_that_person_alone() {
    let house = House::new();
    let (set, marco) = (&house.set, &house.marco);
    let _ = set.ctl(&["ask", "my heron is called Ferdinando"]);
    let _ = ask(marco, "my heron is called Gustavo");
    let marta = Web::of(set).paired_person(set, "Marta", "owner");
    let _ = ask(&marta, "what is planned");
    let found = |web: &Web, query: &str| {
        let reply = web.get(&format!("/v1/memory{query}"));
        assert_eq!(reply.status, 200, "{query}: {reply:?}");
        let turns = reply.json()["turns"].as_array().cloned().unwrap_or_default();
        turns
            .iter()
            .map(|one| ["turn", "channel", "said"].map(|name| one[name].as_str().unwrap_or_default().to_owned()))
            .collect::<Vec<_>>()
    };
    // On every channel of hers, the newest first; by the beginnings of words, in any writing.
    let all = found(&marta, "");
    let channels: Vec<&str> = all.iter().map(|[_, channel, _]| channel.as_str()).collect();
    assert!(channels.first() == Some(&"http") && channels.contains(&"cli"), "{all:?}");
    let heron = found(&marta, "?words=HERON+ferd&limit=10");
    assert!(
        matches!(heron.as_slice(), [[_, channel, said]] if channel == "cli" && said.contains("Ferdinando")),
        "{heron:?}"
    );
    assert_eq!(found(&marta, "?words=gustavo"), Vec::<[String; 3]>::new());
    assert_eq!(found(&house.rosa, "?words=heron"), Vec::<[String; 3]>::new());
    assert_eq!(found(marco, "?words=heron").len(), 1);
    for odd in ["?words=a&words=b", "?word=a", &format!("?words={}", "x".repeat(201))] {
        assert_eq!(marta.get(&format!("/v1/memory{odd}")).status, 400, "{odd}");
    }
    // Forgotten by herself alone, wherever she said it.
    let path = format!("/v1/turns/{}/words", heron[0][0]);
    for other in [marco, &house.luca, &house.rosa] {
        assert_eq!(other.ask("DELETE", &path, "").status, 404);
    }
    assert_eq!(found(&marta, "?words=heron").len(), 1);
    assert_eq!(marta.ask("DELETE", &path, "").status, 200);
    assert_eq!(found(&marta, "?words=heron"), Vec::<[String; 3]>::new());
    let everywhere: String = set.chronicle().iter().map(metnos_tests::chronicle::Line::to_text).collect();
    assert!(!everywhere.contains("Ferdinando") && everywhere.contains("Gustavo"));
    let output = set.ctl(&["ask", "what did I tell you about the heron?"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("Ferdinando"), "{output:?}");
    set.verify();
}
