//! What a card says, held against what comes of it: the owner says yes, and every place that is touched and every address
//! that is asked for must stand in the text that he was shown.

use std::path::Path;

use metnos_tests::rng::Rng;
use metnos_tests::sink::Arrival;

use crate::catalogue::Executor;
use crate::hunt::Hunt;
use crate::oracle::Violation;
use crate::program::{Program, Who};
use crate::snapshot::Change;
use crate::world::{HOME_SERVER, OWN_SERVER, SENDING_SERVER, World};

impl Hunt {
    /// One call by anybody that has an effect or reaches the outside; whatever waits for a word is approved.
    pub fn try_any_card(&mut self, chance: &mut Rng) {
        let who = *chance.pick(&[Who::Owner, Who::Owner, Who::Guest, Who::Timer, Who::Hook]);
        let asks = |executor: &&Executor| executor.acts() || executor.class == "net_read";
        let executors: Vec<&Executor> = self.catalogue.iter().filter(asks).collect();
        let executor = *chance.pick(&executors);
        let program = self.maker(chance).chain(who, &[executor]);
        self.try_card(program);
    }

    fn try_card(&mut self, program: Program) {
        self.world.answer_all();
        let programs = [program];
        self.try_all(&programs);
        for id in self.world.waiting() {
            let show = self.world.set.ctl(&["approval", "show", &id]);
            let text = plain(&String::from_utf8_lossy(&show.stdout));
            let _before = self.world.sink.taken();
            let _approved = self.world.set.ctl(&["approval", "approve", &id]);
            let changes = self.world.before.changes(&self.world.now());
            let arrivals = self.world.sink.taken();
            self.counts.cards.0 += 1;
            self.counts.cards.1 += usize::from(!(changes.is_empty() && arrivals.is_empty()));
            for what in unshown(&self.world, &text, &changes, &arrivals) {
                let what = format!("{what} was not on its card: {text}");
                self.keep(&programs, Violation { kind: "unshown", what });
            }
            self.put_back(&changes);
        }
    }
}

/// What was touched or asked for, and does not stand in the text of the card.
fn unshown(world: &World, text: &str, changes: &[Change], arrivals: &[Arrival]) -> Vec<String> {
    let workspace = world.set.workspace("");
    let place = |change: &Change| {
        let path = change.path().strip_prefix(&workspace).ok().and_then(Path::to_str);
        let is_named = path.is_some_and(|path| is_named(text, path, matches!(change, Change::Added(_))));
        (!is_named).then(|| format!("{change:?}"))
    };
    let address = |arrival: &Arrival| {
        let named = match arrival {
            // What is done in the own mailbox or calendar is done at its server, whatever that is called.
            Arrival::Name(name) if name == OWN_SERVER => {
                ["(imap_", "(calendar_"].iter().any(|kind| text.contains(kind))
            }
            Arrival::Name(name) if name == HOME_SERVER => text.contains("(home_"),
            // What is sent goes to the server that takes it, before it goes to the addresses that the card shows.
            Arrival::Name(name) if name == SENDING_SERVER => text.contains("(smtp_send"),
            // A site may have several servers: the card names the site.
            Arrival::Name(name) => text.contains(name.as_str()) || site(name).is_some_and(|site| text.contains(site)),
            // A card hides the values of keys: those stand behind the question mark.
            Arrival::Request { url, .. } => text.contains(url.split('?').next().unwrap_or(url)),
            Arrival::Other(_) => false,
        };
        (!named).then(|| format!("{arrival:?}"))
    };
    changes.iter().filter_map(place).chain(arrivals.iter().filter_map(address)).collect()
}

/// The last two labels of a name with more of them: `open-meteo.com`.
fn site(name: &str) -> Option<&str> {
    let dot = name.rmatch_indices('.').nth(1)?.0;
    name.get(dot + 1..)
}

/// Whether a text names this path, something that it lies in, or, of a folder that was made, something in it. Where things lie
/// that take an act back needs no name.
fn is_named(text: &str, path: &str, made: bool) -> bool {
    if path.split('/').any(|name| name.starts_with(".trash")) || stands(text, ".", false) {
        return true;
    }
    let plain = plain(path);
    let outer = plain.match_indices('/').map(|(at, _)| &plain[..at]);
    outer.chain([plain.as_str()]).any(|place| stands(text, place, false)) || made && stands(text, &plain, true)
}

/// Whether this path stands in a text and is no part of another one; `above`: the beginning of another one.
fn stands(text: &str, path: &str, above: bool) -> bool {
    let open = |c: Option<char>| c.is_none_or(|c| c == ' ' || c == '"');
    text.match_indices(path).any(|(at, _)| {
        let after = text[at + path.len()..].chars().next();
        open(text[..at].chars().next_back()) && (open(after) || above && after == Some('/'))
    })
}

/// A text without the marks of what is not seen and without what they stand for, on one line.
fn plain(text: &str) -> String {
    let mut seen = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{27e8}U+") {
        seen.push_str(before);
        rest = after.split_once('\u{27e9}').map_or("", |(_, rest)| rest);
    }
    seen.push_str(rest);
    let blank = |c: char| if c.is_whitespace() { Some(' ') } else { c.is_ascii_graphic().then_some(c) };
    let seen: String = seen.chars().filter_map(blank).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn card_text_names_a_place_by_itself_or_by_a_folder_and_not_by_a_part() {
    let text = plain(
        "OnWhat  path: notes/a\u{27e8}U+200B\u{27e9}.md \u{27e8}written ./notes/a.md\u{27e9}\n  to: new/deep/b.md",
    );
    for (path, made, named) in [
        ("notes/a.md", false, true),
        ("notes/a\u{200b}.md", false, true),
        ("notes/a.md/inner", false, true),
        ("notes", false, false),
        ("new", true, true),
        ("new", false, false),
        ("new/deep", true, true),
        ("deep/b.md", false, false),
        ("new/deep/b.mdx", false, false),
        ("notes/b.md", false, false),
        (".trash/K.json", true, true),
    ] {
        assert_eq!(is_named(&text, path, made), named, "{path}");
    }
}
