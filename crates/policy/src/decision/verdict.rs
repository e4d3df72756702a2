//! What a decision says, to the chronicle, the caller and the owner.

use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd as memory;

/// The longest reason, in bytes: it is recorded in the chronicle and sent in one frame.
pub const MAX_WHY: usize = 2_000;

/// What was decided, by which rule, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Allow, deny or ask.
    pub decision: memory::Verdict,
    /// The rule that decided, as in the documentation.
    pub rule: String,
    /// Why, in a sentence for a person.
    pub why: String,
    /// What to do about it; empty when nothing can be done.
    pub remedy: String,
    /// The code of the refusal, for a verdict that does not allow.
    pub code: RefusalCode,
}

impl Verdict {
    /// The call may run.
    #[must_use]
    pub fn allow(rule: &str, why: impl Into<String>) -> Self {
        Self { decision: memory::Verdict::Allow, ..Self::deny(rule, why) }
    }

    /// The call may run when the owner approves it.
    #[must_use]
    pub fn ask(rule: &str, why: impl Into<String>) -> Self {
        Self { decision: memory::Verdict::Ask, ..Self::deny(rule, why) }
    }

    /// The call may not run.
    #[must_use]
    pub fn deny(rule: &str, why: impl Into<String>) -> Self {
        Self {
            decision: memory::Verdict::Deny,
            rule: rule.to_owned(),
            why: shorten(why.into()),
            remedy: String::new(),
            code: RefusalCode::Denied,
        }
    }

    /// The same verdict with a remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: &str) -> Self {
        remedy.clone_into(&mut self.remedy);
        self
    }

    /// The same verdict with another code.
    #[must_use]
    pub fn with_code(mut self, code: RefusalCode) -> Self {
        self.code = code;
        self
    }

    /// Whether the call may run now, without asking.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        match self.decision {
            memory::Verdict::Allow => true,
            memory::Verdict::Deny | memory::Verdict::Ask => false,
        }
    }

    /// The verdict as the caller receives it.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        Refusal::new(self.code, &self.rule, self.why.clone()).remedy(self.remedy.clone())
    }
}

fn shorten(mut why: String) -> String {
    let mut end = MAX_WHY.min(why.len());
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    why.truncate(end);
    why
}
