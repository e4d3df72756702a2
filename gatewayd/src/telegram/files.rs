//! Files that are sent to the bot, and files that it is asked for. The door fetches one and hands its bytes on, unread, to
//! policyd under the sender's name, or asks policyd for one in that name: it reads and writes nothing itself, and says what
//! became of it.

use data_encoding::BASE64;
use metnos_proto::edge::AskError;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Lang, Outcome};
use metnos_proto::msg::policyd::{Acted, Identified, KeepFile, MAX_FILE, SendFile};
use metnos_proto::payload::Sealed;
use metnos_texts::{Key, say, tell};
use serde_json::Value;

use super::bot::{Bot, SAY_TRIES, may_pass};
use super::pace;
use super::update;
use crate::session::voice::Speaker;

/// What the bot says a file is: nobody has looked at it.
const BYTES: &str = "application/octet-stream";

impl Bot {
    /// Has a file kept, and says what became of it. One that comes again, after this door was lost, is kept once; that it
    /// was said is noted for an update that holds nothing else.
    pub(super) async fn keep(
        &self,
        update: Option<u64>,
        from: i64,
        speaker: &Speaker,
        who: &Identified,
        file: &update::Sent,
    ) {
        let one = self.fetching.lock().await;
        let text = self.kept(speaker, who.lang, file).await;
        drop(one);
        if update.is_some_and(|update| self.sent.has(update)) {
            return;
        }
        if self.say(from, &text).await
            && let Some(update) = update
        {
            self.sent.note(update);
        }
    }

    /// Sends a file of the workspace to whoever asks for it, as far as he may have it. To ask twice does no harm, so nothing
    /// but the answer to an update is noted.
    pub(super) async fn send_out(&self, update: u64, from: i64, speaker: &Speaker, who: &Identified, path: &str) {
        if self.sent.has(update) {
            return;
        }
        let went = match self.fetched(speaker, who.lang, path).await {
            Ok((path, bytes)) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                let sent = self.api.send_file(from, (name, BYTES), &path, &bytes).await;
                if let Err(fault) = &sent {
                    tracing::warn!(%fault, "a file could not be sent");
                }
                sent.is_ok() || self.say(from, &say(who.lang, Key::FileNotTaken)).await
            }
            Err(text) => self.say(from, &text).await,
        };
        if went {
            self.sent.note(update);
        }
    }

    /// The file's path and its bytes; else what is to be said.
    async fn fetched(&self, speaker: &Speaker, lang: Lang, path: &str) -> Result<(String, Vec<u8>), String> {
        if path.is_empty() {
            return Err(say(lang, Key::FileWhich));
        }
        let not_sent = |why: &str| tell(lang, Key::FileNotSent, &[("why", why.into())]);
        let ask = SendFile { channel: Channel::Telegram, sender: speaker.sender.clone(), path: path.to_owned() };
        let (run, result) = match self.door.peers().policyd.send_file(TraceId::NONE, ask, []).await {
            Ok((run, [result])) => (run, result),
            Err(error) => return Err(not_sent(&metnos_texts::refusal(lang, &error.into_refusal()))),
        };
        let ran = match run.acted {
            Acted::Denied(refusal) => return Err(not_sent(&metnos_texts::refusal(lang, &refusal))),
            Acted::Ran(ran) => ran,
        };
        let told: Value = result.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let (path, content) = (told["path"].as_str(), told["content"].as_str());
        match (ran.outcome, path, content.and_then(|text| BASE64.decode(text.as_bytes()).ok())) {
            // Telegram takes no file without a byte.
            (Outcome::Ok, Some(path), Some(bytes)) if bytes.is_empty() => {
                Err(tell(lang, Key::FileEmpty, &[("path", path.into())]))
            }
            (Outcome::Ok, Some(path), Some(bytes)) => Ok((path.to_owned(), bytes)),
            (outcome, ..) => Err(not_sent(told["error"]["message"].as_str().unwrap_or_else(|| outcome.name()))),
        }
    }

    async fn kept(&self, speaker: &Speaker, lang: Lang, file: &update::Sent) -> String {
        let most = u64::try_from(MAX_FILE).unwrap_or(u64::MAX);
        let too_large = || tell(lang, Key::FileTooLarge, &[("most", (most >> 10).into())]);
        if file.bytes.is_some_and(|bytes| bytes > most) {
            return too_large();
        }
        let bytes = match self.api.fetch(&file.id, MAX_FILE).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return too_large(),
            Err(fault) => {
                tracing::warn!(%fault, "a file that was sent could not be fetched");
                return say(lang, Key::FileNotFetched);
            }
        };
        let mut tried = 0;
        loop {
            let Ok(content) = Sealed::new(&bytes) else { return say(lang, Key::FileNotFetched) };
            let ask = KeepFile { channel: Channel::Telegram, sender: speaker.sender.clone(), name: file.name.clone() };
            let refusal = match self.door.peers().policyd.keep_file(TraceId::NONE, ask, [content]).await {
                Ok((run, [result])) => return became(&run.acted, &result, lang),
                Err(error @ AskError::Refused(_)) => error.into_refusal(),
                // It is kept once, however often it is asked for.
                Err(error) => error.into_refusal(),
            };
            tried += 1;
            if tried >= SAY_TRIES || !may_pass(&refusal) {
                return tell(lang, Key::FileNotKept, &[("why", (&metnos_texts::refusal(lang, &refusal)).into())]);
            }
            tokio::time::sleep(pace::pause(tried, None, self.api.chance())).await;
        }
    }
}

/// What became of it, in a line.
fn became(acted: &Acted, result: &Sealed, lang: Lang) -> String {
    let not_kept = |why: &str| tell(lang, Key::FileNotKept, &[("why", why.into())]);
    match acted {
        Acted::Denied(refusal) => not_kept(&metnos_texts::refusal(lang, refusal)),
        Acted::Ran(ran) => {
            let told: Value =
                result.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
            let path = told["path"].as_str().unwrap_or_default();
            match ran.outcome {
                Outcome::Ok if told["was_there"] == true => tell(lang, Key::FileThere, &[("path", path.into())]),
                Outcome::Ok => {
                    let bytes = told["bytes"].as_u64().unwrap_or(0);
                    tell(lang, Key::FileKept, &[("path", path.into()), ("bytes", bytes.into())])
                }
                outcome => not_kept(told["error"]["message"].as_str().unwrap_or_else(|| outcome.name())),
            }
        }
    }
}
