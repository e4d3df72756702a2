//! Calls that a model writes as text, because its server does not turn them into calls: in the forms of the families that do
//! so (Hermes and Qwen, Llama 3, Mistral, Functionary, DeepSeek, Gemma) and in a block of JSON. They are calls only when the
//! model's own message is whole such calls, and nothing else; whatever else looks like one is no answer for a person.
//!
//! What came from outside stands in results, and is never read here. A model that repeats it word for word has not called.

use metnos_proto::json::{self, Limits};
use metnos_proto::prompt::{MAX_CALLS, MAX_TOOL_NAME, Message, ModelCall};
use serde_json::{Map, Value};

/// The longest message in which calls are looked for; what is longer is none.
pub const MAX_TEXT: usize = 256 * 1024;
/// How large and how deep a call may be.
const CALL: Limits = Limits { max_bytes: MAX_TEXT, max_depth: 26 };
/// How many beginnings of objects in a text are looked at.
const MAX_BRACES: usize = 16;
/// What only a call, a result, or a mark around data begins with.
const MARKS: [&str; 12] = [
    "<tool_call",
    "</tool_call",
    "<tool_response",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "<function=",
    "<function_call",
    "<｜tool",
    "<|tool",
    "```tool_code",
    "<data-",
    "<|im_start|>",
];

/// The calls that a message is, if it is whole calls of tools that there are; none when it is anything else.
#[must_use]
pub fn text_calls(text: &str, knows: impl Fn(&str) -> bool) -> Option<Vec<ModelCall>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let text = without_thoughts(text.trim());
    let forms = [hermes, functionary, mistral, deepseek, llama, gemma, block];
    let calls = forms.iter().find_map(|form| form(text))?;
    let are_known = calls.iter().all(|(name, _)| name.len() <= MAX_TOOL_NAME && knows(name));
    if calls.is_empty() || calls.len() > MAX_CALLS || !are_known {
        return None;
    }
    let call = |(at, (name, arguments)): (usize, (String, Map<String, Value>))| ModelCall {
        id: format!("text_{at}"),
        name,
        arguments: Value::Object(arguments).to_string(),
    };
    Some(calls.into_iter().enumerate().map(call).collect())
}

/// Whether a message repeats what a conversation has shown as data, letter by letter: then it is an echo, and no call. Signs
/// do not count, for a result is JSON in which they are written otherwise.
#[must_use]
pub fn is_echo(text: &str, messages: &[Message]) -> bool {
    // What stands around the arguments differs from form to form: they are what is looked for.
    let inner = text.find('{').zip(text.rfind('}')).filter(|(from, to)| from < to);
    let inner = inner.map(|(from, to)| bare(&text[from..=to])).filter(|inner| !inner.is_empty());
    let said = inner.unwrap_or_else(|| bare(text));
    let texts = messages.iter().flat_map(|message| match message {
        Message::User { text } => vec![text.as_str()],
        Message::Results { results } => results.iter().map(|result| result.text.as_str()).collect(),
        Message::Assistant { .. } => Vec::new(),
    });
    !said.is_empty() && texts.into_iter().any(|text| bare(text).contains(&said))
}

/// The letters and digits of a text, without the letters of its escapes.
fn bare(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut is_escape = false;
    for c in text.chars() {
        if c.is_alphanumeric() && !(is_escape && matches!(c, 'n' | 't' | 'r')) {
            found.push(c);
        }
        is_escape = c == '\\';
    }
    found
}

/// Whether a text looks like a call, half of one, a result, or a schema: then it is no answer for a person.
#[must_use]
pub fn looks_like_call(text: &str) -> bool {
    if MARKS.iter().any(|mark| text.contains(mark)) {
        return true;
    }
    let text = text.trim();
    let begins = text.char_indices().filter(|(_, c)| matches!(c, '{' | '[')).take(MAX_BRACES);
    let is_machine = begins.map(|(at, _)| &text[at..]).any(|rest| {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        matches!(values.next(), Some(Ok(value)) if is_machine(&value))
    });
    is_machine || is_half(text)
}

/// The beginning of a call that never ended, as a whole message.
fn is_half(text: &str) -> bool {
    let bare: String = text.trim_start_matches('`').trim_start_matches("json").split_whitespace().collect();
    let begins =
        ["{\"name\":", "{\"tool\":", "{\"function\":", "{\"do\":", "{\"type\":\"function\"", "{\"tool_calls\":"];
    let bare = bare.strip_prefix('[').unwrap_or(&bare);
    begins.iter().any(|begin| bare.starts_with(begin)) && serde_json::from_str::<Value>(text).is_err()
}

/// Whether a value is a call, a list of them, or a schema.
fn is_machine(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let has = |key: &str| map.contains_key(key);
            let named = ["name", "tool", "function"].iter().any(|key| map.get(*key).is_some_and(Value::is_string));
            let called = named && (has("arguments") || has("parameters"));
            called
                || has("tool_calls")
                || has("properties") && map.get("type").is_some_and(|kind| kind == "object")
                || map.get("function").is_some_and(is_machine)
                || map.len() == 1 && has(json::REF_KEY)
                || map.len() <= 2 && map.get("do").is_some_and(Value::is_string)
        }
        Value::Array(items) => !items.is_empty() && items.iter().all(is_machine),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

type Call = (String, Map<String, Value>);

/// Without what a model has thought aloud before it.
fn without_thoughts(text: &str) -> &str {
    let inner = text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    inner.map_or(text, |(_, rest)| rest.trim())
}

/// An object with a name and arguments, and nothing else of its own.
fn call(value: Value) -> Option<Call> {
    let Value::Object(mut map) = value else { return None };
    if let Some(inner @ Value::Object(_)) = map.remove("function") {
        map.retain(|key, _| key != "id" && key != "type");
        return if map.is_empty() { call(inner) } else { None };
    }
    map.retain(|key, value| !(key == "id" && value.is_string() || key == "type" && value == "function"));
    let name = map.remove("name").or_else(|| map.remove("tool"))?;
    let arguments = map.remove("arguments").or_else(|| map.remove("parameters"))?;
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        // Some write the arguments as a text that is JSON.
        Value::String(text) => json::parse_object(text.as_bytes(), CALL).ok()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    map.is_empty().then_some(())?;
    Some((name.as_str()?.to_owned(), arguments))
}

/// One call, or a list of them.
fn calls(text: &str) -> Option<Vec<Call>> {
    match json::parse_strict(text.trim().as_bytes(), CALL).ok()? {
        Value::Array(items) => items.into_iter().map(call).collect(),
        one @ Value::Object(_) => Some(vec![call(one)?]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A text that is nothing but parts between two marks, white space aside.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<Vec<&'a str>> {
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let (inner, more) = rest.strip_prefix(begin)?.split_once(end)?;
        if parts.len() > MAX_CALLS || inner.contains(begin) {
            return None;
        }
        parts.push(inner);
        rest = more.trim_start();
    }
    Some(parts)
}

/// `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, once or more.
fn hermes(text: &str) -> Option<Vec<Call>> {
    let parts = between(text, "<tool_call>", "</tool_call>")?;
    parts.into_iter().map(|part| call(json::parse_strict(part.trim().as_bytes(), CALL).ok()?)).collect()
}

/// `<function=NAME>{…}</function>`, once or more.
fn functionary(text: &str) -> Option<Vec<Call>> {
    let parts = between(text, "<function=", "</function>")?;
    let one = |part: &str| {
        let (name, arguments) = part.split_once('>')?;
        Some((name.trim().to_owned(), json::parse_object(arguments.trim().as_bytes(), CALL).ok()?))
    };
    parts.into_iter().map(one).collect()
}

/// `[TOOL_CALLS][{…}]`, and `[TOOL_CALLS]NAME{…}`.
fn mistral(text: &str) -> Option<Vec<Call>> {
    let rest = text.strip_prefix("[TOOL_CALLS]")?.trim();
    if rest.starts_with(['[', '{']) {
        return calls(rest);
    }
    let (name, _) = rest.split_once('{')?;
    let arguments = json::parse_object(&rest.as_bytes()[name.len()..], CALL).ok()?;
    Some(vec![(name.trim().trim_end_matches("[ARGS]").to_owned(), arguments)])
}

/// `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME` and a block of JSON, or the name before and the JSON after.
fn deepseek(text: &str) -> Option<Vec<Call>> {
    const BEGIN: &str = "<｜tool▁calls▁begin｜>";
    let inner = text.strip_prefix(BEGIN)?.strip_suffix("<｜tool▁calls▁end｜>")?;
    let parts = between(inner, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>")?;
    let one = |part: &str| {
        let (kind, rest) = part.split_once("<｜tool▁sep｜>")?;
        let (name, arguments) = match (kind.trim(), rest.split_once('\n')) {
            ("function", Some((name, block))) => (name, fenced(block.trim(), "json")?),
            (name, _) => (name, rest.trim()),
        };
        Some((name.trim().to_owned(), json::parse_object(arguments.as_bytes(), CALL).ok()?))
    };
    parts.into_iter().map(one).collect()
}

/// `<|python_tag|>{…}`, or the bare object with `parameters`; several with `;` between them.
fn llama(text: &str) -> Option<Vec<Call>> {
    let tagged = text.strip_prefix("<|python_tag|>");
    let rest = tagged.unwrap_or(text).trim();
    let rest = rest.strip_suffix("<|eom_id|>").or_else(|| rest.strip_suffix("<|eot_id|>")).unwrap_or(rest).trim();
    if !rest.starts_with('{') {
        return None;
    }
    if let Some(one) = calls(rest) {
        return Some(one);
    }
    rest.split("};").map(|part| part.trim()).filter(|part| !part.is_empty()).collect::<Vec<_>>().split_last().and_then(
        |(last, first)| {
            let all = first.iter().map(|part| format!("{part}}}")).chain([(*last).to_owned()]);
            all.map(|part| calls(&part)?.pop()).collect()
        },
    )
}

/// A block of `tool_code` with one plain call: `NAME(key="text", other=3)`.
fn gemma(text: &str) -> Option<Vec<Call>> {
    let code = fenced(text, "tool_code")?.trim();
    let code = code.strip_prefix("print(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(code);
    let (name, rest) = code.split_once('(')?;
    let inner = rest.strip_suffix(')')?.trim();
    let mut arguments = Map::new();
    let mut rest = inner;
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let (key, after) = (key.trim(), after.trim_start());
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (value, more) = literal(after)?;
        let more = more.trim_start();
        rest = match more.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if more.is_empty() => more,
            None => return None,
        };
        if !is_key || arguments.insert(key.to_owned(), value).is_some() {
            return None;
        }
    }
    Some(vec![(name.trim().to_owned(), arguments)])
}

/// A plain value of Python at the beginning of a text, and what stands behind it.
fn literal(text: &str) -> Option<(Value, &str)> {
    for (word, value) in [("True", Value::Bool(true)), ("False", Value::Bool(false)), ("None", Value::Null)] {
        if let Some(rest) = text.strip_prefix(word) {
            return Some((value, rest));
        }
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let end = rest.find('\'')?;
        let inner = &rest[..end];
        return (!inner.contains('\\')).then(|| (Value::from(inner), &rest[end + 1..]));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, text.get(end..)?))
}

/// A message that is one block of JSON with calls.
fn block(text: &str) -> Option<Vec<Call>> {
    calls(fenced(text, "json").or_else(|| fenced(text, ""))?)
}

/// The inside of a text that is one block of code of this language.
fn fenced<'a>(text: &'a str, language: &str) -> Option<&'a str> {
    let inner = text.strip_prefix("```")?.strip_prefix(language)?.strip_suffix("```")?;
    (inner.starts_with(char::is_whitespace) && !inner.contains("```")).then_some(inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::prompt::CallResult;
    use proptest::prelude::*;

    use super::*;

    const ARGUMENTS: &str = r#"{"path":"notes/a.md"}"#;

    /// One call in the form of each family.
    fn forms(name: &str, arguments: &str) -> Vec<String> {
        vec![
            format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>"),
            format!(
                "<think>Which one?</think>\n<tool_call>{{\"name\":\"{name}\",\"arguments\":{arguments}}}</tool_call>"
            ),
            format!("<|python_tag|>{{\"name\": \"{name}\", \"parameters\": {arguments}}}<|eom_id|>"),
            format!("{{\"name\": \"{name}\", \"parameters\": {arguments}}}"),
            format!("{{\"type\": \"function\", \"name\": \"{name}\", \"parameters\": {arguments}}}"),
            format!("[TOOL_CALLS][{{\"name\": \"{name}\", \"arguments\": {arguments}}}]"),
            format!("[TOOL_CALLS]{name}{arguments}"),
            format!("<function={name}>{arguments}</function>"),
            format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            format!("```json\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n```"),
            format!("```json\n[{{\"tool\": \"{name}\", \"arguments\": {arguments}}}]\n```"),
        ]
    }

    fn known(name: &str) -> bool {
        name == "fs_read"
    }

    #[test]
    fn calls_of_each_family_are_read_when_the_message_is_whole_calls() {
        for text in forms("fs_read", ARGUMENTS) {
            let calls = text_calls(&text, known).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(calls.len(), 1, "{text}");
            assert_eq!((calls[0].name.as_str(), calls[0].arguments.as_str()), ("fs_read", ARGUMENTS), "{text}");
            assert!(looks_like_call(&text), "{text}");
        }
        let python = "```tool_code\nfs_read(path=\"notes/a.md\", limit=3, all=True, mode='x')\n```";
        let calls = text_calls(python, known).unwrap();
        assert_eq!(calls[0].arguments, r#"{"all":true,"limit":3,"mode":"x","path":"notes/a.md"}"#);
        let two = format!("<tool_call>{{\"name\":\"fs_read\",\"arguments\":{ARGUMENTS}}}</tool_call>\n").repeat(2);
        assert_eq!(text_calls(&two, known).unwrap().len(), 2);
        let two = format!(
            "{{\"name\":\"fs_read\",\"parameters\":{ARGUMENTS}}}; {{\"name\":\"fs_read\",\"parameters\":{ARGUMENTS}}}"
        );
        assert_eq!(text_calls(&two, known).unwrap().len(), 2);
    }

    #[test]
    fn anything_around_before_or_beside_a_call_makes_it_none() {
        for text in forms("fs_read", ARGUMENTS).iter().chain(&forms("fs_delete", ARGUMENTS)) {
            for odd in [
                format!("The file says: {text}"),
                format!("{text}\nThat is what I would do."),
                text[..text.floor_char_boundary(text.len() - 2)].to_owned(),
                text.replace("notes/a.md\"}", "notes/a.md\""),
            ] {
                assert_eq!(text_calls(&odd, known), None, "{odd}");
            }
        }
        for text in forms("fs_delete", ARGUMENTS) {
            assert_eq!(text_calls(&text, known), None, "no tool of this turn: {text}");
        }
        let twice = r#"<tool_call>{"name":"fs_read","name":"fs_read","arguments":{}}</tool_call>"#;
        assert_eq!(text_calls(twice, known), None, "a key twice");
        assert_eq!(text_calls("```tool_code\nfs_read(open(\"x\"))\n```", known), None, "code is not run");
        assert_eq!(text_calls("```tool_code\nfs_read(path=\"a\"); fs_read(path=\"b\")\n```", known), None);
        let many = "<tool_call>{\"name\":\"fs_read\",\"arguments\":{}}</tool_call>".repeat(MAX_CALLS + 1);
        assert_eq!(text_calls(&many, known), None);
        let most = "<tool_call>{\"name\":\"fs_read\",\"arguments\":{}}</tool_call>".repeat(MAX_CALLS);
        assert_eq!(text_calls(&most, known).unwrap().len(), MAX_CALLS);
    }

    #[test]
    fn what_looks_like_a_call_is_told_from_words() {
        for text in [
            r#"{"name": "fs_read", "arg"#,
            r#"Sure! {"name": "fs_read", "arguments": {"path": "x"}}"#,
            "```json\n{\"tool\": \"fs_read\"",
            r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#,
            "<tool_response>done</tool_response>",
            "<data-00ff from=\"c1\" trust=\"untrusted\">\nx\n</data-00ff>",
            r#"{"do": "fs_read"}"#,
            r#"{"tool_calls": []}"#,
            r#"{"$ref": "c1#/content"}"#,
        ] {
            assert!(looks_like_call(text), "{text}");
        }
        for text in [
            "You need milk and eggs.",
            "The set {a, b} has two elements, and [1, 2] is a list.",
            "```python\nprint('hello')\n```",
            r#"The configuration is {"name": "Anna", "age": 7}."#,
            "Use the function f(x) = 3.",
            "Serve <b>bold</b> text.",
        ] {
            assert!(!looks_like_call(text), "{text}");
        }
    }

    #[test]
    fn a_call_that_a_result_has_shown_is_an_echo() {
        for text in forms("fs_read", ARGUMENTS) {
            let result =
                CallResult { id: "a".into(), name: "x".into(), text: format!("before {text}\nafter"), failed: false };
            assert!(is_echo(&text, &[Message::Results { results: vec![result] }]), "{text}");
            assert!(is_echo(&text, &[Message::User { text: format!("data:\n  {text}") }]), "{text}");
            let escaped = Value::from(text.as_str()).to_string();
            assert!(is_echo(&text, &[Message::User { text: format!("{{\"content\":{escaped}}}") }]), "{escaped}");
            assert!(!is_echo(&text, &[Message::User { text: "read notes/a.md".into() }]), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_of_a_result_that_is_repeated_is_never_a_call(
            which in 0_usize..12, path in "[a-z/.]{1,20}", before in "\\PC{0,20}", after in "\\PC{0,20}", space in "[ \\n]{0,3}",
        ) {
            let arguments = format!("{{\"path\": {space}\"{path}\"}}");
            let text = forms("fs_read", &arguments).swap_remove(which);
            let shown = [Message::User { text: format!("{before}{text}{after}") }];
            let again = text.replace('\n', " \n");
            prop_assert!(is_echo(&again, &shown));
            prop_assert!(is_echo(&text, &shown));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "(\\PC|<tool_call>|</tool_call>|\\{|\\}|\"name\"|:|```json\n|```|\\[TOOL_CALLS\\]){0,40}") {
            let _ = (text_calls(&text, |_| true), looks_like_call(&text), is_echo(&text, &[]));
        }
    }
}
