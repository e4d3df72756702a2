//! What Telegram's servers say has happened, read as what it is: text from outside. Only what the door has a use for is
//! read; a message of another kind is known by its number alone, so that it is not asked for again. Purely.

use metnos_proto::json::{Limits, parse_strict};
use serde_json::Value;

/// The most bytes of one reply.
pub const MAX_REPLY: usize = 4 << 20;
/// How deep values of a reply may be nested: a message within a message, with room.
pub const MAX_DEPTH: u8 = 64;
/// What one message holds at most in text, in bytes: 4,096 units of at most three.
pub const MAX_TEXT: usize = 16 << 10;
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
    /// Somebody wrote.
    Message(Message),
    /// Somebody pressed a button.
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
    /// Whether it is somebody else's text, passed on: forwarded, or made by another bot.
    pub passed_on: bool,
    /// Whether something is attached.
    pub attached: bool,
}

/// See [`Kind::Press`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// Names the press, for its acknowledgement.
    pub query: String,
    /// Who.
    pub from: i64,
    /// The chat and the message that the button stands under, where they are told.
    pub under: Option<(i64, i64)>,
    /// What the button carries.
    pub data: String,
}

/// An answer of the servers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The result.
    Ok(Value),
    /// They say no.
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
    let mut value = parse_strict(bytes, Limits { max_bytes: MAX_REPLY, max_depth: MAX_DEPTH }).ok()?;
    match value.get("ok")?.as_bool()? {
        true => Some(Reply::Ok(value.get_mut("result")?.take())),
        false => Some(Reply::No {
            code: value["error_code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0),
            why: value["description"]
                .as_str()
                .unwrap_or_default()
                .chars()
                .filter(|c| !c.is_control())
                .take(200)
                .collect(),
            retry_after: value["parameters"]["retry_after"].as_u64(),
        }),
    }
}

/// The updates of an answer. What has no number is left out: it cannot be confirmed either.
#[must_use]
pub fn updates(result: &Value) -> Vec<Update> {
    let all = result.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut updates: Vec<Update> = all.iter().filter_map(update).collect();
    updates.sort_by_key(|update| update.id);
    updates.dedup_by_key(|update| update.id);
    updates
}

fn update(value: &Value) -> Option<Update> {
    let id = value["update_id"].as_u64().filter(|id| *id < u64::MAX)?;
    let kind = message(&value["message"])
        .map(Kind::Message)
        .or_else(|| press(&value["callback_query"]).map(Kind::Press))
        .unwrap_or(Kind::Other);
    Some(Update { id, kind })
}

fn message(value: &Value) -> Option<Message> {
    let from = &value["from"];
    let text = value["text"].as_str().unwrap_or_default();
    const ATTACHED: [&str; 13] = [
        "document",
        "photo",
        "audio",
        "video",
        "voice",
        "video_note",
        "animation",
        "sticker",
        "contact",
        "location",
        "venue",
        "poll",
        "story",
    ];
    const PASSED_ON: [&str; 6] =
        ["forward_origin", "forward_from", "forward_from_chat", "forward_sender_name", "forward_date", "via_bot"];
    Some(Message {
        chat: value["chat"]["id"].as_i64()?,
        private: value["chat"]["type"] == "private",
        from: from["id"].as_i64().filter(|_| from["is_bot"] == false && value["sender_chat"].is_null()),
        text: if text.len() <= MAX_TEXT { text.to_owned() } else { return None },
        passed_on: PASSED_ON.iter().any(|key| !value[*key].is_null()),
        attached: ATTACHED.iter().any(|key| !value[*key].is_null()),
    })
}

fn press(value: &Value) -> Option<Press> {
    let query = value["id"].as_str().filter(|id| id.len() <= 64)?;
    let under = &value["message"];
    Some(Press {
        query: query.to_owned(),
        from: value["from"]["id"].as_i64().filter(|_| value["from"]["is_bot"] == false)?,
        under: under["chat"]["id"].as_i64().zip(under["message_id"].as_i64()),
        data: value["data"].as_str().filter(|data| data.len() <= 64).unwrap_or_default().to_owned(),
    })
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
        let wanted =
            Message { chat: 5, private: true, from: Some(5), text: "ciao".into(), passed_on: false, attached: false };
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
    fn what_is_of_no_use_is_known_by_its_number_and_what_has_none_is_left_out() {
        let found =
            updates(&json!([{"update_id": 9, "poll": {}}, {"message": {}}, {"update_id": 8}, {"update_id": 9}, 3]));
        assert_eq!(found, [8, 9].map(|id| Update { id, kind: Kind::Other }));
    }

    #[test]
    fn a_no_says_for_how_long() {
        let no = br#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":3}}"#;
        assert_eq!(reply(no).unwrap(), Reply::No { code: 429, why: "Too Many Requests".into(), retry_after: Some(3) });
        for none in [&b""[..], b"{}", b"{\"ok\":true}", b"<html>", b"{\"ok\":1,\"result\":1}"] {
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
