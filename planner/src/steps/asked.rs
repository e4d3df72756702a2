//! What a request asks for, by its words and never by likeness. A model is offered what changes something only where the
//! person has said one of the words that requests for it begin with, as an order or a wish: "what might the list mean?" asks
//! for no deed, whatever a model makes of it. What only reads is offered where the request shares a word with those for it.

use metnos_proto::envelope::Candidate;
use metnos_proto::executor::Class;
use metnos_proto::executor::pattern::{Part, SlotKind, parse};
use metnos_proto::lists;
use metnos_proto::msg::common::Lang;
use metnos_reflex::words::grammar::{Way, way};
use metnos_reflex::words::said::{self, Said};
use metnos_reflex::words::{lexicon, token};
use metnos_reflex::{READ, spoken_in};

use super::paths::typed;

/// Words that ask for the same deed, in English and in Italian.
const SAME: [(Lang, &[&str]); 12] = [
    (Lang::En, &["add", "append", "insert", "include", "attach", "write", "note", "jot", "scribble", "log", "record"]),
    (Lang::En, &["remember", "memorise", "memorize"]),
    (Lang::En, &["delete", "remove", "erase", "discard", "scrap", "trash", "bin"]),
    (Lang::En, &["rename", "move", "relocate", "transfer", "shift"]),
    (Lang::En, &["create", "make", "start", "begin", "prepare"]),
    (Lang::En, &["save", "store"]),
    (
        Lang::It,
        &["aggiungi", "inserisci", "includi", "accoda", "appendi", "scrivi", "annota", "segna", "appunta", "registra"],
    ),
    (Lang::It, &["ricordati", "memorizza"]),
    (Lang::It, &["cancella", "elimina", "rimuovi", "cestina", "butta", "getta"]),
    (Lang::It, &["togli", "leva", "depenna"]),
    (Lang::It, &["rinomina", "sposta", "trasferisci"]),
    (Lang::It, &["crea", "fai", "prepara", "inizia", "comincia"]),
];
/// Words that ask for something to be kept: nobody means a text by them that is made up.
const KEEP: &str = "note jot log record remember memorise memorize annota segna appunta registra ricordati memorizza";
/// Verbs that ask for a text to be composed, where one of the kinds of text in [`MADE`] follows.
const MAKES: &str = "write compose make invent scrivi scrivimi scrivere componi inventa prepara";
const MADE: &str = "phrase sentence poem poems rhyme verse line lines letter story text wish wishes greeting greetings invitation toast speech \
    frase frasi poesia rima rime verso versi riga righe lettera storia testo augurio auguri invito brindisi discorso";
/// Within how many words behind the verb the kind of text stands.
const MADE_WITHIN: usize = 4;
/// Participles that are made as no other is, and their verbs.
const PARTICIPLES: [(&str, &str); 9] = [
    ("written", "write"),
    ("put", "put"),
    ("taken", "take"),
    ("thrown", "throw"),
    ("scritt", "scrivi"),
    ("mess", "metti"),
    ("tolt", "togli"),
    ("aggiunt", "aggiungi"),
    ("rimoss", "rimuovi"),
];
/// A clause that begins with one of these asks, and orders nothing.
const ASKING: &str = "what which who whom whose where when why how did has have had is are was were am do does should shall may \
    might must che chi cosa quale quali qual quando dove perche come quanto quanta quanti quante hai ho ha abbiamo avete hanno e \
    sono c era erano devo dobbiamo";
/// What follows one of these is asked, told or supposed.
const ASKED: &str = "what which who whom whose where when why how whether if chi cosa quale quali quando dove perche come quanto \
    quanta quanti quante se";
/// What follows one of these is not to be done.
const NOT: &str = "not never without non mai senza";
/// "Do not forget to": it is to be done.
const FORGET: &str = "forget dimenticare dimenticarti dimentichiamo dimentica scordare scordarti scordiamo";
/// With one of these a clause wishes for something.
const WISH: &str = "want like need vorrei vorremmo voglio vogliamo serve bisogna occorre";
/// What may stand before an order besides grammar and politeness.
const LIGHT: &str = "like also too so go ahead try help forget not should must have has ought anche pure quindi bisogna occorre serve \
    dobbiamo devo dovresti dimenticare dimenticarti scordare non possiamo allora dai";
/// What a word weighs at least that says what a request is about.
const LEAST: f32 = 0.2;
/// Words that join clauses.
const JOINS: &str = "and then but so because since e ed poi ma quindi perche poiche siccome";
/// Prepositions behind which a verb stands, and not a thing.
const BEFORE_VERB: &str = "to a ad di da per";
/// What hangs on an Italian verb.
const CLITICS: [&str; 14] =
    ["melo", "mela", "celo", "telo", "tela", "lo", "la", "li", "le", "ne", "mi", "ci", "ti", "gli"];

fn is_one_of(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// Whether an executor does something that is asked for by a word: it neither only reads, nor only fetches.
pub(super) fn is_deed(candidate: &Candidate) -> bool {
    candidate.class != READ && candidate.class != Class::NetRead.name()
}

/// How requests of a line of a pattern begin, and what else they say.
struct Opening {
    lang: Lang,
    /// With one of these they begin.
    verbs: Vec<Vec<String>>,
    /// One of each of these stands right behind.
    close: Vec<Vec<Vec<String>>>,
    /// One of each of these stands anywhere behind.
    far: Vec<Vec<Vec<String>>>,
    /// Whether they quote.
    quotes: bool,
    /// Whether they call a list by its name.
    calls_list: bool,
}

impl Opening {
    fn of_line(line: &str, lang: Lang) -> Option<Self> {
        let parts = parse(line).ok()?;
        let mut groups: Vec<(Vec<Vec<String>>, bool)> = Vec::new();
        let (mut slots, mut before_slot) = (Vec::new(), true);
        for part in &parts {
            match part {
                Part::Word(word) => groups.push((vec![said::of_pattern(word)], before_slot)),
                Part::Any(branches) => groups.push((branches.iter().map(|one| plain(one)).collect(), before_slot)),
                Part::Maybe(_) => {}
                Part::Slot(_, kind) => {
                    slots.push(*kind);
                    before_slot = false;
                }
            }
        }
        let mut groups = groups.into_iter();
        let (verbs, _) = groups.next().filter(|(_, is_first)| *is_first)?;
        let (close, far): (Vec<_>, Vec<_>) = groups.partition(|(_, before)| *before);
        let is_with = |group: &[Vec<String>]| {
            group.first().and_then(|one| one.first()).is_some_and(|word| way(word) == Some(Way::With))
        };
        Some(Self {
            lang,
            verbs,
            close: close.into_iter().map(|(group, _)| group).collect(),
            far: far.into_iter().map(|(group, _)| group).filter(|group| !is_with(group)).collect(),
            quotes: slots.first() == Some(&Some(SlotKind::Quoted)),
            calls_list: slots.contains(&Some(SlotKind::List)),
        })
    }

    /// How the requests begin that an executor serves. Without patterns it is the first word of each example.
    fn all(candidate: &Candidate) -> Vec<Self> {
        let lines = candidate.patterns.iter().flat_map(|table| table.say.iter().map(|line| (line, table.lang)));
        let mut all: Vec<Self> = lines.filter_map(|(line, lang)| Self::of_line(line, lang)).collect();
        if all.is_empty() {
            let first = |example: &str| {
                let verb = said::of_pattern(example.split_whitespace().next()?);
                let lang = spoken_in(example).unwrap_or(Lang::En);
                let (close, far) = (Vec::new(), Vec::new());
                Some(Self { lang, verbs: vec![verb], close, far, quotes: false, calls_list: false })
            };
            all.extend(candidate.requests().filter_map(first));
        }
        all
    }
}

/// The words of parts that have no slots.
fn plain(parts: &[Part]) -> Vec<String> {
    let word = |part: &Part| if let Part::Word(word) = part { said::of_pattern(word) } else { Vec::new() };
    parts.iter().flat_map(word).collect()
}

/// All words of parts.
fn words_of(parts: &[Part]) -> Vec<String> {
    let one = |part: &Part| match part {
        Part::Word(word) => said::of_pattern(word),
        Part::Any(branches) | Part::Maybe(branches) => branches.iter().flat_map(|one| words_of(one)).collect(),
        Part::Slot(..) => Vec::new(),
    };
    parts.iter().flat_map(one).collect()
}

/// A word without what makes it one or many.
fn number(word: &str, lang: Lang) -> &str {
    match lang {
        Lang::En => word.strip_suffix('s').filter(|base| base.len() > 2).unwrap_or(word),
        Lang::It => said::form(word, lang),
    }
}

/// Whether a word that was said is this one of a pattern, or another for the same deed.
fn is_same(said: &str, word: &str, lang: Lang) -> bool {
    let equal = |known: &str| {
        said == known
            || lang == Lang::It
                && (said::form(said, lang) == said::form(known, lang)
                    || CLITICS.iter().any(|clitic| {
                        let base = said.strip_suffix(clitic).filter(|base| base.len() > 3);
                        base.is_some_and(|base| said::form(base, lang) == said::form(known, lang))
                    }))
    };
    let group = SAME.iter().find(|(of, group)| *of == lang && group.contains(&word));
    equal(word) || group.is_some_and(|(_, group)| group.iter().any(|one| equal(one)))
}

/// Whether a word asks for a deed in some request.
fn is_deed_word(said: &str) -> bool {
    let in_group = |(lang, group): &(Lang, &[&str])| group.iter().any(|one| is_same(said, one, *lang));
    is_one_of(said, "put metti take togli") || SAME.iter().any(in_group)
}

/// Whether a word that was said is the participle of this one.
fn is_participle(said: &str, word: &str, lang: Lang) -> bool {
    let cut = if lang == Lang::It { said.strip_suffix(['o', 'a', 'i', 'e']).unwrap_or(said) } else { said };
    if let Some((_, verb)) = PARTICIPLES.iter().find(|(irregular, _)| *irregular == cut) {
        return is_same(verb, word, lang);
    }
    match lang {
        Lang::En => ["ed", "d"].iter().any(|end| said.strip_suffix(end).is_some_and(|base| is_same(base, word, lang))),
        Lang::It => cut.strip_suffix("at").is_some_and(|base| is_same(&format!("{base}a"), word, lang)),
    }
}

/// A request, as far as it decides what is asked for.
pub(super) struct Asked<'a> {
    text: &'a str,
    words: Vec<Said>,
    /// Where the clauses stand in the words.
    clauses: Vec<std::ops::Range<usize>>,
    has_quotation: bool,
    spoken: Option<Lang>,
}

impl<'a> Asked<'a> {
    /// Reads a request; of one that is too long nothing is asked. `butler` is what Metnos is called.
    pub fn of(text: &'a str, butler: &str) -> Self {
        let tokens = token::tokens(text).unwrap_or_default();
        let butler = said::plain(butler);
        let (mut words, mut clauses, mut begin) = (Vec::new(), Vec::new(), 0);
        let all = said::said(text, &tokens);
        for (at, word) in all.iter().enumerate() {
            let is_joint = word.is_word && is_one_of(&word.plain, JOINS);
            if word.is_word && !is_joint && word.plain != butler {
                words.push(word.clone());
            }
            let is_last = all.get(at + 1).is_none_or(|next| next.token != word.token);
            let ends = is_last && tokens.get(word.token).is_some_and(|token| token.ends_clause || token.colon);
            // What stands behind a colon after a deed is what is written, whatever it says.
            let is_colon = is_last && tokens.get(word.token).is_some_and(|token| token.colon);
            if is_colon && words.iter().any(|one| is_deed_word(&one.plain)) {
                clauses.push(begin..words.len());
                break;
            }
            if (ends || is_joint || at + 1 == all.len()) && words.len() > begin {
                clauses.push(begin..words.len());
                begin = words.len();
            }
        }
        let has_quotation = tokens.iter().any(|one| one.kind == token::Kind::Quoted);
        Self { text, words, clauses, has_quotation, spoken: spoken_in(text) }
    }

    /// Whether it asks, and orders nothing: its first clause begins with a word of asking.
    pub fn is_question(&self) -> bool {
        let first = self.clauses.first().and_then(|clause| self.words.get(clause.start));
        let second = self.words.get(1).filter(|_| first.is_some_and(|word| way(&word.plain).is_some()));
        [first, second].into_iter().flatten().any(|word| is_one_of(&word.plain, ASKING))
    }

    /// Whether the request asks for what this executor does.
    pub fn ask_for(&self, candidate: &Candidate) -> bool {
        let has_dest = candidate.roles.iter().any(|(_, role)| role == "dest");
        if !has_dest && self.makes_text() {
            return false;
        }
        let openings = Opening::all(candidate);
        let spoken = |one: &&Opening| self.spoken.is_none_or(|lang| lang == one.lang);
        openings
            .iter()
            .filter(spoken)
            .any(|opening| self.clauses.iter().any(|clause| self.asks(clause.clone(), opening)))
    }

    /// Whether it asks for a text to be made up, and names no file for it.
    fn makes_text(&self) -> bool {
        let made =
            |at: usize| self.words.iter().skip(at + 1).take(MADE_WITHIN).any(|next| is_one_of(&next.plain, MADE));
        let mut all = self.words.iter().enumerate();
        typed(self.text).next().is_none() && all.any(|(at, word)| is_one_of(&word.plain, MAKES) && made(at))
    }

    /// Whether the request has a word of the requests that this executor serves, grammar and questions aside.
    pub fn touches(&self, candidate: &Candidate) -> bool {
        let weighs = |word: &str| {
            let is_grammar = lexicon::mark(word).weight() < LEAST || way(word).is_some();
            word.len() > 1 && !is_grammar && !is_one_of(word, ASKING) && !is_one_of(word, ASKED)
        };
        let said: Vec<&str> = self.words.iter().map(|one| one.plain.as_str()).filter(|word| weighs(word)).collect();
        let has =
            |word: &str, lang: Lang| weighs(word) && said.iter().any(|one| number(one, lang) == number(word, lang));
        let mut lines = candidate.patterns.iter().flat_map(|table| table.say.iter().map(|line| (line, table.lang)));
        let is_spoken = |lang: Lang| self.spoken.is_none_or(|spoken| spoken == lang);
        lines.any(|(line, lang)| {
            is_spoken(lang) && parse(line).is_ok_and(|parts| words_of(&parts).iter().any(|word| has(word, lang)))
        }) || candidate.requests().any(|example| {
            // Of an example without a pattern nobody knows which words are only values.
            let lang = spoken_in(example).unwrap_or(Lang::En);
            let words = example.split_whitespace().flat_map(said::of_pattern);
            candidate.patterns.is_empty() && is_spoken(lang) && words.into_iter().any(|word| has(&word, lang))
        })
    }

    fn asks(&self, clause: std::ops::Range<usize>, opening: &Opening) -> bool {
        let words = &self.words[clause.clone()];
        let is_forbidding = words.get(1).is_some_and(|word| is_one_of(&word.plain, NOT));
        if words.first().is_some_and(|word| is_one_of(&word.plain, ASKING)) && !is_forbidding {
            return false;
        }
        let wishes = words.iter().any(|word| is_one_of(&word.plain, WISH));
        let names_place = words.first().is_some_and(|word| way(&word.plain).is_some());
        for (at, word) in words.iter().enumerate() {
            let is_next = |list: &str| words.iter().skip(at + 1).take(2).any(|next| is_one_of(&next.plain, list));
            if is_one_of(&word.plain, ASKED) || is_one_of(&word.plain, NOT) && !is_next(FORGET) {
                return false;
            }
            let rest = &self.words[clause.start + at..];
            let is_light = |word: &Said| lexicon::mark(&word.plain).weight() <= 0.0 || is_one_of(&word.plain, LIGHT);
            let is_order = (names_place || words[..at].iter().all(is_light))
                && !at.checked_sub(1).is_some_and(|before| self.is_before_thing(&words[before].plain, opening.lang));
            let first = |verb: &[String]| {
                verb.first().is_some_and(|first| {
                    is_order && is_same(&word.plain, first, opening.lang)
                        || wishes && is_participle(&word.plain, first, opening.lang)
                })
            };
            if opening.verbs.iter().any(|verb| first(verb) && self.follows(rest, verb, opening)) {
                return true;
            }
        }
        false
    }

    /// Whether a thing stands behind this word, and no verb.
    fn is_before_thing(&self, word: &str, lang: Lang) -> bool {
        said::is_article(word, lang) || way(word).is_some() && !is_one_of(word, BEFORE_VERB)
    }

    /// Whether the words go on as those of this opening, of which the verb begins here.
    fn follows(&self, rest: &[Said], verb: &[String], opening: &Opening) -> bool {
        let is_keeping =
            verb.len() == 1 && is_one_of(&verb[0], KEEP) || rest.first().is_some_and(|one| is_one_of(&one.plain, KEEP));
        if opening.quotes && !self.has_quotation && !is_keeping
            || opening.calls_list && lists::called(self.text).is_empty()
            || rest.get(verb.len()).is_some_and(|next| is_one_of(&next.plain, ASKED))
        {
            return false;
        }
        let equal = |at: usize, word: &String| {
            rest.get(at).is_some_and(|said| said::form(&said.plain, opening.lang) == said::form(word, opening.lang))
        };
        let stands = |at: usize, words: &[String]| words.iter().enumerate().all(|(nth, word)| equal(at + nth, word));
        // Of the verb the first word was compared, also with others for the same deed.
        if !verb.iter().enumerate().skip(1).all(|(nth, word)| equal(nth, word)) {
            return false;
        }
        let mut at = verb.len();
        for group in &opening.close {
            let mut found = None;
            while found.is_none() && at < rest.len() {
                found = group.iter().find(|one| stands(at, one)).map(Vec::len);
                let is_skipped = lexicon::mark(&rest[at].plain).weight() <= 0.0
                    || is_one_of(&rest[at].plain, "new quick short nuova breve");
                if found.is_none() && !is_skipped {
                    return false;
                }
                at += found.unwrap_or(1);
            }
            if found.is_none() {
                return false;
            }
        }
        // Anywhere, also before the verb; and one preposition is as good as another that points the same way: "to the list",
        // "onto the list".
        let is_said = |group: &Vec<Vec<String>>| {
            let ways: Vec<Way> = group.iter().filter_map(|one| way(one.first()?)).collect();
            (0..self.words.len()).any(|at| {
                let stands = |one: &Vec<String>| {
                    one.iter().enumerate().all(|(nth, word)| {
                        self.words
                            .get(at + nth)
                            .is_some_and(|said| said::form(&said.plain, opening.lang) == said::form(word, opening.lang))
                    })
                };
                group.iter().any(stands) || way(&self.words[at].plain).is_some_and(|one| ways.contains(&one))
            })
        };
        opening.far.iter().all(is_said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::household;

    /// The deeds of the household that these words ask for.
    fn deeds(words: &str) -> Vec<String> {
        let asked = Asked::of(words, "Alfredo");
        let all = household().into_iter().filter(|one| is_deed(one) && asked.ask_for(one));
        all.map(|one| one.name).collect()
    }

    #[test]
    fn deeds_are_asked_for_by_their_words_in_both_languages() {
        for (words, wanted) in [
            ("could you jot down in notes/ideas.md that we want to paint", "fs_append"),
            ("Alfredo add oil to the note about the car", "fs_append"),
            ("we are out of flour, so please put it on the shopping list", "fs_append"),
            ("I'd like rice to be added to the shopping list", "fs_append"),
            ("don't forget to add rice to the shopping list", "fs_append"),
            ("nella lista della spesa metti il riso", "fs_append"),
            ("mi aggiungi il riso alla lista della spesa?", "fs_append"),
            ("inserisci il riso nella lista della spesa", "fs_append"),
            ("read notes/a.md and then delete it", "fs_delete"),
            ("the old one is useless, throw it away", "fs_delete"),
            ("puoi buttare via la nota del divano?", "fs_delete"),
            ("adesso cancellala", "fs_delete"),
            ("vorrei che la nota del divano fosse cancellata", "fs_delete"),
            ("save the poem as notes/poem.md", "fs_write"),
            ("crea un file vuoto notes/a.md", "fs_write"),
            ("write a line about the trip into notes/trip.md", "fs_append"),
        ] {
            assert!(deeds(words).iter().any(|name| name == wanted), "{words}: {:?}", deeds(words));
        }
    }

    #[test]
    fn questions_talk_and_what_is_not_to_be_done_ask_for_no_deed() {
        for words in [
            "tell me until when our good old car is insured",
            "racconta qualcosa della nostra vecchia macchina",
            "what might the file notes/car.md mean for the two of us",
            "did I delete the note about the sofa?",
            "what did we put on the shopping list?",
            "should I throw notes/car.md away?",
            "how do I delete a note",
            "tell me what to add to the shopping list",
            "please do not delete notes/car.md",
            "dove ho scritto il codice del cancello?",
            "che cosa abbiamo messo nella lista della spesa?",
            "non cancellare la nota del divano",
            "dimmi come si cancella una nota",
            "read the note about the trip",
            "the delete key of the keyboard is broken",
            "explain \"delete notes/car.md\" to me",
            "",
        ] {
            assert_eq!(deeds(words), [] as [&str; 0], "{words}");
        }
    }

    #[test]
    fn words_for_one_deed_ask_for_no_other() {
        for (words, never) in [
            ("put milk on the shopping list", "fs_delete"),
            ("move notes/a.md into the folder archive", "fs_delete"),
            ("add a line to notes/a.md: delete the old sofa", "fs_delete"),
            ("delete notes/a.md", "fs_append"),
            ("delete notes/a.md", "fs_write"),
            ("togli il pane dalla lista della spesa", "fs_append"),
        ] {
            assert!(!deeds(words).iter().any(|name| name == never), "{words}: {:?}", deeds(words));
        }
    }

    #[test]
    fn what_reads_is_touched_by_words_of_its_requests_alone() {
        let touches = |words: &str, name: &str| {
            let all = household();
            Asked::of(words, "").touches(all.iter().find(|one| one.name == name).unwrap())
        };
        assert!(touches("which of my notes is the longest one?", "fs_find"));
        assert!(touches("quale delle mie note è la più lunga?", "fs_find"));
        assert!(touches("how late is it over there", "clock_now"));
        assert!(!touches("do we still have enough milk in the house?", "fs_find"));
        assert!(!touches("where is the warranty of the fridge?", "fs_find"));
        assert!(!touches("chi viene alla festa di sabato?", "fs_find"));
        assert!(!touches("who is coming for dinner?", "clock_now"));
    }

    #[test]
    fn questions_begin_with_a_word_of_asking_and_polite_orders_do_not() {
        for words in
            ["when is the birthday of Anna?", "a che ora chiude il negozio?", "quando parte il treno", "is it open"]
        {
            assert!(Asked::of(words, "").is_question(), "{words}");
        }
        for words in ["order a pizza", "could you order a pizza?", "puoi ordinare una pizza?", "accendi la luce", ""] {
            assert!(!Asked::of(words, "").is_question(), "{words}");
        }
    }

    #[test]
    fn participles_and_hanging_pronouns_are_forms_of_their_verbs() {
        for (said, verb, lang) in [
            ("added", "add", Lang::En),
            ("written", "write", Lang::En),
            ("scritta", "scrivi", Lang::It),
            ("segnato", "segna", Lang::It),
        ] {
            assert!(is_participle(said, verb, lang), "{said}");
        }
        assert!(!is_participle("shed", "shelve", Lang::En) && !is_participle("patata", "metti", Lang::It));
        assert!(is_same("aggiungici", "aggiungi", Lang::It) && is_same("segnatelo", "segnati", Lang::It));
        assert!(is_same("scribble", "write", Lang::En) && !is_same("read", "write", Lang::En));
    }
}
