//! What the planner says to a person about a turn that a model could not end, in English and Italian.

use metnos_proto::msg::common::Lang;

/// Why a turn with a model ended without its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Its replies were of no use.
    Useless,
    /// The same call was asked for again after it was refused.
    Repeated(String),
    /// The model wrote more than is shown.
    TooMuch,
    /// It stopped in the middle of its answer.
    CutOff,
    /// Its provider did not let it answer.
    Refused,
    /// The prompt would be larger than the model can read.
    TooLong,
    /// As many thoughts as a turn may have, or as many calls.
    Bound,
    /// The model could not be asked.
    Unasked(String),
    /// There is no money or there are no tokens for it.
    Unfunded(String),
}

/// The sentence for it.
#[must_use]
pub fn why(why: &Why, lang: Lang) -> String {
    match (lang, why) {
        (Lang::En, Why::Useless) => "The model's replies could not be used.".to_owned(),
        (Lang::It, Why::Useless) => "Le risposte del modello non erano utilizzabili.".to_owned(),
        (Lang::En, Why::Repeated(why)) => format!("The model asked again for what had been refused: {why}"),
        (Lang::It, Why::Repeated(why)) => format!("Il modello ha chiesto di nuovo ciò che era stato rifiutato: {why}"),
        (Lang::En, Why::TooMuch) => "The model wrote more than is shown, so it was stopped.".to_owned(),
        (Lang::It, Why::TooMuch) => "Il modello ha scritto più di quanto si mostri, quindi è stato fermato.".to_owned(),
        (Lang::En, Why::CutOff) => "The model had no tokens left in the middle of its answer.".to_owned(),
        (Lang::It, Why::CutOff) => "Il modello ha finito i token a metà della risposta.".to_owned(),
        (Lang::En, Why::Refused) => "The model's provider did not let it answer.".to_owned(),
        (Lang::It, Why::Refused) => "Il fornitore del modello non lo ha lasciato rispondere.".to_owned(),
        (Lang::En, Why::TooLong) => "There is more to read than the model can take in.".to_owned(),
        (Lang::It, Why::TooLong) => "C'è da leggere più di quanto il modello possa accogliere.".to_owned(),
        (Lang::En, Why::Bound) => "The model did not come to an end within the bounds of a turn.".to_owned(),
        (Lang::It, Why::Bound) => "Il modello non ha concluso entro i limiti di un turno.".to_owned(),
        (Lang::En, Why::Unasked(why)) => format!("The model could not be asked: {why}"),
        (Lang::It, Why::Unasked(why)) => format!("Non è stato possibile interpellare il modello: {why}"),
        (Lang::En, Why::Unfunded(why)) => format!("The model may not be asked: {why}"),
        (Lang::It, Why::Unfunded(why)) => format!("Il modello non può essere interpellato: {why}"),
    }
}

/// What was done before it ended; empty when nothing was.
#[must_use]
pub fn done(executors: &[String], lang: Lang) -> String {
    if executors.is_empty() {
        return String::new();
    }
    let list = executors.join(", ");
    match lang {
        Lang::En => format!("Done until then: {list}."),
        Lang::It => format!("Fatto fino a quel punto: {list}."),
    }
}

/// That a card must be answered first.
#[must_use]
pub const fn waits(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "It waits for an answer to the card, and then goes on.",
        Lang::It => "Aspetta una risposta alla richiesta, e poi prosegue.",
    }
}
