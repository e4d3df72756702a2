//! Requests for quiet hours: "don't disturb me between 22 and 7", "non disturbarmi di notte", "no more quiet hours". What is not wholly
//! such a request is none. Pure.

use metnos_proto::msg::quiet::Quiet;

use super::forms;
use crate::words::phrase::Phrase;

/// Requests for quiet hours, which stand behind them.
const HEADS: &str = "
    do not|dont disturb|bother|message|notify|wake me
    don t disturb|bother|message|notify|wake me
    i do not|dont want to be disturbed|bothered
    i don t want to be disturbed|bothered
    no messages|notifications [for] [me]
    quiet hours|time
    my quiet hours|time are|is
    set|make|put [my] quiet hours|time [to|are|is]
    i want|need quiet hours|time
    let me sleep
    non disturbarmi|disturbatemi|svegliarmi
    non mi disturbare|disturbate|svegliare
    non mi devi|dovete disturbare|svegliare
    non voglio essere disturbato|disturbata
    niente messaggi|notifiche [per] [me]
    ore di silenzio|quiete|riposo
    le mie ore di silenzio|quiete|riposo sono
    imposta|metti|fissa [le] [mie] ore di silenzio|quiete|riposo
    voglio ore di silenzio|quiete|riposo
    lasciami dormire";
/// Requests for none.
const ENDS: &str = "
    no [more] quiet hours [any] [more]
    remove|delete|cancel|clear|end|stop [my|the] quiet hours
    turn|switch off [my|the] quiet hours
    i do not|dont want|need quiet hours [any] [more]
    i don t want|need quiet hours [any] [more]
    you may|can disturb me [again]
    you may|can disturb me at any time|hour
    you may|can disturb me at|during [the] night
    togli|cancella|elimina|disattiva|annulla [le] [mie] ore di silenzio|quiete|riposo
    niente [piu] ore di silenzio|quiete|riposo
    [puoi] disturbarmi sempre
    [puoi] disturbarmi di nuovo
    [puoi] disturbarmi quando vuoi
    [puoi] disturbarmi a qualsiasi|qualunque ora
    [puoi] disturbarmi [anche] di|la notte";
/// The night, where no hours are said.
const NIGHT: &str = "
    at|by night
    during the night
    overnight
    di|la notte
    durante la notte";
/// What the night is taken for; it is read back.
const NIGHT_HOURS: (u16, u16) = (22 * 60, 7 * 60);
/// What stands before the first hour, and before the second.
const FROM: &str = "
    from|between
    dalle|dall|dal|da
    tra|fra [le|l]";
const TO: &str = "
    to|and|until|till
    alle|all|al|a
    fino alle|all|a
    e [le|l]";
/// What may stand behind all of it.
const BEHIND: &str = "
    please
    every|each day|night
    [di] ogni giorno|notte|sera
    tutti i giorni
    tutte le notti|sere";
/// Hours that have a name.
const NAMED: [(&str, u16); 4] = [("midnight", 0), ("mezzanotte", 0), ("noon", 12 * 60), ("mezzogiorno", 12 * 60)];
/// What makes an hour one of the first half of the day, and of the second.
const MORNING: &str = "
    am
    a m
    in the morning
    di|del|della|la mattina|mattino";
const EVENING: &str = "
    pm
    p m
    in the evening
    at night
    di|della|la sera|notte";
const NOON: u16 = 12 * 60;
const DAY: u16 = 24 * 60;

/// The quiet hours that are asked for, none where they are to end; `None` for anything else.
pub(super) fn asked(phrase: &Phrase<'_>) -> Option<Option<Quiet>> {
    let said = phrase.plain();
    if forms::is_whole(ENDS, &said) {
        return Some(None);
    }
    let mut at = forms::begins(HEADS, &said)?;
    let (from, upto) = if let Some(words) = forms::begins(NIGHT, &said[at..]) {
        at += words;
        NIGHT_HOURS
    } else {
        let (from, next) = hour(&said, at + forms::begins(FROM, &said[at..]).unwrap_or(0))?;
        let (upto, next) = hour(&said, next + forms::begins(TO, &said[next..]).unwrap_or(0))?;
        at = next;
        halves(from, upto)
    };
    at += forms::begins(BEHIND, &said[at..]).unwrap_or(0);
    let quiet = Quiet::read(&format!("{}:{:02}-{}:{:02}", from / 60, from % 60, upto / 60, upto % 60));
    (at == said.len()).then_some(quiet?).map(Some)
}

/// An hour as it was said.
#[derive(Debug, Clone, Copy)]
struct Hour {
    minute: u16,
    /// Whether the half of the day was said with it.
    is_sure: bool,
}

/// The hour that stands there, and where the words behind it begin.
fn hour(said: &[&str], at: usize) -> Option<(Hour, usize)> {
    let word = *said.get(at)?;
    if let Some((_, minute)) = NAMED.iter().find(|(name, _)| *name == word) {
        return Some((Hour { minute: *minute, is_sure: true }, at + 1));
    }
    let (digits, half) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(false)),
        (None, Some(digits)) => (digits, Some(true)),
        (None, None) => (word, None),
    };
    let (hours, minutes) = digits.split_once([':', '.']).unwrap_or((digits, "00"));
    let number = |text: &str| text.parse::<u16>().ok().filter(|_| (1..=2).contains(&text.len()));
    let (hours, minutes) = (number(hours)?, number(minutes).filter(|_| minutes.len() == 2)?);
    let mut next = at + 1;
    // A colon or a full stop may part the words.
    let (minutes, split) = match said.get(next) {
        Some(more) if minutes == 0 && more.len() == 2 && digits.len() <= 2 => {
            number(more).filter(|minutes| *minutes < 60).map_or((minutes, 0), |minutes| (minutes, 1))
        }
        Some(_) | None => (minutes, 0),
    };
    next += split;
    let half = half.or_else(|| {
        let words = [(MORNING, false), (EVENING, true)]
            .into_iter()
            .find_map(|(forms, half)| Some((forms::begins(forms, said.get(next..)?)?, half)));
        words.map(|(words, half)| {
            next += words;
            half
        })
    });
    if hours > 24 || minutes >= 60 {
        return None;
    }
    let hours = match half {
        Some(false) => hours % 12,
        Some(true) if hours < 12 => hours + 12,
        Some(true) | None => hours % 24,
    };
    Some((Hour { minute: hours * 60 + minutes, is_sure: half.is_some() || hours > 12 || hours == 0 }, next))
}

/// Both hours of the day: "from 10 to 7" begins in the evening, "from 12 to 7" at midnight.
fn halves(from: Hour, upto: Hour) -> (u16, u16) {
    let begin = match (from.is_sure, from.minute) {
        (false, NOON..) if upto.minute < NOON => from.minute - NOON,
        (false, minute) if minute < NOON && minute > upto.minute => minute + NOON,
        (true | false, minute) => minute,
    };
    (begin % DAY, upto.minute % DAY)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::msg::common::Lang;
    use proptest::prelude::*;

    use super::*;

    fn quiet(text: &str) -> Option<Option<String>> {
        let asked = asked(&Phrase::of(text, Lang::En)?)?;
        Some(asked.map(|quiet| quiet.to_string()))
    }

    #[test]
    fn quiet_hours_are_read_in_both_languages() {
        for (text, hours) in [
            ("don't disturb me between 22 and 7", "22:00-7:00"),
            ("Do not disturb me from 10pm to 7am, please", "22:00-7:00"),
            ("do not disturb me from 10 to 7", "22:00-7:00"),
            ("don't bother me from 10:30 pm until 6:45 am", "22:30-6:45"),
            ("no messages between 23:30 and 6:30", "23:30-6:30"),
            ("set my quiet hours to 22:00-7:00", "22:00-7:00"),
            ("quiet hours from midnight to 8", "0:00-8:00"),
            ("don't disturb me from 12 to 7", "0:00-7:00"),
            ("don't disturb me from 13 to 15", "13:00-15:00"),
            ("don't wake me at night", "22:00-7:00"),
            ("let me sleep from 11 in the evening to 8 in the morning", "23:00-8:00"),
            ("non disturbarmi dalle 22 alle 7", "22:00-7:00"),
            ("non mi disturbare tra le 23 e le 7:30", "23:00-7:30"),
            ("non disturbarmi di notte", "22:00-7:00"),
            ("niente messaggi dalle 10 di sera alle 7 di mattina", "22:00-7:00"),
            ("imposta le ore di silenzio dalle 22.30 alle 6.30 ogni giorno", "22:30-6:30"),
            ("lasciami dormire da mezzanotte alle 8", "0:00-8:00"),
            ("non voglio essere disturbata dalle 13 alle 15", "13:00-15:00"),
        ] {
            assert_eq!(quiet(text), Some(Some(hours.to_owned())), "{text}");
        }
    }

    #[test]
    fn quiet_hours_end_by_words() {
        for text in [
            "no more quiet hours",
            "remove my quiet hours",
            "turn off the quiet hours",
            "you can disturb me again",
            "you may disturb me at any time",
            "togli le ore di silenzio",
            "niente più ore di silenzio",
            "puoi disturbarmi di nuovo",
            "puoi disturbarmi anche di notte",
        ] {
            assert_eq!(quiet(text), Some(None), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_or_left(
            words in proptest::collection::vec("(don't|non|disturb|disturbarmi|me|quiet|hours|from|dalle|tra|le|to|alle|e|at|night|di|notte|pm|[0-9]{1,3}|[0-9]{1,2}[:.][0-9]{1,3}|\\PC{0,6})", 0..12),
        ) {
            let _ = quiet(&words.join(" "));
            let _ = quiet(&format!("don't disturb me {}", words.join(" ")));
            let _ = quiet(&format!("non disturbarmi {}", words.join(" ")));
        }
    }

    #[test]
    fn what_is_not_wholly_such_a_request_is_none() {
        for text in [
            "don't disturb me",
            "don't disturb me tomorrow from 9 to 12",
            "don't disturb me from 9 to 9",
            "don't disturb me between 22 and 7 and delete notes/a.md",
            "don't disturb Anna between 22 and 7",
            "did I say don't disturb me between 22 and 7",
            "don't disturb me from 25 to 7",
            "quiet hours",
            "what are my quiet hours",
            "non disturbarmi",
            "non disturbarmi domani dalle 9 alle 12",
            "wake me at 7",
            "svegliami alle 7",
            "non dimenticare il latte",
            "no messages from Anna to Marco",
            "niente latte",
        ] {
            assert_eq!(quiet(text), None, "{text}");
        }
    }
}
