//! A card as a message: the parts that it has on every channel, and the buttons below it, each with the card's name and the
//! end of its digest. Purely; policyd alone says whether a press counts.

use metnos_proto::doc::card::CardView;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::Answer;
use metnos_texts::card::{self, Field};

use super::phrases;
use super::text::{Span, Style};

/// The most bytes that a button carries (Bot API, `InlineKeyboardButton`).
pub const MAX_DATA: usize = 64;
/// How many digits of the digest a button carries.
const SHORT: usize = 16;
/// The longest name of a card, in bytes.
const MAX_ID: usize = 24;

/// The end of a digest.
#[must_use]
pub fn short(digest: &str) -> &str {
    digest.get(digest.len().saturating_sub(SHORT)..).unwrap_or(digest)
}

/// What a button means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pressed {
    /// The card's name.
    pub id: String,
    /// The end of the digest of what was shown.
    pub short: String,
    /// What is answered.
    pub answer: Answer,
}

impl Pressed {
    /// What the button carries.
    #[must_use]
    pub fn data(id: &str, digest: &str, letter: char) -> String {
        format!("card:{id}:{}:{letter}", short(digest))
    }

    /// Reads what a button carried. It came over the net, so it may be anything.
    #[must_use]
    pub fn parse(data: &str) -> Option<Self> {
        if data.len() > MAX_DATA {
            return None;
        }
        let mut parts = data.split(':');
        let (kind, id, digits, letter) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_id = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let is_short = digits.len() == SHORT && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let answer = match letter {
            "y" => Answer::Once,
            "t" => Answer::Turn,
            "n" => Answer::No,
            _ => return None,
        };
        let whole = kind == "card" && is_id && is_short && parts.next().is_none();
        whole.then(|| Self { id: id.to_owned(), short: digits.to_owned(), answer })
    }
}

/// One button: what stands on it, and what it carries.
pub type Button = (String, String);

/// The buttons below a card; none where a press could not count.
#[must_use]
pub fn buttons(shown: Option<&CardView>, lang: Lang) -> Vec<Vec<Button>> {
    let Some(card) = shown.filter(|card| !card.hard && card.here != Some(false)) else { return Vec::new() };
    let button = |text, letter| (text, Pressed::data(&card.id, &card.digest, letter));
    if card.offer.is_some() {
        let [yes, no] = phrases::offer_buttons(lang);
        return vec![vec![button(yes, 'y'), button(no, 'n')]];
    }
    let [yes, turn, no] = phrases::buttons(lang);
    if card.others == Some(true) {
        // What others ask for is decided one at a time.
        return vec![vec![button(yes, 'y'), button(no, 'n')]];
    }
    vec![vec![button(yes, 'y'), button(no, 'n')], vec![button(turn, 't')]]
}

/// A card as spans of a message.
#[must_use]
pub fn spans(shown: Option<&CardView>, id: &str, lang: Lang) -> Vec<Span> {
    let face = card::face(shown, id, lang);
    let mut spans = vec![Span::new(Style::Bold, face.asks), Span::new(Style::Plain, format!("  {id}\n"))];
    if face.parts.is_empty() {
        spans.push(Span::new(Style::Plain, face.too_long));
        return spans;
    }
    let mut act = 0;
    for part in face.parts {
        if part.act != act {
            act = part.act;
            spans.push(Span::new(Style::Plain, "\n"));
        }
        spans.push(Span::new(Style::Bold, part.label));
        spans.push(Span::new(Style::Plain, ": "));
        let style = match part.field {
            Field::What | Field::OnWhat => Style::Code,
            Field::HowMany | Field::From | Field::WayBack | Field::Cost | Field::Why | Field::Who => Style::Plain,
        };
        spans.push(Span::new(style, part.text));
        spans.push(Span::new(Style::Plain, "\n"));
    }
    spans
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::telegram::text::{MAX_UNITS, split};

    fn shown() -> CardView {
        let card = json!({"id": "abcd-efgh", "principal": "telegram:5", "turn": "T", "hard": false, "made_ms": 1, "expires_ms": 2,
            "digest": "0123456789abcdef", "state": "waiting", "answered_by": "", "begun": 0, "lang": "en", "acts": [{
            "executor": "fs_delete", "version": "1.0.0", "signed": [], "class": "destroy", "rule": "intent", "cost_micro": 0,
            "arguments": {"path": "old & <b>tired</b>", "folder": true}, "targets": [], "always": null,
            "fields": [{"pointer": "/path", "role": "path", "label": "trusted", "source": "prompt"}],
            "count": {"files": 681, "folders": 3, "bytes": 9, "covered": 0}, "reversible": true, "why": "nobody pointed at it",
        }]});
        serde_json::from_value(card).unwrap()
    }

    #[test]
    fn telegram_card_shows_act_target_count_source_and_escapes_markup() {
        let pieces = split(&spans(Some(&shown()), "abcd-efgh", Lang::En), MAX_UNITS);
        assert_eq!(pieces.len(), 1);
        for part in
            ["abcd-efgh", "fs_delete", "681 files", "old &amp; &lt;b&gt;tired&lt;/b&gt;", "nobody pointed at it"]
        {
            assert!(pieces[0].html.contains(part), "{part}: {}", pieces[0].html);
        }
        assert!(!pieces[0].html.contains("<b>tired"));
    }

    #[test]
    fn telegram_card_not_answerable_by_button_names_the_command() {
        let hard = CardView { hard: true, ..shown() };
        assert!(buttons(Some(&hard), Lang::En).is_empty());
        assert!(buttons(None, Lang::It).is_empty());
        let text = split(&spans(Some(&hard), "a-b", Lang::It), MAX_UNITS).remove(0).text;
        assert!(text.contains("metnosctl approval show a-b"), "{text}");
        assert!(spans(None, "a-b", Lang::En).iter().any(|span| span.text.contains("approval show a-b")));
    }

    #[test]
    fn telegram_offer_has_yes_and_no_and_no_word_for_longer() {
        let offer = json!({"what": "a", "when": "every day at 7:30", "time": "7:30", "days": 5, "lang": "en"});
        let card = CardView { acts: Vec::new(), offer: serde_json::from_value(offer).unwrap(), ..shown() };
        let all = buttons(Some(&card), Lang::En).concat();
        let letters: Vec<&str> = all.iter().filter_map(|(_, data)| data.rsplit(':').next()).collect();
        assert_eq!(letters, ["y", "n"]);
        let text = split(&spans(Some(&card), "abcd-efgh", Lang::En), MAX_UNITS).remove(0).text;
        assert!(text.contains("“a”, every day at 7:30"), "{text}");
    }

    #[test]
    fn button_data_round_trips_fits_and_rejects_anything_else() {
        let digest = format!("blake3:{}", "0123456789abcdef".repeat(4));
        for (letter, answer) in [('y', Answer::Once), ('t', Answer::Turn), ('n', Answer::No)] {
            let data = Pressed::data(&"x".repeat(MAX_ID), &digest, letter);
            assert!(data.len() <= MAX_DATA, "{data}");
            let pressed = Pressed::parse(&data).unwrap();
            assert_eq!((pressed.short.as_str(), pressed.answer), ("0123456789abcdef", answer));
        }
        for bad in [
            "",
            "card",
            "card:a:0123456789abcdef:x",
            "card:a:0123456789abcde:y",
            "card:a b:0123456789abcdef:y",
            "card:a:0123456789abcdef:y:y",
            "kard:a:0123456789abcdef:y",
            "card::0123456789abcdef:y",
        ] {
            assert_eq!(Pressed::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_data_and_any_card_are_read_without_a_panic(data in "\\PC{0,80}", key in "\\PC{0,20}", text in "\\PC{0,900}") {
            let _ = Pressed::parse(&data);
            let mut card = shown();
            let act = &mut card.acts[0];
            (act.executor, act.arguments, act.why) = (text.clone(), json!({ key: text }), text.clone());
            for piece in split(&spans(Some(&card), &data, Lang::En), MAX_UNITS) {
                prop_assert!(crate::telegram::text::units(&piece.text) <= MAX_UNITS);
            }
        }
    }
}
