//! No circles between the files of a crate: the graph of who names whom, and what is wrong with it. A module and what lies
//! below it are one thing: edges between them are not counted. A name that a module only passes on (`pub use`) counts as the
//! file that it comes from.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::lexer::{Token, end_of_attribute, tokens, without_tests};
use crate::{root, targets};

/// Crates that are not free of circles yet, and how many files their largest one has. No entry may be added, and none grows.
const ALLOWED: &[(&str, usize)] = &[];

/// The path of a module within its crate.
type Module = Vec<String>;

/// One place where a file names another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mention {
    line: usize,
    path: String,
}

/// One target of a crate: its files, which modules they hold, and what they name.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// The file that each module stands in; the modules within a file are there too.
    files: BTreeMap<Module, PathBuf>,
    /// The module that each file is.
    pub(crate) modules: BTreeMap<PathBuf, Module>,
    /// What a module passes on: the name, and the path that it stands for.
    exports: BTreeMap<(Module, String), Module>,
    mentions: Vec<(PathBuf, Module, Mention)>,
    edges: BTreeMap<PathBuf, BTreeMap<PathBuf, Mention>>,
}

impl Graph {
    /// Reads a target from its root file.
    pub(crate) fn read(file: &Path) -> Self {
        let mut graph = Self::default();
        graph.add(file, Vec::new(), file.parent().unwrap());
        graph.connect();
        graph
    }

    /// Adds a file and all that it declares. `folder` is where files of its modules are.
    fn add(&mut self, file: &Path, module: Module, folder: &Path) {
        let source = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.modules.insert(file.to_owned(), module.clone());
        let tokens = without_tests(&tokens(&source));
        let mut reader = Reader { graph: self, file, tokens: &tokens, within: vec![(module, usize::MAX)], folder };
        for (module, file, folder) in reader.read() {
            self.add(&file, module, &folder);
        }
    }

    /// The file that a path leads to.
    fn target(&self, path: &[String]) -> Option<&PathBuf> {
        let mut path = path.to_vec();
        // A name that is passed on leads further; a chain of more than a few is a mistake.
        for _ in 0..8 {
            let known = (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
            let next = path.get(known).and_then(|name| self.exports.get(&(path[..known].to_vec(), name.clone())));
            match next {
                Some(next) if !next.starts_with(&path[..=known]) => {
                    path = next.iter().chain(&path[known + 1..]).cloned().collect();
                }
                Some(_) | None => return self.files.get(&path[..known]),
            }
        }
        None
    }

    fn connect(&mut self) {
        let mut edges: BTreeMap<PathBuf, BTreeMap<PathBuf, Mention>> = BTreeMap::new();
        for (file, path, mention) in &self.mentions {
            let Some(target) = self.target(path) else { continue };
            let (from, to) = (&self.modules[file], &self.modules[target]);
            if !from.starts_with(to) && !to.starts_with(from) {
                edges.entry(file.clone()).or_default().entry(target.clone()).or_insert_with(|| mention.clone());
            }
        }
        self.edges = edges;
    }
}

/// Reads one file into the graph.
struct Reader<'a> {
    graph: &'a mut Graph,
    file: &'a Path,
    tokens: &'a [Token],
    /// The modules that are open here, and the depth of braces at which each ends.
    within: Vec<(Module, usize)>,
    folder: &'a Path,
}

impl Reader<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn module(&self) -> Module {
        self.within.last().map(|(module, _)| module.clone()).unwrap_or_default()
    }

    /// Reads the file, and returns the modules that are files of their own.
    fn read(&mut self) -> Vec<(Module, PathBuf, PathBuf)> {
        self.graph.files.insert(self.module(), self.file.to_owned());
        let (mut at, mut depth, mut found, mut placed) = (0, 0_usize, Vec::new(), None);
        while at < self.tokens.len() {
            if let Some(end) = end_of_attribute(self.tokens, at) {
                if self.text(at + 2) == "path" {
                    placed = Some(self.text(at + 4).trim_matches('"').to_owned());
                }
                at = end;
                continue;
            }
            match self.text(at) {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    if self.within.last().is_some_and(|(_, ends)| *ends == depth) {
                        self.within.pop();
                    }
                }
                "mod" if self.text(at + 2) == ";" => {
                    found.push(self.declared(self.text(at + 1).to_owned(), placed.take()));
                    at += 2;
                }
                "mod" if self.text(at + 2) == "{" => {
                    let mut module = self.module();
                    module.push(self.text(at + 1).to_owned());
                    self.graph.files.insert(module.clone(), self.file.to_owned());
                    self.within.push((module, depth));
                    depth += 1;
                    at += 2;
                }
                "use" => at = self.used(at),
                "crate" | "super" | "self" if self.text(at + 1) == "::" && (at == 0 || self.text(at - 1) != "::") => {
                    at = self.mentioned(at);
                }
                _ => {}
            }
            at += 1;
        }
        found
    }

    /// Where the file of a declared module is.
    fn declared(&self, name: String, placed: Option<String>) -> (Module, PathBuf, PathBuf) {
        let outer = self.within.first().map_or(0, |(module, _)| module.len());
        let mut module = self.module();
        let inner = module[outer..].iter().fold(self.folder.to_owned(), |folder, part| folder.join(part));
        module.push(name.clone());
        if let Some(placed) = placed {
            let file = self.file.parent().unwrap_or(Path::new("")).join(placed);
            let folder = file.parent().unwrap_or(Path::new("")).to_owned();
            return (module, file, folder);
        }
        let (flat, deep) = (inner.join(format!("{name}.rs")), inner.join(&name).join("mod.rs"));
        (module, if flat.exists() { flat } else { deep }, inner.join(name))
    }

    /// A path outside a `use`.
    fn mentioned(&mut self, at: usize) -> usize {
        let mut path = vec![self.text(at).to_owned()];
        let mut end = at;
        while self.text(end + 1) == "::" && self.tokens.get(end + 2).is_some_and(Token::is_word) {
            path.push(self.text(end + 2).to_owned());
            end += 2;
        }
        self.mention(at, &path);
        end
    }

    /// The paths of a `use`; returns where it ends.
    fn used(&mut self, at: usize) -> usize {
        let end = (at..self.tokens.len()).find(|here| self.text(*here) == ";").unwrap_or(self.tokens.len());
        let passes_on = at > 0 && matches!(self.text(at - 1), "pub" | ")");
        let mut leaves = Vec::new();
        tree(&self.tokens[at + 1..end], &[], &mut leaves);
        for (path, name) in leaves {
            let Some(whole) = self.mention(at, &path) else { continue };
            if passes_on {
                self.graph.exports.insert((self.module(), name), whole);
            }
        }
        end
    }

    /// Notes a path, and returns it as it is from the crate's root. `None`: it leads out of the crate.
    fn mention(&mut self, at: usize, path: &[String]) -> Option<Module> {
        let mut whole = self.module();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                whole.clear();
                rest = &rest[1..];
            }
            "self" | "super" => {
                while let Some(step) = rest.first().filter(|step| matches!(step.as_str(), "self" | "super")) {
                    if step == "super" {
                        whole.pop();
                    }
                    rest = &rest[1..];
                }
            }
            first => {
                // A module of this one, if it is not a crate.
                let declares = self.tokens.windows(2).any(|pair| pair[0].text == "mod" && pair[1].text == first);
                if !declares {
                    return None;
                }
            }
        }
        whole.extend(rest.iter().cloned());
        let mention = Mention { line: self.tokens[at].line, path: path.join("::") };
        self.graph.mentions.push((self.file.to_owned(), whole.clone(), mention));
        Some(whole)
    }
}

/// The leaves of the tree of a `use`: each path, and the name under which it is known then.
fn tree(tokens: &[Token], prefix: &[String], leaves: &mut Vec<(Module, String)>) {
    let mut path = prefix.to_vec();
    let mut name = None;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "::" => {}
            "{" => {
                let inner = &tokens[at + 1..tokens.len() - 1];
                for part in parts(inner) {
                    tree(part, &path, leaves);
                }
                return;
            }
            "as" => {
                name = tokens.get(at + 1).map(|token| token.text.clone());
                at += 1;
            }
            "*" => return leaves.push((path, "*".to_owned())),
            "self" if !path.is_empty() => {}
            word => path.push(word.to_owned()),
        }
        at += 1;
    }
    if let Some(last) = path.last().cloned() {
        leaves.push((path, name.unwrap_or(last)));
    }
}

/// What stands between the commas that are in no braces.
fn parts(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut found, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                found.push(&tokens[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&tokens[from..]);
    found.into_iter().filter(|part| !part.is_empty()).collect()
}

type Edges<'a> = BTreeMap<&'a Path, Vec<&'a Path>>;

fn reachable<'a>(edges: &Edges<'a>, from: &'a Path) -> BTreeSet<&'a Path> {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![from]);
    while let Some(next) = waiting.pop() {
        for to in edges.get(next).into_iter().flatten() {
            if seen.insert(*to) {
                waiting.push(to);
            }
        }
    }
    seen
}

/// The sets of more than one file in which each leads to each.
fn circles<'a>(edges: &Edges<'a>) -> Vec<BTreeSet<&'a Path>> {
    let reach: BTreeMap<_, _> = edges.keys().map(|from| (*from, reachable(edges, from))).collect();
    let mut found: Vec<BTreeSet<&Path>> = Vec::new();
    for (from, to) in &reach {
        if to.contains(from) && !found.iter().any(|circle| circle.contains(from)) {
            let back = |other: &&&Path| reach.get(*other).is_some_and(|reach| reach.contains(from));
            found.push(to.iter().filter(back).copied().collect());
        }
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// One of the shortest ways from a file of this circle back to itself.
fn shortest<'a>(edges: &Edges<'a>, circle: &BTreeSet<&'a Path>) -> Vec<&'a Path> {
    let ways = circle.iter().filter_map(|start| {
        let mut before: BTreeMap<&Path, &Path> = BTreeMap::new();
        let mut waiting = VecDeque::from([*start]);
        while let Some(next) = waiting.pop_front() {
            for to in edges.get(next).into_iter().flatten().filter(|to| circle.contains(*to)) {
                if to == start {
                    let mut way = vec![next];
                    while let Some(earlier) = way.last().filter(|last| *last != start).and_then(|last| before.get(last))
                    {
                        way.push(earlier);
                    }
                    way.reverse();
                    return Some(way);
                }
                if !before.contains_key(to) {
                    before.insert(to, next);
                    waiting.push_back(to);
                }
            }
        }
        None
    });
    ways.min_by_key(Vec::len).unwrap_or_default()
}

/// What is said of a circle: its files, and one way around with the lines that make it.
fn described(graph: &Graph, edges: &Edges<'_>, circle: &BTreeSet<&Path>) -> String {
    let name = |file: &Path| file.strip_prefix(root()).unwrap_or(file).display().to_string();
    let mut text = format!("a circle of {} files: ", circle.len());
    text.push_str(&circle.iter().map(|file| name(file)).collect::<Vec<_>>().join(", "));
    let way = shortest(edges, circle);
    for (from, to) in way.iter().zip(way.iter().cycle().skip(1)) {
        if let Some(mention) = graph.edges.get(*from).and_then(|edges| edges.get(*to)) {
            text.push_str(&format!("\n    {}:{} names {} ({})", name(from), mention.line, name(to), mention.path));
        }
    }
    text
}

/// Every circle of a target, the largest first: how many files it has, and what is said of it.
fn circles_of(file: &Path) -> Vec<(usize, String)> {
    let graph = Graph::read(file);
    let edges: Edges<'_> =
        graph.edges.iter().map(|(from, to)| (from.as_path(), to.keys().map(PathBuf::as_path).collect())).collect();
    circles(&edges).iter().map(|circle| (circle.len(), described(&graph, &edges, circle))).collect()
}

#[test]
fn files_of_a_crate_form_no_circle() {
    let mut wrong = Vec::new();
    for (package, files) in targets() {
        let found: Vec<_> = files.iter().flat_map(|file| circles_of(file)).collect();
        let largest = found.iter().map(|(length, _)| *length).max().unwrap_or_default();
        let allowed = ALLOWED.iter().find(|(name, _)| *name == package).map(|(_, length)| *length);
        match allowed {
            Some(_) if largest == 0 => wrong.push(format!("{package} has no circle left: take it from ALLOWED")),
            allowed if largest > allowed.unwrap_or_default() => {
                wrong.extend(found.into_iter().map(|(_, text)| format!("{package}: {text}")));
            }
            Some(_) | None => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The circles of a crate that is written down here: each file by its path, and its text.
fn of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let found = circles_of(&folder.path().join("lib.rs"));
    let place = format!("{}/", folder.path().display());
    found.into_iter().map(|(_, text)| text.replace(&place, "")).collect()
}

#[test]
fn circles_are_named_with_the_lines_that_make_them() {
    let found = of(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "\nuse crate::b::{self, B};"),
        ("b.rs", "fn f() { super::c::go() }"),
        ("c.rs", "use super::a as other; use crate::b;"),
    ]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("a circle of 3 files: a.rs, b.rs, c.rs\n"), "{}", found[0]);
    assert!(found[0].contains("b.rs:1 names c.rs (super::c::go)"), "{}", found[0]);
    assert_eq!(found[0].lines().count(), 3, "the shortest way around: {}", found[0]);
}

#[test]
fn circles_leave_out_tests_comments_texts_and_what_lies_below() {
    let free =
        |a: &str| of(&[("lib.rs", "mod a; mod b; use a::A;"), ("a.rs", a), ("b.rs", "use crate::a::A;")]).is_empty();
    assert!(!free("use crate::b::B;"));
    assert!(!free("fn f() -> crate::b::B {}"));
    assert!(!free("mod inner { use super::super::b::B; }"));
    assert!(free("#[cfg(test)] mod tests { use crate::b::B; }"));
    assert!(free("// crate::b::B\n/* crate::b */ const A: &str = \"crate::b::B\";"));
    assert!(free("mod b {} use b::B; fn f() { self::b::g() }"));
    let below = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b; use b::B; fn f() { crate::a::b::g() }"),
        ("a/b.rs", "use super::A;"),
    ];
    assert_eq!(of(&below), Vec::<String>::new());
}

#[test]
fn circles_follow_what_a_module_passes_on() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod one; mod two; pub use one::One;"),
        ("a/one.rs", "use crate::b::B;"),
        ("a/two.rs", "use crate::b::B;"),
        ("b.rs", "use crate::a::One;"),
    ];
    let found = of(&files);
    assert!(found.len() == 1 && found[0].starts_with("a circle of 2 files: a/one.rs, b.rs\n"), "{found:?}");
}

#[test]
fn circles_find_a_module_at_another_place() {
    let files = [
        ("lib.rs", "mod a; #[path = \"far/x.rs\"] mod b;"),
        ("a.rs", "use crate::b::B;"),
        ("far/x.rs", "use crate::a::A;"),
    ];
    assert_eq!(of(&files).len(), 1);
}
