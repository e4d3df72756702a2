//! Words of a request as dialogue looks at them: in small letters, without politeness around them, each with where it stands.

use metnos_proto::msg::common::Lang;
use metnos_rank::words::words as folded;

use super::grammar;
use super::token::{self, Kind, Token};

/// Words that agree or refuse, and say nothing of what.
const AGREES: &str = "yes,no,ok,okay,sure,yes please,no thanks,no thank you,cancel,cancel it,cancel that,stop,stop it,never mind,\
    nevermind,forget it,do it,go ahead,of course,si,no grazie,si grazie,va bene,certo,annullato,basta,fermati,lascia stare,\
    lascia perdere,non importa,procedi,fallo,vai,vai avanti,d accordo";
/// Those of them that refuse.
const REFUSES: &str = "no,no thanks,no thank you,cancel,cancel it,cancel that,stop,stop it,never mind,nevermind,forget it,none,\
    neither,none of them,neither of them,no grazie,basta,fermati,lascia stare,lascia perdere,non importa,nessuno,nessuna,\
    nessuno dei due,nessuna delle due";
/// Words that may point back.
const POINTS: &str = "it that this same again once more one ones first second third fourth fifth sixth seventh eighth ninth tenth \
    last number and what about how also file note folder list document ancora nuovo volta stesso stessa quello quella questo \
    questa quel primo prima secondo seconda terzo terza quarto quarta quinto quinta sesto sesta settimo settima ottavo ottava \
    nono nona decimo decima ultimo ultima numero e anche idem invece nota cartella lista documento lo la";

/// Words that stand for something, or ask for it.
const PRONOUNS: &str = "it this that these those them he she him her they who what which where when why how everything anything \
    something nothing questo questa questi queste quello quella quelli quelle quel cio lo li ne che chi cosa quale quali dove quando \
    perche come tutto qualcosa niente nulla is are do does did sono ha hai ho";

/// A word and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// In small letters without accents; of a value as it was typed.
    pub plain: String,
    pub start: usize,
    pub end: usize,
    /// Whether it is a value, such as a path.
    pub is_value: bool,
}

/// The words of a request without the politeness around them.
#[derive(Debug, Clone)]
pub(crate) struct Phrase<'a> {
    pub text: &'a str,
    pub words: Vec<Word>,
    pub lang: Lang,
    /// The language that the words give away.
    pub spoken: Option<Lang>,
}

impl<'a> Phrase<'a> {
    /// The phrase of a text; `None` when it is too long for the reflex, or says nothing.
    pub fn of(text: &'a str, usual: Lang) -> Option<Self> {
        let tokens = token::tokens(text)?;
        let spoken = token::language(&tokens);
        let (begin, _) = grammar::lead(&tokens);
        let end = grammar::tail(&tokens, begin);
        // "Yes please" is all politeness and one word.
        let own = if begin < end { tokens.get(begin..end)? } else { &tokens[..] };
        let mut words: Vec<Word> = own.iter().flat_map(of_token).collect();
        write_out(&mut words);
        (!words.is_empty()).then(|| Self { text, words, lang: spoken.unwrap_or(usual), spoken })
    }

    /// All words of a text, politeness included; `None` as in [`Self::of`].
    pub fn whole(text: &'a str) -> Option<Self> {
        let tokens = token::tokens(text)?;
        let mut words: Vec<Word> = tokens.iter().flat_map(of_token).collect();
        write_out(&mut words);
        (!words.is_empty()).then_some(Self { text, words, lang: Lang::En, spoken: None })
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// The words, each as it is compared.
    pub fn plain(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.plain.as_str()).collect()
    }

    /// Whether the words from `at` on are these; where they end.
    pub fn says(&self, at: usize, phrase: &str) -> Option<usize> {
        let mut next = at;
        for word in phrase.split(' ') {
            if self.words.get(next).is_none_or(|said| said.is_value || said.plain != word) {
                return None;
            }
            next += 1;
        }
        Some(next)
    }

    /// Whether the word at `at` is the Italian "è", which is compared as "e" is, and joins nothing.
    pub fn is_verb_to_be(&self, at: usize) -> bool {
        let Some(word) = self.words.get(at).filter(|word| word.plain == "e") else { return false };
        let typed = self.text.get(word.start..).unwrap_or_default();
        ["è", "È", "e'", "E'", "e’", "E’"].iter().any(|is| typed.starts_with(is))
    }

    /// Whether all the words are these.
    pub fn is(&self, phrase: &str) -> bool {
        self.says(0, phrase) == Some(self.len())
    }

    /// Whether all the words are one of these phrases, which commas separate.
    pub fn is_one_of(&self, phrases: &str) -> bool {
        phrases.split(',').any(|phrase| self.is(phrase.trim()))
    }

    /// Whether something in the words may point back.
    pub fn points_back(&self) -> bool {
        let clitic =
            self.words.first().is_some_and(|word| ["lo", "la", "li", "le"].iter().any(|end| word.plain.ends_with(end)));
        clitic || self.words.iter().any(|word| POINTS.split_ascii_whitespace().any(|known| known == word.plain))
    }

    /// Whether the words only agree or refuse.
    pub fn only_agrees(&self) -> bool {
        self.is_one_of(AGREES)
    }

    /// Whether the words only refuse.
    pub fn only_refuses(&self) -> bool {
        self.is_one_of(REFUSES)
    }

    /// The text with the words from `begin` to `end` replaced.
    pub fn replaced(&self, begin: usize, end: usize, by: &str) -> String {
        let (from, to) = (self.words[begin].start, self.words[end - 1].end);
        format!("{}{by}{}", &self.text[..from], &self.text[to..])
    }

    /// What was typed from one word up to another.
    pub fn typed(&self, begin: usize, end: usize) -> &'a str {
        match (self.words.get(begin), end.checked_sub(1).and_then(|last| self.words.get(last))) {
            (Some(first), Some(last)) if first.start < last.end => &self.text[first.start..last.end],
            (_, _) => "",
        }
    }
}

/// Writes out what an apostrophe has cut: "what's", "I'm".
fn write_out(words: &mut [Word]) {
    for at in 1..words.len() {
        let whole = match (words[at - 1].plain.as_str(), words[at].plain.as_str()) {
            ("what" | "who" | "where" | "how" | "when" | "it" | "that" | "there" | "here", "s") => "is",
            ("what" | "who" | "where" | "how" | "you" | "we" | "they", "re") => "are",
            ("i", "m") => "am",
            ("i" | "you" | "it" | "we" | "they", "ll") => "will",
            (_, _) => continue,
        };
        whole.clone_into(&mut words[at].plain);
    }
}

/// Whether a word only points at something, or asks.
pub(crate) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.split_ascii_whitespace().any(|known| known == word)
}

fn of_token(token: &Token<'_>) -> Vec<Word> {
    let (start, end) = (token.start, token.start + token.text.len());
    if token.is_value() && token.kind != Kind::Number {
        return vec![Word { plain: token.text.to_owned(), start, end, is_value: true }];
    }
    folded(token.text).into_iter().map(|plain| Word { plain, start, end, is_value: false }).collect()
}
