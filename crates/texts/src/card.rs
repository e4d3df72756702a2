//! A card: what waits for a person's word, as people see it. This is the one design of an approval (design: policy §4):
//! what, on what, how many, from where, whether there is a way back, what it costs, why it is asked and who may answer.
//! The terminal, HTTP and Telegram show these parts and make none of their own. Purely; nothing is decided here.

use metnos_proto::doc::card::{ActView, CardView, DECLINED, HabitOffer, PLANNED, TouchCount};
use metnos_proto::msg::common::Lang;
use serde_json::Value;

use crate::plain::{line, value, whole};
use crate::{Key, say, tell};

/// What a part of a card says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The executor, and what kind of effect it has.
    What,
    /// An argument.
    OnWhat,
    /// How much it would touch, as counted before.
    HowMany,
    /// Where an argument came from.
    From,
    /// Whether it can be taken back.
    WayBack,
    /// What it costs.
    Cost,
    /// Why it is asked.
    Why,
    /// Who may answer, and where.
    Who,
}

impl Field {
    /// All of them, in the order in which a card shows them.
    pub const ALL: [Self; 8] =
        [Self::What, Self::OnWhat, Self::HowMany, Self::From, Self::WayBack, Self::Cost, Self::Why, Self::Who];

    /// Its name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::What => "what",
            Self::OnWhat => "on_what",
            Self::HowMany => "how_many",
            Self::From => "from",
            Self::WayBack => "way_back",
            Self::Cost => "cost",
            Self::Why => "why",
            Self::Who => "who",
        }
    }

    const fn label(self) -> Key {
        match self {
            Self::What => Key::CardWhat,
            Self::OnWhat => Key::CardOnWhat,
            Self::HowMany => Key::CardHowMany,
            Self::From => Key::CardWhereFrom,
            Self::WayBack => Key::CardWayBack,
            Self::Cost => Key::CardCost,
            Self::Why => Key::CardWhy,
            Self::Who => Key::CardWho,
        }
    }
}

/// One line of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it says.
    pub field: Field,
    /// Of which act, counted from 1; 0 for what is said of all of them.
    pub act: usize,
    /// What stands before it.
    pub label: String,
    /// What it says, on one line. Others' text stands in it.
    pub text: String,
}

/// A card as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Face {
    /// Its name.
    pub id: String,
    /// The question.
    pub asks: String,
    /// How it stands, in words; empty where that is not shown.
    pub state: String,
    /// How many acts it has.
    pub acts: usize,
    /// Its lines. None when it is too long to be shown on a channel: `too_long` says so then.
    pub parts: Vec<Part>,
    /// What is said in the place of the parts, where there are none.
    pub too_long: String,
    /// Whether an answer counts where it is shown.
    pub answerable: bool,
}

/// The language that a card is to be shown in, as policyd says.
#[must_use]
pub fn lang(shown: Option<&CardView>) -> Lang {
    shown.map_or(Lang::En, |card| card.lang.into())
}

/// Money of the budget in its whole units, without needless noughts.
#[must_use]
pub fn money(micro: u64) -> String {
    let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    let short = text.trim_end_matches('0');
    let cents = text.len() - 4;
    text[..short.len().max(cents)].to_owned()
}

/// The card `id` as policyd shows it, in parts. What could not be put into a note is said to stand at the machine.
#[must_use]
pub fn face(shown: Option<&CardView>, id: &str, lang: Lang) -> Face {
    let acts = shown.map_or(&[][..], |card| card.acts.as_slice());
    let state = shown.map(|card| tell(lang, Key::CardState, &[("state", card.state.name().into())]));
    let mut face = Face {
        id: line(id, lang),
        asks: say(lang, Key::CardAsks),
        state: state.unwrap_or_default(),
        acts: acts.len(),
        parts: Vec::new(),
        too_long: String::new(),
        answerable: shown.is_some_and(|card| !card.hard && card.here != Some(false)),
    };
    if let Some(offer) = shown.and_then(|card| card.offer.as_ref()) {
        face.asks = say(lang, Key::OfferAsks);
        face.parts = of_offer(offer, lang);
        return face;
    }
    let Some(card) = shown.filter(|card| !card.acts.is_empty()) else {
        face.too_long = tell(lang, Key::CardTooLong, &[("card", id.into())]);
        return face;
    };
    for (act, number) in acts.iter().zip(1..) {
        of_act(&mut face.parts, act, number, lang);
    }
    let asked = card.person.as_ref().unwrap_or(&card.principal);
    let principal = value(&Value::from(asked.as_str()), lang);
    let who = if card.others == Some(true) {
        tell(lang, Key::CardOthers, &[("principal", (&principal).into())])
    } else if !card.hard {
        tell(lang, Key::CardWhoAsked, &[("principal", (&principal).into())])
    } else {
        tell(lang, Key::CardAtTheMachine, &[("card", id.into())])
    };
    face.parts.push(Part { field: Field::Who, act: 0, label: say(lang, Field::Who.label()), text: who });
    face
}

/// What is offered, why, and how it ends.
fn of_offer(offer: &HabitOffer, lang: Lang) -> Vec<Part> {
    let what = [("what", line(&offer.what, lang)), ("when", line(&offer.when, lang))];
    let what = what.each_ref().map(|(name, text)| (*name, text.into()));
    let time = line(&offer.time, lang);
    let why = [("days", u64::from(offer.days).into()), ("time", (&time).into())];
    let parts = [
        (Field::What, tell(lang, Key::OfferWhat, &what)),
        (Field::Why, tell(lang, Key::OfferWhy, &why)),
        (Field::WayBack, say(lang, Key::OfferWayBack)),
    ];
    parts.map(|(field, text)| Part { field, act: 0, label: say(lang, field.label()), text }).into()
}

fn of_act(parts: &mut Vec<Part>, act: &ActView, number: usize, lang: Lang) {
    let mut part = |field: Field, text: String| {
        parts.push(Part { field, act: number, label: say(lang, field.label()), text });
    };
    let does = does(&act.executor, lang);
    let named = |key: &str| named(key, does.is_some(), lang);
    let class = || tell(lang, Key::CardClass, &[("class", (&act.class).into())]);
    let executor = format!("{} {}", line(&act.executor, lang), line(&act.version, lang));
    part(Field::What, format!("{} ({executor})", does.clone().unwrap_or_else(class)));
    match act.arguments.as_object() {
        Some(arguments) if arguments.is_empty() && act.targets.is_empty() => {
            part(Field::OnWhat, say(lang, Key::CardNoArguments));
        }
        Some(arguments) => {
            for (key, value) in arguments {
                part(Field::OnWhat, format!("{}: {}", named(key), on_what(act, key, value, lang)));
            }
            // What lies deeper, and what the executor takes where nothing was given.
            let is_shown = |pointer: &str| pointer.strip_prefix('/').is_some_and(|key| arguments.contains_key(key));
            for target in act.targets.iter().filter(|target| !is_shown(&target.pointer)) {
                part(Field::OnWhat, format!("{}: {}", named(&target.pointer), line(&target.path, lang)));
            }
        }
        None => part(Field::OnWhat, value(&act.arguments, lang)),
    }
    part(
        Field::HowMany,
        match act.count {
            Some(TouchCount { files, folders, covered, .. }) => {
                let key = if covered == 0 { Key::CardTouches } else { Key::CardTouchesAtLeast };
                let all = [("files", files.into()), ("folders", folders.into()), ("covered", covered.into())];
                tell(lang, key, if covered == 0 { &all[..2] } else { &all })
            }
            None => say(lang, Key::CardNotCounted),
        },
    );
    for field in &act.fields {
        let source = tell(lang, Key::CardSource, &[("source", (&line(&field.source, lang)).into())]);
        let label = tell(lang, Key::CardLabel, &[("label", (&line(&field.label, lang)).into())]);
        part(Field::From, format!("{}: {source} ({label})", named(&field.pointer)));
    }
    let way_back = if act.reversible { Key::CardReversible } else { Key::CardIrreversible };
    part(Field::WayBack, say(lang, way_back));
    let cost = act.cost_micro;
    part(Field::Cost, if cost == 0 { say(lang, Key::CardCostNothing) } else { money(cost) });
    part(Field::Why, reason(act, lang));
}

/// What an executor of the release does, in words; `None` for any other one.
fn does(executor: &str, lang: Lang) -> Option<String> {
    let told = tell(lang, Key::CardDoes, &[("executor", executor.into())]);
    (told != executor).then_some(told)
}

/// The name of an argument, in quotes where it could be taken for more than a name. Those of the release have words for it.
fn named(key: &str, is_shipped: bool, lang: Lang) -> String {
    let key = key.trim_start_matches('/');
    if is_shipped && !key.contains(['/', ':', '"', ' ']) {
        return line(&tell(lang, Key::CardArgument, &[("name", key.into())]), lang);
    }
    if key.is_empty() || key.contains([':', '"', ' ']) {
        line(&Value::from(key).to_string(), lang)
    } else {
        line(key, lang)
    }
}

/// Whether what such an act passes on leaves the house: then its card shows all of it.
#[must_use]
pub fn leaves(class: &str) -> bool {
    matches!(class, "send" | "share" | "publish")
}

/// An argument as it is shown: of a path, where it leads, and behind that how it was written.
fn on_what(act: &ActView, key: &str, value: &Value, lang: Lang) -> String {
    let written = if leaves(&act.class) { whole(value, lang) } else { crate::plain::value(value, lang) };
    let meant = act.targets.iter().find(|target| target.pointer.strip_prefix('/') == Some(key));
    match meant {
        Some(target) => {
            let written = tell(lang, Key::CardWritten, &[("text", (&written).into())]);
            format!("{} ⟨{written}⟩", line(&target.path, lang))
        }
        None => written,
    }
}

/// Why it is asked: as the language has it for that rule, else in policyd's own words.
fn reason(act: &ActView, lang: Lang) -> String {
    let rule = act.rule.replace('.', "-");
    let known = tell(lang, Key::CardReason, &[("rule", (&rule).into())]);
    if known == rule { line(&act.why, lang) } else { known }
}

/// What became of a card, in a line.
#[must_use]
pub fn settled(lang: Lang, state: &str, by: &str, ran: u32) -> String {
    if state == PLANNED {
        say(lang, Key::OfferPlanned)
    } else if state == DECLINED {
        say(lang, Key::OfferDeclined)
    } else if state == "approved" {
        tell(lang, Key::CardApproved, &[("by", by.into()), ("ran", u64::from(ran).into())])
    } else {
        tell(lang, Key::CardDenied, &[("by", by.into())])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// The face of a card that came as this document.
    fn face_of(shown: &Value, id: &str, lang: Lang) -> Face {
        let card: CardView = serde_json::from_value(shown.clone()).unwrap();
        face(Some(&card), id, lang)
    }

    fn shown() -> Value {
        json!({"id": "abcd-efgh", "turn": "T", "made_ms": 1, "expires_ms": 2, "digest": "d", "answered_by": "", "begun": 0,
            "lang": "en", "hard": false, "state": "waiting", "principal": "telegram:5", "acts": [{
            "executor": "fs_delete", "version": "2.0.0", "class": "destroy", "rule": "destroy.many",
            "arguments": {"path": "old & <b>tired</b>\u{1b}[2J", "folder": true},
            "fields": [{"pointer": "/path", "role": "path", "label": "untrusted", "source": "result"}],
            "count": {"files": 681, "folders": 3, "bytes": 9, "covered": 0}, "reversible": true, "why": "it may be many",
            "cost_micro": 250_000, "signed": [], "targets": [], "always": null,
        }]})
    }

    #[test]
    fn offer_shows_what_why_and_how_it_ends_and_nothing_that_a_terminal_obeys() {
        let offer = json!({
            "what": "what's on the list\u{1b}[2J", "when": "every day at 7:30", "time": "7:30", "days": 5, "lang": "en",
        });
        let mut card = shown();
        (card["acts"], card["offer"]) = (json!([]), offer);
        for (lang, what) in [
            (Lang::En, "“what's on the list⟨U+001B⟩[2J”, every day at 7:30"),
            (Lang::It, "«what's on the list⟨U+001B⟩[2J», every day at 7:30"),
        ] {
            let face = face_of(&card, "abcd-efgh", lang);
            let fields: Vec<Field> = face.parts.iter().map(|part| part.field).collect();
            assert_eq!(fields, [Field::What, Field::Why, Field::WayBack]);
            assert_eq!((face.parts[0].text.as_str(), face.too_long.as_str()), (what, ""));
            assert!(face.parts[1].text.contains("7:30") && face.parts[1].text.contains('5'), "{}", face.parts[1].text);
            assert_ne!(settled(lang, PLANNED, "", 0), settled(lang, DECLINED, "", 0));
        }
    }

    #[test]
    fn card_shows_all_fields_in_same_order_in_both_languages() {
        for lang in [Lang::En, Lang::It] {
            let face = face_of(&shown(), "abcd-efgh", lang);
            let mut fields: Vec<Field> = face.parts.iter().map(|part| part.field).collect();
            fields.dedup();
            assert_eq!(fields, Field::ALL);
            assert!(face.parts.iter().all(|part| !part.label.is_empty() && !part.text.is_empty()));
            assert!(face.parts.iter().all(|part| !part.text.chars().any(char::is_control)));
            assert!(face.answerable);
        }
        let text = |lang, field| {
            let face = face_of(&shown(), "abcd-efgh", lang);
            face.parts.into_iter().find(|part| part.field == field).map(|part| part.text).unwrap_or_default()
        };
        assert_eq!(text(Lang::En, Field::What), "moves something to the trash (fs_delete 2.0.0)");
        assert_eq!(text(Lang::It, Field::HowMany), "681 file in 3 cartelle");
        let least = |lang| {
            let mut some = shown();
            some["acts"][0]["count"]["covered"] = json!(1);
            let face = face_of(&some, "abcd-efgh", lang);
            face.parts.into_iter().find(|part| part.field == Field::HowMany).map(|part| part.text).unwrap_or_default()
        };
        assert_eq!(
            least(Lang::En),
            "at least 681 files in 3 folders; what is in 1 folder that I may not look into is not counted"
        );
        assert!(least(Lang::It).starts_with("almeno 681 file in 3 cartelle; "));
        assert_eq!(text(Lang::En, Field::Cost), "0.25");
        assert_eq!(text(Lang::En, Field::Why), "it may remove more than one thing at once");
        assert_eq!(text(Lang::It, Field::Why), "può togliere più di una cosa alla volta");
        assert_eq!(
            text(Lang::En, Field::From),
            "file: a part of something that was read (from a source that is not trusted)"
        );
    }

    #[test]
    fn card_not_answerable_here_names_the_command_that_shows_it() {
        let mut hard = shown();
        hard["hard"] = json!(true);
        let it = face_of(&hard, "a-b", Lang::It);
        assert!(!it.answerable && it.parts.last().is_some_and(|part| part.text.contains("approval show a-b")));
        let mut elsewhere = shown();
        elsewhere["here"] = json!(false);
        assert!(!face_of(&elsewhere, "a-b", Lang::En).answerable);
        let cut = face(None, "a-b", Lang::En);
        assert!(cut.parts.is_empty() && cut.too_long.contains("approval show a-b") && !cut.answerable);
    }

    #[test]
    fn what_leaves_the_house_is_shown_whole_and_the_rest_by_its_ends() {
        let text = format!("{} the code is 1234 {}", "dear Anna ".repeat(150), "yours ".repeat(300));
        let of = |class: &str| {
            let mut one = shown();
            one["acts"][0]["class"] = json!(class);
            one["acts"][0]["arguments"] = json!({ "body": text });
            let parts = face_of(&one, "abcd-efgh", Lang::En).parts;
            parts.into_iter().any(|part| part.field == Field::OnWhat && part.text.contains("the code is 1234"))
        };
        assert!(of("send") && of("share") && of("publish"));
        assert!(!of("self_modify"));
    }

    #[test]
    fn a_path_is_shown_as_it_is_meant_and_both_ends_of_a_move() {
        let mut move_it = shown();
        move_it["acts"][0]["arguments"] = json!({"path": "a/./../b.md", "to": "x/./c.md", "folder": false});
        move_it["acts"][0]["targets"] =
            json!([{"pointer": "/path", "path": "b.md"}, {"pointer": "/to", "path": "x/c.md"}]);
        let face = face_of(&move_it, "abcd-efgh", Lang::En);
        let on: Vec<&str> =
            face.parts.iter().filter(|part| part.field == Field::OnWhat).map(|part| part.text.as_str()).collect();
        assert_eq!(
            on,
            ["a whole folder: false", "file: b.md ⟨written a/./../b.md⟩", "new name: x/c.md ⟨written x/./c.md⟩"]
        );
    }

    #[test]
    fn a_path_that_an_executor_takes_by_itself_stands_on_the_card() {
        for arguments in [json!({"text": "milk"}), json!({})] {
            let mut note = shown();
            note["acts"][0]["arguments"] = arguments;
            note["acts"][0]["targets"] = json!([{"pointer": "/path", "path": "notes/notes.md"}]);
            let face = face_of(&note, "abcd-efgh", Lang::En);
            let on: Vec<&str> =
                face.parts.iter().filter(|part| part.field == Field::OnWhat).map(|part| part.text.as_str()).collect();
            assert_eq!(on.last(), Some(&"file: notes/notes.md"), "{on:?}");
        }
    }

    #[test]
    fn shipped_executors_with_effects_and_their_arguments_have_words() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../executors");
        let mut described = 0;
        for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
            let name = entry.file_name().into_string().unwrap();
            let Ok(manifest) = std::fs::read_to_string(entry.path().join("manifest.toml")) else { continue };
            for lang in [Lang::En, Lang::It] {
                let has_effects = manifest.contains("side_effects = true");
                assert!(!has_effects || does(&name, lang).is_some(), "{name} has no words on a card");
                let Some(_) = does(&name, lang) else { continue };
                described += 1;
                let schema = std::fs::read_to_string(entry.path().join("schema.json")).unwrap();
                let schema: Value = serde_json::from_str(&schema).unwrap();
                let keys = schema["definitions"]["Input"]["properties"].as_object().unwrap();
                let names: Vec<String> = keys.keys().map(|key| named(key, true, lang)).collect();
                let differ: std::collections::BTreeSet<&String> = names.iter().collect();
                assert_eq!(differ.len(), names.len(), "{name}: {names:?}");
                assert!(keys.keys().zip(&names).all(|(key, name)| key != name || key == "file"), "{name}: {names:?}");
            }
        }
        assert!(described > 12, "{described}");
        let mut other = shown();
        other["acts"][0]["executor"] = json!("pool_clean");
        let face = face_of(&other, "abcd-efgh", Lang::En);
        assert_eq!(face.parts[0].text, "removes something (pool_clean 2.0.0)");
        assert!(face.parts.iter().any(|part| part.text.starts_with("path: old")));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let odd = "[a b\u{200b}\u{ad}\u{202e}\u{430}\u{43e}o./⟨⟩U+0\"\t]{0,8}";
        let text = prop_oneof![
            odd,
            "\\PC{0,12}",
            "[./a]{290,330}",
            "https://h\\.example/\\?token=[ab]{1,3}",
            "true|null|1|\\[\\]"
        ];
        prop_oneof![
            text.prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            any::<u8>().prop_map(Value::from),
            Just(json!([])),
            Just(json!(["a b"]))
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn two_acts_that_differ_are_never_shown_alike(one in any_value(), other in any_value(), cut in 0usize..12, put in "[ \u{200b}\u{ad}\t\u{2060}]{1,2}") {
            let shown = |value: &Value| {
                let mut card = shown();
                card["acts"][0]["arguments"] = json!({ "path": value });
                face_of(&card, "abcd-efgh", Lang::En)
            };
            prop_assert!(one == other || shown(&one) != shown(&other), "{} and {}", one, other);
            // Nor when nothing but what is not seen was put into it.
            if let Some(text) = one.as_str() {
                let at = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
                let twin = json!(format!("{}{put}{}", &text[..at], &text[at..]));
                prop_assert!(shown(&one) != shown(&twin), "{} and {}", one, twin);
                let seen = |card: &Face| -> String { card.parts.iter().flat_map(|part| part.text.chars()).filter(|c| !c.is_whitespace() && !"\u{200b}\u{ad}\u{2060}".contains(*c)).collect() };
                prop_assert!(seen(&shown(&one)) != seen(&shown(&twin)) || put.trim().is_empty(), "{} and {}", one, twin);
            }
        }
    }

    #[test]
    fn money_has_cents_and_as_many_more_digits_as_it_needs() {
        for (micro, text) in
            [(0, "0.00"), (250_000, "0.25"), (1, "0.000001"), (12_340_000, "12.34"), (1_500_000, "1.50")]
        {
            assert_eq!(money(micro), text);
        }
    }

    #[test]
    fn any_document_is_read_without_a_panic_and_no_line_is_long() {
        let mut odd = shown();
        odd["acts"][0]["arguments"] = json!(3);
        for shown in [None, serde_json::from_value(odd).ok(), serde_json::from_value(json!(3)).ok()] {
            let face = face(shown.as_ref(), "x", Lang::It);
            assert!(face.parts.iter().all(|part| part.text.chars().count() <= 1_000));
        }
    }
}
