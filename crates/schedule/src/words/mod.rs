//! Says a cadence and a moment in words for people, in English and Italian.

mod english;
mod italian;
mod near;
mod pattern;
mod text;

use jiff::civil::DateTime;
use metnos_when::Language;

use self::near::Near;
use self::pattern::Pattern;
use crate::cadence::{Cadence, Plan};

/// The longest rule that is quoted, in characters.
const QUOTED: usize = 256;

/// A time in words, on the wall clock: "tomorrow at 9:00", "venerdì alle 18:00", "on 3 March 2027 at 9:00". A weekday is one
/// of the next six days; another year is named. Midnight is "0:00", since people mean either end of a day by its name.
#[must_use]
pub fn moment(at: DateTime, now: DateTime, language: Language) -> String {
    let day = Near::new(at.date(), now.date());
    match language {
        Language::English => english::moment(day, at.time()),
        Language::Italian => italian::moment(day, at.time()),
    }
}

impl Cadence {
    /// The cadence in words: "every Monday at 7:30", "ogni due settimane il venerdì alle 18:00", "tomorrow at 9:00". What
    /// has no such form is quoted: "by the rule 30 7 1-7 * 1".
    #[must_use]
    pub fn told(&self, language: Language, now: DateTime) -> String {
        let today = now.date();
        match (self.plan(), language) {
            (Ok(Plan::Once(at)), _) => moment(at, now, language),
            (Ok(plan), _) => match (Pattern::new(&plan, today), language) {
                (Some(pattern), Language::English) => english::every(&pattern, today),
                (Some(pattern), Language::Italian) => italian::every(&pattern, today),
                (None, _) => self.quoted(language),
            },
            (Err(_), _) => self.quoted(language),
        }
    }

    /// The rule as it stands, without what would disturb a line.
    fn quoted(&self, language: Language) -> String {
        let rule = match self {
            Self::Once(at) => at.to_string(),
            Self::Cron(text) => text.clone(),
            Self::Rule { rrule, .. } => rrule.clone(),
        };
        let rule: String = rule.chars().filter(|c| !c.is_control()).take(QUOTED).collect();
        match language {
            Language::English => english::by_rule(&rule),
            Language::Italian => italian::by_rule(&rule),
        }
    }
}

#[cfg(test)]
mod tests;
