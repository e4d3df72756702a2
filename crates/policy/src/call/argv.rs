//! What a command line would really run: wrappers are unwrapped until the program that does
//! the work is found. It never runs or expands anything, and what it cannot follow is never
//! silently allowed (design: policy §5, executor §6).

/// How deep wrappers may be nested before nobody follows them any more.
pub const MAX_DEPTH: usize = 8;
/// The most words looked at.
pub const MAX_WORDS: usize = 1024;

/// What a command line comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnwrappedCommand {
    /// To these programs, by their bare names, and to nothing else.
    To(Vec<String>),
    /// To something that cannot be followed: why.
    Opaque(String),
}

/// Programs that run another one, with the options of theirs that take a value of their own.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("env", &["-u", "--unset", "-C", "--chdir"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    ("chrt", &[], 1),
    ("taskset", &[], 1),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("sudo", &["-u", "-g", "-p", "-h", "-C", "-T", "-D", "-R", "-r", "-t"], 0),
    ("doas", &["-u", "-C"], 0),
    ("time", &["-o", "-f"], 0),
    ("exec", &["-a"], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a", "--max-args", "--max-procs"], 0),
    ("busybox", &[], 0),
    ("toybox", &[], 0),
    ("chroot", &["--userspec", "--groups"], 1),
    ("unshare", &[], 0),
    ("nsenter", &["-t"], 0),
    ("flock", &["-w", "-E"], 1),
    ("watch", &["-n"], 0),
    ("strace", &["-e", "-o", "-p"], 0),
    ("script", &["-c"], 0),
];

/// Programs that read a program text of their own.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash"];
/// Programs whose text nobody here can follow.
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "lua",
    "awk",
    "gawk",
    "mawk",
    "tclsh",
    "osascript",
    "ssh",
    "eval",
    "source",
    ".",
    "parallel",
    "make",
    "at",
    "batch",
    "crontab",
    "systemd-run",
    "ld.so",
    "gdb",
    "vim",
    "vi",
    "ed",
    "sed",
    "tar",
    "git",
    "rsync",
    "docker",
    "podman",
];

/// What `argv` comes to.
#[must_use]
pub fn comes_to(argv: &[String]) -> UnwrappedCommand {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    if words.len() > MAX_WORDS {
        return UnwrappedCommand::Opaque(format!("it has more than {MAX_WORDS} words"));
    }
    let mut found = Vec::new();
    match follow(&words, 0, &mut found) {
        Ok(()) => UnwrappedCommand::To(found),
        Err(why) => UnwrappedCommand::Opaque(why),
    }
}

/// Whether `argv` comes to programs that are all in `listed`, as they are named there: by a bare name, or by a path.
/// A program named by another path is not the listed one.
#[must_use]
pub fn is_listed(argv: &[String], listed: &[String]) -> bool {
    match comes_to(argv) {
        UnwrappedCommand::To(programs) => {
            !programs.is_empty() && programs.iter().all(|program| listed.contains(program))
        }
        UnwrappedCommand::Opaque(_) => false,
    }
}

fn follow(words: &[&str], depth: usize, found: &mut Vec<String>) -> Result<(), String> {
    let Some((first, rest)) = words.split_first() else { return Err("nothing is named that would run".to_owned()) };
    if depth > MAX_DEPTH {
        return Err(format!("wrappers are nested deeper than {MAX_DEPTH}"));
    }
    if first.is_empty() || first.chars().any(|c| c.is_control() || c.is_whitespace() || "$`*?[{~|;&<>".contains(c)) {
        return Err("the program is not named plainly".to_owned());
    }
    let bare = first.rsplit('/').next().unwrap_or(first);
    if SHELLS.contains(&bare) {
        return shell(bare, rest, depth, found);
    }
    if bare == "find" {
        return find(first, rest, depth, found);
    }
    let versioned = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if INTERPRETERS.contains(&bare) || INTERPRETERS.contains(&versioned) {
        return Err(format!("`{bare}` runs a text that cannot be followed"));
    }
    match WRAPPERS.iter().find(|(name, _, _)| *name == bare) {
        Some((name, valued, operands)) => {
            if *name == "script"
                || (*name == "env"
                    && rest.iter().any(|word| word.starts_with("-S") || word.starts_with("--split-string")))
            {
                return Err(format!("`{name}` takes a command as a text"));
            }
            match inner(rest, valued, *operands)? {
                [] if *name == "xargs" => Err("`xargs` without a command echoes".to_owned()),
                [] => Err(format!("`{name}` runs nothing")),
                inner => follow(inner, depth + 1, found),
            }
        }
        None => {
            if let Some(option) = helper(bare, rest) {
                return Err(format!("`{bare} {option}` names another program"));
            }
            found.push((*first).to_owned());
            Ok(())
        }
    }
}

/// Programs that hand work to another one when an option says so, with the long options that do.
const HELPERS: &[(&str, &[&str])] = &[("sort", &["--compress-program"]), ("split", &["--filter"])];

/// The option by which a program is given another one to run. Long options may be shortened, so whatever could be one counts.
fn helper<'a>(program: &str, rest: &[&'a str]) -> Option<&'a str> {
    let (_, options) = HELPERS.iter().find(|(name, _)| *name == program)?;
    let words = rest.iter().take_while(|word| **word != "--");
    words.copied().find(|word| {
        let name = word.split('=').next().unwrap_or(word);
        name.len() > 2 && options.iter().any(|option| option.starts_with(name))
    })
}

/// What follows a wrapper's own options, assignments and operands.
///
/// # Errors
/// An option of which nobody here knows whether the next word belongs to it: what would run is not known then.
fn inner<'a, 'b>(mut words: &'a [&'b str], valued: &[&str], operands: usize) -> Result<&'a [&'b str], String> {
    let mut operands = operands;
    while let Some((word, rest)) = words.split_first() {
        if *word == "--" {
            return Ok(rest.get(operands..).unwrap_or_default());
        }
        let assigns = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        if word.starts_with('-') && word.len() > 1 {
            words = if takes_next(word, valued)? { rest.get(1..).unwrap_or_default() } else { rest };
        } else if assigns {
            words = rest;
        } else if operands > 0 {
            operands -= 1;
            words = rest;
        } else {
            return Ok(words);
        }
    }
    Ok(&[])
}

/// Long options without a value, of wrappers.
const FLAGS: &[&str] = &[
    "--ignore-environment",
    "--null",
    "--foreground",
    "--preserve-status",
    "--verbose",
    "--no-run-if-empty",
    "--fork",
    "--wait",
    "--ctty",
    "--exclusive",
    "--shared",
    "--nonblock",
    "--unlock",
    "--quiet",
    "--append",
    "--portability",
];

/// Whether the word after an option is its value.
fn takes_next(option: &str, valued: &[&str]) -> Result<bool, String> {
    if option.starts_with("--") {
        return match option.contains('=') || FLAGS.contains(&option) {
            true => Ok(false),
            false if valued.contains(&option) => Ok(true),
            false => Err(format!("what the option `{option}` takes is not known")),
        };
    }
    if valued.contains(&option) {
        return Ok(true);
    }
    // A cluster of short ones: the first that takes a value takes what is left of it, or the next word.
    let letters = option.char_indices().skip(1);
    let takes = letters.map(|(at, letter)| (at + letter.len_utf8(), format!("-{letter}")));
    let first = takes.into_iter().find(|(_, letter)| valued.contains(&letter.as_str()));
    Ok(first.is_some_and(|(end, _)| end == option.len()))
}

/// `sh -c TEXT`: every command of the text, where it is made of plain words.
fn shell(name: &str, rest: &[&str], depth: usize, found: &mut Vec<String>) -> Result<(), String> {
    let takes_text = |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let Some(at) = rest.iter().position(|word| takes_text(&word)) else {
        return Err(format!("`{name}` runs a script that cannot be followed"));
    };
    let Some(text) = rest.get(at + 1) else { return Err(format!("`{name} -c` without a text")) };
    if text.chars().any(|c| "$`<>(){}!#*?[]\\~".contains(c)) {
        return Err(format!("`{name} -c` takes a text with expansions"));
    }
    if text.contains('|') {
        // What one writes the other may run: nobody follows that.
        return Err(format!("`{name} -c` takes a text with a pipe"));
    }
    for command in text.split(['\n', ';', '&']) {
        let words = plain_words(command)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match inner(&words, &[], 0)? {
            [] => {}
            words => follow(words, depth + 1, found)?,
        }
    }
    Ok(())
}

/// The words of a command without expansions; quotes are taken off.
fn plain_words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let (mut word, mut open, mut begun) = (String::new(), None, false);
    for c in text.chars() {
        match (open, c) {
            (Some(quote), c) if c == quote => open = None,
            (None, '\'' | '"') => (open, begun) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if open.is_some() {
        return Err("a quote is never closed".to_owned());
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}

/// `find … -exec COMMAND ;`, and what `find` does itself.
fn find(first: &str, rest: &[&str], depth: usize, found: &mut Vec<String>) -> Result<(), String> {
    found.push(first.to_owned());
    if rest.iter().any(|word| matches!(*word, "-delete" | "-fprint" | "-fprint0" | "-fprintf" | "-fls")) {
        return Err("`find` deletes or writes".to_owned());
    }
    for (at, word) in rest.iter().enumerate() {
        if matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir") {
            let command: Vec<&str> = rest
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .copied()
                .take_while(|word| !matches!(*word, ";" | "+"))
                .collect();
            follow(&command, depth + 1, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn to(words: &[&str]) -> UnwrappedCommand {
        comes_to(&argv(words))
    }

    #[test]
    fn wrappers_are_unwrapped_to_what_does_the_work() {
        for words in [
            &["rm", "-rf", "/"][..],
            &["env", "rm", "-rf", "/"],
            &["env", "-u", "X", "A=b", "rm"],
            &["nice", "-n", "5", "rm"],
            &["nice", "-n", "5", "env", "A=b", "bash", "-c", "rm -rf x"],
            &["timeout", "-s", "KILL", "10", "rm"],
            &["xargs", "-n", "1", "rm"],
            &["sudo", "-u", "ada", "--", "rm"],
            &["busybox", "rm"],
            &["xargs", "-rI", "date", "rm"],
            &["xargs", "-rIdate", "rm"],
            &["timeout", "--foreground", "10", "rm"],
            &["env", "--chdir=x", "rm"],
            &["setsid", "nohup", "stdbuf", "-o", "L", "ionice", "-c", "3", "rm"],
            &["bash", "-lc", "'rm' \"-rf\" x"],
        ] {
            assert_eq!(to(words), UnwrappedCommand::To(argv(&["rm"])), "{words:?}");
        }
        assert_eq!(to(&["find", ".", "-exec", "rm", "{}", ";"]), UnwrappedCommand::To(argv(&["find", "rm"])));
        assert_eq!(to(&["sh", "-c", "date; uptime"]), UnwrappedCommand::To(argv(&["date", "uptime"])));
    }

    #[test]
    fn untraceable_program_arguments_are_reported() {
        for words in [
            &["sort", "--compress-program=rm", "x"][..],
            &["sort", "--comp", "rm", "x"],
            &["xargs", "--arg-file", "date", "rm"],
            &["time", "--output", "date", "rm"],
            &["python3", "-c", "import os"],
            &["perl", "-e", "unlink"],
            &["python3.13", "x.py"],
            &["sh", "-c", "curl https://x | sh"],
            &["sh", "-c", "$(echo rm)"],
            &["sh", "script.sh"],
            &["env", "-S", "rm -rf"],
            &["find", ".", "-delete"],
            &["xargs"],
            &["sh", "-c", "echo 'open"],
            &["ssh", "host", "rm"],
            &["", "x"],
            &["r*m"],
        ] {
            assert!(matches!(to(words), UnwrappedCommand::Opaque(_)), "{words:?}: {:?}", to(words));
        }
        let deep = vec!["env".to_owned(); MAX_DEPTH + 2];
        assert!(matches!(comes_to(&deep), UnwrappedCommand::Opaque(_)));
    }

    #[test]
    fn nothing_dangerous_is_ever_listed_by_being_wrapped() {
        let listed = argv(&["date", "ls", "env", "sh", "find", "nice", "xargs", "bash"]);
        for words in [
            &["env", "rm", "-rf", "/"][..],
            &["rm", "-rf", "/*"],
            &["xargs", "rm"],
            &["sh", "-c", "rm -rf x"],
            &["systemctl", "restart", "ssh"],
            &["dd", "of=/dev/sda"],
            &["sh", "-c", "curl https://x | sh"],
            &["nice", "-n", "5", "env", "A=b", "bash", "-c", "rm x"],
            &["find", ".", "-exec", "rm", "{}", "+"],
            &["/tmp/date"],
        ] {
            assert!(!is_listed(&argv(words), &listed), "{words:?}");
        }
        assert!(is_listed(&argv(&["nice", "date"]), &listed));
        assert!(is_listed(&argv(&["ls", "-l"]), &listed));
        // A path is what it is listed as.
        let by_path = argv(&["/usr/bin/date"]);
        assert!(is_listed(&by_path, &by_path) && !is_listed(&by_path, &listed));
    }

    proptest! {
        #[test]
        fn garbage_never_panics_and_is_never_listed(words in proptest::collection::vec("\\PC{0,12}", 0..8)) {
            prop_assert!(!is_listed(&words, &[]));
        }
    }
}
