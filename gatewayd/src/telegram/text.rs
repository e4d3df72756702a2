//! Text as Telegram takes it: at most 4,096 UTF-16 units a message, counted after its marks were read, in an HTML of few
//! tags. What a message holds is cut between characters, each piece whole by itself. Purely; nothing is sent from here.

/// The most UTF-16 units of one message (Bot API, `sendMessage`).
pub const MAX_UNITS: usize = 4_096;
/// The line that begins and ends a block of code in an answer.
const FENCE: &str = "```";

/// How a piece of text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// Emphasised.
    Bold,
    /// A few letters to be read as they are.
    Code,
    /// Lines to be read as they are.
    Block,
}

impl Style {
    const fn tags(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => ("", ""),
            Self::Bold => ("<b>", "</b>"),
            Self::Code => ("<code>", "</code>"),
            Self::Block => ("<pre>", "</pre>"),
        }
    }
}

/// Text of one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// How.
    pub style: Style,
    /// What.
    pub text: String,
}

impl Span {
    /// A span.
    #[must_use]
    pub fn new(style: Style, text: impl Into<String>) -> Self {
        Self { style, text: text.into() }
    }
}

/// How many UTF-16 units a text has.
#[must_use]
pub fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The text so that nothing in it is a mark.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}

/// The text of what [`escape`] and the tags of [`Style`] have made.
#[must_use]
pub fn without_marks(html: &str) -> String {
    let mut out = html.to_owned();
    for style in [Style::Bold, Style::Code, Style::Block] {
        let (open, close) = style.tags();
        out = out.replace(open, "").replace(close, "");
    }
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// An answer in its spans: what stands between two lines of three backticks is a block, all else is as it is.
#[must_use]
pub fn spans(answer: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut rest = answer;
    while let Some((before, block, after)) = fenced(rest) {
        if !before.is_empty() {
            spans.push(Span::new(Style::Plain, before));
        }
        spans.push(Span::new(Style::Block, block));
        rest = after;
    }
    if !rest.is_empty() {
        spans.push(Span::new(Style::Plain, rest));
    }
    spans
}

/// The first whole block of code: what stands before it, in it, and behind it.
fn fenced(text: &str) -> Option<(&str, &str, &str)> {
    let mut at = 0;
    let mut open: Option<(usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        match open {
            None if bare.strip_prefix(FENCE).is_some_and(|word| !word.contains('`')) => {
                open = Some((at, at + line.len()));
            }
            Some((begin, inner)) if bare == FENCE => {
                let block = text[inner..at].trim_end_matches('\n');
                return (!block.trim().is_empty()).then(|| (&text[..begin], block, &text[at + line.len()..]));
            }
            None | Some(_) => {}
        }
        at += line.len();
    }
    None
}

/// A message, ready to be sent as HTML.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// With its marks.
    pub html: String,
    /// Without them.
    pub text: String,
}

/// The spans in messages of at most `most` units each, cut where a line, else a word ends in their second half. Pieces of
/// nothing but blanks are left out: Telegram takes none.
#[must_use]
pub fn split(spans: &[Span], most: usize) -> Vec<Piece> {
    let most = most.max(2);
    let mut pieces = vec![Piece::default()];
    let mut room = most;
    for span in spans {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let (head, tail) = cut(rest, room, most);
            if !head.is_empty() {
                let (open, close) = span.style.tags();
                if let Some(piece) = pieces.last_mut() {
                    piece.html.push_str(&format!("{open}{}{close}", escape(head)));
                    piece.text.push_str(head);
                }
                room -= units(head);
            }
            rest = tail;
            if !rest.is_empty() {
                pieces.push(Piece::default());
                room = most;
            }
        }
    }
    pieces.retain(|piece| !piece.text.trim().is_empty());
    pieces
}

/// As much of the text as there is room for, and the rest. Nothing, when a fresh message would end it better.
fn cut(text: &str, room: usize, most: usize) -> (&str, &str) {
    let (mut used, mut end, mut line, mut word) = (0, text.len(), None, None);
    for (at, c) in text.char_indices() {
        if used + c.len_utf16() > room {
            end = at;
            break;
        }
        used += c.len_utf16();
        let behind = at + c.len_utf8();
        if c == '\n' {
            line = Some((behind, used));
        } else if c == ' ' {
            word = Some((behind, used));
        }
    }
    if end == text.len() {
        return (text, "");
    }
    let fits = |mark: Option<(usize, usize)>| mark.filter(|(_, used)| used * 2 >= room).map(|(at, _)| at);
    match fits(line).or(fits(word)) {
        Some(at) => text.split_at(at),
        // A message that has hardly any room left is not worth a broken word.
        None if room < most => line.or(word).map_or(("", text), |(at, _)| text.split_at(at)),
        None => text.split_at(end),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The tags of a message as they stand: each is closed before the message ends, and nothing else is a mark.
    fn plain_of(html: &str) -> Option<String> {
        let (mut out, mut rest, mut open) = (String::new(), html, None);
        while let Some(c) = rest.chars().next() {
            if c == '<' {
                let end = rest.find('>')?;
                let tag = &rest[1..end];
                match (open, tag.strip_prefix('/')) {
                    (None, None) => open = Some(tag),
                    (Some(name), Some(closing)) if name == closing => open = None,
                    (None | Some(_), _) => return None,
                }
                rest = &rest[end + 1..];
            } else if c == '&' {
                let (mark, of) = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')]
                    .into_iter()
                    .find(|(mark, _)| rest.starts_with(mark))?;
                out.push(of);
                rest = &rest[mark.len()..];
            } else {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        open.is_none().then_some(out)
    }

    #[test]
    fn a_text_of_the_limit_is_one_message_and_one_unit_more_is_two() {
        let one = |text: String| split(&[Span::new(Style::Plain, text)], MAX_UNITS).len();
        assert_eq!((one("x".repeat(4_096)), one("x".repeat(4_097))), (1, 2));
        // Characters beyond the basic plane count two, and are never halved.
        assert_eq!((one("🦀".repeat(2_048)), one("🦀".repeat(2_049))), (1, 2));
        assert_eq!(one(format!("x{}", "🦀".repeat(2_048))), 2);
        assert!(split(&spans(" \n "), MAX_UNITS).is_empty() && split(&[], MAX_UNITS).is_empty());
    }

    #[test]
    fn a_message_ends_with_a_line_or_a_word_where_it_can() {
        let texts = |text: &str, most| -> Vec<String> {
            split(&spans(text), most).into_iter().map(|piece| piece.text).collect()
        };
        assert_eq!(texts("one two\nthree four five", 12), ["one two\n", "three four ", "five"]);
        assert_eq!(texts("aaaaaaaaaaaaaaa", 10), ["aaaaaaaaaa", "aaaaa"]);
    }

    #[test]
    fn a_block_of_code_is_closed_and_opened_again_where_it_is_cut() {
        let pieces = split(&spans("see:\n```rust\nlet a = 1 < 2;\nlet b = 2;\n```\nok"), 22);
        let html: Vec<&str> = pieces.iter().map(|piece| piece.html.as_str()).collect();
        assert_eq!(html, ["see:\n<pre>let a = 1 &lt; 2;\n</pre>", "<pre>let b = 2;</pre>ok"]);
        for odd in ["```\n```", "```", "a ``` b", "```x`y\nz\n```"] {
            assert!(spans(odd).iter().all(|span| span.style == Style::Plain), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn every_piece_fits_is_whole_by_itself_and_nothing_is_lost(
            parts in prop::collection::vec((0_usize..4, "(\\PC|[\n <>&🦀à]){0,60}"), 0..6), most in 2_usize..40,
        ) {
            let styles = [Style::Plain, Style::Bold, Style::Code, Style::Block];
            let spans: Vec<Span> = parts.iter().map(|(style, text)| Span::new(styles[*style], text.clone())).collect();
            let pieces = split(&spans, most);
            for piece in &pieces {
                prop_assert!(units(&piece.text) <= most && !piece.text.trim().is_empty());
                prop_assert_eq!(plain_of(&piece.html), Some(piece.text.clone()));
            }
            let bare = |text: String| -> String { text.split_whitespace().collect() };
            let all: String = parts.iter().map(|(_, text)| text.as_str()).collect();
            prop_assert_eq!(bare(pieces.iter().map(|piece| piece.text.as_str()).collect()), bare(all));
        }

        #[test]
        fn any_answer_is_shown_with_all_its_words(answer in "(\\PC|\n|`){0,200}") {
            let words: String = spans(&answer).iter().map(|span| span.text.clone()).collect();
            prop_assert!(words.len() <= answer.len());
            prop_assert!(answer.contains(FENCE) || words == answer);
        }
    }
}
