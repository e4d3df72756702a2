//! The command lines that a document shows: in blocks of `sh` and `console`, and between backticks in its prose.

/// One command line as it stands in a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Documented {
    /// The whole line, without prompt, comment and redirection.
    pub line: String,
    /// Whether it stands in a block, to be typed as it is.
    pub in_block: bool,
}

/// Every call of `program` in a text in Markdown, in the order of the text.
pub fn command_lines(markdown: &str, program: &str) -> Vec<Documented> {
    let mut found = Vec::new();
    let (mut block, mut prose) = (None, String::new());
    for line in markdown.lines() {
        match (&block, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                spans(&std::mem::take(&mut prose), program, &mut found);
                block = Some(language.to_owned());
            }
            (Some(_), Some(_)) => block = None,
            (Some(language), None) => block_line(language, line.trim(), program, &mut found),
            // A span may be broken at the end of a line, and never at the end of a paragraph.
            (None, None) if line.is_empty() => spans(&std::mem::take(&mut prose), program, &mut found),
            (None, None) => {
                prose.push_str(line.trim());
                prose.push(' ');
            }
        }
    }
    spans(&prose, program, &mut found);
    found
}

fn block_line(language: &str, line: &str, program: &str, found: &mut Vec<Documented>) {
    let typed = match language {
        "sh" => Some(line),
        "console" => line.strip_prefix("$ "),
        _ => None,
    };
    let pieces = typed.map(pieces).unwrap_or_default();
    found.extend(
        pieces.into_iter().filter(|piece| calls(piece, program)).map(|line| Documented { line, in_block: true }),
    );
}

fn spans(prose: &str, program: &str, found: &mut Vec<Documented>) {
    let spans = prose.split('`').skip(1).step_by(2).filter(|span| calls(span, program));
    found.extend(spans.map(|span| Documented { line: span.to_owned(), in_block: false }));
}

fn calls(piece: &str, program: &str) -> bool {
    piece.strip_prefix(program).is_some_and(|rest| rest.starts_with(' '))
}

/// The single commands of a line of a shell, without what is not theirs.
fn pieces(line: &str) -> Vec<String> {
    let (mut all, mut piece, mut quoted) = (Vec::new(), String::new(), None);
    let mut before = ' ';
    for c in line.chars() {
        match quoted {
            Some(quote) if c == quote => quoted = None,
            None if matches!(c, '"' | '\'') => quoted = Some(c),
            None if c == '#' && before == ' ' => break,
            None if matches!(c, ';' | '|' | '&') => {
                all.push(std::mem::take(&mut piece));
                before = c;
                continue;
            }
            None | Some(_) => {}
        }
        piece.push(c);
        before = c;
    }
    all.push(piece);
    let own = |piece: &String| piece.split(" > ").next().unwrap_or_default().trim().to_owned();
    all.iter().map(own).filter(|piece| !piece.is_empty()).collect()
}

/// The words of a command, as a shell would hand them on.
pub fn words(line: &str) -> Vec<String> {
    let (mut all, mut word, mut quoted, mut has_word) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match quoted {
            Some(quote) if c == quote => quoted = None,
            None if matches!(c, '"' | '\'') => (quoted, has_word) = (Some(c), true),
            None if c == ' ' => {
                if std::mem::take(&mut has_word) {
                    all.push(std::mem::take(&mut word));
                }
            }
            None | Some(_) => {
                word.push(c);
                has_word = true;
            }
        }
    }
    if has_word {
        all.push(word);
    }
    all
}
