//! What the reflex itself says, in English and Italian. Plain sentences; what an executor or a
//! refusal says is passed on as it stands.

use metnos_proto::edge::AskError;
use metnos_proto::msg::common::{Lang, Outcome};

/// A greeting.
#[must_use]
pub fn greeting(lang: Lang, example: Option<&str>) -> String {
    let hello = match lang {
        Lang::En => "Hello, I am Metnos.",
        Lang::It => "Ciao, sono Metnos.",
    };
    let ask = match (lang, example) {
        (Lang::En, Some(example)) => format!(" Ask me something, for instance \"{example}\", or say \"help\"."),
        (Lang::It, Some(example)) => format!(" Chiedimi qualcosa, per esempio «{example}», oppure di' «aiuto»."),
        (Lang::En | Lang::It, None) => String::new(),
    };
    format!("{hello}{ask}\n")
}

/// The answer to thanks.
#[must_use]
pub fn welcome(lang: Lang) -> String {
    match lang {
        Lang::En => "You are welcome.\n".to_owned(),
        Lang::It => "Prego.\n".to_owned(),
    }
}

/// What can be done, by example.
#[must_use]
pub fn help(lang: Lang, examples: &[&str]) -> String {
    let mut text = match (lang, examples.is_empty()) {
        (Lang::En, false) => "I can do what you ask in words like these:\n".to_owned(),
        (Lang::It, false) => "So fare quello che chiedi con parole come queste:\n".to_owned(),
        (Lang::En, true) => {
            "I have no executor that I could call yet; `metnosctl executor list` shows why.\n".to_owned()
        }
        (Lang::It, true) => {
            "Non ho ancora nessun executor da chiamare; `metnosctl executor list` mostra il perché.\n".to_owned()
        }
    };
    list(&mut text, examples);
    text
}

/// That the words were not understood, and what comes nearest.
#[must_use]
pub fn not_understood(lang: Lang, why: Doubt, examples: &[&str]) -> String {
    let mut text = match (lang, why) {
        (Lang::En, Doubt::Unknown) => "I am not sure what you mean, so I did nothing.",
        (Lang::It, Doubt::Unknown) => "Non sono sicuro di aver capito, quindi non ho fatto nulla.",
        (Lang::En, Doubt::Ambiguous) => "This could mean more than one thing, so I did nothing.",
        (Lang::It, Doubt::Ambiguous) => "Può voler dire più di una cosa, quindi non ho fatto nulla.",
        (Lang::En, Doubt::HasEffects) => "This would have an effect, and I do not guess such things: I did nothing.",
        (Lang::It, Doubt::HasEffects) => {
            "Questo avrebbe un effetto, e cose simili non le tiro a indovinare: non ho fatto nulla."
        }
        (Lang::En, Doubt::Later) => {
            "I cannot do things later or again and again yet: there are no schedules. I did nothing now, and noted the wish."
        }
        (Lang::It, Doubt::Later) => {
            "Non so ancora fare cose più tardi o a ripetizione: le pianificazioni non ci sono ancora. Ora non ho fatto nulla, e ho \
             annotato il desiderio."
        }
        (Lang::En, Doubt::Empty) => "You said nothing.",
        (Lang::It, Doubt::Empty) => "Non hai detto nulla.",
        (Lang::En, Doubt::TooLong) => "That is more than I can take in at once without a model, so I did nothing.",
        (Lang::It, Doubt::TooLong) => {
            "È più di quanto riesca a capire in una volta senza un modello: non ho fatto nulla."
        }
    }
    .to_owned();
    if !examples.is_empty() {
        text.push_str(match lang {
            Lang::En => " The nearest things I can do:\n",
            Lang::It => " Le cose più vicine che so fare:\n",
        });
        list(&mut text, examples);
    } else {
        text.push('\n');
    }
    text
}

/// Why words were not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing fits, or something in the words is left over.
    Unknown,
    /// More than one thing fits.
    Ambiguous,
    /// It would be more than reading.
    HasEffects,
    /// It is asked for at another time, or again and again.
    Later,
    /// There were no words.
    Empty,
    /// There were too many.
    TooLong,
}

fn list(text: &mut String, examples: &[&str]) {
    for example in examples {
        text.push_str("  ");
        text.push_str(example);
        text.push('\n');
    }
}

/// What is added when nothing but the reflex is there to understand words.
#[must_use]
pub const fn no_model(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "No language model is configured, so I only understand simple requests.\n",
        Lang::It => "Nessun modello linguistico è configurato, quindi capisco solo richieste semplici.\n",
    }
}

/// The class of an error, as the person's language names it.
#[must_use]
pub fn error_class(class: &str, lang: Lang) -> &str {
    match (lang, class) {
        (Lang::En, "NotFound") => "not found",
        (Lang::It, "NotFound") => "non trovato",
        (Lang::En, "PermissionDenied") => "permission denied",
        (Lang::It, "PermissionDenied") => "permesso negato",
        (Lang::En, "TooLarge") => "too large",
        (Lang::It, "TooLarge") => "troppo grande",
        (Lang::En, "NotAFile") => "not a file",
        (Lang::It, "NotAFile") => "non è un file",
        (Lang::En, "NotADirectory" | "NotAFolder") => "not a folder",
        (Lang::It, "NotADirectory" | "NotAFolder") => "non è una cartella",
        (Lang::En, "NotText") => "not text",
        (Lang::It, "NotText") => "non è testo",
        (Lang::En, "BadPath") => "not a valid path",
        (Lang::It, "BadPath") => "percorso non valido",
        (Lang::En | Lang::It, other) => other,
    }
}

/// A sentence for a run that gave no result of its own; `None` when it did.
#[must_use]
pub fn outcome(executor: &str, outcome: Outcome, lang: Lang) -> Option<String> {
    let (english, italian) = match outcome {
        Outcome::Ok | Outcome::Error => return None,
        Outcome::Crashed => ("crashed", "si è interrotto in modo anomalo"),
        Outcome::BadOutput => ("gave a result that does not fit its contract", "ha dato un risultato non conforme"),
        Outcome::CpuExceeded => ("used more processor time than granted", "ha usato troppo tempo di calcolo"),
        Outcome::MemoryExceeded => ("used more memory than granted", "ha usato troppa memoria"),
        Outcome::Timeout => ("took longer than granted", "ha impiegato troppo tempo"),
        Outcome::OutputTooLarge => ("gave a larger result than granted", "ha dato un risultato troppo grande"),
        Outcome::ProcessesExceeded => ("started more processes than granted", "ha avviato troppi processi"),
        Outcome::Killed => ("was stopped", "è stato fermato"),
        Outcome::Interrupted => ("was interrupted; ask again", "è stato interrotto; chiedi di nuovo"),
        Outcome::SandboxFailed => (
            "was not run, because its sandbox could not be built (`metnosctl doctor` says more)",
            "non è stato eseguito, perché la sua sandbox non si è potuta creare (`metnosctl doctor` dice di più)",
        ),
    };
    Some(match lang {
        Lang::En => format!("{executor} {english}."),
        Lang::It => format!("{executor} {italian}."),
    })
}

/// That a result cannot be read.
#[must_use]
pub fn unreadable(executor: &str, lang: Lang) -> String {
    match lang {
        Lang::En => format!("{executor} returned something that I cannot read."),
        Lang::It => format!("{executor} ha restituito qualcosa che non so leggere."),
    }
}

/// An empty list.
#[must_use]
pub const fn empty(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "(empty)",
        Lang::It => "(vuoto)",
    }
}

/// That something was done which has nothing to show.
#[must_use]
pub const fn done(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Done.",
        Lang::It => "Fatto.",
    }
}

/// That only a part is shown.
#[must_use]
pub fn truncated(shown: Option<u64>, total: Option<u64>, lang: Lang) -> String {
    match (lang, shown, total) {
        (Lang::En, Some(shown), Some(total)) => format!("… {shown} of {total} shown"),
        (Lang::It, Some(shown), Some(total)) => format!("… {shown} di {total} mostrati"),
        (Lang::En, _, _) => "… not everything is shown".to_owned(),
        (Lang::It, _, _) => "… non è mostrato tutto".to_owned(),
    }
}

/// Yes or no.
#[must_use]
pub const fn yes_no(value: bool, lang: Lang) -> &'static str {
    match (lang, value) {
        (Lang::En, true) => "yes",
        (Lang::En, false) => "no",
        (Lang::It, true) => "sì",
        (Lang::It, false) => "no",
    }
}

/// Why a turn broke off, when a daemon that it needs did not answer as it should.
#[must_use]
pub fn broken(error: &AskError, lang: Lang) -> String {
    match (error, lang) {
        (AskError::Refused(refusal), _) => refusal.to_string(),
        (AskError::Gone(role), Lang::En) => format!(
            "{role} is not running, or stopped in the middle, so the turn ended. It is restarted by itself: ask again \
             in a moment, or look at `metnosctl status`."
        ),
        (AskError::Gone(role), Lang::It) => format!(
            "{role} non è in esecuzione, o si è fermato a metà, quindi il turno è finito. Viene riavviato da solo: \
             chiedi di nuovo tra un momento, o guarda `metnosctl status`."
        ),
        (AskError::Late { role, .. }, Lang::En) => {
            format!("{role} did not answer in time, so the turn ended; `metnosctl status` and its log say more.")
        }
        (AskError::Late { role, .. }, Lang::It) => {
            format!(
                "{role} non ha risposto in tempo, quindi il turno è finito; `metnosctl status` e il log dicono di più."
            )
        }
        (AskError::Violation(..) | AskError::Unsendable(_), Lang::En) => format!("The turn ended: {error}."),
        (AskError::Violation(..) | AskError::Unsendable(_), Lang::It) => format!("Il turno è finito: {error}."),
    }
}

/// That a turn took too long.
#[must_use]
pub fn too_long(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "The turn took longer than a turn may, so it ended.",
        Lang::It => "Il turno è durato più di quanto un turno possa durare, quindi è finito.",
    }
}

/// That somebody cancelled.
#[must_use]
pub fn cancelled(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Cancelled.",
        Lang::It => "Annullato.",
    }
}
