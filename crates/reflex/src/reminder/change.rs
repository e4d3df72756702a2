//! Requests to change what is planned: which reminder is meant, and what is to become of it. Pure.

use metnos_proto::msg::schedule::{ScheduleAct, ScheduleChange, Which};

use super::asks::names_an_hour;
use super::forms::{self, is_word_of};
use crate::words::phrase::Phrase;

const CANCELS: &str = "
    cancel|delete|remove|drop|stop|clear|erase|scrap|forget
    turn|switch off
    get rid of
    annulla|cancella|elimina|togli|rimuovi|ferma|disattiva|spegni|disdici
    annullare|cancellare|eliminare|togliere|rimuovere|fermare|disattivare|spegnere|disdire|annullami|cancellami|toglimi|eliminami
    i|we dont need
    i|we don t need
    i|we no longer need
    non mi|ci serve|servono piu";
const PAUSES: &str = "
    pause|suspend|mute
    sospendi|pausa|sospendere
    metti in pausa";
const RESUMES: &str = "
    resume|unpause|restart|continue|reactivate
    riprendi|riattiva|riprendere|riattivare";
/// Orders to stop that name what it is about, and not the reminder.
const STOPS: &str = "
    stop reminding me|us [to|about|of]
    stop telling me|us to
    dont remind me|us [to|about|of] anymore
    non ricordarmi|ricordarci piu [di|del|della|dei|delle|che]
    smetti di ricordarmi|ricordarci [di|del|della|dei|delle|che]";
const MOVES: &str = "
    move|change|shift|postpone|reschedule|delay|push|bring|make
    put off
    push back
    bring|move forward
    sposta|cambia|rimanda|posticipa|anticipa|rinvia
    spostami|rimandami
    spostare|cambiare|rimandare|posticipare|anticipare|rinviare";
/// Those of them that are said of many things.
const OTHER_MOVES: &str = "make|change|shift|bring|back|forward|off|cambia|cambiare|cambialo|cambiala";
/// The most words of a name alone.
const MAX_NAME: usize = 3;
/// The same of the one that was just spoken of, in one word.
const MOVES_IT: [&str; 12] = [
    "spostalo",
    "spostala",
    "rimandalo",
    "rimandala",
    "anticipalo",
    "anticipala",
    "posticipalo",
    "posticipala",
    "rinvialo",
    "rinviala",
    "cambialo",
    "cambiala",
];
/// The order to cancel it, in one word.
const CANCELS_IT: &str = "cancellalo|cancellala|annullalo|annullala|eliminalo|eliminala|toglilo|toglila|fermalo|fermala|spegnilo|spegnila|\
    disattivalo|disattivala|disdicilo|disdicila";
/// The same of a time alone: "fai alle 10", "no, alle 10".
const INSTEAD: &str = "
    fai|facciamo|meglio|anzi|no
    no meglio|anzi|facciamo|fai
    anzi no|facciamo|fai";
/// What stands behind a time by which something is to come earlier.
const SOONER: &str = "earlier|sooner|before|prima";
/// Requests to be given the last reminder once more, later.
const SNOOZES: &str = "
    snooze [it|that|this] [for|until|till|by]
    snooze the|that|this|my reminder|alarm [for|until|till|by]
    remind me again
    remind me of it|that|this again
    remind me about it|that|this again
    ricordamelo [di] [nuovo|ancora]
    ricordarmelo [di] [nuovo|ancora]
    ripetimelo
    rimandalo [di|a]
    posticipalo [di|a]
    ricordami di nuovo";
/// What joins a reminder and its new time.
const TOWARDS: &str = "to|by|at|for|until|till|on|a|al|alle|di|per|fino";
/// "The one that I was just given", "the one that we speak of".
const IT: &str = "it|that|this|lo|quello|questo";
const THINGS: &str = "reminder|reminders|alarm|alarms|timer|timers|promemoria|sveglia|sveglie|allarme|avviso";
const ARTICLES: &str = "the|my|our|that|this|il|lo|la|l|i|gli|le|quel|quella|quello|questo|questa|mio|mia|miei|mie";
const ALL: &str = "
    all [of] [the|my|our] reminders|alarms|timers
    every reminder|alarm|timer
    tutti|tutte [i|le|gli] [miei|mie] promemoria|sveglie|timer
    ogni promemoria|sveglia|timer";
const LAST: &str = "last|latest|newest|ultimo|ultima";
/// What stands between a reminder and what it is about.
const ABOUT: &str = "
    about|for|to|of|called|named|on
    that says
    about|for [the|my|our]
    di|del|della|dello|dell|dei|degli|delle|per|su|sul|sulla|chiamato|a|d
    che dice
    per il|la|lo|l|i|le|gli";
/// What may stand before an order to cancel, and behind the reminder that it names: neither says which.
const PREFIXES: &str = "
    you can|could|may [please]
    ok|okay|please|also|actually|anzi|allora|poi|ora|adesso
    vorrei|voglio
    i want|would [like] to";
const TAILS: [&str; 38] = [
    "anymore",
    "any",
    "more",
    "please",
    "that",
    "i",
    "we",
    "have",
    "set",
    "made",
    "there",
    "from",
    "the",
    "list",
    "you",
    "had",
    "che",
    "hai",
    "ho",
    "abbiamo",
    "messo",
    "fatto",
    "impostato",
    "dato",
    "dalla",
    "lista",
    "piu",
    "now",
    "adesso",
    "ora",
    "it",
    "them",
    "cancel",
    "delete",
    "cancellalo",
    "annullalo",
    "toglilo",
    "eliminalo",
];
/// Things that are no reminders: what speaks of them is about something else.
const OTHERS: [&str; 14] = [
    "note",
    "notes",
    "nota",
    "file",
    "files",
    "list",
    "lista",
    "folder",
    "cartella",
    "clock",
    "meeting",
    "appointment",
    "appuntamento",
    "riunione",
];
/// The places of a list, in both languages.
const PLACES: [&str; 10] = [
    "first|1st|1|one|primo|prima|uno",
    "second|2nd|2|two|secondo|seconda|due",
    "third|3rd|3|three|terzo|terza|tre",
    "fourth|4th|4|four|quarto|quarta|quattro",
    "fifth|5th|5|five|quinto|quinta|cinque",
    "sixth|6th|6|six|sesto|sesta|sei",
    "seventh|7th|7|seven|settimo|settima|sette",
    "eighth|8th|8|eight|ottavo|ottava|otto",
    "ninth|9th|9|nine|nono|nona|nove",
    "tenth|10th|10|ten|decimo|decima|dieci",
];

/// What the last words have left for "it" and "the second one" to mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing of the kind.
    Nothing,
    /// What is planned was listed.
    List,
    /// One was planned, or moved.
    One,
    /// One was to be changed, and where more than one may have been meant, all were listed: then a place in that list means one, and
    /// "it" means none.
    Choice,
}

/// How many words at the end say that something is to come earlier.
pub(super) fn sooner(phrase: &Phrase<'_>) -> Option<usize> {
    let last = phrase.words.last().filter(|_| phrase.len() > 2)?;
    is_word_of(SOONER, &last.plain).then_some(1)
}

fn place(said: &str) -> Option<u32> {
    let at = PLACES.iter().position(|words| is_word_of(words, said))?;
    u32::try_from(at + 1).ok()
}

/// The reminder that is to be put to another time: that time is the rest of the words, from `end` on. `by_name` says whether a
/// name alone may mean a reminder.
pub(super) fn moved(
    phrase: &Phrase<'_>,
    end: usize,
    (when, earlier): (&str, bool),
    (before, by_name): (Before, bool),
) -> Option<ScheduleChange> {
    let all = phrase.plain();
    let said = forms::mended(all.iter().copied());
    let towards = said[..end].iter().rev().take_while(|word| is_word_of(TOWARDS, word)).count();
    let said = &said[..end - towards];
    let skip = forms::begins(PREFIXES, said).filter(|skip| *skip < said.len()).unwrap_or(0);
    let when = vec![when.to_owned()];
    let act = if earlier { ScheduleAct::Earlier(when) } else { ScheduleAct::Move(when) };
    let it = || match before {
        Before::Nothing | Before::Choice => None,
        Before::List => Some(Which::Only),
        Before::One => Some(Which::Last),
    };
    if let [one] = &said[skip..]
        && MOVES_IT.contains(one)
        && let Some(which) = it()
    {
        return Some(ScheduleChange { which, act });
    }
    if before == Before::One && !earlier && skip < said.len() && forms::is_whole(INSTEAD, &said[skip..]) {
        return Some(ScheduleChange { which: Which::Last, act });
    }
    if !earlier && forms::is_whole(SNOOZES, &said[skip..]) {
        return Some(ScheduleChange { which: Which::Given, act });
    }
    let begin = skip + forms::begins(MOVES, &said[skip..])?;
    let which = match &said[begin..] {
        [one] | [one, "forward" | "back" | "up"] if is_word_of(IT, one) => it()?,
        [.., "forward"] => which(phrase, &said[..said.len() - 1], begin, before)?,
        _ => which(phrase, said, begin, before).or_else(|| bare_name(phrase, said, begin, &act).filter(|_| by_name))?,
    };
    (!matches!(which, Which::All | Which::Timers | Which::Alarms)).then_some(ScheduleChange { which, act })
}

/// The reminder that is called by its name alone: "move the dentist to 10:30". Only a calendar
/// event is moved to a time of day in the same words; where a calendar is connected, the event is meant and not the reminder.
fn bare_name(phrase: &Phrase<'_>, said: &[&str], begin: usize, act: &ScheduleAct) -> Option<Which> {
    let (ScheduleAct::Move(when) | ScheduleAct::Earlier(when)) = act else { return None };
    let verb = said.get(begin.checked_sub(1)?)?;
    let when = when.join(" ");
    let is_year = when.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() > 2);
    let names_hour = when.split(|c: char| !c.is_alphanumeric()).any(names_an_hour);
    if is_word_of(OTHER_MOVES, verb) || is_year || !names_hour {
        return None;
    }
    let skip = said[begin..].iter().take_while(|word| is_word_of(ARTICLES, word)).count();
    let name = &said[begin + skip..];
    let is_value = |at: usize| phrase.words.get(at).is_some_and(|word| word.is_value);
    let is_name = (1..=MAX_NAME).contains(&name.len())
        && !name.iter().any(|word| OTHERS.contains(word) || place(word).is_some() || is_word_of(IT, word))
        && !(begin..said.len()).any(is_value);
    is_name.then(|| Which::Called(phrase.typed(begin + skip, said.len()).to_owned()))
}

/// Whether words may ask for a reminder at another time: reading times costs more than all the rest.
pub(super) fn may_move(phrase: &Phrase<'_>) -> bool {
    let all = phrase.plain();
    let said = forms::mended(all.iter().copied());
    let skip = forms::begins(PREFIXES, &said).filter(|skip| *skip < said.len()).unwrap_or(0);
    let it = said[skip..].first().is_some_and(|first| MOVES_IT.contains(first));
    it || forms::begins(INSTEAD, &said).is_some()
        || forms::begins(MOVES, &said[skip..]).or_else(|| forms::begins(SNOOZES, &said[skip..])).is_some()
}

/// The change that the words ask for; where what is planned was shown just before, "the second one" means one of those.
pub(super) fn asked(phrase: &Phrase<'_>, before: Before) -> Option<ScheduleChange> {
    let all = phrase.plain();
    let mended = forms::mended(all.iter().copied());
    let skip = forms::begins(PREFIXES, &mended).filter(|skip| *skip < mended.len()).unwrap_or(0);
    let said = &mended[..];
    if let Some(end) = forms::begins(STOPS, said).filter(|end| *end < said.len()) {
        let called = Which::Called(phrase.typed(end, said.len()).to_owned());
        return Some(ScheduleChange { which: called, act: ScheduleAct::Cancel });
    }
    if let [one] = &said[skip..]
        && is_word_of(CANCELS_IT, one)
    {
        let which = match before {
            Before::Nothing | Before::Choice => return None,
            Before::List => Which::Only,
            Before::One => Which::Last,
        };
        return Some(ScheduleChange { which, act: ScheduleAct::Cancel });
    }
    let verb = |forms: &str| forms::begins(forms, &said[skip..]).map(|end| end + skip);
    let (act, begin) = match (verb(CANCELS), verb(PAUSES), verb(RESUMES)) {
        (Some(end), ..) => (ScheduleAct::Cancel, end),
        (None, Some(end), _) => (ScheduleAct::Pause, end),
        (None, None, Some(end)) => (ScheduleAct::Resume, end),
        (None, None, None) => return None,
    };
    let which = which(phrase, said, begin, before)?;
    Some(ScheduleChange { which, act })
}

/// All of the things that these words name.
fn all_of(said: &[&str]) -> Which {
    match said.last() {
        Some(&("timer" | "timers")) => Which::Timers,
        Some(&("alarm" | "alarms" | "sveglia" | "sveglie")) => Which::Alarms,
        Some(_) | None => Which::All,
    }
}

fn which(phrase: &Phrase<'_>, said: &[&str], begin: usize, before: Before) -> Option<Which> {
    let was_listed = before == Before::List;
    let has_places = matches!(before, Before::List | Before::Choice);
    let rest = &said[begin..];
    if forms::is_whole(ALL, rest) {
        return Some(all_of(rest));
    }
    if was_listed
        && matches!(rest, ["all" | "everything" | "them" | "tutto" | "tutti" | "tutte"] | ["all", "of", "them"])
    {
        return rest.first().filter(|word| **word != "them").map(|_| Which::All);
    }
    let tail = rest.iter().rev().take_while(|word| TAILS.contains(word)).count();
    // What stands behind a reminder is left out only where something is left.
    let rest = if tail < rest.len() { &rest[..rest.len() - tail] } else { rest };
    let end = begin + rest.len();
    if forms::is_whole(ALL, rest) {
        return Some(all_of(rest));
    }
    let skip = rest.iter().take_while(|word| is_word_of(ARTICLES, word)).count();
    let (rest, begin) = (&rest[skip..], begin + skip);
    let thing = rest.iter().position(|word| is_word_of(THINGS, word));
    match (rest, thing) {
        ([one] | [one, "one"], None) if has_places => {
            if is_word_of(LAST, one) {
                None
            } else {
                place(one).map(Which::Place)
            }
        }
        (["number" | "numero" | "no" | "n", number], None) if has_places => place(number).map(Which::Place),
        (["timer" | "timers"], Some(0)) => Some(Which::Timer),
        ([_], Some(0)) => Some(Which::Only),
        ([one], None) if before == Before::One && is_word_of(IT, one) => Some(Which::Last),
        ([one, _], Some(1)) if is_word_of(LAST, one) => Some(Which::Last),
        ([_, one], Some(0)) if is_word_of(LAST, one) => Some(Which::Last),
        ([one, _], Some(1)) if place(one).is_some() => place(one).map(Which::Place),
        ([_, number] | [_, "number" | "numero", number], Some(0)) if place(number).is_some() => {
            place(number).map(Which::Place)
        }
        // "The first one on the reminder list".
        ([one, "one" | "on" | "in" | "of" | "nella" | "della" | "dei" | "sulla", ..], Some(_))
            if place(one).is_some() =>
        {
            place(one).map(Which::Place)
        }
        // "The dentist reminder".
        (_, Some(at)) if at > 0 && at + 1 == rest.len() && !rest[..at].iter().any(|word| OTHERS.contains(word)) => {
            Some(Which::Called(phrase.typed(begin, begin + at).to_owned()))
        }
        // "The reminder about the dentist".
        (_, Some(0)) => {
            let about = forms::begins(ABOUT, &rest[1..])?;
            let from = begin + 1 + about;
            (from < end).then(|| Which::Called(phrase.typed(from, end).to_owned()))
        }
        (_, Some(_) | None) => None,
    }
}
