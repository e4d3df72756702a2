//! Programs that executors run, as policyd sees them: the owner's list, and what a command line comes to when its wrappers are
//! taken off. It can only forbid: nothing else than what is listed is there to be run, and the one who asks for it is told so before
//! anything starts (design: executor §6, policy §7). Whether what is listed may run now, the rules say.

use metnos_policy::call::argv::{self, UnwrappedCommand};
use metnos_policy::call::spec::Spec;
use metnos_proto::executor::commands::{self, bare};
use metnos_proto::executor::{Manifest, Role};

use crate::arguments::{self, Filled};
use crate::decision::Verdict;
use crate::executors::registry::Signed;
use crate::guard::shown;
use crate::perimeter::Perimeter;

/// What to do about a program that is not listed.
const LIST_IT: &str =
    "the owner adds it to sandbox.commands in metnos.toml, restarts Metnos, and looks at `metnosctl executor diff`";

impl Perimeter {
    /// Why a call is denied because what it would need is not there for any executor, if it is: a folder, or a program.
    pub(crate) fn not_there(&self, signed: &Signed, filled: &Filled) -> Option<Verdict> {
        self.not_shown(signed, filled).or_else(|| self.not_run(signed, filled))
    }

    /// Why a call of an executor that runs programs is denied, if it is.
    fn not_run(&self, signed: &Signed, filled: &Filled) -> Option<Verdict> {
        if commands::declared(&signed.manifest).is_empty() {
            return None;
        }
        unfit(&signed.manifest, &signed.spec, &self.setting.commands, filled)
    }
}

fn unfit(manifest: &Manifest, spec: &Spec, listed: &[String], filled: &Filled) -> Option<Verdict> {
    let unlisted = |why: String| Some(Verdict::deny("program.unlisted", why).with_remedy(LIST_IT));
    let granted = match commands::granted(manifest, listed) {
        Ok(granted) => granted,
        Err(path) => return unlisted(format!("it declares {path}, which the owner has not listed")),
    };
    if filled.opaque.iter().any(|pointer| manifest.role(pointer) == Role::Argv) {
        let why =
            "a word of the command was taken from a result that nobody has read, so what it would run is not known";
        return Some(Verdict::deny("program.unknown", why).with_remedy("give the words themselves"));
    }
    let words: Vec<String> = arguments::named(spec, &filled.value, |role| role == Role::Argv)
        .into_iter()
        .map(|(_, text)| text.to_owned())
        .collect();
    // An executor that is told no command line runs what its own code says, of what it is granted.
    let first = words.first()?;
    let is_granted = |program: &str| granted.iter().any(|path| *path == program || bare(path) == program);
    let programs = match argv::comes_to(&words) {
        UnwrappedCommand::To(programs) => programs,
        // What cannot be followed is asked for; but what is not there cannot be run even so.
        UnwrappedCommand::Opaque(_) => vec![first.clone()],
    };
    let all = [first.clone()].into_iter().chain(programs);
    let missing = all.into_iter().find(|program| !is_granted(program))?;
    let wrapped = if missing == *first { String::new() } else { format!("{} would run ", shown(first)) };
    unlisted(format!(
        "{wrapped}{}: it is not on the owner's list of programs, and so is not there to be run",
        shown(&missing)
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::arguments::{Arguments, Resolved};

    fn rule(words: serde_json::Value, exec: &str) -> Option<(String, String)> {
        let manifest = include_str!("../../../executors/shell_run/manifest.toml").replace(r#"exec = ["*"]"#, exec);
        let manifest = Manifest::parse(manifest.as_bytes()).unwrap();
        let listed = ["/usr/bin/wc", "/usr/bin/env", "/usr/bin/dash", "/usr/bin/sort"].map(str::to_owned);
        let arguments = Arguments::parse(json!({"argv": words}).to_string().as_bytes()).unwrap();
        let filled = arguments.fill(&Spec::of(&manifest), &Resolved::new()).unwrap();
        unfit(&manifest, &Spec::of(&manifest), &listed, &filled).map(|verdict| (verdict.rule, verdict.why))
    }

    #[test]
    fn unlisted_program_is_denied_even_when_wrapped() {
        let all = r#"exec = ["*"]"#;
        for words in [
            json!(["wc", "-l", "a"]),
            json!(["/usr/bin/wc"]),
            json!(["env", "A=b", "wc"]),
            // Nobody can follow these; the rules ask.
            json!(["sort", "--compress-program=rm", "a"]),
            json!(["env", "-S", "rm x"]),
        ] {
            assert_eq!(rule(words.clone(), all), None, "{words}");
        }
        for (words, named) in [
            (json!(["rm", "a"]), "rm"),
            (json!(["env", "rm", "a"]), "rm"),
            (json!(["env", "-u", "X", "nice", "rm"]), "rm"),
            (json!(["nice", "wc"]), "nice"),
            (json!(["python3", "-c", "0"]), "python3"),
            (json!(["/bin/wc"]), "/bin/wc"),
            (json!(["./wc"]), "./wc"),
            (json!(["sh", "-c", "wc a"]), "sh"),
        ] {
            let (rule, why) = rule(words.clone(), all).unwrap();
            assert!(rule == "program.unlisted" && why.contains(named), "{words}: {rule} {why}");
        }
    }

    #[test]
    fn a_manifest_bounds_the_list_and_the_list_bounds_the_manifest() {
        let only = r#"exec = ["/usr/bin/wc"]"#;
        assert_eq!(rule(json!(["wc"]), only), None);
        assert_eq!(rule(json!(["sort"]), only).unwrap().0, "program.unlisted");
        let more = rule(json!(["wc"]), r#"exec = ["/usr/bin/wc", "/usr/bin/id"]"#).unwrap();
        assert!(more.1.contains("/usr/bin/id"), "{more:?}");
    }
}
