//! What Telegram's servers send.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a document; what is no object is an empty one.
pub(in crate::telegram) fn read<T: DeserializeOwned + Default>(value: Value) -> T {
    if value.is_object() { serde_json::from_value(value).unwrap_or_default() } else { T::default() }
}

/// The answer to a method: its result, or its error.
#[derive(Deserialize)]
pub(in crate::telegram) struct Answer {
    pub ok: bool,
    #[serde(default)]
    pub result: Value,
    #[serde(default, deserialize_with = "text")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "maybe")]
    pub error_code: Option<u16>,
    #[serde(default, deserialize_with = "part")]
    pub parameters: AnswerParameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct AnswerParameters {
    #[serde(deserialize_with = "maybe")]
    pub retry_after: Option<f64>,
}

/// Who the bot is.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct Me {
    #[serde(deserialize_with = "text")]
    pub username: Option<String>,
}

/// A message that was sent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct SentMessage {
    #[serde(deserialize_with = "maybe")]
    pub message_id: Option<i64>,
}

/// Where a file is, and how large.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct FileInfo {
    #[serde(deserialize_with = "maybe")]
    pub file_size: Option<u64>,
    #[serde(deserialize_with = "text")]
    pub file_path: Option<String>,
}

/// Something has happened.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct UpdateFields {
    #[serde(deserialize_with = "number")]
    pub update_id: Option<u64>,
    #[serde(deserialize_with = "part")]
    pub message: MessageFields,
    #[serde(deserialize_with = "part")]
    pub callback_query: CallbackQuery,
}

/// A message, as far as the door has a use for it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct MessageFields {
    #[serde(deserialize_with = "number")]
    pub message_id: Option<i64>,
    #[serde(deserialize_with = "part")]
    pub chat: ChatFields,
    #[serde(deserialize_with = "part")]
    pub from: UserFields,
    #[serde(deserialize_with = "is_there")]
    pub sender_chat: bool,
    #[serde(deserialize_with = "part")]
    pub reply_to_message: AnsweredMessage,
    #[serde(deserialize_with = "is_there")]
    pub new_chat_members: bool,
    #[serde(deserialize_with = "is_there")]
    pub left_chat_member: bool,
    #[serde(deserialize_with = "text")]
    pub text: Option<String>,
    #[serde(deserialize_with = "text")]
    pub caption: Option<String>,
    #[serde(flatten)]
    pub forwarded: ForwardFields,
    #[serde(flatten)]
    pub files: FileFields,
    #[serde(flatten)]
    pub others: OtherAttachments,
}

/// The message that another one answers.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct AnsweredMessage {
    #[serde(deserialize_with = "part")]
    pub from: UserFields,
}

/// What somebody is in a group (Bot API, `ChatMember`).
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct ChatMember {
    #[serde(deserialize_with = "text")]
    pub status: Option<String>,
    #[serde(deserialize_with = "maybe")]
    pub is_member: Option<bool>,
}

impl ChatMember {
    /// Whether he reads what is said there.
    pub fn reads(&self) -> bool {
        match self.status.as_deref() {
            Some("creator" | "administrator" | "member") => true,
            Some("restricted") => self.is_member == Some(true),
            Some(_) | None => false,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct ChatFields {
    #[serde(deserialize_with = "number")]
    pub id: Option<i64>,
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct UserFields {
    #[serde(deserialize_with = "number")]
    pub id: Option<i64>,
    #[serde(deserialize_with = "maybe")]
    pub is_bot: Option<bool>,
    #[serde(deserialize_with = "text")]
    pub language_code: Option<String>,
}

/// Where the text is another principal's.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct ForwardFields {
    #[serde(deserialize_with = "is_there")]
    forward_origin: bool,
    #[serde(deserialize_with = "is_there")]
    forward_from: bool,
    #[serde(deserialize_with = "is_there")]
    forward_from_chat: bool,
    #[serde(deserialize_with = "is_there")]
    forward_sender_name: bool,
    #[serde(deserialize_with = "is_there")]
    forward_date: bool,
    #[serde(deserialize_with = "is_there")]
    via_bot: bool,
}

impl ForwardFields {
    /// Whether any of them is there.
    pub const fn any(&self) -> bool {
        self.forward_origin
            || self.forward_from
            || self.forward_from_chat
            || self.forward_sender_name
            || self.forward_date
            || self.via_bot
    }
}

/// What is attached and is a file.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct FileFields {
    document: Attached,
    photo: Attached,
    audio: Attached,
    video: Attached,
    voice: Attached,
    video_note: Attached,
    animation: Attached,
}

impl FileFields {
    /// Each with its name, and how the name of a file of this kind ends.
    pub const fn all(&self) -> [(&Attached, &'static str, &'static str); 7] {
        [
            (&self.document, "document", "bin"),
            (&self.photo, "photo", "jpg"),
            (&self.audio, "audio", "mp3"),
            (&self.video, "video", "mp4"),
            (&self.voice, "voice", "ogg"),
            (&self.video_note, "video_note", "mp4"),
            (&self.animation, "animation", "mp4"),
        ]
    }
}

/// What is attached and is no file.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct OtherAttachments {
    #[serde(deserialize_with = "is_there")]
    sticker: bool,
    #[serde(deserialize_with = "is_there")]
    contact: bool,
    #[serde(deserialize_with = "is_there")]
    location: bool,
    #[serde(deserialize_with = "is_there")]
    venue: bool,
    #[serde(deserialize_with = "is_there")]
    poll: bool,
    #[serde(deserialize_with = "is_there")]
    story: bool,
}

impl OtherAttachments {
    /// Whether any of them is there.
    pub const fn any(&self) -> bool {
        self.sticker || self.contact || self.location || self.venue || self.poll || self.story
    }
}

/// A file, or the largest of several sizes of one.
#[derive(Default)]
pub(in crate::telegram) struct Attached {
    /// Whether anything is attached in this field.
    pub is_there: bool,
    /// The file, if it is one.
    pub file: Option<AttachedFile>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct AttachedFile {
    #[serde(deserialize_with = "text")]
    pub file_id: Option<String>,
    #[serde(deserialize_with = "text")]
    pub file_name: Option<String>,
    #[serde(deserialize_with = "maybe")]
    pub file_size: Option<u64>,
    #[serde(deserialize_with = "maybe")]
    pub width: Option<u64>,
}

impl<'de> Deserialize<'de> for Attached {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let is_there = !value.is_null();
        let file = match value {
            Value::Array(sizes) => {
                sizes.into_iter().map(read).max_by_key(|size: &AttachedFile| size.file_size.or(size.width))
            }
            one @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                Some(read(one))
            }
        };
        Ok(Self { is_there, file: file.filter(|file| file.file_id.is_some()) })
    }
}

/// A person pressed a button.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct CallbackQuery {
    #[serde(deserialize_with = "query_id")]
    pub id: Option<String>,
    #[serde(deserialize_with = "part")]
    pub from: UserFields,
    #[serde(deserialize_with = "part")]
    pub message: MessageUnder,
    #[serde(deserialize_with = "text")]
    pub data: Option<String>,
}

/// The message that a button stands under.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::telegram) struct MessageUnder {
    #[serde(deserialize_with = "number")]
    pub message_id: Option<i64>,
    #[serde(deserialize_with = "part")]
    pub chat: ChatFields,
}

/// A value of this kind, or none.
fn maybe<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).ok())
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    maybe(from)
}

/// An object; what is none is an empty one.
fn part<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Value::deserialize(from).map(read)
}

/// Whether anything is there.
fn is_there<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(!Value::deserialize(from)?.is_null())
}

/// A number, also one that stands in quotes.
fn number<'de, D: Deserializer<'de>, T: DeserializeOwned + std::str::FromStr>(from: D) -> Result<Option<T>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => text.parse().ok(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            serde_json::from_value(other).ok()
        }
    })
}

/// The name of a press, also one that is a number.
fn query_id<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => Some(text),
        Value::Number(number) => number.as_u64().map(|number| number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}
