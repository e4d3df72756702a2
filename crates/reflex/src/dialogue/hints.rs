//! What somebody says who may want something done, and asks for nothing: "I bought the milk", "we are out of coffee", "mum's birthday
//! is on 12 March". It is answered with the words that would have it done; nothing is done by itself.

use metnos_proto::msg::common::Lang;

use super::{Reply, Talk};
use crate::Plan;
use crate::answer::speech;
use crate::reminder::forms;
use crate::words::phrase::Phrase;

/// What begins words of something that was bought.
const BOUGHT: &str = "
    i|we [just|already] bought
    i|we have|ve [just|already] bought
    ho|abbiamo [gia] comprato|comprata|comprati|comprate";
/// What begins words of something that is wanting.
const WANTING: &str = "
    we|i are|am|re|m [nearly|almost] out of
    were out of
    [we|i] ran out of
    we|i have|ve run out of
    there is|s no more
    we need to buy|get
    we need [some|more]
    we|i have|ve to buy
    buy [some|more]
    please buy [some|more]
    e finito il|lo|l
    e finita la|l
    sono finiti|finite i|gli|le
    abbiamo|ho finito il|la|lo|l|i|gli|le
    siamo|sono [rimasti|rimasto|rimasta] senza [il|la|lo|l]
    non c e piu il|la|lo|l
    non ci sono piu i|gli|le
    manca il|la|lo|l
    mancano i|gli|le
    [mi|ci] serve|servono il|lo|la|l|i|gli|le|del|dello|della|dell|dei|delle
    compra|comprate|comprare
    dobbiamo comprare
    c e da comprare
    devo comprare";
/// What is said to be bought or wanting, and stands on no list: not milk, but time.
const NO_GOODS: &str = "to|help|you|talk|rest|sleep|advice|holidays|time|luck|patience|ideas|money|space|gas|petrol|fuel|battery|words|options|steam|energy|breath|car|house|flat|\
    online|internet|amazon|tickets|shares|tempo|pazienza|idee|soldi|benzina|batteria|film|scuola|partita|lavoro|compiti|vacanze|vacanza|estate|festa|macchina|casa|\
    auto|cena|pranzo|lezione|riunione|gioco|serie|libro|biglietti|biglietto|regalo|regali|mamma|papa|nonna|nonno|respiro|spazio|parole";
/// What is no household good as it is bought: "a new car".
const ONE_OF: &str = "a|an|un|una|uno|this|that|it|them|my|her|his|questo|questa|mi|ti|ci|me|new|nuova|nuovo";
/// What begins words of something that was done, and what ends them: "mark call the bank as done".
const DONE: &str = "mark|tick|check|segna|spunta";
const DONE_ENDS: &str = "
    as|is done|finished|completed
    off
    done
    come fatto|fatta|finito|completato|completata";
/// What may stand before a thing.
const ARTICLES: &str = "the|some|any|our|more|il|lo|la|l|i|gli|le|del|dello|della|dell|dei|delle|degli|dal|po|di";
/// What may stand behind it, and says nothing of it.
const TAILS: &str =
    "today|now|already|yesterday|too|again|left|anymore|at|home|in|the|house|oggi|gia|ora|adesso|ieri|anche|casa|a|piu";
/// Words of a contact that stand in what is told of somebody.
const CONTACTS: &str = "birthday|number|phone|address|email|mail|compleanno|numero|telefono|cellulare|indirizzo";
/// What joins them and what is told.
const IS: &str = "is|s|e";
/// The executor that keeps what is told of somebody.
const CONTACTS_ADDED_BY: &str = "contact_add";
/// The most words of a thing, and of what is told.
const MAX_THING: usize = 4;
const MAX_TOLD: usize = 16;

/// What stands of a thing between these words, typed; `None` where nothing does, or too much.
fn thing<'a>(phrase: &Phrase<'a>, mut begin: usize, mut end: usize) -> Option<&'a str> {
    let is =
        |words: &str, at: usize| phrase.words.get(at).is_some_and(|word| words.split('|').any(|one| one == word.plain));
    while begin < end && is(ARTICLES, begin) {
        begin += 1;
    }
    while begin < end && is(TAILS, end - 1) {
        end -= 1;
    }
    let is_good = begin < end && !(begin..end).any(|at| is(NO_GOODS, at) || is(ONE_OF, at));
    let fits = is_good && end - begin <= MAX_THING && !phrase.words[begin..end].iter().any(|word| word.is_value);
    fits.then(|| phrase.typed(begin, end))
}

/// Where words of such a form begin that end the phrase.
fn ending(forms: &str, said: &[&str]) -> Option<usize> {
    (1..said.len()).find(|at| forms::is_whole(forms, &said[*at..]))
}

/// What would have it done, in words that are tried before they are shown.
fn wanted(phrase: &Phrase<'_>) -> Option<String> {
    let said = phrase.plain();
    let (lang, len) = (phrase.lang, said.len());
    let add = |thing: &str| match lang {
        Lang::En => format!("add {thing} to the shopping list"),
        Lang::It => format!("aggiungi {thing} alla lista della spesa"),
    };
    if let Some(begin) = forms::begins(BOUGHT, &said) {
        let thing = thing(phrase, begin, len)?;
        return Some(match lang {
            Lang::En => format!("take {thing} off the shopping list"),
            Lang::It => format!("togli {thing} dalla lista della spesa"),
        });
    }
    if let Some(begin) = forms::begins(WANTING, &said) {
        return thing(phrase, begin, len).map(add);
    }
    let begin = forms::begins(DONE, &said)?;
    let thing = thing(phrase, begin, ending(DONE_ENDS, &said)?)?;
    Some(match lang {
        Lang::En => format!("take {thing} off the todo list"),
        Lang::It => format!("togli {thing} dalla lista delle cose da fare"),
    })
}

/// What is told of somebody, with the word before it that has it kept.
fn told(phrase: &Phrase<'_>) -> Option<String> {
    let said = phrase.plain();
    let has = |words: &str| said.iter().skip(1).any(|word| words.split('|').any(|one| one == *word));
    let told = has(IS) && said.iter().any(|word| CONTACTS.split('|').any(|one| one == *word));
    let text = phrase.typed(0, phrase.len());
    let verb = match phrase.lang {
        Lang::En => "remember that",
        Lang::It => "ricordati che",
    };
    (told && said.len() <= MAX_TOLD).then(|| format!("{verb} {text}"))
}

/// What a person says to have done what was offered.
const YES: &str = "yes,yes please,ok,okay,sure,do it,go ahead,of course,si,si grazie,va bene,certo,procedi,fallo,vai,vai avanti,\
    d accordo";

/// The words that are offered where these ask for nothing: "add milk to the shopping list" for "we are out of milk".
fn offered(text: &str, lang: Lang) -> Option<String> {
    let phrase = Phrase::of(text, lang)?;
    if phrase.text.trim_end().ends_with('?') {
        return None;
    }
    wanted(&phrase).or_else(|| told(&phrase))
}

/// The words that a person agrees to with these, who said `before` last; `None` where nothing was offered then.
pub(super) fn agreed_to(text: &str, before: &str, lang: Lang) -> Option<String> {
    let agrees = Phrase::of(text, lang)?.is_one_of(YES) && !text.trim_end().ends_with('?');
    agrees.then(|| offered(before, lang))?
}

impl Talk<'_, '_> {
    /// The plan of what was offered a moment ago, where these words agree to it.
    pub(super) fn agreed(&mut self, phrase: &Phrase<'_>, upto: usize) -> Option<Plan> {
        let before = self.envelope.recent.last()?.text.clone();
        let words = agreed_to(phrase.text, &before, self.envelope.lang)?;
        // What was offered counts as said, so what stands in it is the person's own.
        self.planned(&words, upto)
    }

    /// The words that would have done what these may want, where they are understood; `None` for anything else.
    pub(super) fn hint(&mut self, phrase: &Phrase<'_>) -> Option<String> {
        if phrase.text.trim_end().ends_with('?') {
            return None;
        }
        let (words, of_contact) = match (wanted(phrase), told(phrase)) {
            (Some(words), _) => (words, false),
            (None, told) => (told?, true),
        };
        let upto = self.envelope.recent.len();
        match self.plain(&words, upto, None)? {
            Reply::Plan(plan) => {
                let fits = !of_contact || plan.calls.iter().all(|call| call.executor == CONTACTS_ADDED_BY);
                fits.then(|| speech::hint(phrase.lang, &words))
            }
            Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                None
            }
        }
    }
}
