//! Lines are found by the words that they need.

use proptest::prelude::*;

use super::{Line, Patterns, place};
use crate::testing::shipped;

thread_local! {
    /// Read once for all cases.
    static PATTERNS: Vec<Patterns> = shipped().iter().map(Patterns::of).collect();
}

proptest! {
    /// Entering lines by their words leaves out none, and lets none in, whatever words stand in a request.
    #[test]
    fn lines_found_by_words_are_those_that_need_no_other(
        english in prop::collection::vec(prop::option::of(0..200_u16), 0..12),
        italian in prop::collection::vec(prop::option::of(0..200_u16), 0..12),
    ) {
        let numbers = [english, italian].map(|words| words.into_iter().map(|word| [word, None]).collect::<Vec<_>>());
        PATTERNS.with(|all| -> Result<(), TestCaseError> {
            for patterns in all {
                let has = |line: &Line, word: u16| numbers[place(line.lang)].iter().any(|one| one.contains(&Some(word)));
                let fits = |line: &&Line| line.needs.iter().all(|need| need.iter().any(|word| has(line, *word)));
                let found: Vec<*const Line> = patterns.possible(&numbers).map(std::ptr::from_ref).collect();
                let wanted: Vec<*const Line> = patterns.lines.iter().filter(fits).map(std::ptr::from_ref).collect();
                prop_assert_eq!(found, wanted);
            }
            Ok(())
        })?;
    }
}
