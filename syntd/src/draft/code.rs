//! The function in a model's reply. What it does is for the scan and the sandbox to find out.

use crate::draft::FUNCTION;

/// The longest code that is taken, in bytes.
pub const MAX_CODE: usize = 32 << 10;

/// Takes the code out of a reply: the block that defines the function, or the whole reply where it is nothing but code. Where
/// the function has another name than it should, the last one that begins a line is taken for it.
///
/// # Errors
/// In a sentence, why there is no code.
pub fn of_reply(reply: &str) -> Result<String, String> {
    let blocks = blocks(reply);
    let defining = |text: &&String| defines(text, FUNCTION);
    let chosen =
        blocks.iter().rev().find(defining).or_else(|| blocks.iter().rev().find(|text| last_defined(text).is_some()));
    let code = chosen.ok_or("the reply holds no Python function")?;
    let mut code: String = code.replace("\r\n", "\n").trim_end().to_owned();
    if code.len() > MAX_CODE {
        return Err(format!("the code has {} bytes; at most {MAX_CODE} are taken", code.len()));
    }
    if code.contains('\0') {
        return Err("the code holds a NUL character".to_owned());
    }
    if !defines(&code, FUNCTION) {
        let name = last_defined(&code).ok_or("the reply holds no Python function")?.to_owned();
        code.push_str(&format!("\n\n\n{FUNCTION} = {name}"));
    }
    Ok(with_imports(&without_main(&code)))
}

/// The blocks of a reply; the reply itself where there are none. A block that is never closed counts: a model that ran out of
/// tokens has written what it has written.
fn blocks(reply: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in reply.lines() {
        if line.trim_start().starts_with("```") {
            match open.take() {
                Some(lines) => found.push(lines.join("\n")),
                None => open = Some(Vec::new()),
            }
        } else if let Some(lines) = &mut open {
            lines.push(line);
        }
    }
    found.extend(open.map(|lines| lines.join("\n")));
    if found.is_empty() {
        found.push(reply.to_owned());
    }
    found
}

fn defines(code: &str, name: &str) -> bool {
    code.lines().any(|line| defined(line) == Some(name))
}

fn last_defined(code: &str) -> Option<&str> {
    code.lines().rev().find_map(defined)
}

fn defined(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("def ")?.split_once('(')?;
    let name = name.trim();
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).then_some(name)
}

/// Without what only a program that is started would do.
fn without_main(code: &str) -> String {
    let is_main = |line: &&str| !line.trim_start().starts_with("if __name__");
    code.lines().take_while(is_main).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Modules of the standard library that models use and forget to import.
const MODULES: [&str; 18] = [
    "re",
    "math",
    "json",
    "string",
    "itertools",
    "functools",
    "collections",
    "statistics",
    "calendar",
    "decimal",
    "fractions",
    "unicodedata",
    "bisect",
    "heapq",
    "operator",
    "textwrap",
    "copy",
    "random",
];
/// Names of which they forget the module.
const NAMES: [(&str, &str); 15] = [
    ("Counter", "collections"),
    ("defaultdict", "collections"),
    ("deque", "collections"),
    ("OrderedDict", "collections"),
    ("Decimal", "decimal"),
    ("Fraction", "fractions"),
    ("List", "typing"),
    ("Dict", "typing"),
    ("Tuple", "typing"),
    ("Optional", "typing"),
    ("Any", "typing"),
    ("Union", "typing"),
    ("reduce", "functools"),
    ("timedelta", "datetime"),
    ("datetime", "datetime"),
];
/// What shows that `datetime` is meant as a module.
const OF_DATETIME: [&str; 3] = ["datetime.datetime", "datetime.timedelta", "datetime.date("];

/// With the imports that the code has forgotten: the most frequent fault of a small model, and one that needs no model to mend.
fn with_imports(code: &str) -> String {
    let is_module = OF_DATETIME.iter().any(|use_| code.contains(use_));
    let modules = MODULES.iter().copied().chain(is_module.then_some("datetime"));
    let modules = modules.filter(|name| is_missing(code, name, true)).map(|name| format!("import {name}"));
    let names = NAMES.iter().filter(|(name, _)| is_missing(code, name, false) && !(is_module && *name == "datetime"));
    let lines: Vec<String> =
        modules.chain(names.map(|(name, module)| format!("from {module} import {name}"))).collect();
    if lines.is_empty() { code.to_owned() } else { format!("{}\n\n{code}", lines.join("\n")) }
}

/// Whether a name is used, as a module or by itself, and neither imported nor given a value.
fn is_missing(code: &str, name: &str, as_module: bool) -> bool {
    let uses = |(at, word): &(usize, &str)| {
        let before = code[..*at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        *word == name && before != Some('.') && (!as_module || after == Some('.'))
    };
    let has = |line: &str| words(line).iter().any(|(_, word)| *word == name);
    let gives = |line: &str| {
        let line = line.trim_start();
        let is_import = line.starts_with("import ") || line.starts_with("from ");
        let is_value = line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='));
        is_import && has(line) || is_value
    };
    words(code).iter().any(uses) && !code.lines().any(gives)
}

/// The words of a text that are made of letters, digits and `_`, each with its place.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut begins = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let of_word = c.is_alphanumeric() || c == '_';
        match (begins, of_word) {
            (None, true) => begins = Some(at),
            (Some(from), false) => {
                found.push((from, &text[from..at]));
                begins = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn function_is_found_as_models_write_it() {
        let solve = "def solve(a):\n    return a";
        for reply in [
            format!("Here it is:\n```python\n{solve}\n```\nIt returns a."),
            format!(
                "```\nprint(1)\n```\nand\n```py\n{solve}\n\nif __name__ == \"__main__\":\n    print(solve(1))\n```"
            ),
            format!("```python\n{solve}"),
            solve.to_owned(),
            solve.replace('\n', "\r\n"),
        ] {
            assert_eq!(of_reply(&reply).unwrap(), solve, "{reply}");
        }
        let other = "import re\n\ndef helper(a):\n    return a\n\ndef find_number(a):\n    return helper(a)";
        assert!(of_reply(other).unwrap().ends_with("\n\n\nsolve = find_number"));
    }

    #[test]
    fn forgotten_imports_are_added_and_no_others() {
        let head = |body: &str| {
            let code = of_reply(&format!("def solve(a):\n    return {body}")).unwrap();
            code.split("\n\ndef ").next().unwrap().to_owned()
        };
        for (body, imports) in [
            ("re.sub('a', 'b', a)", "import re"),
            ("math.ceil(a) + json.loads(a)", "import math\nimport json"),
            ("Counter(a)", "from collections import Counter"),
            ("datetime.strptime(a, '%Y')", "from datetime import datetime"),
            ("datetime.datetime.now()", "import datetime"),
        ] {
            assert_eq!(head(body), imports, "{body}");
        }
        for body in ["a.re.b", "more(a)", "a.Counter(1)"] {
            assert!(head(body).starts_with("def solve"), "{body}");
        }
        let whole = "import re\nfrom datetime import datetime\n\ndef solve(a):\n    string = 'x'\n    return re.sub(a, string.upper(), a)";
        assert_eq!(of_reply(whole).unwrap(), whole);
    }

    #[test]
    fn reply_without_a_function_is_refused() {
        for reply in ["", "I cannot do that.", "```python\nprint(1)\n```", "class def solve"] {
            assert!(of_reply(reply).is_err(), "{reply}");
        }
        assert!(
            of_reply(&format!("def solve(a):\n    return \"{}\"", "x".repeat(MAX_CODE))).unwrap_err().contains("bytes")
        );
        assert!(of_reply("def solve(a):\n    return '\0'").unwrap_err().contains("NUL"));
    }

    proptest! {
        #[test]
        fn any_reply_gives_code_that_defines_the_function_or_none(reply in "(?s).{0,300}|(```(py)?\n|def [a-z]{1,5}\\(a\\):\n| return 1\n){0,9}") {
            if let Ok(code) = of_reply(&reply) {
                prop_assert!(defines(&code, FUNCTION) || code.contains("\nsolve = "), "{}", code);
            }
        }
    }
}
