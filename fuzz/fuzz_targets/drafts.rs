//! Whatever a model writes when it is asked for a draft: a specification, examples and a function that are of their form, or
//! none; never a panic. The files around them are always of theirs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::doc::draft::{DraftLang, DraftOrder};
use metnos_proto::executor::{Manifest, Schema};
use metnos_proto::ids::TurnId;
use metnos_syntd::draft::spec::Spec;
use metnos_syntd::draft::{code, files, mutants, strange};

fuzz_target!(|text: &str| {
    let function = code::of_reply(text).unwrap_or_else(|_| "def solve(a):\n    return a".to_owned());
    assert!(mutants::of(&function).len() <= mutants::MAX_MUTANTS);
    let order = DraftOrder {
        wish: "count the words".to_owned(),
        lang: DraftLang::En,
        name: String::new(),
        examples: Vec::new(),
        inputs: Vec::new(),
    };
    let Ok(mut spec) = Spec::of_reply(&order, text) else { return };
    let _ = spec.add_examples(text);
    assert!(strange::inputs(&spec).len() <= strange::MAX_STRANGE);
    let files = files::write(&spec, &function, TurnId::NONE, "2026-11-30");
    assert!(Manifest::parse(files.manifest.as_bytes()).is_ok(), "{}", files.manifest);
    assert!(Schema::parse(files.schema.as_bytes()).is_ok(), "{}", files.schema);
});
