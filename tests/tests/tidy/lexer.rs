//! Rust as words and signs: comments, texts and numbers are left out, so that what remains is code. It knows no grammar.

/// One word or sign of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// A name, a keyword, `::`, one other sign, or a text with its quotes.
    pub text: String,
    /// The line on which it stands, from 1.
    pub line: usize,
}

impl Token {
    /// Whether this is a name or a keyword.
    pub fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The tokens of a file.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut reader = Reader { rest: source, line: 1, found: Vec::new() };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.found
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    found: Vec<Token>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn push(&mut self, bytes: usize) {
        let line = self.line;
        let text = self.take(bytes).to_owned();
        self.found.push(Token { text, line });
    }

    fn step(&mut self) {
        let rest = self.rest;
        let first = rest.chars().next().unwrap_or_default();
        if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.take(block_comment(rest));
        } else if let Some(length) = raw_text(rest) {
            self.take(length);
        } else if first == '"' || rest.starts_with("b\"") || rest.starts_with("c\"") {
            self.push(text(rest));
        } else if first == '\'' || rest.starts_with("b'") {
            self.take(letter_or_lifetime(rest));
        } else if let Some(name) = rest.strip_prefix("r#").filter(|name| name.starts_with(is_start)) {
            self.take(2);
            self.push(word(name));
        } else if is_start(first) {
            self.push(word(rest));
        } else if first.is_ascii_digit() {
            self.take(word(rest));
        } else if rest.starts_with("::") {
            self.push(2);
        } else if first.is_whitespace() {
            self.take(first.len_utf8());
        } else {
            self.push(first.len_utf8());
        }
    }
}

fn is_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
}

/// Comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a raw text, such as `r#"…"#`, where one begins.
fn raw_text(rest: &str) -> Option<usize> {
    let after = ["r", "br", "cr"]
        .iter()
        .find_map(|prefix| rest.strip_prefix(prefix).filter(|after| after.trim_start_matches('#').starts_with('"')))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = &after[hashes + 1..];
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(rest.len() - body.len() + length)
}

/// The length of a text that begins here, after its prefix.
fn text(rest: &str) -> usize {
    let open = rest.find('"').unwrap_or_default();
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(open + 1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a letter (`'a'`, `b'\n'`), or of the quote of a lifetime.
fn letter_or_lifetime(rest: &str) -> usize {
    let open = rest.find('\'').unwrap_or_default() + 1;
    let body = &rest[open..];
    if let Some(escape) = body.strip_prefix('\\') {
        let first = escape.chars().next().map_or(0, char::len_utf8);
        return escape[first..].find('\'').map_or(rest.len(), |at| open + 1 + first + at + 1);
    }
    let first = body.chars().next().map_or(0, char::len_utf8);
    if body[first..].starts_with('\'') { open + first + 1 } else { open }
}

/// Where the item that begins at `at` ends: behind its `;`, or behind the brace that closes it.
pub fn end_of_item(tokens: &[Token], at: usize) -> usize {
    let closes_with_semicolon = tokens[at..]
        .iter()
        .map(|token| token.text.as_str())
        .find(|text| !matches!(*text, "pub" | "(" | ")" | "crate" | "super" | "in"));
    let needs_semicolon = matches!(closes_with_semicolon, Some("use" | "static" | "type" | "let"));
    let mut depth = 0_usize;
    for (here, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" && !needs_semicolon {
                    return here + 1;
                }
            }
            ";" if depth == 0 => return here + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Where the attribute that begins at `at` (`#[…]` or `#![…]`) ends, if one begins there.
pub fn end_of_attribute(tokens: &[Token], at: usize) -> Option<usize> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let open = match (text(at), text(at + 1), text(at + 2)) {
        ("#", "[", _) => at + 1,
        ("#", "!", "[") => at + 2,
        _ => return None,
    };
    let mut depth = 0_usize;
    for (here, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "[" => depth += 1,
            "]" => {
                depth -= 1;
                if depth == 0 {
                    return Some(here + 1);
                }
            }
            _ => {}
        }
    }
    Some(tokens.len())
}

/// Whether this attribute keeps its item out of everything but tests.
fn is_for_tests(attribute: &[Token]) -> bool {
    let has = |word: &str| attribute.iter().any(|token| token.text == word);
    has("cfg") && has("test") && !has("not") && !has("any")
}

/// The tokens without the items that stand only in tests. All of a file that says so of itself is one of them.
pub fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let Some(end) = end_of_attribute(tokens, at) else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        if !is_for_tests(&tokens[at..end]) {
            kept.extend_from_slice(&tokens[at..end]);
            at = end;
            continue;
        }
        if tokens[at + 1].text == "!" {
            return Vec::new();
        }
        at = end;
        while let Some(next) = end_of_attribute(tokens, at) {
            at = next;
        }
        at = end_of_item(tokens, at);
    }
    kept
}

#[test]
fn tokens_leave_out_comments_texts_letters_and_numbers() {
    let source = "a /* b /* c */ d */ e // f\n\"g\\\" h\" 'i' '\\'' b'j' r#\"k \" l\"# 'm: n::<'_> 0x1f r#type::o";
    let found: Vec<_> = tokens(source).into_iter().map(|token| token.text).collect();
    assert_eq!(found, ["a", "e", "\"g\\\" h\"", "m", ":", "n", "::", "<", "_", ">", "type", "::", "o"]);
    assert_eq!(tokens("a\n\n\"\n\" b").last().map(|token| token.line), Some(4));
    assert_eq!(tokens("\"é\" a").len(), 2);
}

#[test]
fn tokens_of_test_items_are_left_out() {
    let left = |source: &str| {
        let kept = without_tests(&tokens(source));
        kept.into_iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(left("#[cfg(test)] #[path = \"x\"] mod a; mod b;"), "mod b ;");
    assert_eq!(
        left("#[cfg(test)] use a::{b, c}; #[cfg(not(test))] fn d() {} "),
        "# [ cfg ( not ( test ) ) ] fn d ( ) { }"
    );
    assert_eq!(left("#[cfg(all(test, unix))] pub(crate) mod a { fn b() { c() } } fn d() {}"), "fn d ( ) { }");
    assert_eq!(left("#![cfg(test)] fn a() {}"), "");
}
