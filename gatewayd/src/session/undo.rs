//! "Undo" and "forget that" in words, on every channel: the door itself has the last thing of anyone who says so taken back, or the
//! last words redacted, under the name that policyd knows him by, and no planner learns of it. It says in a sentence what was taken
//! back or forgotten, or that there is nothing.

use std::rc::Rc;

use metnos_proto::doc::chronicle::Exchange;
use metnos_proto::doc::undo::{ActTakenBack, UndoReport};
use metnos_proto::executor::guests::{self, Privacy};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode};
use metnos_proto::msg::people::{ViewRequest, ViewSubject};
use metnos_proto::msg::planner::{Text, TurnDone, TurnEnd};
use metnos_proto::msg::policyd::{PromptRegistered, UndoHere};
use metnos_reflex::answer::speech::as_sentence;
use metnos_reflex::matching::spoken::household_list;
use metnos_texts::{Key, say, tell};

use super::Door;
use super::relay::{Item, Relay};
use super::speaker::{Speaker, SpeakerSession};

/// The rule of policyd by which there is nothing to take back.
const NOTHING: &str = "undo.nothing";
/// The same for a thing that was called by its name, and for one that is only a part of what was done.
const NO_THING: &str = "undo.thing";
const SEVERAL: &str = "undo.several";
/// The error classes of an inverse for which there is a sentence.
const REASONS: [&str; 5] = ["Changed", "Exists", "NotFound", "NoSpace", "PermissionDenied"];

/// How many of the last exchanges are looked at for the one that is to be forgotten.
const LOOKED_AT: u32 = 8;

/// What words ask of the door itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnRequest {
    /// Take back the last change of the thing that is called so; with an empty name, whatever was done last.
    TakeBack(String),
    /// Have the words before these forgotten, with their answer.
    Forget,
}

/// What these words ask of the door itself, and in which language.
pub(crate) fn asked(text: &str) -> Option<(Lang, OwnRequest)> {
    let last = metnos_reflex::undo::asked(text).map(|lang| (lang, OwnRequest::TakeBack(String::new())));
    let thing = || metnos_reflex::undo::thing(text).map(|thing| (thing.lang, OwnRequest::TakeBack(thing.called)));
    let forget = || metnos_reflex::undo::forgets(text).map(|lang| (lang, OwnRequest::Forget));
    last.or_else(thing).or_else(forget)
}

impl Door {
    /// Has the last thing of this speaker taken back, or the last change of the thing that was called so: how that ended, and what
    /// is said of it.
    pub(crate) async fn undo(&self, speaker: &Speaker, trace: TraceId, lang: Lang, thing: String) -> (TurnEnd, String) {
        let ask = UndoHere { channel: speaker.channel, sender: speaker.sender.clone(), thing };
        match self.peers.policyd.undo_here(trace, ask, []).await {
            Ok((answer, report)) => match answer.open(report) {
                Ok(report) => (TurnEnd::Answered, undone(lang, &report)),
                Err(refusal) => (TurnEnd::Denied, metnos_texts::refusal(lang, &refusal)),
            },
            Err(error) => match error.into_refusal() {
                refusal if refusal.rule == NOTHING => (TurnEnd::Answered, say(lang, Key::UndoNothing)),
                refusal if refusal.rule == NO_THING || refusal.rule == SEVERAL => {
                    (TurnEnd::Answered, metnos_texts::refusal(lang, &refusal))
                }
                refusal => (TurnEnd::Denied, metnos_texts::refusal(lang, &refusal)),
            },
        }
    }

    /// Has done what this speaker asks of the door: how that ended, and what is said of it.
    pub(crate) async fn done_here(
        &self,
        speaker: &Speaker,
        trace: TraceId,
        lang: Lang,
        request: OwnRequest,
    ) -> (TurnEnd, String) {
        match request {
            OwnRequest::TakeBack(thing) => self.undo(speaker, trace, lang, thing).await,
            OwnRequest::Forget => self.forget_last(speaker, lang).await,
        }
    }

    /// Has the last words of this speaker forgotten that ask for anything else: how that ended, and what is said of it.
    async fn forget_last(&self, speaker: &Speaker, lang: Lang) -> (TurnEnd, String) {
        match self.last_exchange(speaker).await {
            Ok(Some(turn)) => match self.forget_turn(speaker, turn).await {
                Ok(_) => (TurnEnd::Answered, say(lang, Key::ForgottenLast)),
                Err(refusal) => (TurnEnd::Denied, metnos_texts::refusal(lang, &refusal)),
            },
            Ok(None) => (TurnEnd::Answered, say(lang, Key::ForgottenNothing)),
            Err(refusal) => (TurnEnd::Denied, metnos_texts::refusal(lang, &refusal)),
        }
    }

    /// The last turn of this speaker that was answered and says something else than that words be forgotten.
    async fn last_exchange(&self, speaker: &Speaker) -> Result<Option<TurnId>, Refusal> {
        let Speaker { channel, sender, .. } = speaker.clone();
        let ask = ViewRequest {
            channel,
            sender,
            at: ViewSubject::Exchanges,
            from: 0,
            lines: LOOKED_AT,
            words: String::new(),
        };
        let (last, _): (Vec<Exchange>, u64) = self.look(ask).await?;
        let is_it = |one: &&Exchange| !one.redacted && metnos_reflex::undo::forgets(&one.said).is_none();
        Ok(last.iter().find(is_it).and_then(|one| one.turn.parse().ok()))
    }

    /// The same as a turn that was registered: its answer goes to the sink of the person who has said so, and into the journal.
    pub(super) fn done_as_turn(
        self: &Rc<Self>,
        voice: &SpeakerSession,
        lang: Lang,
        registered: &PromptRegistered,
        request: OwnRequest,
    ) {
        let PromptRegistered { turn, trace, .. } = *registered;
        let sink = Some(Rc::clone(&voice.sink));
        let (relay, handle) = Relay::new(self, voice.number, (turn, trace, lang), sink, String::new());
        self.turns.enter(turn, handle);
        tokio::task::spawn_local(relay.run());
        let (door, speaker) = (Rc::clone(self), voice.speaker.clone());
        tokio::task::spawn_local(async move {
            let (end, said) = door.done_here(&speaker, trace, lang, request).await;
            door.turns.with(turn, |handle| {
                let why = if end == TurnEnd::Answered {
                    let text = said + "\n";
                    door.turns.queue(handle, text.len(), Item::Text(Text { turn, text }));
                    String::new()
                } else {
                    said
                };
                door.turns.queue(handle, 0, Item::Done(TurnDone { turn, end, why }));
            });
        });
    }
}

/// What was taken back, from policyd's word on it.
fn undone(lang: Lang, report: &UndoReport) -> String {
    if report.acts.is_empty() {
        return say(lang, Key::UndoNothing);
    }
    let mut lines: Vec<String> = report.acts.iter().map(|act| one(lang, act)).collect();
    // What stands behind an act that could not be taken back was not tried.
    if report.left > 0 && lines.len() > 1 {
        lines.push(tell(lang, Key::UndoLeft, &[("left", report.left.into())]));
    }
    lines.join("\n")
}

fn one(lang: Lang, act: &ActTakenBack) -> String {
    let plain = |text: &str| text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>();
    let (executor, state) = (plain(&act.executor), act.state.name());
    // Arguments are the executor's own, and have no type here.
    let path = plain(act.arguments["path"].as_str().unwrap_or_default());
    // A note that names no notebook went to the usual one, or to the person's own.
    let is_own = executor == "note_add" && matches!(guests::privacy(&path), Privacy::Of(_));
    let list = household_list(&path, lang);
    let path = match list {
        Some(list) => list.to_owned(),
        None if path.is_empty() || is_own => "none".to_owned(),
        None => path,
    };
    let values = [
        ("executor", (&executor).into()),
        ("state", state.into()),
        ("path", (&path).into()),
        ("why", reason(&act.told).into()),
    ];
    let text = tell(lang, Key::UndoAct, &values);
    // Italian prepositions grow together with the article of a list; a file has none, and keeps its small letters.
    let text = match list {
        Some(_) => as_sentence(&GROWN.iter().fold(text, |text, (apart, grown)| text.replace(apart, grown))),
        None => text,
    };
    // What policyd would not let be done has a rule; what the inverse said of itself is its own and English.
    let rule = plain(&act.rule);
    if rule.is_empty() {
        return text;
    }
    let no = Refusal::new(RefusalCode::Denied, &rule, plain(&act.why));
    format!("{text} {}", metnos_texts::refusal(lang, &no))
}

/// Prepositions before the article of a list, and what the two become.
const GROWN: [(&str, &str); 3] =
    [(" a la lista d", " alla lista d"), (" da la lista d", " dalla lista d"), (" in la lista d", " nella lista d")];

/// The error class of an inverse's result, if there is a sentence for it; else `none`.
fn reason(told: &str) -> &'static str {
    let told: serde_json::Value = serde_json::from_str(told).unwrap_or_default();
    let class = told["error"]["class"].as_str().unwrap_or_default();
    REASONS.iter().find(|known| **known == class).copied().unwrap_or("none")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::doc::undo::ActState;
    use metnos_proto::msg::common::Standing;
    use serde_json::{Value, json};

    use super::super::stage::Stage;
    use super::*;
    use crate::testing::run;

    fn report(left: u64, acts: &[(&str, ActState, Value)]) -> UndoReport {
        let act = |(executor, state, arguments): &(&str, ActState, Value)| ActTakenBack {
            call: String::new(),
            executor: (*executor).to_owned(),
            arguments: arguments.clone(),
            was: ActState::Done,
            state: *state,
            why: "because".into(),
            rule: String::new(),
            told: String::new(),
        };
        let acts = acts.iter().map(act).collect();
        UndoReport { turn: String::new(), acts, undone: 1, kept: 0, left, already: 0 }
    }

    #[test]
    fn undo_result_is_described_in_language_of_the_person() {
        for (executor, arguments, english, italian) in [
            (
                "fs_append",
                json!({"path": "notes/list.md"}),
                "What was added to notes/list.md is out of it again.",
                "Ciò che era stato aggiunto a notes/list.md non c'è più.",
            ),
            ("fs_delete", json!({"path": "a.md"}), "a.md is back.", "a.md è di nuovo al suo posto."),
            (
                "fs_move",
                json!({"path": "a.md", "to": "b.md"}),
                "a.md has its old name again.",
                "a.md ha di nuovo il suo nome.",
            ),
            ("fs_write", json!({"path": "a.md"}), "a.md is as it was before.", "a.md è di nuovo com'era prima."),
            (
                "list_remove",
                json!({"path": "notes/list.md"}),
                "What was taken off notes/list.md is on it again.",
                "Ciò che era stato tolto da notes/list.md c'è di nuovo.",
            ),
            ("note_add", json!({}), "The note is taken out again.", "La nota non c'è più."),
            ("other", json!({}), "What other did is taken back.", "Ciò che ha fatto other è annullato."),
        ] {
            let told = report(0, &[(executor, ActState::Undone, arguments)]);
            assert_eq!(undone(Lang::En, &told), english);
            assert_eq!(undone(Lang::It, &told), italian);
        }
        for (executor, english, italian) in [
            (
                "fs_append",
                "What was added to the shopping list is out of it again.",
                "Ciò che era stato aggiunto alla lista della spesa non c'è più.",
            ),
            ("fs_delete", "The shopping list is back.", "La lista della spesa è di nuovo al suo posto."),
            (
                "list_remove",
                "What was taken off the shopping list is on it again.",
                "Ciò che era stato tolto dalla lista della spesa c'è di nuovo.",
            ),
        ] {
            let told = report(0, &[(executor, ActState::Undone, json!({ "path": "notes/spesa.md" }))]);
            assert_eq!((undone(Lang::En, &told), undone(Lang::It, &told)), (english.into(), italian.into()));
        }
        let kept = report(1, &[("fs_write", ActState::Done, json!({"path": "a\u{1b}.md"}))]);
        let said = undone(Lang::En, &kept);
        assert!(said.contains("a\u{fffd}.md") && said.contains("could not be taken back"), "{said}");
        let mut changed = report(0, &[("fs_append", ActState::Done, json!({"path": "a.md"}))]);
        changed.acts[0].told = r#"{"ok": false, "error": {"class": "Changed", "message": "x"}}"#.into();
        let said = undone(Lang::En, &changed);
        assert_eq!(said, "a.md was changed since, so it could not be taken back, and is left as it is.");
        assert_eq!(undone(Lang::It, &report(0, &[])), "Non c'è niente di tuo da annullare.");
    }

    #[test]
    fn door_undoes_by_itself_without_the_planner() {
        run(async {
            let stage = Stage::new();
            let mut person = stage.person(1000);
            for words in ["undo", "Annulla l'ultima cosa!"] {
                person.say(words.as_bytes()).await.unwrap();
                let (said, done) = person.listen().await;
                assert_eq!((said.lines().count(), done.end), (1, TurnEnd::Answered), "{words}: {said}");
            }
            assert_eq!(stage.script.asked("undo_here")[..2], ["undo_here uid:1000", "undo_here uid:1000"]);
            person.say(b"undo what you did with the shopping list").await.unwrap();
            assert_eq!(person.listen().await.1.end, TurnEnd::Answered);
            assert_eq!(stage.script.asked("undo_here").last().unwrap(), "undo_here uid:1000 the shopping list");
            assert_eq!(stage.script.asked("open_turn"), Vec::<String>::new());
            assert_eq!(stage.script.asked("register_prompt").len(), 3);
            assert_eq!(stage.script.asked("delivered answered").len(), 3);
        });
    }

    #[test]
    fn door_has_the_last_words_forgotten_and_says_so() {
        run(async {
            let stage = Stage::new();
            let mut person = stage.person(1000);
            person.say(b"forget what I just said").await.unwrap();
            let (said, done) = person.listen().await;
            assert_eq!((said.trim_end(), done.end), (say(Lang::En, Key::ForgottenLast).as_str(), TurnEnd::Answered));
            assert_eq!(stage.script.asked("view Exchanges"), ["view Exchanges 0 8"]);
            assert_eq!(stage.script.asked("forget_here"), ["forget_here uid:1000"]);
            assert_eq!(stage.script.asked("open_turn"), Vec::<String>::new());
        });
    }

    #[test]
    fn a_stranger_takes_nothing_back() {
        run(async {
            let stage = Stage::new();
            stage.script.standing.set(Standing::Stranger);
            assert!(stage.person(4711).say(b"undo").await.is_err());
            assert_eq!(stage.script.asked("undo_here"), Vec::<String>::new());
        });
    }
}
