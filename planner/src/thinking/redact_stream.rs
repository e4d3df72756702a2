//! What a model proposes to memory is not for people: `<lattice_update …>` blocks are taken out of what is shown, however
//! the text is cut into pieces on its way (design: memory §4). One that never ends hides all that follows.

/// How a block begins, and how it ends.
const OPEN: &str = "<lattice_update";
const CLOSE: &str = "</lattice_update>";

/// Takes blocks out of a text that comes in pieces.
#[derive(Debug, Default)]
pub struct RedactStream {
    hidden: bool,
    /// The beginning of a mark that may go on in the next piece.
    held: String,
}

impl RedactStream {
    /// What of the next piece is shown.
    #[must_use]
    pub fn shown(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for c in piece.chars() {
            self.next(c, &mut shown);
        }
        shown
    }

    /// The text is over: the beginning of a mark that became none is shown, too.
    #[must_use]
    pub fn rest(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        if self.hidden { String::new() } else { held }
    }

    fn next(&mut self, c: char, shown: &mut String) {
        let mark = if self.hidden { CLOSE } else { OPEN };
        let wanted = mark.as_bytes().get(self.held.len()).copied().map(char::from);
        if wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(&c)) {
            self.held.push(c);
            if self.held.len() == mark.len() {
                self.held.clear();
                self.hidden = !self.hidden;
            }
            return;
        }
        // Both marks have their first letter only once: what was held is no mark, and none begins inside it.
        let held = std::mem::take(&mut self.held);
        if !self.hidden {
            shown.push_str(&held);
        }
        if c == '<' {
            self.held.push(c);
        } else if !self.hidden {
            shown.push(c);
        }
    }
}

/// The same for a text that is there whole.
#[must_use]
pub fn redacted(text: &str) -> String {
    let mut redactor = RedactStream::default();
    let shown = redactor.shown(text);
    shown + &redactor.rest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_taken_out_and_nothing_else_is() {
        for (text, shown) in [
            ("Done.\n<lattice_update nonce=\"a\">{\"add\":[]}</lattice_update>", "Done.\n"),
            ("a<lattice_update>x</lattice_update>b<LATTICE_UPDATE n>y</Lattice_Update>c", "abc"),
            ("a <lattice_update never ends, and more", "a "),
            (
                "1 < 2 <b> </lattice_update> <<lattice_update>x</lattice_update><lattice",
                "1 < 2 <b> </lattice_update> <<lattice",
            ),
            ("a<lattice_update></lattice_updat</lattice_update>b", "ab"),
        ] {
            assert_eq!(redacted(text), shown, "{text}");
        }
    }

    proptest! {
        #[test]
        fn redacted_stream_is_the_same_for_any_chunking(
            parts in prop::collection::vec("(<|</)?(lattice_update)?( n=1)?>?|[a-z<>/ è]{0,6}", 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text = parts.concat();
            let mut at: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let mut redactor = RedactStream::default();
            let mut shown: String = at.windows(2).map(|cut| redactor.shown(&text[cut[0]..cut[1]])).collect();
            shown.push_str(&redactor.rest());
            prop_assert_eq!(shown, redacted(&text));
        }
    }
}
