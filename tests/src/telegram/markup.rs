//! The texts of Telegram's messages as its servers read them: HTML and MarkdownV2 become a plain text and entities with
//! offsets in UTF-16 units. It follows <https://core.telegram.org/bots/api#formatting-options>, and refuses what they refuse.

use serde_json::{Value, json};

/// A text without its marks, and what the marks said.
pub type Parsed = (String, Vec<Value>);

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Reads a text in this mode; an empty one has no marks.
///
/// # Errors
/// In the words of the servers.
pub fn parse(text: &str, mode: &str) -> Result<Parsed, String> {
    let (text, mut entities) = match mode.to_ascii_lowercase().as_str() {
        "" => (text.to_owned(), Vec::new()),
        "html" => html(text)?,
        "markdownv2" => markdown(text)?,
        _ => return Err("unsupported parse_mode".to_owned()),
    };
    entities.retain(|entity| entity["length"] != 0);
    entities.sort_by_key(|entity| entity["offset"].as_u64());
    Ok((text, entities))
}

fn kind_of(tag: &str) -> Option<&'static str> {
    Some(match tag {
        "b" | "strong" => "bold",
        "i" | "em" => "italic",
        "u" | "ins" => "underline",
        "s" | "strike" | "del" => "strikethrough",
        "tg-spoiler" => "spoiler",
        "code" => "code",
        "pre" => "pre",
        "blockquote" => "blockquote",
        "a" => "text_link",
        _ => return None,
    })
}

fn html(text: &str) -> Result<Parsed, String> {
    let (mut out, mut entities) = (String::new(), Vec::new());
    let mut open: Vec<(String, usize, Option<String>)> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at = text.len() - rest.len();
        if c == '<' {
            let end = rest.find('>').ok_or(format!("Unclosed start tag at byte offset {at}"))?;
            let tag = &rest[1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                let (opened, offset, url) = open.pop().ok_or(format!("Unexpected end tag at byte offset {at}"))?;
                if opened != name.trim() {
                    return Err(format!(
                        "Unmatched end tag at byte offset {at}, expected \"</{opened}>\", found \"</{name}>\""
                    ));
                }
                let kind = kind_of(&opened).unwrap_or_default();
                let mut entity = json!({"type": kind, "offset": offset, "length": units(&out) - offset});
                if let Some(url) = url {
                    entity["url"] = json!(url);
                }
                entities.push(entity);
            } else {
                let name = tag.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
                if kind_of(&name).is_none() {
                    return Err(format!("Unsupported start tag \"{name}\" at byte offset {at}"));
                }
                let url =
                    tag.split_once("href=\"").and_then(|(_, rest)| rest.split_once('"')).map(|(url, _)| url.to_owned());
                open.push((name, units(&out), url));
            }
        } else if c == '&' {
            let end = rest.find(';').filter(|end| *end < 12);
            let entity = end.map(|end| &rest[1..end]).unwrap_or_default();
            let of = match entity {
                "lt" => Some('<'),
                "gt" => Some('>'),
                "amp" => Some('&'),
                "quot" => Some('"'),
                other => other.strip_prefix('#').and_then(|digits| digits.parse().ok()).and_then(char::from_u32),
            };
            let (push, skip) = of.map_or(('&', 1), |of| (of, entity.len() + 2));
            out.push(push);
            rest = &rest[skip..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    match open.pop() {
        Some((name, ..)) => Err(format!("Can't find end tag corresponding to start tag \"{name}\"")),
        None => Ok((out, entities)),
    }
}

const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

fn markdown(text: &str) -> Result<Parsed, String> {
    const MARKS: [(&str, &str); 7] = [
        ("```", "pre"),
        ("||", "spoiler"),
        ("__", "underline"),
        ("*", "bold"),
        ("_", "italic"),
        ("~", "strikethrough"),
        ("`", "code"),
    ];
    let (mut out, mut entities) = (String::new(), Vec::new());
    let mut open: Vec<(&str, &str, usize)> = Vec::new();
    let mut links: Vec<usize> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let raw = open.last().is_some_and(|(_, kind, _)| matches!(*kind, "pre" | "code"));
        let mark = MARKS.iter().find(|(mark, kind)| {
            rest.starts_with(mark) && (!raw || open.last().is_some_and(|(_, open, _)| open == kind))
        });
        if c == '\\' && rest.chars().nth(1).is_some_and(|next| next.is_ascii() && !next.is_ascii_alphanumeric()) {
            out.push_str(&rest[1..2]);
            rest = &rest[2..];
        } else if let Some((mark, kind)) = mark {
            if open.last().is_some_and(|(_, open, _)| open == kind) {
                let (_, kind, offset) = open.pop().unwrap_or_default();
                entities.push(json!({"type": kind, "offset": offset, "length": units(&out) - offset}));
            } else {
                open.push((mark, kind, units(&out)));
            }
            rest = &rest[mark.len()..];
        } else if c == '[' && !raw {
            links.push(units(&out));
            rest = &rest[1..];
        } else if let (true, Some(after)) = (!raw && !links.is_empty(), rest.strip_prefix("](")) {
            let (url, behind) = after.split_once(')').ok_or("Can't find end of a URL")?;
            let offset = links.pop().unwrap_or_default();
            entities.push(json!({"type": "text_link", "offset": offset, "length": units(&out) - offset, "url": url}));
            rest = behind;
        } else if !raw && RESERVED.contains(c) {
            return Err(format!("Character '{c}' is reserved and must be escaped with the preceding '\\'"));
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    match (open.pop(), links.pop()) {
        (None, None) => Ok((out, entities)),
        (Some((_, kind, at)), _) => Err(format!("Can't find end of {kind} entity at byte offset {at}")),
        (None, Some(at)) => Err(format!("Can't find end of a link at byte offset {at}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_entities_counted_in_units() {
        let (text, entities) = parse("🦀 <b>a &lt; b</b><pre>x</pre>", "HTML").unwrap();
        assert_eq!(text, "🦀 a < bx");
        assert_eq!(
            entities,
            [json!({"type": "bold", "offset": 3, "length": 5}), json!({"type": "pre", "offset": 8, "length": 1})]
        );
        let (text, entities) = parse("🦀 *a\\.b* `c.d` [e](http://f)", "MarkdownV2").unwrap();
        assert_eq!(text, "🦀 a.b c.d e");
        assert_eq!(entities.len(), 3);
        assert_eq!(entities[2]["url"], "http://f");
    }

    #[test]
    fn markup_refused_by_telegram_is_refused() {
        for bad in ["<b>", "a < b", "<b><i></b></i>", "<script>x</script>", "</b>"] {
            assert!(parse(bad, "HTML").is_err(), "{bad}");
        }
        for bad in ["*a", "a.b", "[x](y", "1 + 1", "`a"] {
            assert!(parse(bad, "MarkdownV2").is_err(), "{bad}");
        }
    }
}
