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
    /// A goodbye.
    Goodbye,
    /// A wish for the night.
    GoodNight,
}

const ITSELF: [(&str, Lang); 22] = [
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

const BUTLER: [(&str, Lang); 9] = [
    ("who are you", Lang::En),
    ("what are you", Lang::En),
    ("what is your name", Lang::En),
    ("what's your name", Lang::En),
    ("chi sei", Lang::It),
    ("tu chi sei", Lang::It),
    ("che cosa sei", Lang::It),
    ("come ti chiami", Lang::It),
    ("qual è il tuo nome", Lang::It),
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

const GOODBYE: [(&str, Lang); 16] = [
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

/// What the words are about, and in which language, when they are one of these questions and nothing else. A plain "yes" or
/// "do it" is none of them: it may be the answer to what a model has asked.
#[must_use]
pub fn about(text: &str) -> Option<(InstanceQuestion, Lang)> {
    let plain = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!' | '?' | '’');
    let text = text.trim().to_lowercase().replace('’', "'");
    let said: Vec<&str> = text.split(plain).filter(|word| !word.is_empty()).collect();
    let said = said.join(" ");
    let lists: [(InstanceQuestion, &[(&str, Lang)]); 7] = [
        (InstanceQuestion::Itself, &ITSELF),
        (InstanceQuestion::Waiting, &WAITING),
        (InstanceQuestion::Approving, &APPROVING),
        (InstanceQuestion::Butler, &BUTLER),
        (InstanceQuestion::Person, &PERSON),
        (InstanceQuestion::Goodbye, &GOODBYE),
        (InstanceQuestion::GoodNight, &GOOD_NIGHT),
    ];
    lists
        .into_iter()
        .find_map(|(about, list)| list.iter().find(|(words, _)| *words == said).map(|(_, lang)| (about, *lang)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_words_are_such_a_question() {
        assert_eq!(about(" Come stai? "), Some((InstanceQuestion::Itself, Lang::It)));
        assert_eq!(about("What’s waiting for me?"), Some((InstanceQuestion::Waiting, Lang::En)));
        assert_eq!(about("Approva tutto!"), Some((InstanceQuestion::Approving, Lang::It)));
        for other in
            ["read status", "status of notes/a.md", "approve notes/a.md", "yes", "do it", "", "?", "come va il file"]
        {
            assert_eq!(about(other), None, "{other}");
        }
    }
}
