//! The words to Telegram's servers, and how often they are said. The token stands in the path of every request, so no
//! error of the library below is shown or kept: each becomes a class of its own here, without an address.

use std::time::Duration;

use metnos_outbound::secret_file::Key;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::backoff::{self, TRIES};
use super::card::Button;
use super::documents::answers::{ChatMember, Me, SentMessage, read};
use super::documents::requests::{
    AnswerCallbackQuery, BotCommand, CommandScope, DeleteWebhook, EditReplyMarkup, GetChatMember, GetChatMemberCount,
    GetUpdates, Keyboard, KeyboardButton, LinkPreview, Nothing, SetMyCommands, TextMessage,
};
use super::update::{self, MAX_REPLY, Reply, Update};
use crate::chance::Chance;

/// How long a poll waits at the server when nothing happens, in seconds.
pub const POLL_SECONDS: u64 = 50;
/// How long an answer may take beyond that, in milliseconds.
pub const ANSWER_WITHIN_MS: u64 = 15_000;
/// The most updates of one poll.
pub const MAX_BATCH: usize = 100;
/// Why a word did not get through. No variant holds an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The servers refuse, and would again.
    #[error("Telegram refuses ({code}): {why}")]
    Rejected {
        /// As in HTTP.
        code: u16,
        /// In their words.
        why: String,
    },
    /// They cannot be reached, are in trouble, or want to be left alone.
    #[error("Telegram cannot be reached: {0}")]
    Unreachable(&'static str),
    /// They want to be left alone.
    #[error("Telegram wants to be left alone for {0} s")]
    RetryAfter(u64),
}

/// A bot at its servers.
pub struct Api {
    pub(super) client: reqwest::Client,
    /// The address, with the token.
    base: Zeroizing<String>,
    /// Where files lie, with the token.
    pub(super) files: Zeroizing<String>,
    chance: Box<Chance>,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api(..)")
    }
}

/// Whether this can be a bot's token, and nothing that changes a path.
#[must_use]
pub fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.split_once(':').is_some_and(|(id, secret)| {
        (1..=20).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_digit())
            && (10..=100).contains(&secret.len())
            && secret.bytes().all(plain)
    })
}

/// The commands in a language, or for anyone who speaks none of those that are named: each with what it does.
pub type Commands<'a> = (Option<&'a str>, &'a [(&'a str, String)]);

/// What a message is sent with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// The text, with marks.
    pub html: String,
    /// Buttons below it, in rows.
    pub buttons: Vec<Vec<Button>>,
}

impl Outgoing {
    /// As a message of this chat, or in the place of one of it.
    fn message(&self, chat_id: i64, message_id: Option<i64>) -> TextMessage<'_> {
        TextMessage {
            chat_id,
            message_id,
            text: &self.html,
            parse_mode: Some("HTML"),
            link_preview_options: LinkPreview { is_disabled: true },
            reply_markup: (!self.buttons.is_empty()).then(|| self.keyboard()),
        }
    }

    fn keyboard(&self) -> Keyboard<'_> {
        let mut inline_keyboard = Vec::new();
        for row in &self.buttons {
            inline_keyboard
                .push(row.iter().map(|(text, callback_data)| KeyboardButton { text, callback_data }).collect());
        }
        Keyboard { inline_keyboard }
    }

    /// Says it with this method; where its marks are not understood, once more without them.
    async fn say(&self, api: &Api, method: &str, message: TextMessage<'_>) -> Result<Value, ApiError> {
        match api.say(method, &message).await {
            Err(ApiError::Rejected { why, .. }) if is_about_marks(&why) => {
                let text = super::text::without_marks(&self.html);
                api.say(method, &TextMessage { text: &text, parse_mode: None, ..message }).await
            }
            said => said,
        }
    }
}

/// Whether they do not understand the marks of a text.
fn is_about_marks(why: &str) -> bool {
    why.contains("parse entities") || why.contains("parse_mode")
}

impl Api {
    /// A bot with this token at this address.
    #[must_use]
    pub fn new(client: reqwest::Client, url: &str, token: &Key, chance: Box<Chance>) -> Self {
        let at = |place: &str| Zeroizing::new(format!("{url}{place}/bot{}", token.reveal()));
        Self { client, base: at(""), files: at("/file"), chance }
    }

    /// A number below the one that is given, drawn by chance.
    pub fn chance(&self) -> &Chance {
        &*self.chance
    }

    /// Says one word, once.
    pub(super) async fn once(
        &self,
        method: &str,
        body: (HeaderValue, reqwest::Body),
        within: Duration,
    ) -> Result<Value, ApiError> {
        let url = Zeroizing::new(format!("{}/{method}", self.base.as_str()));
        let request = self.client.post(url.as_str()).header(CONTENT_TYPE, body.0).body(body.1);
        let asked = async {
            let mut answer = request.send().await.map_err(|error| ApiError::Unreachable(class(&error)))?;
            let status = answer.status();
            let mut bytes = Vec::new();
            while let Some(chunk) = answer.chunk().await.map_err(|error| ApiError::Unreachable(class(&error)))? {
                if bytes.len() + chunk.len() > MAX_REPLY {
                    return Err(ApiError::Unreachable("its answer is larger than an answer may be"));
                }
                bytes.extend_from_slice(&chunk);
            }
            match update::reply(&bytes) {
                Some(Reply::Ok(_)) if !status.is_success() => {
                    Err(ApiError::Unreachable("its answer contradicts itself"))
                }
                Some(Reply::Ok(value)) => Ok(value),
                Some(Reply::No { retry_after: Some(seconds), .. }) => Err(ApiError::RetryAfter(seconds)),
                Some(Reply::No { code: 429, .. }) => Err(ApiError::RetryAfter(1)),
                Some(Reply::No { code, .. }) if code >= 500 || status.is_server_error() => {
                    Err(ApiError::Unreachable("its servers are in trouble"))
                }
                Some(Reply::No { code, why, .. }) => {
                    Err(ApiError::Rejected { code: if code == 0 { status.as_u16() } else { code }, why })
                }
                None if status.is_client_error() => {
                    Err(ApiError::Rejected { code: status.as_u16(), why: "it gives no reason".to_owned() })
                }
                None => Err(ApiError::Unreachable("its answer is none")),
            }
        };
        tokio::time::timeout(within, asked).await.unwrap_or(Err(ApiError::Unreachable("it did not answer in time")))
    }

    /// Says one word until it gets through, a bounded number of times.
    async fn call(&self, method: &str, kind: HeaderValue, body: Vec<u8>) -> Result<Value, ApiError> {
        let mut tried = 0;
        loop {
            let within = Duration::from_millis(ANSWER_WITHIN_MS);
            let fault = match self.once(method, (kind.clone(), body.clone().into()), within).await {
                Ok(value) => return Ok(value),
                Err(no @ ApiError::Rejected { .. }) => return Err(no),
                Err(fault @ (ApiError::Unreachable(_) | ApiError::RetryAfter(_))) => fault,
            };
            tried += 1;
            if tried >= TRIES {
                return Err(fault);
            }
            let wish = match fault {
                ApiError::RetryAfter(seconds) => Some(seconds),
                ApiError::Unreachable(_) | ApiError::Rejected { .. } => None,
            };
            tokio::time::sleep(backoff::pause(tried, wish, self.chance())).await;
        }
    }

    pub(super) async fn say(&self, method: &str, body: &impl Serialize) -> Result<Value, ApiError> {
        self.call(method, HeaderValue::from_static("application/json"), written(body)).await
    }

    /// Who the bot is: its name.
    ///
    /// # Errors
    /// As all of these: [`ApiError`].
    pub async fn me(&self) -> Result<String, ApiError> {
        let body = (HeaderValue::from_static("application/json"), written(&Nothing {}).into());
        let me: Me = read(self.once("getMe", body, Duration::from_millis(ANSWER_WITHIN_MS)).await?);
        let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        Ok(me.username.unwrap_or_default().chars().filter(plain).take(64).collect())
    }

    /// What has happened from `floor` on; waits at the server when nothing has. Tried once.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn updates(&self, floor: u64, seconds: u64) -> Result<Vec<Update>, ApiError> {
        let body = written(&GetUpdates::new(floor, MAX_BATCH, seconds));
        let within = Duration::from_millis(seconds * 1_000 + ANSWER_WITHIN_MS);
        let kind = HeaderValue::from_static("application/json");
        let result = self.once("getUpdates", (kind, body.into()), within).await?;
        Ok(update::updates(&result))
    }

    /// Sends a message; gives its number. One whose marks are not understood is sent without them.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn send(&self, chat: i64, out: &Outgoing) -> Result<i64, ApiError> {
        let sent: SentMessage = read(out.say(self, "sendMessage", out.message(chat, None)).await?);
        Ok(sent.message_id.unwrap_or(0))
    }

    /// Sends a message, and tries that once: where the answer gets lost, the message may have arrived all the same.
    ///
    /// # Errors
    /// [`ApiError`]; only after [`ApiError::Unreachable`] nobody knows whether it arrived.
    pub async fn send_once(&self, chat: i64, out: &Outgoing) -> Result<(), ApiError> {
        let body = (HeaderValue::from_static("application/json"), written(&out.message(chat, None)).into());
        self.once("sendMessage", body, Duration::from_millis(ANSWER_WITHIN_MS)).await.map(|_| ())
    }

    /// Puts another text in the place of a message. One that stands there already is no fault.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn edit(&self, chat: i64, message: i64, out: &Outgoing) -> Result<(), ApiError> {
        match out.say(self, "editMessageText", out.message(chat, Some(message))).await {
            Ok(_) => Ok(()),
            Err(ApiError::Rejected { why, .. }) if why.contains("not modified") => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// The same, and where that message is gone or cannot be edited any more, a message of its own: nothing that must be
    /// read is lost. Gives the number of what stands there now.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn put(&self, chat: i64, message: i64, out: &Outgoing) -> Result<i64, ApiError> {
        match self.edit(chat, message, out).await {
            Ok(()) => Ok(message),
            Err(ApiError::Rejected { code: 400 | 404, .. }) => self.send(chat, out).await,
            Err(fault) => Err(fault),
        }
    }

    /// Takes the buttons away below a message.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn bare(&self, chat: i64, message: i64) -> Result<(), ApiError> {
        let reply_markup = Keyboard { inline_keyboard: Vec::new() };
        let body = EditReplyMarkup { chat_id: chat, message_id: message, reply_markup };
        match self.say("editMessageReplyMarkup", &body).await {
            Ok(_) => Ok(()),
            Err(ApiError::Rejected { why, .. }) if why.contains("message is not modified") => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Acknowledges a press.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn acknowledge(&self, query: &str, text: &str) -> Result<(), ApiError> {
        self.say("answerCallbackQuery", &AnswerCallbackQuery { callback_query_id: query, text }).await.map(|_| ())
    }

    /// How many are in a chat, the bot among them.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn member_count(&self, chat: i64) -> Result<u64, ApiError> {
        let count = self.say("getChatMemberCount", &GetChatMemberCount { chat_id: chat }).await?;
        count.as_u64().ok_or(ApiError::Unreachable("its answer is none"))
    }

    /// Whether this person reads what is said in a chat.
    ///
    /// # Errors
    /// [`ApiError`]; a user whom Telegram does not know in that chat is no error.
    pub async fn is_member(&self, chat: i64, user: i64) -> Result<bool, ApiError> {
        match self.say("getChatMember", &GetChatMember { chat_id: chat, user_id: user }).await {
            Ok(found) => Ok(read::<ChatMember>(found).reads()),
            Err(ApiError::Rejected { code: 400, .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Has the commands shown, and takes nothing from another way of hearing: a bot that polls has no webhook.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn introduce(&self, sets: &[Commands<'_>]) -> Result<(), ApiError> {
        self.optional("deleteWebhook", &DeleteWebhook { drop_pending_updates: false }).await?;
        for (language, commands) in sets {
            let body = SetMyCommands {
                commands: commands.iter().map(|(command, description)| BotCommand { command, description }).collect(),
                scope: CommandScope { r#type: "all_private_chats" },
                language_code: *language,
            };
            self.optional("setMyCommands", &body).await?;
        }
        Ok(())
    }

    /// Says a word without which the bot still receives: a server that does not know it is none the worse.
    async fn optional(&self, method: &str, body: &impl Serialize) -> Result<(), ApiError> {
        match self.say(method, body).await {
            Ok(_) => Ok(()),
            Err(ApiError::Rejected { code, why }) if code != 401 => {
                tracing::info!(code, why, method, "the bot's server does not do this");
                Ok(())
            }
            Err(fault) => Err(fault),
        }
    }
}

/// None of the documents that are sent has anything that JSON has not.
fn written(document: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(document).unwrap_or_default()
}

/// What was wrong, without an address.
pub(super) fn class(error: &reqwest::Error) -> &'static str {
    if error.is_connect() {
        "no connection"
    } else if error.is_timeout() {
        "it did not answer in time"
    } else {
        "the connection broke"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_number_and_a_secret_that_changes_no_path() {
        assert!(is_token("123456789:AAE-abcdefghijklmnopqrstuvwxyz_012345"));
        for bad in [
            "",
            "1:",
            "1:short",
            ":abcdefghijk",
            "x1:abcdefghijkl",
            "1:abcdef/ghijkl",
            "1:abcdef..?hijkl",
            "1:abc def ghij",
        ] {
            assert!(!is_token(bad), "{bad}");
        }
        assert!(!is_token(&format!("1:{}", "x".repeat(101))));
    }

    #[test]
    fn no_fault_has_room_for_an_address() {
        for fault in [
            ApiError::Unreachable("no connection"),
            ApiError::RetryAfter(3),
            ApiError::Rejected { code: 400, why: "Bad Request".into() },
        ] {
            assert!(!format!("{fault} {fault:?}").contains("bot"));
        }
    }
}
