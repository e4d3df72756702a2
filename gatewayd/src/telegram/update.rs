//! What Telegram's servers say has happened, read as what it is: text from outside. Only what the door has a use for is
//! read; a message of another kind is known by its number alone, so that it is not asked for again. Purely.

use metnos_proto::json::{Limits, parse_strict};
use metnos_proto::msg::common::Lang;
use serde_json::Value;

use super::documents::answers::{Answer, CallbackQuery, ChatFields, MessageFields, UpdateFields, UserFields, read};

/// The most bytes of one reply.
pub const MAX_REPLY: usize = 4 << 20;
/// How deep values of a reply may be nested: a message within a message, with room.
pub const MAX_DEPTH: u8 = 64;
/// What one message holds at most in text, in bytes: 4,096 units of at most three.
pub const MAX_TEXT: usize = 16 << 10;
/// The longest name of a press, in bytes.
const MAX_QUERY: usize = 128;
/// The longest name of a file at the servers, and the longest under which one is kept, in bytes.
const MAX_FILE_ID: usize = 256;
const MAX_NAME: usize = 120;
/// The kinds of updates that are asked for.
pub const KINDS: [&str; 2] = ["message", "callback_query"];

/// Something has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Its number: each bot counts its own.
    pub id: u64,
    /// What.
    pub kind: Kind,
}

/// See [`Update::kind`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A person wrote.
    Message(Message),
    /// A person pressed a button.
    Press(Press),
    /// Nothing that is of use here.
    Other,
}

/// See [`Kind::Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Where.
    pub chat: i64,
    /// Whether nobody else reads there.
    pub private: bool,
    /// Who; none in a channel, and for bots.
    pub from: Option<i64>,
    /// What was written; empty where nothing was.
    pub text: String,
    /// Whether it is another principal's text, passed on: forwarded, or made by another bot.
    pub passed_on: bool,
    /// Whether something is attached.
    pub attached: bool,
    /// What is attached, where it is a file.
    pub file: Option<SentFile>,
    /// Who wrote the message that this one answers.
    pub answers: Option<i64>,
    /// Whether it says that somebody has come into a group, or left it.
    pub members_change: bool,
    /// The language that his program speaks to him.
    pub lang: Option<Lang>,
}

/// A file that a person has sent; what it is called is his text, made harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFile {
    /// Names it at the servers.
    pub id: String,
    /// Under which name it is kept: one part of a path that hides nothing.
    pub name: String,
    /// Its bytes, where they are stated.
    pub bytes: Option<u64>,
}

/// See [`Kind::Press`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// Names the press, for its acknowledgement.
    pub query: String,
    /// Who.
    pub from: i64,
    /// The chat and the message that the button stands under, where they are stated.
    pub under: Option<(i64, i64)>,
    /// What the button carries.
    pub data: String,
    /// The language that his program speaks to him.
    pub lang: Option<Lang>,
}

/// An answer of the servers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The result.
    Ok(Value),
    /// They refuse.
    No {
        /// As in HTTP.
        code: u16,
        /// Why, in their words.
        why: String,
        /// For how many seconds they are to be left alone.
        retry_after: Option<u64>,
    },
}

/// Reads an answer. `None` for what is none.
#[must_use]
pub fn reply(bytes: &[u8]) -> Option<Reply> {
    let value = parse_strict(bytes, Limits { max_bytes: MAX_REPLY, max_depth: MAX_DEPTH }).ok()?;
    let answer: Answer = value.is_object().then(|| serde_json::from_value(value).ok())??;
    // Some words have nothing to tell.
    if answer.ok {
        return Some(Reply::Ok(answer.result));
    }
    let why: String = answer.description.unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect();
    let asked = answer.parameters.retry_after.filter(|seconds| *seconds >= 0.0);
    Some(Reply::No {
        code: answer.error_code.unwrap_or(0),
        retry_after: asked.map_or_else(|| retry_after_of(&why), |seconds| Some(whole_seconds(seconds))),
        why,
    })
}

/// Seconds, never fewer than were asked for.
fn whole_seconds(seconds: f64) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float is held at its bounds"
    )]
    let whole = seconds.ceil() as u64;
    whole
}

/// For how long they want to be left alone, where only the words say so: `Too Many Requests: retry after 3`.
fn retry_after_of(why: &str) -> Option<u64> {
    let rest = why.to_ascii_lowercase();
    let rest = rest.split("retry after ").nth(1)?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// The sender, unless it is a bot or a whole chat. Who does not say what he is, is a person.
fn person(from: &UserFields) -> Option<i64> {
    from.id.filter(|id| *id > 0 && from.is_bot != Some(true))
}

/// Whether nobody else reads there. A chat that does not say what it is has the number of a person then.
fn is_private(chat: &ChatFields) -> bool {
    match &chat.kind {
        Some(kind) => kind == "private",
        None => chat.id.is_some_and(|id| id > 0),
    }
}

/// The updates of an answer. What has no number is left out: it cannot be confirmed either.
#[must_use]
pub fn updates(result: &Value) -> Vec<Update> {
    let all = result.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut updates: Vec<Update> = all.iter().filter_map(|one| update(read(one.clone()))).collect();
    updates.sort_by_key(|update| update.id);
    updates.dedup_by_key(|update| update.id);
    updates
}

fn update(fields: UpdateFields) -> Option<Update> {
    let id = fields.update_id.filter(|id| *id < u64::MAX)?;
    let kind = message(fields.message)
        .map(Kind::Message)
        .or_else(|| press(fields.callback_query).map(Kind::Press))
        .unwrap_or(Kind::Other);
    Some(Update { id, kind })
}

fn message(fields: MessageFields) -> Option<Message> {
    let file = sent(&fields);
    // What stands below a file is said as much as anything else.
    let words = if file.is_some() { fields.caption } else { fields.text };
    let attached = fields.others.any() || fields.files.all().iter().any(|(attached, ..)| attached.is_there);
    Some(Message {
        chat: fields.chat.id?,
        private: is_private(&fields.chat),
        from: person(&fields.from).filter(|_| !fields.sender_chat),
        text: Some(words.unwrap_or_default()).filter(|text| text.len() <= MAX_TEXT)?,
        passed_on: fields.forwarded.any(),
        attached,
        file,
        answers: fields.reply_to_message.from.id,
        members_change: fields.new_chat_members || fields.left_chat_member,
        lang: lang(&fields.from),
    })
}

fn press(fields: CallbackQuery) -> Option<Press> {
    Some(Press {
        query: fields.id.filter(|query| query.len() <= MAX_QUERY)?,
        from: person(&fields.from)?,
        under: fields.message.chat.id.zip(fields.message.message_id),
        data: fields.data.filter(|data| data.len() <= 64).unwrap_or_default(),
        lang: lang(&fields.from),
    })
}

/// The file of a message, if it has one; of a picture in several sizes the largest.
fn sent(message: &MessageFields) -> Option<SentFile> {
    let kinds = message.files.all();
    let (file, kind, ending) =
        kinds.into_iter().find_map(|(attached, kind, ending)| Some((attached.file.as_ref()?, kind, ending)))?;
    let id = file.file_id.as_ref().filter(|id| (1..=MAX_FILE_ID).contains(&id.len()))?;
    let given = file.file_name.as_deref().map(harmless).unwrap_or_default();
    let number = message.message_id.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    let name = if given.is_empty() { format!("{kind}-{number}.{ending}") } else { given };
    Some(SentFile { id: id.clone(), name, bytes: file.file_size })
}

/// A name that leads nowhere, hides nothing and turns no reading direction; empty when nothing is left of it.
fn harmless(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let turns = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let plain: String = last.chars().filter(|c| !c.is_control() && !turns(c)).collect();
    let bare = plain.trim_start_matches(|c: char| c == '.' || c.is_whitespace()).trim_end();
    if bare.len() <= MAX_NAME {
        return bare.to_owned();
    }
    // The ending says what it is: it stays.
    let ending =
        bare.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() <= 16).unwrap_or_default();
    let mut stem = &bare[..bare.floor_char_boundary(MAX_NAME - ending.len() - 1)];
    stem = stem.trim_end_matches(['.', ' ']);
    if ending.is_empty() { stem.to_owned() } else { format!("{stem}.{ending}") }
}

fn lang(from: &UserFields) -> Option<Lang> {
    metnos_texts::of_tag(from.language_code.as_deref()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn one(value: Value) -> Kind {
        updates(&json!([value])).remove(0).kind
    }

    #[test]
    fn a_message_in_private_has_its_writer_and_its_words() {
        let written = json!({"update_id": 7, "message": {
            "message_id": 1, "date": 0, "text": "ciao", "chat": {"id": 5, "type": "private"},
            "from": {"id": 5, "is_bot": false, "first_name": "A"},
        }});
        let wanted = Message {
            chat: 5,
            private: true,
            from: Some(5),
            text: "ciao".into(),
            passed_on: false,
            attached: false,
            file: None,
            answers: None,
            members_change: false,
            lang: None,
        };
        assert_eq!(one(written.clone()), Kind::Message(wanted.clone()));
        for key in ["forward_origin", "forward_from", "forward_date", "via_bot"] {
            let mut passed = written.clone();
            passed["message"][key] = json!({"type": "user"});
            assert_eq!(one(passed), Kind::Message(Message { passed_on: true, ..wanted.clone() }), "{key}");
        }
        let mut bot = written.clone();
        bot["message"]["from"]["is_bot"] = json!(true);
        assert_eq!(one(bot), Kind::Message(Message { from: None, ..wanted.clone() }));
        let mut long = written;
        long["message"]["text"] = json!("x".repeat(MAX_TEXT + 1));
        assert_eq!(one(long), Kind::Other);
    }

    #[test]
    fn update_with_missing_optional_or_unknown_fields_is_parsed() {
        let bare =
            json!({"update_id": "7", "message": {"chat": {"id": 5}, "from": {"id": 5}, "text": "ciao", "new": [1]}});
        let wanted = Message {
            chat: 5,
            private: true,
            from: Some(5),
            text: "ciao".into(),
            passed_on: false,
            attached: false,
            file: None,
            answers: None,
            members_change: false,
            lang: None,
        };
        assert_eq!(one(bare), Kind::Message(wanted));
        let press = json!({"update_id": 8, "callback_query": {
            "id": 99, "from": {"id": "5", "language_code": "it-IT"}, "data": "x", "chat_instance": "1",
            "message": {"message_id": 3, "chat": {"id": 5}, "date": 0},
        }});
        let wanted = Press { query: "99".into(), from: 5, under: Some((5, 3)), data: "x".into(), lang: Some(Lang::It) };
        assert_eq!(one(press), Kind::Press(wanted));
        for group in [json!({"id": -5}), json!({"id": 5, "type": "group"}), json!({"id": 5, "type": "new kind"})] {
            let said = json!({"update_id": 9, "message": {"chat": group, "from": {"id": 5}, "text": "x"}});
            assert!(matches!(one(said), Kind::Message(Message { private: false, .. })));
        }
        let answer = json!({"update_id": 9, "message": {"chat": {"id": -5}, "from": {"id": 5}, "text": "x",
            "reply_to_message": {"from": {"id": 9, "is_bot": true}, "text": "y"}}});
        assert!(matches!(one(answer), Kind::Message(Message { answers: Some(9), members_change: false, .. })));
        for key in ["new_chat_members", "left_chat_member"] {
            let mut changed = json!({"update_id": 9, "message": {"chat": {"id": -5}, "from": {"id": 5}}});
            changed["message"][key] = json!([{"id": 6}]);
            assert!(matches!(one(changed), Kind::Message(Message { members_change: true, .. })), "{key}");
        }
    }

    #[test]
    fn sent_file_is_stored_under_a_harmless_name() {
        let of = |message: Value| match one(json!({"update_id": 1, "message": message})) {
            Kind::Message(message) => (message.file, message.text, message.attached),
            other @ (Kind::Press(_) | Kind::Other) => panic!("{other:?}"),
        };
        let chat = json!({"id": 5, "type": "private"});
        let (file, text, _) = of(json!({"chat": chat, "text": "no", "caption": "look", "message_id": 7,
            "document": {"file_id": "F", "file_name": "../../etc/.passwd\u{202e}\n", "file_size": 9}}));
        assert_eq!(
            (file.unwrap(), text.as_str()),
            (SentFile { id: "F".into(), name: "passwd".into(), bytes: Some(9) }, "look")
        );
        let sizes = json!([{"file_id": "s", "file_size": 1}, {"file_id": "L", "file_size": 9}, {"file_id": "m", "file_size": 5}]);
        let (file, ..) = of(json!({"chat": chat, "photo": sizes, "message_id": 7}));
        assert_eq!(file.unwrap(), SentFile { id: "L".into(), name: "photo-7.jpg".into(), bytes: Some(9) });
        let (file, ..) = of(
            json!({"chat": chat, "message_id": 7, "document": {"file_id": "F", "file_name": "x".repeat(300) + ".pdf"}}),
        );
        let name = file.unwrap().name;
        assert!(name.len() <= MAX_NAME && name.ends_with("x.pdf"), "{name}");
        assert_eq!(of(json!({"chat": chat, "location": {}})), (None, String::new(), true));
        assert_eq!(of(json!({"chat": chat, "document": {"file_id": "x".repeat(MAX_FILE_ID + 1)}})).0, None);
    }

    proptest! {
        #[test]
        fn any_file_name_becomes_one_path_component(name in "\\PC{0,200}", odd in "[./\\\\ \u{202e}a]{0,40}") {
            for name in [harmless(&name), harmless(&odd), harmless(&format!("{name}{odd}"))] {
                prop_assert!(name.len() <= MAX_NAME && !name.starts_with('.') && !name.contains(['/', '\\', '\0', '\n']));
            }
        }
    }

    #[test]
    fn useless_update_keeps_its_number_and_unnumbered_is_dropped() {
        let found =
            updates(&json!([{"update_id": 9, "poll": {}}, {"message": {}}, {"update_id": 8}, {"update_id": 9}, 3]));
        assert_eq!(found, [8, 9].map(|id| Update { id, kind: Kind::Other }));
    }

    #[test]
    fn a_no_says_for_how_long() {
        let no = br#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":3}}"#;
        assert_eq!(reply(no).unwrap(), Reply::No { code: 429, why: "Too Many Requests".into(), retry_after: Some(3) });
        let said = br#"{"ok":false,"description":"Too Many Requests: retry after 5"}"#;
        assert!(matches!(reply(said), Some(Reply::No { code: 0, retry_after: Some(5), .. })));
        let half = br#"{"ok":false,"error_code":429,"parameters":{"retry_after":0.4}}"#;
        assert!(matches!(reply(half), Some(Reply::No { retry_after: Some(1), .. })));
        assert_eq!(reply(b"{\"ok\":true}"), Some(Reply::Ok(Value::Null)));
        for none in [&b""[..], b"{}", b"<html>", b"{\"ok\":1,\"result\":1}"] {
            assert!(reply(none).is_none());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_reading_panic(bytes: Vec<u8>, text in "\\PC{0,200}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                if let Some(Reply::Ok(value)) = reply(bytes) {
                    let _ = updates(&value);
                }
            }
        }
    }
}
