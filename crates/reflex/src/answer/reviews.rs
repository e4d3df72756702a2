//! What is said of a day: what was done, what was not, of what the person was reminded, and what is still to come.

use metnos_calendar::Zone;
use metnos_proto::doc::schedule::{DayLine, DayReview};
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, say, tell};

use crate::answer::reminders::sentence_begin;
use crate::answer::visible;
use crate::words::when;

/// The review as it is said: of today where `when` is empty. `zone` is the household's.
#[must_use]
pub fn told(lang: Lang, when: &str, review: &DayReview, zone: &str) -> String {
    let house = Zone::read(zone).unwrap_or_default();
    let is_one_day = one_day(review, &house);
    let named = sentence_begin(&visible(when));
    let named = if when.is_empty() { "none" } else { &named };
    let mut lines =
        vec![tell(lang, Key::ReviewHead, &[("when", named.into()), ("count", u64::from(review.requests).into())])];
    let line = |one: &DayLine| {
        let at = if is_one_day { when::time_of(&one.at, &house) } else { when::moment(&one.at, &house, lang) };
        let (at, what) = (at.unwrap_or_default(), visible(&one.what));
        tell(lang, Key::ReviewLine, &[("at", (&at).into()), ("what", (&what).into())])
    };
    for (title, listed, all) in [
        (Key::ReviewDone, &review.done, review.all_done),
        (Key::ReviewReminded, &review.reminded, review.all_reminded),
        (Key::ReviewUnmet, &review.unmet, review.all_unmet),
    ] {
        if all == 0 {
            continue;
        }
        lines.push(say(lang, title));
        lines.extend(listed.iter().map(line));
        let left = u64::from(all).saturating_sub(u64::try_from(listed.len()).unwrap_or(0));
        lines.extend((left > 0).then(|| tell(lang, Key::ReviewMore, &[("count", left.into())])));
    }
    if !review.to_come.is_empty() {
        lines.push(say(lang, Key::ReviewToCome));
        lines.extend(review.to_come.iter().map(|one| {
            let what = visible(&one.what);
            tell(lang, Key::ReviewLine, &[("at", (&format!("{}:", one.told)).into()), ("what", (&what).into())])
        }));
    }
    let waiting = u64::from(review.waiting);
    lines.extend((waiting > 0).then(|| tell(lang, Key::ReviewWaiting, &[("count", waiting.into())])));
    lines.join("\n") + "\n"
}

/// Whether all lines are of one day.
fn one_day(review: &DayReview, house: &Zone) -> bool {
    let lines = [&review.done, &review.reminded, &review.unmet].into_iter().flatten();
    let mut days = lines.filter_map(|one| when::day_of(&one.at, house, Lang::En));
    let first = days.next();
    days.all(|day| Some(day) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, what: &str) -> DayLine {
        DayLine { at: at.to_owned(), what: what.to_owned() }
    }

    #[test]
    fn review_says_what_there_is_and_nothing_of_the_rest() {
        assert_eq!(told(Lang::En, "", &DayReview::default(), ""), "Today: you asked me for nothing.\n");
        assert_eq!(told(Lang::It, "ieri", &DayReview::default(), ""), "Ieri: non mi hai chiesto niente.\n");
        let day = DayReview {
            requests: 14,
            done: vec![line("2026-11-24T08:05:00Z", "add milk to the shopping list")],
            all_done: 3,
            unmet: vec![line("2026-11-24T10:12:00Z", "send a mail")],
            all_unmet: 1,
            waiting: 1,
            ..DayReview::default()
        };
        let said = told(Lang::En, "", &day, "");
        assert_eq!(
            said,
            "Today: you asked me for 14 things.\nDone:\n- 08:05 add milk to the shopping list\n… and 2 more.\n\
             Not understood, or beyond me:\n- 10:12 send a mail\nOne act waits for your decision.\n"
        );
        let two = DayReview { reminded: vec![line("2026-11-23T09:00:00Z", "call")], all_reminded: 1, ..day };
        let said = told(Lang::It, "questa settimana", &two, "");
        assert!(said.contains("- martedì 24 novembre 2026, 08:05 add milk"), "{said}");
    }
}
