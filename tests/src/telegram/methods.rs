//! What the server does for each method but the poll, and what it refuses, in the words of the real one.

use serde_json::{Map, Value, json};

use super::{Message, State, chat_of, http, markup, no, number};

/// The most units of a message.
const MAX_UNITS: usize = 4_096;

/// The largest file that a bot may fetch, in bytes.
const MAX_FETCHED: usize = 20 << 20;

fn ok(result: Value) -> (u16, Value) {
    (200, json!({"ok": true, "result": result}))
}

fn text_of<'a>(body: &'a Map<String, Value>, key: &str) -> &'a str {
    body.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn document(message: &Message) -> Value {
    let kind = if message.chat > 0 { "private" } else { "group" };
    let mut value = json!({
        "message_id": message.id, "date": 1_700_000_000, "chat": chat_of(message.chat, kind),
        "from": me(), "text": message.text,
    });
    if !message.entities.is_empty() {
        value["entities"] = json!(message.entities);
    }
    if message.markup["inline_keyboard"].as_array().is_some_and(|rows| !rows.is_empty()) {
        value["reply_markup"] = message.markup.clone();
    }
    if message.edits > 0 {
        value["edit_date"] = json!(1_700_000_001);
    }
    if let Some((name, bytes)) = &message.file {
        value["document"] = json!({
            "file_id": format!("file-{}", message.id), "file_unique_id": format!("u{}", message.id), "file_name": name,
            "file_size": bytes.len(), "mime_type": "text/plain",
        });
        value["caption"] = value["text"].take();
        if let Value::Object(object) = &mut value {
            object.remove("text");
        }
    }
    value
}

fn me() -> Value {
    json!({
        "id": 424_242, "is_bot": true, "first_name": "Metnos", "username": "metnos_test_bot", "can_join_groups": true,
        "can_read_all_group_messages": false, "supports_inline_queries": false,
    })
}

/// The text and the marks of a message, or why it is none.
fn content(body: &Map<String, Value>) -> Result<(String, Vec<Value>), String> {
    let (text, entities) = markup::parse(text_of(body, "text").trim(), text_of(body, "parse_mode"))
        .map_err(|why| format!("Bad Request: can't parse entities: {why}"))?;
    if text.trim().is_empty() {
        return Err("Bad Request: message text is empty".to_owned());
    }
    if text.encode_utf16().count() > MAX_UNITS {
        return Err("Bad Request: message is too long".to_owned());
    }
    Ok((text, entities))
}

fn buttons(body: &Map<String, Value>) -> Result<Value, String> {
    let markup = body.get("reply_markup").cloned().unwrap_or(json!({"inline_keyboard": []}));
    let rows = markup["inline_keyboard"].as_array().cloned().unwrap_or_default();
    for button in rows.iter().filter_map(Value::as_array).flatten() {
        let data = button["callback_data"].as_str().unwrap_or_default();
        if !(1..=64).contains(&data.len()) {
            return Err("Bad Request: BUTTON_DATA_INVALID".to_owned());
        }
        if button["text"].as_str().unwrap_or_default().is_empty() {
            return Err("Bad Request: BUTTON_TEXT_INVALID".to_owned());
        }
    }
    Ok(json!({"inline_keyboard": rows}))
}

/// Does what is asked.
pub(super) fn called(state: &mut State, method: &str, request: &http::Request) -> (u16, Value) {
    let body = &request.body;
    let done = match method {
        "getMe" => Ok(me()),
        "sendMessage" => send(state, body),
        "editMessageText" => edit(state, body),
        "editMessageReplyMarkup" => edit_markup(state, body),
        "answerCallbackQuery" => acknowledge(state, body),
        "sendDocument" => send_document(state, request),
        "getFile" => file(state, body),
        "getChatMemberCount" => chat(body).map(|chat| json!(state.groups.get(&chat).map_or(0, |all| all.len() + 1))),
        "getChatMember" => member(state, body),
        "setMyCommands" => {
            let commands = body.get("commands").cloned().unwrap_or(json!([]));
            state.commands.insert(text_of(body, "language_code").to_owned(), commands);
            Ok(json!(true))
        }
        "getMyCommands" => Ok(state.commands.get(text_of(body, "language_code")).cloned().unwrap_or(json!([]))),
        "setWebhook" => {
            text_of(body, "url").clone_into(&mut state.webhook);
            Ok(json!(true))
        }
        "deleteWebhook" => {
            state.webhook.clear();
            Ok(json!(true))
        }
        "getWebhookInfo" => Ok(json!({
            "url": state.webhook, "has_custom_certificate": false, "pending_update_count": state.pending.len(),
        })),
        "sendChatAction" | "logOut" | "close" => Ok(json!(true)),
        _ => return no(404, "Not Found"),
    };
    match done {
        Ok(result) => ok(result),
        Err(why) => no(400, &why),
    }
}

fn chat(body: &Map<String, Value>) -> Result<i64, String> {
    number(body, "chat_id").filter(|chat| *chat != 0).ok_or_else(|| "Bad Request: chat not found".to_owned())
}

fn member(state: &State, body: &Map<String, Value>) -> Result<Value, String> {
    let (chat, user) = (chat(body)?, number(body, "user_id").unwrap_or(0));
    let all = state.groups.get(&chat).ok_or("Bad Request: chat not found")?;
    let status = if all.contains(&user) { "member" } else { "left" };
    Ok(json!({"status": status, "user": super::user(user)}))
}

fn add(state: &mut State, message: Message) -> Value {
    let shown = document(&message);
    state.messages.push(message);
    shown
}

fn fresh(state: &mut State) -> i64 {
    state.next_message += 1;
    state.next_message
}

fn send(state: &mut State, body: &Map<String, Value>) -> Result<Value, String> {
    let (chat, (text, entities), markup) = (chat(body)?, content(body)?, buttons(body)?);
    let id = fresh(state);
    Ok(add(state, Message { id, chat, text, entities, markup, edits: 0, file: None }))
}

fn found<'a>(state: &'a mut State, body: &Map<String, Value>) -> Result<&'a mut Message, String> {
    let (chat, id) = (chat(body)?, number(body, "message_id").unwrap_or(0));
    let found = state.messages.iter_mut().find(|message| message.chat == chat && message.id == id);
    found.ok_or_else(|| "Bad Request: message to edit not found".to_owned())
}

const SAME: &str = "Bad Request: message is not modified: specified new message content and reply markup are exactly the \
                    same as a current content and reply markup of the message";

fn edit(state: &mut State, body: &Map<String, Value>) -> Result<Value, String> {
    let ((text, entities), markup) = (content(body)?, buttons(body)?);
    let message = found(state, body)?;
    if message.text == text && message.entities == entities && message.markup == markup {
        return Err(SAME.to_owned());
    }
    (message.text, message.entities, message.markup) = (text, entities, markup);
    message.edits += 1;
    Ok(document(message))
}

fn edit_markup(state: &mut State, body: &Map<String, Value>) -> Result<Value, String> {
    let markup = buttons(body)?;
    let message = found(state, body)?;
    if message.markup == markup {
        return Err(SAME.to_owned());
    }
    message.markup = markup;
    message.edits += 1;
    Ok(document(message))
}

fn acknowledge(state: &mut State, body: &Map<String, Value>) -> Result<Value, String> {
    let query = text_of(body, "callback_query_id").to_owned();
    if !state.queries.contains(&query) {
        return Err("Bad Request: query is too old and response timeout expired or query ID is invalid".to_owned());
    }
    state.acknowledged.push((query, text_of(body, "text").to_owned()));
    Ok(json!(true))
}

fn send_document(state: &mut State, request: &http::Request) -> Result<Value, String> {
    let body = &request.body;
    let chat = chat(body)?;
    // Some clients name the part as they like, and say so.
    let part = text_of(body, "document").strip_prefix("attach://").unwrap_or("document").to_owned();
    let file = request.files.iter().find(|(name, ..)| *name == part);
    let (_, name, bytes) = file.ok_or("Bad Request: there is no document in the request")?;
    if bytes.is_empty() {
        return Err("Bad Request: file must be non-empty".to_owned());
    }
    let id = fresh(state);
    state.files.insert(format!("documents/{id}"), bytes.clone());
    let text = text_of(body, "caption").to_owned();
    let file = Some((name.clone(), bytes.clone()));
    Ok(add(
        state,
        Message { id, chat, text, entities: Vec::new(), markup: json!({"inline_keyboard": []}), edits: 0, file },
    ))
}

fn file(state: &State, body: &Map<String, Value>) -> Result<Value, String> {
    let name = text_of(body, "file_id").strip_prefix("file-").unwrap_or_default();
    let path = format!("documents/{name}");
    let bytes = state.files.get(&path).ok_or("Bad Request: invalid file_id")?;
    if bytes.len() > MAX_FETCHED {
        return Err("Bad Request: file is too big".to_owned());
    }
    Ok(
        json!({"file_id": format!("file-{name}"), "file_unique_id": format!("u{name}"), "file_size": bytes.len(), "file_path": path}),
    )
}
