//! Files that are sent to the bot. The door fetches one and hands its bytes on, unread, to policyd under the sender's name: it
//! writes nothing itself, and says what became of it.

use metnos_lingua::{Key, say, tell};
use metnos_proto::edge::AskError;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Lang, Outcome};
use metnos_proto::msg::policyd::{Acted, Identified, KeepFile, MAX_FILE};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use super::bot::{Bot, SAY_TRIES, may_pass};
use super::pace;
use super::update;
use crate::session::voice::Speaker;

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
                return tell(lang, Key::FileNotKept, &[("why", (&metnos_lingua::refusal(lang, &refusal)).into())]);
            }
            tokio::time::sleep(pace::pause(tried, None, self.api.chance())).await;
        }
    }
}

/// What became of it, in a line.
fn became(acted: &Acted, result: &Sealed, lang: Lang) -> String {
    let not_kept = |why: &str| tell(lang, Key::FileNotKept, &[("why", why.into())]);
    match acted {
        Acted::Denied(refusal) => not_kept(&metnos_lingua::refusal(lang, refusal)),
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
