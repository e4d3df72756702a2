//! Questions about the instance itself: how it is, what waits for a word, and words that would approve something. They are
//! known by their whole text and nothing less, so that no request for something else is ever taken for one of them.

use metnos_proto::msg::common::Lang;

/// What such words are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceQuestion {
    /// How it is.
    Itself,
    /// What waits for an answer.
    Waiting,
    /// An answer, as if words could give one.
    Approving,
    /// Who Metnos is.
    Butler,
    /// Who the caller is.
    Person,
    /// Who is known by name.
    Household,
    /// When the caller is not disturbed.
    Quiet,
    /// That the caller is not well.
    Mood,
    /// A goodbye.
    Goodbye,
    /// A wish for the night.
    GoodNight,
    /// Which languages are understood.
    Languages,
    /// What is remembered of the caller.
    Memory,
    /// Who else reads what the caller says.
    Privacy,
    /// That something was wrong.
    Wrong,
}

const ITSELF: [(&str, Lang); 37] = [
    ("status", Lang::En),
    ("how are you", Lang::En),
    ("how are you doing", Lang::En),
    ("are you there", Lang::En),
    ("are you ok", Lang::En),
    ("are you okay", Lang::En),
    ("are you running", Lang::En),
    ("is everything ok", Lang::En),
    ("is everything all right", Lang::En),
    ("do you work", Lang::En),
    ("stato", Lang::It),
    ("come stai", Lang::It),
    ("come va", Lang::It),
    ("ci sei", Lang::It),
    ("stai bene", Lang::It),
    ("funzioni", Lang::It),
    ("tutto bene", Lang::It),
    ("tutto ok", Lang::It),
    ("tutto a posto", Lang::It),
    ("va tutto bene", Lang::It),
    ("è tutto a posto", Lang::It),
    ("qual è il tuo stato", Lang::It),
    ("how is it going", Lang::En),
    ("how's it going", Lang::En),
    ("how do you feel", Lang::En),
    ("how have you been", Lang::En),
    ("come te la passi", Lang::It),
    ("come butta", Lang::It),
    ("how are you today", Lang::En),
    ("how are things", Lang::En),
    ("how are you feeling", Lang::En),
    ("are you well", Lang::En),
    ("come stai oggi", Lang::It),
    ("come va oggi", Lang::It),
    ("come va la vita", Lang::It),
    ("come sta andando", Lang::It),
    ("come ti senti", Lang::It),
];

const WAITING: [(&str, Lang); 25] = [
    ("approvals", Lang::En),
    ("pending approvals", Lang::En),
    ("show approvals", Lang::En),
    ("show me the approvals", Lang::En),
    ("list approvals", Lang::En),
    ("what waits", Lang::En),
    ("what waits for me", Lang::En),
    ("what is waiting", Lang::En),
    ("what is waiting for me", Lang::En),
    ("what's waiting for me", Lang::En),
    ("is anything waiting for me", Lang::En),
    ("does anything wait for me", Lang::En),
    ("what needs my approval", Lang::En),
    ("what do i have to approve", Lang::En),
    ("approvazioni", Lang::It),
    ("mostra le approvazioni", Lang::It),
    ("cosa è in attesa", Lang::It),
    ("che cosa è in attesa", Lang::It),
    ("cosa mi aspetta", Lang::It),
    ("cosa aspetta una mia risposta", Lang::It),
    ("c'è qualcosa in attesa", Lang::It),
    ("c'è qualcosa da approvare", Lang::It),
    ("cosa c'è da approvare", Lang::It),
    ("cosa devo approvare", Lang::It),
    ("che cosa devo approvare", Lang::It),
];

const APPROVING: [(&str, Lang); 11] = [
    ("approve", Lang::En),
    ("approve it", Lang::En),
    ("approve that", Lang::En),
    ("approve everything", Lang::En),
    ("i approve", Lang::En),
    ("deny it", Lang::En),
    ("approva", Lang::It),
    ("approvalo", Lang::It),
    ("approvala", Lang::It),
    ("approva tutto", Lang::It),
    ("approvo", Lang::It),
];

const BUTLER: [(&str, Lang); 33] = [
    ("who made you", Lang::En),
    ("who built you", Lang::En),
    ("who created you", Lang::En),
    ("chi ti ha creato", Lang::It),
    ("chi ti ha fatto", Lang::It),
    ("chi ti ha costruito", Lang::It),
    ("who are you", Lang::En),
    ("what are you", Lang::En),
    ("what is your name", Lang::En),
    ("what's your name", Lang::En),
    ("chi sei", Lang::It),
    ("tu chi sei", Lang::It),
    ("che cosa sei", Lang::It),
    ("come ti chiami", Lang::It),
    ("qual è il tuo nome", Lang::It),
    ("are you a real person", Lang::En),
    ("are you a person", Lang::En),
    ("are you real", Lang::En),
    ("are you human", Lang::En),
    ("are you a human", Lang::En),
    ("are you a robot", Lang::En),
    ("are you a machine", Lang::En),
    ("who am i talking to", Lang::En),
    ("who is this", Lang::En),
    ("chi saresti", Lang::It),
    ("tu chi saresti", Lang::It),
    ("sei una persona", Lang::It),
    ("sei una persona vera", Lang::It),
    ("sei umano", Lang::It),
    ("sei un robot", Lang::It),
    ("sei una macchina", Lang::It),
    ("con chi parlo", Lang::It),
    ("con chi sto parlando", Lang::It),
];

const PERSON: [(&str, Lang); 8] = [
    ("who am i", Lang::En),
    ("what is my name", Lang::En),
    ("what's my name", Lang::En),
    ("do you know my name", Lang::En),
    ("chi sono", Lang::It),
    ("chi sono io", Lang::It),
    ("come mi chiamo", Lang::It),
    ("sai come mi chiamo", Lang::It),
];

const GOODBYE: [(&str, Lang); 22] = [
    ("thanks bye", Lang::En),
    ("thank you bye", Lang::En),
    ("talk to you later", Lang::En),
    ("grazie ciao", Lang::It),
    ("grazie a dopo", Lang::It),
    ("ci sentiamo", Lang::It),
    ("goodbye", Lang::En),
    ("good bye", Lang::En),
    ("bye", Lang::En),
    ("bye bye", Lang::En),
    ("see you", Lang::En),
    ("see you later", Lang::En),
    ("see you tomorrow", Lang::En),
    ("that's all", Lang::En),
    ("that is all", Lang::En),
    ("have a nice day", Lang::En),
    ("arrivederci", Lang::It),
    ("a presto", Lang::It),
    ("a dopo", Lang::It),
    ("a domani", Lang::It),
    ("ci vediamo", Lang::It),
    ("è tutto", Lang::It),
];

const GOOD_NIGHT: [(&str, Lang); 12] = [
    ("good night", Lang::En),
    ("goodnight", Lang::En),
    ("night night", Lang::En),
    ("sleep well", Lang::En),
    ("sweet dreams", Lang::En),
    ("i am going to bed", Lang::En),
    ("i'm going to bed", Lang::En),
    ("buonanotte", Lang::It),
    ("buona notte", Lang::It),
    ("dormi bene", Lang::It),
    ("sogni d'oro", Lang::It),
    ("vado a letto", Lang::It),
];

const HOUSEHOLD: [(&str, Lang); 32] = [
    ("who do you know", Lang::En),
    ("whom do you know", Lang::En),
    ("who lives here", Lang::En),
    ("who lives in this house", Lang::En),
    ("who is in my family", Lang::En),
    ("who is in our family", Lang::En),
    ("who is in the family", Lang::En),
    ("who's in my family", Lang::En),
    ("who's in the family", Lang::En),
    ("who is in the household", Lang::En),
    ("who are the people you know", Lang::En),
    ("which people do you know", Lang::En),
    ("which persons do you know", Lang::En),
    ("who can i send a message to", Lang::En),
    ("who can you tell something", Lang::En),
    ("who is part of the household", Lang::En),
    ("chi conosci", Lang::It),
    ("chi conosci in casa", Lang::It),
    ("chi conosci di noi", Lang::It),
    ("chi abita qui", Lang::It),
    ("chi vive qui", Lang::It),
    ("chi abita in questa casa", Lang::It),
    ("chi c'è in famiglia", Lang::It),
    ("chi c'è nella mia famiglia", Lang::It),
    ("chi c'è nella nostra famiglia", Lang::It),
    ("chi fa parte della famiglia", Lang::It),
    ("chi siamo in famiglia", Lang::It),
    ("chi siamo in casa", Lang::It),
    ("quali persone conosci", Lang::It),
    ("che persone conosci", Lang::It),
    ("a chi posso mandare un messaggio", Lang::It),
    ("a chi puoi dire qualcosa", Lang::It),
];

const QUIET: [(&str, Lang); 22] = [
    ("quiet hours", Lang::En),
    ("what are my quiet hours", Lang::En),
    ("when are my quiet hours", Lang::En),
    ("which are my quiet hours", Lang::En),
    ("show my quiet hours", Lang::En),
    ("do i have quiet hours", Lang::En),
    ("do i have any quiet hours", Lang::En),
    ("what quiet hours do i have", Lang::En),
    ("when do you not disturb me", Lang::En),
    ("when do you leave me alone", Lang::En),
    ("when can people disturb me", Lang::En),
    ("ore di silenzio", Lang::It),
    ("le mie ore di silenzio", Lang::It),
    ("quali sono le mie ore di silenzio", Lang::It),
    ("quali sono le mie ore di quiete", Lang::It),
    ("quando sono le mie ore di silenzio", Lang::It),
    ("mostra le mie ore di silenzio", Lang::It),
    ("ho delle ore di silenzio", Lang::It),
    ("ho ore di silenzio", Lang::It),
    ("quando non mi disturbi", Lang::It),
    ("a che ore non mi disturbi", Lang::It),
    ("in quali ore non mi disturbi", Lang::It),
];

const MOOD: [(&str, Lang); 32] = [
    ("i am tired", Lang::En),
    ("i'm tired", Lang::En),
    ("i am so tired", Lang::En),
    ("i'm so tired", Lang::En),
    ("i am exhausted", Lang::En),
    ("i'm exhausted", Lang::En),
    ("i am sad", Lang::En),
    ("i'm sad", Lang::En),
    ("i am stressed", Lang::En),
    ("i'm stressed", Lang::En),
    ("i am sick", Lang::En),
    ("i'm sick", Lang::En),
    ("i am not well", Lang::En),
    ("i don't feel well", Lang::En),
    ("i had a bad day", Lang::En),
    ("what a day", Lang::En),
    ("sono stanco", Lang::It),
    ("sono stanca", Lang::It),
    ("sono stanchissimo", Lang::It),
    ("sono stanchissima", Lang::It),
    ("sono molto stanco", Lang::It),
    ("sono molto stanca", Lang::It),
    ("sono esausto", Lang::It),
    ("sono esausta", Lang::It),
    ("sono triste", Lang::It),
    ("sono stressato", Lang::It),
    ("sono stressata", Lang::It),
    ("non sto bene", Lang::It),
    ("sto male", Lang::It),
    ("mi sento male", Lang::It),
    ("che giornata", Lang::It),
    ("che giornataccia", Lang::It),
];

const MEMORY: [(&str, Lang); 37] = [
    ("forget me", Lang::En),
    ("forget everything", Lang::En),
    ("forget everything about me", Lang::En),
    ("forget all about me", Lang::En),
    ("forget what you know about me", Lang::En),
    ("forget all you know about me", Lang::En),
    ("delete everything about me", Lang::En),
    ("delete my data", Lang::En),
    ("dimenticami", Lang::It),
    ("dimentica tutto", Lang::It),
    ("dimentica tutto su di me", Lang::It),
    ("dimentica tutto di me", Lang::It),
    ("dimentica quello che sai di me", Lang::It),
    ("cancella tutto su di me", Lang::It),
    ("cancella i miei dati", Lang::It),
    ("what do you know about me", Lang::En),
    ("what do you know of me", Lang::En),
    ("what do you remember", Lang::En),
    ("what do you remember about me", Lang::En),
    ("what do you remember of me", Lang::En),
    ("what have you stored about me", Lang::En),
    ("what do you keep about me", Lang::En),
    ("what do you remember of what i said", Lang::En),
    ("do you remember what i say", Lang::En),
    ("do you remember me", Lang::En),
    ("what is in your memory", Lang::En),
    ("cosa sai di me", Lang::It),
    ("che cosa sai di me", Lang::It),
    ("cosa ricordi di me", Lang::It),
    ("che cosa ricordi di me", Lang::It),
    ("cosa ti ricordi di me", Lang::It),
    ("cosa ricordi", Lang::It),
    ("che cosa ricordi", Lang::It),
    ("cosa hai in memoria", Lang::It),
    ("ti ricordi di me", Lang::It),
    ("ricordi quello che dico", Lang::It),
    ("cosa tieni in memoria", Lang::It),
];

const PRIVACY: [(&str, Lang); 39] = [
    ("who can read what i say", Lang::En),
    ("who can read what i write", Lang::En),
    ("who can see what i say", Lang::En),
    ("who can see what i write", Lang::En),
    ("who reads this", Lang::En),
    ("who can read this", Lang::En),
    ("who else can read this", Lang::En),
    ("can others read this", Lang::En),
    ("can anybody else read this", Lang::En),
    ("can anyone else read this", Lang::En),
    ("is this private", Lang::En),
    ("is what i say private", Lang::En),
    ("is my data private", Lang::En),
    ("is my data safe", Lang::En),
    ("are my data private", Lang::En),
    ("do you tell others what i say", Lang::En),
    ("are you listening to us", Lang::En),
    ("are you listening", Lang::En),
    ("do you listen to us", Lang::En),
    ("do you record us", Lang::En),
    ("are you spying on me", Lang::En),
    ("chi può leggere quello che scrivo", Lang::It),
    ("chi può leggere quello che dico", Lang::It),
    ("chi può vedere quello che scrivo", Lang::It),
    ("chi legge quello che scrivo", Lang::It),
    ("chi altro può leggere", Lang::It),
    ("è privato", Lang::It),
    ("è riservato", Lang::It),
    ("quello che dico è privato", Lang::It),
    ("i miei dati sono al sicuro", Lang::It),
    ("i miei dati sono privati", Lang::It),
    ("lo dici agli altri", Lang::It),
    ("mi ascolti", Lang::It),
    ("ci ascolti", Lang::It),
    ("ci stai ascoltando", Lang::It),
    ("mi stai ascoltando", Lang::It),
    ("mi spii", Lang::It),
    ("ci registri", Lang::It),
    ("gli altri possono leggere", Lang::It),
];

const LANGUAGES: [(&str, Lang); 28] = [
    ("do you speak italian", Lang::En),
    ("do you speak english", Lang::En),
    ("do you understand italian", Lang::En),
    ("do you understand english", Lang::En),
    ("can you speak italian", Lang::En),
    ("can i speak italian", Lang::En),
    ("can i speak italian to you", Lang::En),
    ("which languages do you speak", Lang::En),
    ("what languages do you speak", Lang::En),
    ("which languages do you understand", Lang::En),
    ("speak italian", Lang::En),
    ("speak english", Lang::En),
    ("talk italian", Lang::En),
    ("talk english", Lang::En),
    ("parla italiano", Lang::It),
    ("parla inglese", Lang::It),
    ("parla in italiano", Lang::It),
    ("parla in inglese", Lang::It),
    ("parli italiano", Lang::It),
    ("parli inglese", Lang::It),
    ("capisci l'italiano", Lang::It),
    ("capisci l'inglese", Lang::It),
    ("sai l'inglese", Lang::It),
    ("sai l'italiano", Lang::It),
    ("parli anche inglese", Lang::It),
    ("parli anche italiano", Lang::It),
    ("che lingue parli", Lang::It),
    ("quali lingue parli", Lang::It),
];
const WRONG: [(&str, Lang); 20] = [
    ("that was wrong", Lang::En),
    ("that is wrong", Lang::En),
    ("that's wrong", Lang::En),
    ("you were wrong", Lang::En),
    ("you are wrong", Lang::En),
    ("that is not what i wanted", Lang::En),
    ("that's not what i wanted", Lang::En),
    ("that is not what i meant", Lang::En),
    ("that's not what i meant", Lang::En),
    ("you misunderstood", Lang::En),
    ("you misunderstood me", Lang::En),
    ("you made a mistake", Lang::En),
    ("hai sbagliato", Lang::It),
    ("è sbagliato", Lang::It),
    ("ti sei sbagliato", Lang::It),
    ("non è quello che volevo", Lang::It),
    ("non volevo questo", Lang::It),
    ("non intendevo questo", Lang::It),
    ("non hai capito", Lang::It),
    ("hai capito male", Lang::It),
];
/// What may stand before such words, and behind them.
const LEADS: [&str; 10] = ["and", "but", "so", "ma", "e", "allora", "ehi", "hey", "well", "ok"];
const TAILS: [&str; 7] = ["as well", "too", "then", "pure", "anche", "now", "adesso"];

/// What the words are about, and in which language, when they are one of these questions and nothing else. A plain "yes" or
/// "do it" is none of them: it may be the answer to what a model has asked.
#[must_use]
pub fn about(text: &str) -> Option<(InstanceQuestion, Lang)> {
    let is_edge = |c: char| matches!(c, ',' | '.' | '!' | '?' | ';');
    if let Some(found) = whole(text) {
        return Some(found);
    }
    // "I am going to bed, see you tomorrow": each part is one of them.
    let mut parts = text.split(is_edge).filter(|part| !part.trim().is_empty());
    let first = whole(parts.next()?)?;
    (parts.all(|part| whole(part).is_some()) && first.0 != InstanceQuestion::Approving).then_some(first)
}

/// As [`about`], for one part of the words.
fn whole(text: &str) -> Option<(InstanceQuestion, Lang)> {
    let plain = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!' | '?' | '’');
    let text = text.trim().to_lowercase().replace('’', "'");
    let said: Vec<&str> = text.split(plain).filter(|word| !word.is_empty()).collect();
    let said = said.join(" ");
    let known = |said: &str| {
        LISTS
            .iter()
            .find_map(|(about, list)| list.iter().find(|(words, _)| *words == said).map(|(_, lang)| (*about, *lang)))
    };
    let without_lead = said.split_once(' ').filter(|(first, _)| LEADS.contains(first)).map_or("", |(_, rest)| rest);
    let without_tail =
        |said: &str| TAILS.iter().find_map(|tail| said.strip_suffix(tail)?.strip_suffix(' ').and_then(known));
    known(&said).or_else(|| known(without_lead)).or_else(|| without_tail(&said))
}

const LISTS: [(InstanceQuestion, &[(&str, Lang)]); 14] = [
    (InstanceQuestion::Quiet, &QUIET),
    (InstanceQuestion::Mood, &MOOD),
    (InstanceQuestion::Itself, &ITSELF),
    (InstanceQuestion::Waiting, &WAITING),
    (InstanceQuestion::Approving, &APPROVING),
    (InstanceQuestion::Butler, &BUTLER),
    (InstanceQuestion::Person, &PERSON),
    (InstanceQuestion::Household, &HOUSEHOLD),
    (InstanceQuestion::Goodbye, &GOODBYE),
    (InstanceQuestion::GoodNight, &GOOD_NIGHT),
    (InstanceQuestion::Languages, &LANGUAGES),
    (InstanceQuestion::Memory, &MEMORY),
    (InstanceQuestion::Privacy, &PRIVACY),
    (InstanceQuestion::Wrong, &WRONG),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_words_are_such_a_question() {
        assert_eq!(about(" Come stai? "), Some((InstanceQuestion::Itself, Lang::It)));
        assert_eq!(about("What’s waiting for me?"), Some((InstanceQuestion::Waiting, Lang::En)));
        assert_eq!(about("Approva tutto!"), Some((InstanceQuestion::Approving, Lang::It)));
        assert_eq!(about("vado a letto, a domani!"), Some((InstanceQuestion::GoodNight, Lang::It)));
        assert_eq!(about("ma tu chi saresti?"), Some((InstanceQuestion::Butler, Lang::It)));
        assert_eq!(about("What do you know about me?"), Some((InstanceQuestion::Memory, Lang::En)));
        assert_eq!(about("Chi può leggere quello che scrivo?"), Some((InstanceQuestion::Privacy, Lang::It)));
        assert_eq!(about("Do you speak Italian as well?"), Some((InstanceQuestion::Languages, Lang::En)));
        for other in [
            "approve it, bye",
            "bye, read notes/a.md",
            "read status",
            "status of notes/a.md",
            "approve notes/a.md",
            "yes",
            "do it",
            "",
            "?",
            "come va il file",
        ] {
            assert_eq!(about(other), None, "{other}");
        }
    }
}
