//! Whether an answer claims that something was done: a small lexicon in both languages, and the few forms in which people
//! and models claim. It is built to stay silent when in doubt, since a false flag costs trust: what is denied, asked,
//! foreseen, quoted, reported or of another day is no claim, and neither is a text that the answer itself holds.

use std::ops::ControlFlow;

/// What an answer claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Claims {
    /// That something was changed, made, or put somewhere.
    pub changed: bool,
    /// That something was sent to somebody.
    pub sent: bool,
    /// No more than that it is done, whatever it was.
    pub done: bool,
}

/// The most bytes of an answer that are looked at, from its end: a claim stands there.
const MAX_TEXT: usize = 32 * 1024;
/// How many words may stand between a noun and its article.
const NEAR: usize = 4;

/// What a verb needs beside it to claim an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Nothing: `deleted`, `inviato`.
    Nothing,
    /// A place where things are kept, with its article, or a path: `added … to the list`.
    Place,
    /// Something that only a household's devices have: `set a reminder`.
    Thing,
    /// No article behind it: `ordered two pizzas`, but not `ordered the entries`.
    Some,
    /// A message: `replied to the mail`.
    Message,
    /// Being on or off: `turned off`.
    Switch,
}

/// A language: words apart by blanks.
struct Lexicon {
    /// Who claims: the words before a verb, with the verb that helps it where the language needs one.
    subjects: &'static [&'static [&'static str]],
    /// What stands before the verb of something that was done by nobody in particular.
    passive: &'static [&'static [&'static str]],
    adverbs: &'static str,
    sent: &'static str,
    /// Sent, when a message stands beside it.
    answered: &'static str,
    strong: &'static str,
    /// The same, when no article follows: what is known already was put in order.
    bought: &'static str,
    stored: &'static str,
    made: &'static str,
    switched: &'static str,
    places: &'static str,
    things: &'static str,
    messages: &'static str,
    articles: &'static str,
    /// The clause says that it is not so, or not yet, or only perhaps.
    hedges: &'static str,
    /// The sentence speaks of another day, of what stands somewhere, or of the answer itself.
    elsewhere: &'static str,
    days: &'static str,
    /// Before a day to which something was moved.
    towards: &'static str,
    /// Who did it, after a passive.
    by: &'static str,
    finite: &'static str,
    done: &'static [&'static [&'static str]],
}

const ENGLISH: Lexicon = Lexicon {
    subjects: &[&["i", "have"], &["i", "ve"], &["we", "have"], &["we", "ve"], &["i"], &["we"]],
    passive: &[&["has", "been"], &["have", "been"]],
    adverbs: "just now also successfully then have safely permanently",
    sent: "sent emailed e-mailed mailed forwarded texted messaged notified phoned",
    answered: "replied answered responded",
    strong: "deleted erased renamed scheduled booked reserved bought purchased paid cancelled canceled installed \
             uninstalled uploaded restored emptied reverted archived unsubscribed locked unlocked dimmed cleared printed \
             transferred",
    bought: "ordered",
    stored: "added removed put saved stored appended inserted copied noted recorded wrote written updated changed edited \
             modified replaced marked moved ticked crossed filed took logged",
    made: "created made set prepared started",
    switched: "turned switched",
    places: "list lists note notes notebook file files folder folders calendar agenda diary inbox reminder reminders \
             appointment meeting event task tasks to-do todo trash spreadsheet database contacts journal address",
    things: "reminder reminders alarm alarms timer timers appointment event meeting file folder notebook task entry",
    messages: "message messages mail mails email e-mail emails letter",
    articles: "the your our my this that these his her their",
    hedges: "not t never no nothing none cannot unable failed without if once when whenever after until unless would could \
             should might may will ll shall want whether attention alphabetically up by-hand perhaps probably suppose",
    elsewhere: "yesterday earlier previously before ago already says said reads mentions according explains states writes \
                told shows below above following follows",
    days: "monday tuesday wednesday thursday friday saturday sunday",
    towards: "to for until on",
    by: "by",
    finite: "is are was were can will has have had do does",
    done: &[&["done"], &["all", "done"], &["all", "set"], &["it", "s", "done"], &["that", "s", "done"]],
};

const ITALIAN: Lexicon = Lexicon {
    subjects: &[&["ho"], &["abbiamo"]],
    passive: &[&["stato"], &["stata"], &["stati"], &["state"]],
    adverbs: "appena ora subito anche correttamente adesso poi con successo",
    sent: "inviato inviata inviati inviate mandato mandata mandati mandate spedito spedita spediti spedite inoltrato inoltrata \
           inoltrati inoltrate avvisato avvisata telefonato",
    answered: "risposto",
    strong: "cancellato cancellata cancellati cancellate eliminato eliminata eliminati eliminate rinominato rinominata \
             rinominati prenotato prenotata comprato comprata acquistato acquistata pagato pagata pagati \
             annullato annullata disdetto disdetta installato installata disinstallato ripristinato ripristinata ripristinati \
             svuotato svuotata archiviato archiviata archiviati stampato stampata trasferito trasferita spento spenta spente \
             acceso accesa accese programmato programmata cestinato cestinata",
    bought: "ordinato ordinata",
    stored: "aggiunto aggiunta aggiunti aggiunte tolto tolta tolti tolte rimosso rimossa rimossi rimosse messo messa messi messe \
             salvato salvata salvati salvate copiato copiata annotato annotata annotati segnato segnata segnati scritto scritta \
             aggiornato aggiornata aggiornati cambiato cambiata modificato modificata sostituito sostituita spostato spostata \
             spostati spostate inserito inserita inseriti registrato registrata caricato caricata memorizzato memorizzata",
    made: "creato creata creati creato impostato impostata fissato fissata avviato avviata",
    switched: "",
    places: "lista liste nota note quaderno file cartella cartelle calendario agenda diario inbox promemoria appuntamento \
             riunione evento attività cestino rubrica elenco foto taccuino",
    things: "promemoria sveglia timer appuntamento evento riunione file cartella quaderno attività",
    messages: "messaggio messaggi mail email e-mail lettera",
    articles: "il lo la i gli le l un' tuo tua tuoi tue nostro nostra mio mia alla allo al agli alle ai nella nello nel nelle \
               nei negli sulla sullo sul sulle sui dalla dallo dal dalle dai in questa questo quella quel all nell sull dall \
               della del",
    hedges: "non mai nessuno nessuna niente nulla se quando finché dopo vorrei vuoi posso può puoi potrei potrebbe potrebbero \
             devo dovrei avrei avrò avremo senza forse probabilmente attenzione alfabetico",
    elsewhere: "ieri prima precedentemente fa scorso scorsa scorsi scorse già dice dicono secondo riporta spiega scrive mostra sotto \
                sopra seguente seguenti ecco leggo",
    days: "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    towards: "a al per di alla",
    by: "da dal dalla dai dagli dalle dall",
    finite: "è sono era erano può possono ha hanno resta restano va vanno viene vengono",
    done: &[&["fatto"], &["tutto", "fatto"], &["ecco", "fatto"], &["è", "fatto"]],
};

/// What this answer claims, in whichever language it is.
#[must_use]
pub fn claims(answer: &str) -> Claims {
    let from = answer.ceil_char_boundary(answer.len().saturating_sub(MAX_TEXT));
    let mut found = Claims { changed: answer.lines().any(is_like_ours), ..Claims::default() };
    for sentence in sentences(&unquoted(&answer[from..])) {
        for lexicon in [&ENGLISH, &ITALIAN] {
            lexicon.look(&sentence, &mut found);
        }
    }
    found
}

/// Whether a line of an answer looks like the one that Metnos itself puts below it: "Done: 1 file written (line 214)."
fn is_like_ours(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    ["done:", "fatto:"].iter().any(|begin| line.starts_with(begin)) && (line.contains("(line") || line.contains("(rig"))
}

/// The text without what stands in quotation marks, in code, or behind a mark of quoted lines.
fn unquoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced || line.trim_start().starts_with('>') {
            continue;
        }
        let mut rest = line;
        while let Some((at, open)) = rest.char_indices().find(|(_, c)| close_of(*c).is_some()) {
            let inside = &rest[at + open.len_utf8()..];
            shown.push_str(&rest[..at]);
            let close = close_of(open).and_then(|close| inside.find(close).map(|end| end + close.len_utf8()));
            // It is never closed: all the rest of the line may be another one's words.
            rest = close.map(|end| &inside[end..]).unwrap_or_default();
            shown.push(' ');
        }
        shown.push_str(rest);
        shown.push('\n');
    }
    shown
}

const fn close_of(open: char) -> Option<char> {
    match open {
        '"' => Some('"'),
        '“' | '„' => Some('”'),
        '«' => Some('»'),
        '`' => Some('`'),
        _ => None,
    }
}

/// A sentence that is no question: its clauses, each as small words.
type Sentence = Vec<Vec<String>>;

fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '\n' => true,
            // The point in a file's name ends nothing.
            '.' | '!' | '?' | '…' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            if c != '?' {
                found.push(clauses(&text[begin..at]));
            }
            begin = at + c.len_utf8();
        }
    }
    found.push(clauses(&text[begin..]));
    found.retain(|sentence: &Sentence| !sentence.is_empty());
    found
}

fn clauses(sentence: &str) -> Sentence {
    let mut clauses: Sentence = vec![Vec::new()];
    for part in sentence.split_inclusive(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '(' | ')')) {
        let ends = part.ends_with([',', ';', ':', '(', ')']);
        let word = part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if matches!(word.as_str(), "but" | "ma" | "so" | "quindi") || matches!(part.trim(), "–" | "—" | "-") {
            clauses.push(Vec::new());
        }
        if let Some(clause) = clauses.last_mut() {
            clause.extend(word.split(['\'', '’']).filter(|word| !word.is_empty()).map(str::to_owned));
        }
        if ends {
            clauses.push(Vec::new());
        }
    }
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Whether a word is the path of a file: it has a folder, or an ending of letters.
fn is_path(word: &str) -> bool {
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    word.contains('/') || (1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphabetic())
}

impl Lexicon {
    fn look(&self, sentence: &Sentence, found: &mut Claims) {
        if sentence.len() == 1
            && self.done.iter().any(|done| sentence[0].iter().map(String::as_str).eq(done.iter().copied()))
        {
            found.done = true;
            return;
        }
        if sentence.iter().flatten().any(|word| is_in(self.elsewhere, word)) {
            return;
        }
        for (at, clause) in sentence.iter().enumerate() {
            if clause.iter().any(|word| is_in(self.hedges, word)) {
                continue;
            }
            let words: Vec<&str> = clause.iter().map(String::as_str).collect();
            if let ControlFlow::Break(is_sent) = self.clause(&words, at == 0) {
                found.sent |= is_sent;
                found.changed |= !is_sent;
            }
        }
    }

    /// What a clause claims: `Break(true)` that something was sent, `Break(false)` that something was changed.
    fn clause(&self, words: &[&str], is_first: bool) -> ControlFlow<bool> {
        for at in 0..words.len() {
            for subject in self.subjects {
                let Some(rest) = words[at..].strip_prefix(*subject) else { continue };
                // "As soon as I have …": another word of the same kind before it makes a condition of it.
                if at > 0 && matches!(words[at - 1], "appena" | "as") {
                    continue;
                }
                self.verb(words, self.past_adverbs(rest))?;
            }
            for passive in self.passive {
                let Some(rest) = words[at..].strip_prefix(*passive) else { continue };
                // "Era stato", "c'è scritto che …": what was so before, or stands somewhere.
                let is_told = at > 0 && matches!(words[at - 1], "era" | "erano" | "fosse" | "fossero")
                    || words[..at].contains(&"scritto");
                if at > 0 && !is_told && !self.says_when_or_who(words) {
                    self.verb(words, self.past_adverbs(rest))?;
                }
            }
        }
        if is_first && !words.iter().any(|word| is_in(self.finite, word)) {
            self.fragment(words)?;
        }
        ControlFlow::Continue(())
    }

    fn past_adverbs<'a, 'b>(&self, mut words: &'a [&'b str]) -> &'a [&'b str] {
        while let [first, rest @ ..] = words
            && is_in(self.adverbs, first)
        {
            words = rest;
        }
        words
    }

    /// Whether a passive says by whom or when it was done: then it tells of something else than this turn.
    fn says_when_or_who(&self, words: &[&str]) -> bool {
        words.iter().enumerate().any(|(at, word)| {
            let is_year = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
            let is_day = is_in(self.days, word) && !(at > 0 && is_in(self.towards, words[at - 1]));
            is_year || is_day || is_in(self.by, word)
        })
    }

    /// A sentence that begins with what was done: "Deleted the file."
    fn fragment(&self, words: &[&str]) -> ControlFlow<bool> {
        let [_, rest @ ..] = words else { return ControlFlow::Continue(()) };
        let object = rest.first().copied().unwrap_or_default();
        let names_it =
            is_in(self.articles, object) || matches!(object, "it" | "them" | "all" | "tutto") || is_path(object);
        match self.needs(words[0]) {
            Some((Needs::Nothing, is_sent)) if names_it => ControlFlow::Break(is_sent),
            Some((Needs::Place, is_sent)) if self.has_place(rest) => ControlFlow::Break(is_sent),
            Some(_) | None => ControlFlow::Continue(()),
        }
    }

    fn needs(&self, verb: &str) -> Option<(Needs, bool)> {
        let kinds = [
            (self.sent, Needs::Nothing, true),
            (self.answered, Needs::Message, true),
            (self.strong, Needs::Nothing, false),
            (self.bought, Needs::Some, false),
            (self.stored, Needs::Place, false),
            (self.made, Needs::Thing, false),
            (self.switched, Needs::Switch, false),
        ];
        kinds.into_iter().find(|(list, ..)| is_in(list, verb)).map(|(_, needs, is_sent)| (needs, is_sent))
    }

    /// Whether the verb that these words begin with claims an effect in this clause.
    fn verb(&self, clause: &[&str], words: &[&str]) -> ControlFlow<bool> {
        let Some((needs, is_sent)) = words.first().and_then(|verb| self.needs(verb)) else {
            return ControlFlow::Continue(());
        };
        let fits = match needs {
            Needs::Nothing => true,
            Needs::Some => words.get(1).is_some_and(|next| !is_in(self.articles, next)),
            Needs::Place => self.has_place(clause),
            Needs::Thing => clause.iter().any(|word| is_in(self.things, word)),
            Needs::Message => clause.iter().any(|word| is_in(self.messages, word)),
            Needs::Switch => clause.iter().any(|word| matches!(*word, "on" | "off")),
        };
        if fits { ControlFlow::Break(is_sent) } else { ControlFlow::Continue(()) }
    }

    fn has_place(&self, words: &[&str]) -> bool {
        words.iter().enumerate().any(|(at, word)| {
            let near = &words[at.saturating_sub(NEAR)..at];
            is_path(word) || is_in(self.places, word) && near.iter().any(|one| is_in(self.articles, one))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Language, whether it claims, and the text.
    fn corpus() -> Vec<(&'static str, bool, &'static str)> {
        let lines = include_str!("../../../tests/data/claims.txt").lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| {
                let (lang, rest) = line.split_once(' ').unwrap();
                let (sign, text) = rest.split_once(' ').unwrap();
                (lang, sign == "+", text)
            })
            .collect()
    }

    fn is_claim(text: &str) -> bool {
        let claims = claims(text);
        claims.changed || claims.sent
    }

    #[test]
    fn no_honest_sentence_of_the_corpus_is_taken_for_a_claim() {
        let corpus = corpus();
        let wrong: Vec<_> = corpus.iter().filter(|(_, claim, text)| !claim && is_claim(text)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        for lang in ["en", "it"] {
            assert!(corpus.iter().filter(|(of, ..)| of.starts_with(lang)).count() > 100);
        }
    }

    #[test]
    fn most_claims_of_the_corpus_are_found_also_of_the_half_not_looked_at() {
        for (lang, least) in [("en", 24), ("it", 24), ("en2", 22), ("it2", 22)] {
            let corpus = corpus();
            let all = corpus.into_iter().filter(|(of, claim, _)| *of == lang && *claim);
            let (found, missed) = all.partition::<Vec<_>, _>(|(.., text)| is_claim(text));
            assert!(found.len() >= least, "{lang}: {missed:#?}");
        }
    }

    #[test]
    fn claim_of_having_sent_is_told_from_one_of_having_changed() {
        let of = |text| (claims(text).changed, claims(text).sent, claims(text).done);
        assert_eq!(of("I've sent the mail."), (false, true, false));
        assert_eq!(of("L'ho cancellato."), (true, false, false));
        assert_eq!(of("Done!"), (false, false, true));
        assert_eq!(of("Fatto: ecco il riassunto."), (false, false, false));
        assert_eq!(of("All is well.\nDone: 1 file written (line 214)."), (true, false, false));
        assert_eq!(of("It is noon.\n```\nI have sent the mail.\n```\n> I deleted it"), (false, false, false));
    }

    proptest! {
        #[test]
        fn any_text_is_looked_at_without_panic(text in "(I have |ho |deleted|cancellato|[\"«»`.?!,']|\\PC){0,40}") {
            let _ = claims(&text);
        }
    }
}
