//! Small changes of a draft's code. Tests that do not notice them show little: of a draft's mutants the tests must kill most
//! (design: growth §1). Only the text is looked at; a change is one that Python can still read.

/// The most mutants of one draft.
pub const MAX_MUTANTS: usize = 10;
/// What share of them the tests must notice, in hundredths.
pub const MIN_KILLED: u32 = 70;

/// What becomes what, longest first, so that `<=` is not taken for `<`.
const CHANGES: [(&str, &str); 20] = [
    (" not in ", " in "),
    (" and ", " or "),
    (" or ", " and "),
    ("False", "True"),
    ("True", "False"),
    ("None", "0"),
    ("max(", "min("),
    ("min(", "max("),
    ("**", "*"),
    ("//", "*"),
    ("==", "!="),
    ("!=", "=="),
    ("<=", "<"),
    (">=", ">"),
    ("+=", "-="),
    ("-=", "+="),
    (" < ", " >= "),
    (" > ", " <= "),
    (" + ", " - "),
    (" - ", " + "),
];

/// Up to [`MAX_MUTANTS`] copies of the code, each with one change, spread over all of it.
#[must_use]
pub fn of(code: &str) -> Vec<String> {
    let spots = spots(code);
    let step = spots.len().div_ceil(MAX_MUTANTS).max(1);
    let mutant = |(at, old, new): &(usize, usize, String)| format!("{}{new}{}", &code[..*at], &code[at + old..]);
    spots.iter().step_by(step).map(mutant).collect()
}

/// Where something can be changed: the place, the length of what stands there, and what comes in its place.
fn spots(code: &str) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut line_start = 0;
    while at < code.len() {
        let rest = &code[at..];
        if rest.starts_with('\n') {
            line_start = at + 1;
        }
        if let Some(skipped) = text_or_comment(rest) {
            at += skipped;
            continue;
        }
        let line = code[line_start..].trim_start();
        let heads = ["def ", "import ", "from ", "class ", "@"].iter().any(|head| line.starts_with(head));
        if !heads && let Some((old, new)) = change(code, at) {
            found.push((at, old, new));
            at += old;
            continue;
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// The length of a text or a comment that begins here.
fn text_or_comment(rest: &str) -> Option<usize> {
    if rest.starts_with('#') {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote))?;
    let mut at = quote.len();
    while at < rest.len() {
        if rest[at..].starts_with('\\') {
            at += 1;
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        } else if rest[at..].starts_with(quote) {
            return Some(at + quote.len());
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    Some(rest.len())
}

fn change(code: &str, at: usize) -> Option<(usize, String)> {
    let rest = &code[at..];
    let before = code[..at].chars().next_back();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if rest.starts_with(|c: char| c.is_ascii_digit()) && !before.is_some_and(|c| is_word(c) || c == '.') {
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let more = rest[length..].chars().next();
        let number = rest[..length].parse::<u64>().ok().filter(|_| !more.is_some_and(|c| is_word(c) || c == '.'))?;
        return Some((length, number.checked_add(1)?.to_string()));
    }
    let (old, new) = CHANGES.into_iter().find(|(old, _)| rest.starts_with(old))?;
    let ends_open = old.chars().next_back().is_some_and(is_word) && rest[old.len()..].starts_with(is_word);
    let begins_open = old.chars().next().is_some_and(is_word) && before.is_some_and(is_word);
    (!ends_open && !begins_open).then(|| (old.len(), new.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_mutant_differs_in_one_place_outside_of_texts() {
        let code = "import re\n\ndef solve(a, b=1):\n    \"\"\"1 == 1\"\"\"\n    # 2 + 2\n    if a <= 10 and b != 'x == 1':\n        return a + 2\n    return None";
        let all = of(code);
        for mutant in ["a < 10", "a <= 11", "10 or b", "b == 'x", "a - 2", "a + 3", "return 0"] {
            assert!(all.iter().any(|one| one.contains(mutant)), "{mutant}: {all:#?}");
        }
        assert_eq!(all.len(), 7);
        assert!(
            all.iter().all(|one| one.contains("b=1") && one.contains("\"\"\"1 == 1\"\"\"") && one.contains("# 2 + 2"))
        );
    }

    #[test]
    fn names_that_hold_a_number_or_a_word_are_left_alone() {
        assert!(of("x2 = a1.b\nTruely = isNone\ny = 1.5e3").is_empty());
        assert!(of("").is_empty());
        assert_eq!(of(&"a = 1\n".repeat(500)).len(), MAX_MUTANTS);
    }

    proptest! {
        #[test]
        fn any_code_gives_few_mutants_that_differ(code in "(?s).{0,200}|([a-c ]|==|'|\"|#|\n|1| and ){0,60}") {
            let all = of(&code);
            prop_assert!(all.len() <= MAX_MUTANTS);
            prop_assert!(all.iter().all(|one| *one != code));
        }
    }
}
