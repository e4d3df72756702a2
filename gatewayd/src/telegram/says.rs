//! What the bot itself says, in both languages (design: interfaces §8). It must never say anything of a stranger's.

use metnos_proto::msg::common::Lang;
use serde_json::Value;

/// The commands, with what each does.
#[must_use]
pub const fn commands(lang: Lang) -> [(&'static str, &'static str); 5] {
    match lang {
        Lang::En => [
            ("help", "what can be said here"),
            ("status", "how Metnos is"),
            ("undo", "take back the last thing that was done"),
            ("approvals", "what waits for your word"),
            ("pause", "stop everything now"),
        ],
        Lang::It => [
            ("help", "che cosa si può dire qui"),
            ("status", "come sta Metnos"),
            ("undo", "annulla l'ultima cosa fatta"),
            ("approvals", "che cosa aspetta la tua parola"),
            ("pause", "ferma tutto subito"),
        ],
    }
}

/// Above the commands.
#[must_use]
pub const fn help(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Write what you wish in your own words. What needs your word comes with buttons.",
        Lang::It => "Scrivi che cosa desideri con parole tue. Ciò che richiede la tua parola arriva con dei pulsanti.",
    }
}

/// The buttons of a card: yes, yes for the turn, no.
#[must_use]
pub const fn buttons(lang: Lang) -> [&'static str; 3] {
    match lang {
        Lang::En => ["Yes, once", "Yes, and the like of it this turn", "No"],
        Lang::It => ["Sì, una volta", "Sì, e anche le simili in questo turno", "No"],
    }
}

/// The head of a card.
#[must_use]
pub const fn asks(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "May this be done?",
        Lang::It => "Si può fare?",
    }
}

/// A card that does not fit.
#[must_use]
pub fn too_long_here(lang: Lang, id: &str) -> String {
    match lang {
        Lang::En => format!("It is too long to be shown here: metnosctl approval show {id}"),
        Lang::It => format!("È troppo lunga per essere mostrata qui: metnosctl approval show {id}"),
    }
}

/// Where a value came from.
#[must_use]
pub fn comes_from(lang: Lang, source: &str) -> String {
    match lang {
        Lang::En => format!("  (from: {source})"),
        Lang::It => format!("  (da: {source})"),
    }
}

/// The true count.
#[must_use]
pub fn touches(lang: Lang, files: u64, folders: u64) -> String {
    match lang {
        Lang::En => format!("{files} files in {folders} folders"),
        Lang::It => format!("{files} file in {folders} cartelle"),
    }
}

/// Whether there is a way back.
#[must_use]
pub const fn reversible(lang: Lang, is: bool) -> &'static str {
    match (lang, is) {
        (Lang::En, true) => "It can be taken back.",
        (Lang::En, false) => "It cannot be taken back.",
        (Lang::It, true) => "Si può annullare.",
        (Lang::It, false) => "Non si può annullare.",
    }
}

/// Where a hard card is answered.
#[must_use]
pub fn at_the_machine(lang: Lang, id: &str) -> String {
    match lang {
        Lang::En => format!("The owner answers this at the machine: metnosctl approval show {id}"),
        Lang::It => format!("Risponde il proprietario, alla macchina: metnosctl approval show {id}"),
    }
}

/// What became of a card.
#[must_use]
pub fn settled(lang: Lang, state: &str, by: &str, ran: u32) -> String {
    match (lang, state) {
        (Lang::En, "approved") => format!("Approved by {by}; {ran} done."),
        (Lang::It, "approved") => format!("Approvata da {by}; {ran} eseguite."),
        (Lang::En, _) => format!("Denied by {by}; nothing was done."),
        (Lang::It, _) => format!("Rifiutata da {by}; non è stato fatto nulla."),
    }
}

/// A press that counts for nothing.
#[must_use]
pub const fn stale(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "This does not wait for your word, or not any more. Nothing was done.",
        Lang::It => "Questo non aspetta la tua parola, o non più. Non è stato fatto nulla.",
    }
}

/// A press that was heard.
#[must_use]
pub const fn heard(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Heard.",
        Lang::It => "Ricevuto.",
    }
}

/// No card waits.
#[must_use]
pub const fn nothing_waits(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Nothing waits for your word.",
        Lang::It => "Nulla aspetta la tua parola.",
    }
}

/// The line of a stranger: his code, and what the owner does with it.
#[must_use]
pub fn stranger(lang: Lang, code: &str, seconds: u32) -> String {
    let minutes = seconds.div_ceil(60);
    match lang {
        Lang::En => format!(
            "I do not know you, so I hear nothing of what you write. Your code, for {minutes} minutes: {code}. The owner \
             types: metnosctl pairing approve telegram {code}"
        ),
        Lang::It => format!(
            "Non ti conosco, quindi non ascolto nulla di ciò che scrivi. Il tuo codice, per {minutes} minuti: {code}. Il \
             proprietario scrive: metnosctl pairing approve telegram {code}"
        ),
    }
}

/// A code was good.
#[must_use]
pub const fn known(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "The code was good: you are known here from now on. /help says what can be said.",
        Lang::It => "Il codice era giusto: da adesso sei conosciuto qui. /help dice che cosa si può dire.",
    }
}

/// In a group.
#[must_use]
pub const fn private_only(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "I speak in private chats only: what is said in a group is not heard.",
        Lang::It => "Parlo solo in chat private: ciò che si dice in un gruppo non viene ascoltato.",
    }
}

/// Text that somebody else wrote.
#[must_use]
pub const fn passed_on(lang: Lang) -> &'static str {
    match lang {
        Lang::En => {
            "That is somebody else's text, passed on: I do not take it for your words. Write what you wish yourself."
        }
        Lang::It => {
            "Quello è testo di qualcun altro, inoltrato: non lo prendo per parole tue. Scrivi tu che cosa desideri."
        }
    }
}

/// Something attached.
#[must_use]
pub const fn no_files(lang: Lang) -> &'static str {
    match lang {
        Lang::En => {
            "Files are not taken over this channel, and this message was not read. Put the file into the workspace \
                     folder at home, then name it here."
        }
        Lang::It => {
            "Su questo canale non prendo file, e questo messaggio non è stato letto. Metti il file nella cartella \
                     workspace a casa, poi nominalo qui."
        }
    }
}

/// More messages than are kept.
#[must_use]
pub const fn too_many(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Too many messages at once: this one was not heard. Send it again when the others are answered.",
        Lang::It => "Troppi messaggi insieme: questo non è stato ascoltato. Rimandalo quando gli altri hanno risposta.",
    }
}

/// A turn that broke off with the door.
#[must_use]
pub const fn interrupted(lang: Lang) -> &'static str {
    match lang {
        Lang::En => {
            "I was interrupted in the middle of this. What had been done stands in the record, and nothing is done a \
                     second time: look, and say again what is still to be done."
        }
        Lang::It => {
            "Sono stato interrotto a metà. Ciò che era già fatto sta nel registro, e nulla si fa una seconda volta: \
                     guarda, e ripeti ciò che resta da fare."
        }
    }
}

/// An answer without a word.
#[must_use]
pub const fn nothing_said(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Done, without a word.",
        Lang::It => "Fatto, senza parole.",
    }
}

/// Above a document that holds an answer.
#[must_use]
pub const fn as_a_file(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "The whole answer, as a file.",
        Lang::It => "La risposta intera, in un file.",
    }
}

/// A turn is under way, and nothing was said yet.
#[must_use]
pub const fn working(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "Working on it",
        Lang::It => "Ci sto lavorando",
    }
}

/// Everything was stopped.
#[must_use]
pub fn stopped(lang: Lang, killed: u32) -> String {
    match lang {
        Lang::En => {
            format!("Everything is stopped; {killed} calls were ended. To go on, at the machine: metnosctl resume")
        }
        Lang::It => format!(
            "Tutto è fermo; {killed} chiamate sono state interrotte. Per riprendere, alla macchina: metnosctl resume"
        ),
    }
}

/// A guest's own turns were stopped.
#[must_use]
pub const fn own_stopped(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "What was under way for you is stopped.",
        Lang::It => "Ciò che era in corso per te è fermo.",
    }
}

/// How Metnos is.
#[must_use]
pub fn status(lang: Lang, turns: u32, waiting: usize, models: Option<&str>) -> String {
    let first = match lang {
        Lang::En => format!("Metnos is up. Turns under way: {turns}. Waiting for your word: {waiting}."),
        Lang::It => format!("Metnos è in funzione. Turni in corso: {turns}. In attesa della tua parola: {waiting}."),
    };
    models.map_or_else(|| first.clone(), |models| format!("{first}\n{models}"))
}

/// What was taken back, from policyd's word on it.
#[must_use]
pub fn undone(lang: Lang, told: &Value) -> String {
    let (done, left) = (told["undone"].as_u64().unwrap_or(0), told["left"].as_u64().unwrap_or(0));
    let mut text = match lang {
        Lang::En => format!("Taken back: {done}; left as they are: {left}."),
        Lang::It => format!("Annullate: {done}; lasciate come sono: {left}."),
    };
    for act in told["acts"].as_array().into_iter().flatten() {
        let of = |key: &str| act[key].as_str().unwrap_or_default().to_owned();
        text.push_str(&format!("\n{}: {} {}", of("executor"), of("state"), of("why")));
    }
    text
}
