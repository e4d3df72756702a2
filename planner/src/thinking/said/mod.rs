//! Said and done (design: understanding §5): what stands below an answer, by the records and not by the model. What was
//! done is named with its line of the chronicle, what was not done is named too, and an answer that claims an effect of
//! which there is no record gets a plain sentence beside it.
//!
//! All of it is pure, and the same for every form of a turn: native tools, JSON, and small steps.

pub mod claims;

use metnos_proto::msg::common::{Lang, Outcome};
use metnos_texts::{Key, say, tell};

use super::schedules::SCHEDULE;
use claims::claims;

/// The most acts that are named one by one; the others are counted with them.
const MAX_NAMED: usize = 12;
/// The most lines of the chronicle that stand beside one kind of act.
const MAX_LINES: usize = 8;
/// The class of effects that changes nothing.
const READ: &str = "read";
/// The class that fetches from the net, and changes nothing at home.
const NET_READ: &str = "net_read";
/// The classes of what stays in the household: nothing is sent by them.
const AT_HOME: [&str; 5] = [READ, NET_READ, "self_create", "self_modify", "destroy"];

/// What became of a call, as the peers have said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Became {
    /// It ran and succeeded.
    Done {
        /// Whether its result was shown to the model or passed on to another call.
        used: bool,
    },
    /// It ran and did not succeed: why, in the person's language; empty when that is not known.
    Failed(String),
    /// It was refused.
    Refused(String),
    /// It was not made, or waits for a person's word.
    NotMade,
}

/// One call of a turn that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// The executor; `undo` for taking back the last change, `schedule` for an order about reminders.
    pub executor: String,
    /// Its class of effects, by its manifest.
    pub class: String,
    /// The line of the chronicle that records it; 0 when it is not known.
    pub line: u64,
    /// What became of it.
    pub became: Became,
}

impl Act {
    fn reads(&self) -> bool {
        self.class == READ || self.class == NET_READ
    }

    const fn is_done(&self) -> bool {
        matches!(self.became, Became::Done { .. })
    }
}

/// Why a run did not succeed, in the person's language.
#[must_use]
pub fn why_not(outcome: Outcome, class: &str, lang: Lang) -> String {
    match metnos_reflex::answer::speech::outcome(outcome, lang) {
        Some(why) => why.trim_end_matches('.').to_owned(),
        None if class.is_empty() => String::new(),
        None => metnos_reflex::answer::speech::error_class(class, lang),
    }
}

/// What stands below this answer: nothing where the turn changed nothing, failed at nothing, and claims nothing.
#[must_use]
pub fn below(answer: &str, acts: &[Act], lang: Lang) -> String {
    let parts = [done(acts, lang), not_done(acts, lang), unread(acts, lang), unclaimed(answer, acts, lang)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What was changed, with the lines of the chronicle: "Done: 1 file written (line 214)." Empty when nothing was.
#[must_use]
pub fn done(acts: &[Act], lang: Lang) -> String {
    let mut kinds: Vec<(&str, u64, Vec<u64>)> = Vec::new();
    // What was planned is said in sentences of its own.
    for act in acts.iter().filter(|act| act.is_done() && !act.reads() && act.executor != SCHEDULE) {
        match kinds.iter_mut().find(|(executor, ..)| *executor == act.executor) {
            Some((_, count, lines)) => {
                *count += 1;
                lines.push(act.line);
            }
            None => kinds.push((&act.executor, 1, vec![act.line])),
        }
    }
    let one = |(executor, count, lines): &(&str, u64, Vec<u64>)| {
        let what = tell(lang, Key::SaidAct, &[("executor", (*executor).into()), ("count", (*count).into())]);
        let known: Vec<String> = lines.iter().filter(|line| **line > 0).take(MAX_LINES).map(u64::to_string).collect();
        if known.is_empty() {
            return what;
        }
        let shown = known.join(", ");
        let lines = match known.len() {
            1 => tell(lang, Key::SaidLine, &[("line", (&shown).into())]),
            _ => tell(lang, Key::SaidLines, &[("lines", (&shown).into())]),
        };
        format!("{what} ({lines})")
    };
    let what: Vec<String> = kinds.iter().take(MAX_NAMED).map(one).collect();
    sentence(Key::SaidDone, what, lang)
}

/// Effects that were wanted and did not come to be, and reading that failed to the end.
fn not_done(acts: &[Act], lang: Lang) -> String {
    let mut what: Vec<String> = Vec::new();
    for (at, act) in acts.iter().enumerate() {
        let why = match &act.became {
            Became::Done { .. } => continue,
            Became::Failed(why) | Became::Refused(why) => why.as_str(),
            // Nobody has tried; a card says itself that it waits.
            Became::NotMade => continue,
        };
        // What was mended is no failure: an effect by the same executor, reading by any that reads.
        let is_mended =
            |later: &Act| later.is_done() && if act.reads() { later.reads() } else { later.executor == act.executor };
        if acts[at + 1..].iter().any(is_mended) {
            continue;
        }
        let tried = tell(lang, Key::SaidTry, &[("executor", (&act.executor).into())]);
        let text = if why.is_empty() { tried } else { format!("{tried} ({})", why.trim_end_matches('.')) };
        if !what.contains(&text) && what.len() < MAX_NAMED {
            what.push(text);
        }
    }
    sentence(Key::SaidNotDone, what, lang)
}

/// Reading that succeeded, and of which nobody has seen the result.
fn unread(acts: &[Act], lang: Lang) -> String {
    let mut what: Vec<String> = Vec::new();
    for act in acts.iter().filter(|act| act.reads() && act.became == Became::Done { used: false }) {
        let tried = tell(lang, Key::SaidTry, &[("executor", (&act.executor).into())]);
        if !what.contains(&tried) && what.len() < MAX_NAMED {
            what.push(tried);
        }
    }
    sentence(Key::SaidUnread, what, lang)
}

/// An answer that claims an effect, and no record shows one.
fn unclaimed(answer: &str, acts: &[Act], lang: Lang) -> String {
    let claims = claims(answer);
    let has_effect = acts.iter().any(|act| act.is_done() && !act.reads());
    let has_sent = acts.iter().any(|act| act.is_done() && !AT_HOME.contains(&act.class.as_str()));
    // "Done!" is honest when something was read.
    let is_bare = claims.done && !acts.iter().any(Act::is_done);
    if !has_effect && (claims.changed || claims.sent || is_bare) {
        say(lang, Key::SaidNothingChanged)
    } else if claims.sent && !has_sent {
        say(lang, Key::SaidNothingSent)
    } else {
        String::new()
    }
}

fn sentence(key: Key, what: Vec<String>, lang: Lang) -> String {
    if what.is_empty() { String::new() } else { tell(lang, key, &[("what", (&what.join("; ")).into())]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(executor: &str, class: &str, line: u64, became: Became) -> Act {
        Act { executor: executor.into(), class: class.into(), line, became }
    }

    const USED: Became = Became::Done { used: true };

    #[test]
    fn effects_are_named_with_their_lines_in_both_languages() {
        let moved = [act("fs_move", "self_modify", 214, USED)];
        assert_eq!(below("It is there now.", &moved, Lang::En), "Done: 1 file or folder moved (line 214).");
        assert_eq!(below("È lì.", &moved, Lang::It), "Fatto: 1 file o cartella spostata (riga 214).");
        let more = [
            act("note_add", "self_modify", 7, USED),
            act("fs_read", "read", 8, USED),
            act("note_add", "self_modify", 9, Became::Done { used: false }),
            act("own_thing", "self_modify", 0, USED),
        ];
        assert_eq!(below("", &more, Lang::En), "Done: 2 notes added (lines 7, 9); own_thing.");
    }

    #[test]
    fn answer_that_only_read_has_nothing_below_it() {
        assert_eq!(below("The note says hello.", &[act("fs_read", "read", 3, USED)], Lang::En), "");
        assert_eq!(below("Good morning.", &[], Lang::En), "");
    }

    #[test]
    fn claim_without_a_record_gets_a_plain_sentence() {
        let read = [act("fs_read", "read", 3, USED)];
        assert_eq!(below("I have sent the mail.", &read, Lang::En), "Note: nothing was changed in this turn.");
        assert_eq!(below("Ho cancellato il file.", &[], Lang::It), "Nota: in questo turno non è stato cambiato nulla.");
        assert_eq!(below("Done!", &[], Lang::En), "Note: nothing was changed in this turn.");
        assert_eq!(below("Done!", &read, Lang::En), "");
        let wrote = [act("fs_write", "self_modify", 5, USED)];
        let said = below("I've sent the mail to Anna.", &wrote, Lang::En);
        assert_eq!(said, "Done: 1 file written (line 5).\nNote: nothing was sent in this turn.");
        assert_eq!(below("I've sent it.", &[act("mail_send", "send", 6, USED)], Lang::En), "Done: mail_send (line 6).");
    }

    #[test]
    fn failed_or_refused_call_is_named_unless_it_was_mended() {
        let failed = || act("fs_move", "self_modify", 4, Became::Failed("there is no such file".into()));
        let told = below("I have moved the file to the folder notes.", &[failed()], Lang::En);
        assert_eq!(
            told,
            "Not done: moving a file or folder (there is no such file).\nNote: nothing was changed in this turn."
        );
        assert_eq!(
            below("", &[failed(), act("fs_move", "self_modify", 6, USED)], Lang::En),
            "Done: 1 file or folder moved (line 6)."
        );
        let refused = act("web_fetch", "net_read", 2, Became::Refused("that host is not allowed".into()));
        assert_eq!(
            below("The page says 4.", std::slice::from_ref(&refused), Lang::En),
            "Not done: reading a page (that host is not allowed)."
        );
        assert_eq!(below("", &[refused, act("fs_read", "read", 9, USED)], Lang::En), "", "it read something else");
    }

    #[test]
    fn result_that_nobody_read_is_named() {
        let unread = [act("web_fetch", "net_read", 2, Became::Done { used: false })];
        assert_eq!(
            below("The page says 4.", &unread, Lang::En),
            "Not looked at: what came of reading a page. The answer does not rest on it."
        );
    }
}
