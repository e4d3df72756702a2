//! Files that are sent to the bot, and files that it is asked for. The door fetches one into sealed memory and hands it on,
//! unread, to policyd under the sender's name, or asks policyd for one in that name: it reads and writes nothing itself, and
//! says what became of it.

use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Lang, Outcome};
use metnos_proto::msg::policyd::{Acted, Identified, KeepFile, MAX_FILE, SendFile};
use metnos_proto::payload::Sealed;
use metnos_texts::{Key, say, tell};
use serde::Deserialize;

use super::bot::{Bot, Chat, SAY_TRIES, may_pass};
use super::transfer::Fetched;
use super::{backoff, update};
use crate::session::speaker::Speaker;

/// What the bot says a file is: nobody has looked at it.
const BYTES: &str = "application/octet-stream";

/// [`MAX_FILE`].
const MOST: u64 = MAX_FILE as u64;

impl Bot {
    /// Has a file kept, and says what became of it. One that comes again, after this door was lost, is kept once; that it
    /// was said is noted for an update that holds nothing else.
    pub(super) async fn keep(
        &self,
        update: Option<u64>,
        from: i64,
        speaker: &Speaker,
        who: &Identified,
        file: &update::SentFile,
    ) {
        let chat = self.chat(from, speaker);
        let text = match self.lanes.enter(&chat.files, who.standing).await {
            Some(_lane) => self.kept(speaker, who.lang, file).await,
            None => tell(who.lang, Key::FileTooMany, &[("name", file.name.as_str().into())]),
        };
        if update.is_some_and(|update| self.sent.has(update)) {
            return;
        }
        if self.say(from, &text).await
            && let Some(update) = update
        {
            self.sent.note(update);
        }
    }

    /// Sends a file of the workspace to a person who asks for it, as far as he may have it. To ask twice does no harm, so
    /// nothing but the answer to an update is noted.
    pub(super) async fn send_out(
        &self,
        update: u64,
        from: i64,
        chat: &Chat,
        (speaker, who): (&Speaker, &Identified),
        path: &str,
    ) {
        if self.sent.has(update) {
            return;
        }
        let lane = self.lanes.enter(&chat.files, who.standing).await;
        let fetched = match &lane {
            Some(_) => self.fetched(speaker, who.lang, path).await,
            None => Err(tell(who.lang, Key::FileTooMany, &[("name", path.into())])),
        };
        let went = match fetched {
            Ok((path, file)) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                let sent = self.api.send_file(from, (name, BYTES), &path, &file).await;
                if let Err(fault) = &sent {
                    tracing::warn!(%fault, "a file could not be sent");
                }
                sent.is_ok() || self.say(from, &say(who.lang, Key::FileNotTaken)).await
            }
            Err(text) => self.say(from, &text).await,
        };
        drop(lane);
        if went {
            self.sent.note(update);
        }
    }

    /// The file's path and its bytes; else what is to be said.
    async fn fetched(&self, speaker: &Speaker, lang: Lang, path: &str) -> Result<(String, Sealed), String> {
        if path.is_empty() {
            return Err(say(lang, Key::FileWhich));
        }
        let not_sent = |why: &str| tell(lang, Key::FileNotSent, &[("why", why.into())]);
        let mut tried = 0;
        let (run, result, file) = loop {
            let ask = SendFile { channel: Channel::Telegram, sender: speaker.sender.clone(), path: path.to_owned() };
            let refusal = match self.door.peers().policyd.send_file(TraceId::NONE, ask, []).await {
                Ok((run, [result, file])) => break (run, result, file),
                Err(error) => error.into_refusal(),
            };
            tried += 1;
            if tried >= SAY_TRIES || !may_pass(&refusal) {
                return Err(not_sent(&metnos_texts::because(lang, &refusal)));
            }
            tokio::time::sleep(backoff::pause(tried, None, self.api.chance())).await;
        };
        let ran = match run.acted {
            Acted::Denied(refusal) => return Err(not_sent(&metnos_texts::because(lang, &refusal))),
            Acted::Ran(ran) => ran,
        };
        let told = FileResult::read(&result);
        let (path, size) = (told.path.as_deref(), told.size);
        match (ran.outcome, path, told.given) {
            // Telegram takes no file without a byte.
            (Outcome::Ok, Some(path), Some(true)) if file.is_empty() => {
                Err(tell(lang, Key::FileEmpty, &[("path", path.into())]))
            }
            (Outcome::Ok, Some(path), Some(true)) if size == u64::try_from(file.len()).ok() => {
                Ok((path.to_owned(), file))
            }
            (Outcome::Ok, Some(path), Some(false)) => {
                let (size, most) = (mib(size.unwrap_or(0), lang), mib(MOST, lang));
                let with = [("path", path.into()), ("size", (&size).into()), ("most", (&most).into())];
                Err(tell(lang, Key::FileTooLargeToSend, &with))
            }
            (outcome, ..) => Err(not_sent(told.why(outcome))),
        }
    }

    async fn kept(&self, speaker: &Speaker, lang: Lang, file: &update::SentFile) -> String {
        if file.bytes.is_some_and(|bytes| bytes > MOST) {
            return too_large(file.bytes, lang);
        }
        let content = match self.api.fetch(&file.id, MAX_FILE).await {
            Ok(Fetched::File(content)) => content,
            Ok(Fetched::TooLarge(bytes)) => return too_large(bytes, lang),
            Err(fault) => {
                tracing::warn!(%fault, "a file that was sent could not be fetched");
                return say(lang, Key::FileNotFetched);
            }
        };
        let mut tried = 0;
        loop {
            let Ok(content) = content.share() else { return say(lang, Key::FileNotFetched) };
            let ask = KeepFile { channel: Channel::Telegram, sender: speaker.sender.clone(), name: file.name.clone() };
            let refusal = match self.door.peers().policyd.keep_file(TraceId::NONE, ask, [content]).await {
                Ok((run, [result])) => return became(&run.acted, &result, lang),
                // It is kept once, however often it is asked for.
                Err(error) => error.into_refusal(),
            };
            tried += 1;
            if tried >= SAY_TRIES || !may_pass(&refusal) {
                return tell(lang, Key::FileNotKept, &[("why", (&metnos_texts::because(lang, &refusal)).into())]);
            }
            tokio::time::sleep(backoff::pause(tried, None, self.api.chance())).await;
        }
    }
}

/// What an executor says of a file that it was to read or to keep.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FileResult {
    path: Option<String>,
    size: Option<u64>,
    bytes: Option<u64>,
    /// Whether the file itself came with it.
    given: Option<bool>,
    was_there: Option<bool>,
    error: Option<ErrorResult>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorResult {
    message: Option<String>,
}

impl FileResult {
    /// What cannot be read says nothing.
    fn read(result: &Sealed) -> Self {
        result.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn why(&self, outcome: Outcome) -> &str {
        self.error.as_ref().and_then(|error| error.message.as_deref()).unwrap_or_else(|| outcome.name())
    }
}

/// What is said of a file that is too large to come in, with its size where that is known.
fn too_large(bytes: Option<u64>, lang: Lang) -> String {
    let most = mib(MOST, lang);
    match bytes.map(|bytes| mib(bytes, lang)) {
        Some(size) => tell(lang, Key::FileTooLarge, &[("size", (&size).into()), ("most", (&most).into())]),
        None => tell(lang, Key::FileOverLimit, &[("most", (&most).into())]),
    }
}

/// In MiB, to the next tenth: what is over a limit never looks as if it were not.
fn mib(bytes: u64, lang: Lang) -> String {
    let tenths = bytes / (1 << 20) * 10 + (bytes % (1 << 20) * 10).div_ceil(1 << 20);
    let comma = match lang {
        Lang::En => '.',
        Lang::It => ',',
    };
    match (tenths / 10, tenths % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}{comma}{tenth}"),
    }
}

/// What became of it, in a line.
fn became(acted: &Acted, result: &Sealed, lang: Lang) -> String {
    let not_kept = |why: &str| tell(lang, Key::FileNotKept, &[("why", why.into())]);
    match acted {
        Acted::Denied(refusal) => not_kept(&metnos_texts::because(lang, refusal)),
        Acted::Ran(ran) => {
            let told = FileResult::read(result);
            let path = told.path.as_deref().unwrap_or_default();
            match ran.outcome {
                Outcome::Ok if told.was_there == Some(true) => tell(lang, Key::FileThere, &[("path", path.into())]),
                Outcome::Ok => {
                    let bytes = told.bytes.unwrap_or(0);
                    tell(lang, Key::FileKept, &[("path", path.into()), ("bytes", bytes.into())])
                }
                outcome @ (Outcome::Error
                | Outcome::Crashed
                | Outcome::BadOutput
                | Outcome::CpuExceeded
                | Outcome::MemoryExceeded
                | Outcome::Timeout
                | Outcome::OutputTooLarge
                | Outcome::ProcessesExceeded
                | Outcome::Killed
                | Outcome::Interrupted
                | Outcome::SandboxFailed
                | Outcome::DiskExceeded
                | Outcome::DiskFull
                | Outcome::Failed) => not_kept(told.why(outcome)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_over_the_limit_never_looks_like_the_limit() {
        assert_eq!(mib(MOST, Lang::En), "20");
        assert_eq!(mib(MOST + 1, Lang::En), "20.1");
        assert_eq!(mib(23_500_000, Lang::It), "22,5");
        assert_eq!(mib(0, Lang::It), "0");
        assert!(mib(u64::MAX, Lang::En).len() > 10);
    }
}
