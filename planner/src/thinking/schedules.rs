//! The tool by which a model plans reminders, lists them and changes them. Of what, when and for whom it copies from the person's
//! words: policyd takes nothing else. So a text of the model's is put together from pieces of those words here, and where that is
//! not possible the model is told which word is not the person's.

use metnos_proto::msg::schedule::{
    Ask, MAX_PARTS, MAX_WHAT, MAX_WHEN, Order, Remind, ScheduleAct, ScheduleChange, Tell, Which,
};
use metnos_proto::prompt::Tool;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::data::line;
use super::schema::Schema;

/// The tool's name.
pub const SCHEDULE: &str = "schedule";
/// The most orders of one turn, lists included.
pub const MAX_ORDERS: usize = 8;

/// What a model can have done.
const ACTS: [&str; 8] = ["remind", "tell", "ask", "list", "cancel", "pause", "resume", "move"];

/// What the tool takes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "do")]
    act: Value,
    what: Value,
    when: Value,
    to: Value,
}

/// The tool as a model is shown it.
pub(super) fn tool() -> Tool {
    let act = Schema::text_of(ACTS.map(str::to_owned).to_vec())
        .described("`tell` another person now; `ask`: Metnos answers `what` at that time");
    let to = Schema::text().described("Another person of the household");
    let input = Schema::object(1, [("do", act), ("what", Schema::text()), ("when", Schema::text()), ("to", to)]);
    Tool {
        name: SCHEDULE.to_owned(),
        description: "Plans reminders and messages, lists and changes them. Copy `what`, `when` and `to` word for word from what the \
                      person says now. (effect: schedule)"
            .to_owned(),
        input: input.document(),
    }
}

/// What the model wants, in words of the person: `said` are those of now, and those before them.
///
/// # Errors
/// In a sentence for the model.
pub(super) fn order(arguments: &Map<String, Value>, said: &[String]) -> Result<Order, String> {
    let Fields { act, what, when, to } = Fields::deserialize(arguments).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(|text| text.trim().to_owned()).unwrap_or_default();
    let (act, what, when, to) = (text(&act), text(&what), text(&when), text(&to));
    let literal = |name: &str, text: &str, most: usize| -> Result<Vec<String>, String> {
        if text.is_empty() {
            return Err(format!("`{act}` needs `{name}`, in words of the person"));
        }
        let parts = said.iter().find_map(|said| pieces(text, said).ok());
        let parts = parts.ok_or_else(|| {
            let word = said.first().map(|said| pieces(text, said)).and_then(Result::err).unwrap_or_default();
            format!(
                "`{name}` must be copied from the person's words: {}",
                if word.is_empty() {
                    format!("at most {MAX_PARTS} pieces of them, in their order")
                } else {
                    format!("`{}` does not stand in them", line(&word, 60))
                }
            )
        })?;
        let bytes: usize = parts.iter().map(String::len).sum();
        if bytes + parts.len() > most { Err(format!("`{name}` has at most {most} bytes")) } else { Ok(parts) }
    };
    let which = || {
        if what.is_empty() {
            Ok(Which::Only)
        } else {
            literal("what", &what, MAX_WHAT).map(|parts| Which::Called(parts.join(" ")))
        }
    };
    let change = |act: ScheduleAct| which().map(|which| Order::Change(ScheduleChange { which, act }));
    let name =
        |to: &str| if to.is_empty() { Ok(String::new()) } else { literal("to", to, MAX_WHEN).map(|to| to.join(" ")) };
    match act.as_str() {
        "remind" => Ok(Order::Remind(Remind {
            what: literal("what", &what, MAX_WHAT)?,
            when: literal("when", &when, MAX_WHEN)?,
            early: false,
            to: name(&to)?,
        })),
        "tell" if to.is_empty() => Err("`tell` needs `to`, another person of the household".to_owned()),
        "tell" => Ok(Order::Tell(Tell { to: name(&to)?, what: literal("what", &what, MAX_WHAT)? })),
        "ask" => Ok(Order::Ask(Ask {
            what: literal("what", &what, MAX_WHAT)?,
            when: literal("when", &when, MAX_WHEN)?,
            frozen: Vec::new(),
        })),
        "list" => Ok(Order::List(if when.len() > MAX_WHEN { String::new() } else { when.clone() })),
        "cancel" => change(ScheduleAct::Cancel),
        "pause" => change(ScheduleAct::Pause),
        "resume" => change(ScheduleAct::Resume),
        "move" => change(ScheduleAct::Move(literal("when", &when, MAX_WHEN)?)),
        other => Err(format!("`do` is `{}`; it must be one of {}", line(other, 40), ACTS.join(", "))),
    }
}

/// A word, as it is compared, and where it stands.
struct Word {
    plain: String,
    start: usize,
    end: usize,
}

/// What spaces part, without the signs around it.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive(char::is_whitespace) {
        let is_sign = |c: char| !c.is_alphanumeric();
        let inner = part.trim_matches(is_sign);
        let begin = start + (part.len() - part.trim_start_matches(is_sign).len());
        if !inner.is_empty() {
            found.push(Word { plain: inner.to_lowercase(), start: begin, end: begin + inner.len() });
        }
        start += part.len();
    }
    found
}

/// The fewest pieces of what was said that make up this text, as they were typed.
///
/// # Errors
/// The first word of it that was not said; empty when it takes too many pieces.
fn pieces(text: &str, said: &str) -> Result<Vec<String>, String> {
    let (wanted, all) = (words(text), words(said));
    let mut found = Vec::new();
    let mut from = 0;
    while from < wanted.len() {
        let same = |at: usize| wanted[from..].iter().zip(&all[at..]).take_while(|(a, b)| a.plain == b.plain).count();
        let best = (0..all.len()).map(|at| (same(at), at)).max_by_key(|(length, at)| (*length, std::cmp::Reverse(*at)));
        let Some((length, at)) = best.filter(|(length, _)| *length > 0) else { return Err(wanted[from].plain.clone()) };
        found.push(said[all[at].start..all[at + length - 1].end].to_owned());
        from += length;
    }
    if found.len() > MAX_PARTS { Err(String::new()) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(arguments: Value, said: &str) -> Result<Order, String> {
        order(arguments.as_object().unwrap(), &[said.to_owned()])
    }

    #[test]
    fn order_is_put_together_from_pieces_of_what_was_said() {
        let said = "On Friday, could you make sure I don't forget to call Dr. Rossi at 9, please?";
        let wanted = json!({"do": "remind", "what": "Call Dr. Rossi", "when": "on Friday at 9"});
        let Ok(Order::Remind(remind)) = read(wanted, said) else { panic!("no reminder") };
        assert_eq!(
            (remind.what, remind.when),
            (vec!["call Dr. Rossi".to_owned()], vec!["On Friday".to_owned(), "at 9".to_owned()])
        );
        assert_eq!(remind.to, "");
    }

    #[test]
    fn word_that_was_not_said_is_named_to_the_model() {
        let said = "Remember the dentist tomorrow around nine";
        let wrong = |arguments: Value| read(arguments, said).unwrap_err();
        let why = wrong(json!({"do": "remind", "what": "the dentist", "when": "tomorrow at 9:00"}));
        assert!(why.contains("`when`") && why.contains("`at` does not stand"), "{why}");
        assert!(wrong(json!({"do": "remind", "when": "tomorrow"})).contains("needs `what`"));
        assert!(wrong(json!({"do": "tell", "what": "the dentist"})).contains("needs `to`"));
        assert!(wrong(json!({"do": "dance"})).contains("one of remind"));
        assert!(wrong(json!({})).contains("one of remind"));
        let scrambled = json!({"do": "remind", "what": "nine around tomorrow dentist the", "when": "tomorrow"});
        assert!(wrong(scrambled).contains("at most 4 pieces"));
    }

    #[test]
    fn changes_and_lists_are_orders_as_well() {
        let said = "get rid of the dentist thing, and push the bins to 8:30";
        let cancel = read(json!({"do": "cancel", "what": "dentist"}), said).unwrap();
        let which = Which::Called("dentist".to_owned());
        assert_eq!(cancel, Order::Change(ScheduleChange { which, act: ScheduleAct::Cancel }));
        let Ok(Order::Change(moved)) = read(json!({"do": "move", "what": "bins", "when": "8:30"}), said) else {
            panic!("no move")
        };
        assert_eq!(moved.act, ScheduleAct::Move(vec!["8:30".to_owned()]));
        assert_eq!(read(json!({"do": "list"}), said), Ok(Order::List(String::new())));
    }

    proptest! {
        #[test]
        fn pieces_stand_in_the_words_as_they_were_typed(text in "[a-c ,.'à]{0,20}", said in "[a-c ,.'à]{0,40}") {
            if let Ok(parts) = pieces(&text, &said) {
                prop_assert!(parts.len() <= MAX_PARTS && parts.iter().all(|part| said.contains(part.as_str())));
                let plain = |text: &str| words(text).into_iter().map(|word| word.plain).collect::<Vec<_>>();
                prop_assert_eq!(parts.iter().flat_map(|part| plain(part)).collect::<Vec<_>>(), plain(&text));
            }
        }
    }
}
