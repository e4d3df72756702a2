//! What the design states as a number, measured on this machine beside something that everybody has, in
//! one run. It asserts nothing: it prints a table in Markdown, and anyone who reads it compares.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot be made ends with the reason")]

mod call;
mod decide;
mod echo;
mod engine;
mod escape;
mod http;
mod layers;
mod memory;
mod mind;
mod others;
mod recall;
mod sandbox;
mod saturate;
mod set;
mod stats;
mod words;

use stats::Table;

/// A name, and what measures.
type Section = (&'static str, fn(&mut Table));

const SECTIONS: [Section; 15] = [
    ("ask", echo::measure),
    ("act", decide::measure),
    ("decisions", engine::measure),
    ("memory", memory::measure),
    ("schedules", memory::schedules::measure),
    ("set", set::measure),
    ("call", call::measure),
    ("recall", recall::measure),
    ("sandbox", sandbox::measure),
    ("escape", escape::measure),
    ("layers", layers::measure),
    ("saturate", saturate::measure),
    ("words", words::measure),
    ("mind", mind::measure),
    ("http", http::measure),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [word, instance] = wanted.as_slice()
        && word == layers::INSIDE
    {
        return layers::inside(std::path::Path::new(instance));
    }
    if let Some(unknown) = wanted.iter().find(|name| SECTIONS.iter().all(|(known, _)| known != name)) {
        eprintln!("no section is named `{unknown}`; there are: {}", SECTIONS.map(|(name, _)| name).join(", "));
        std::process::exit(2);
    }
    let mut table = Table::default();
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure(&mut table);
        }
    }
    print!("{}", table.markdown());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_described_in_the_readme_and_named_by_the_script() {
        for (name, _) in SECTIONS {
            assert!(
                include_str!("../README.md").contains(&format!("| `{name}` | ")),
                "README.md does not describe {name}"
            );
            let mut words = include_str!("../run").split_whitespace().map(|word| word.trim_end_matches('.'));
            assert!(words.any(|word| word == name), "the script does not name {name}");
        }
    }
}
