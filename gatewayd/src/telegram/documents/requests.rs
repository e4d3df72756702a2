//! What is sent to Telegram's servers.

use serde::Serialize;

use super::super::update::KINDS;

/// What is asked for without saying anything.
#[derive(Serialize)]
pub(in crate::telegram) struct Nothing {}

/// What has happened from a number on.
#[derive(Serialize)]
pub(in crate::telegram) struct GetUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    limit: usize,
    timeout: u64,
    allowed_updates: [&'static str; 2],
}

impl GetUpdates {
    /// At most so many, from this number on; waits for so many seconds when there is nothing.
    pub fn new(floor: u64, limit: usize, timeout: u64) -> Self {
        Self { offset: (floor > 0).then_some(floor), limit, timeout, allowed_updates: KINDS }
    }
}

/// A text that is sent, or that takes the place of another.
#[derive(Clone, Serialize)]
pub(in crate::telegram) struct TextMessage<'a> {
    pub chat_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<i64>,
    pub text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parse_mode: Option<&'static str>,
    pub link_preview_options: LinkPreview,
    /// Without any, those that a message had are taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard<'a>>,
}

#[derive(Clone, Serialize)]
pub(in crate::telegram) struct LinkPreview {
    pub is_disabled: bool,
}

/// Buttons below a message, in rows.
#[derive(Clone, Serialize)]
pub(in crate::telegram) struct Keyboard<'a> {
    pub inline_keyboard: Vec<Vec<KeyboardButton<'a>>>,
}

#[derive(Clone, Serialize)]
pub(in crate::telegram) struct KeyboardButton<'a> {
    pub text: &'a str,
    pub callback_data: &'a str,
}

/// Other buttons below a message that stands there.
#[derive(Serialize)]
pub(in crate::telegram) struct EditReplyMarkup<'a> {
    pub chat_id: i64,
    pub message_id: i64,
    pub reply_markup: Keyboard<'a>,
}

/// A press was received.
#[derive(Serialize)]
pub(in crate::telegram) struct AnswerCallbackQuery<'a> {
    pub callback_query_id: &'a str,
    pub text: &'a str,
}

/// How many people are in a chat?
#[derive(Serialize)]
pub(in crate::telegram) struct GetChatMemberCount {
    pub chat_id: i64,
}

/// What is this person in that chat?
#[derive(Serialize)]
pub(in crate::telegram) struct GetChatMember {
    pub chat_id: i64,
    pub user_id: i64,
}

/// Updates are polled from now on.
#[derive(Serialize)]
pub(in crate::telegram) struct DeleteWebhook {
    pub drop_pending_updates: bool,
}

/// The commands that people are shown.
#[derive(Serialize)]
pub(in crate::telegram) struct SetMyCommands<'a> {
    pub commands: Vec<BotCommand<'a>>,
    pub scope: CommandScope,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_code: Option<&'a str>,
}

#[derive(Serialize)]
pub(in crate::telegram) struct BotCommand<'a> {
    pub command: &'a str,
    pub description: &'a str,
}

#[derive(Serialize)]
pub(in crate::telegram) struct CommandScope {
    pub r#type: &'static str,
}

/// Where a file is.
#[derive(Serialize)]
pub(in crate::telegram) struct GetFile<'a> {
    pub file_id: &'a str,
}
