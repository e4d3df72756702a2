//! What policyd is asked about proposals and about the constitution: by syntd, which proposes, and by the owner.

use crate::words;

words! {
    /// A finished proposal. What syntd thought when it made it does not travel: the judge must not see it.
    pub struct Propose {
        /// One of the kinds that may be proposed: `archival`, `synthesis`, …
        pub kind: String,
        /// What it is about, by its id.
        pub subject: String,
        /// In a line.
        pub title: String,
        /// What would be done.
        pub effect: String,
        /// Paths and addresses that it would touch.
        pub touches: Vec<String>,
        /// Whether it can be undone.
        pub reversible: bool,
        /// What is lost by waiting, in thousandths; at most 1000.
        pub urgency_milli: u16,
        /// How sure its author is, in thousandths; at most 1000.
        pub confidence_milli: u16,
    }

    /// What became of it.
    pub struct Proposed {
        /// Its name, by which the owner can look at it; empty when it was not kept.
        pub id: String,
        /// Where it goes.
        pub way: ProposalWay,
    }

    /// See [`Proposed`] (design: policy §5).
    pub enum ProposalWay {
        /// It contradicts a Law; no judge has heard of it.
        Blocked,
        /// Into the register of what was not asked.
        Unasked,
        /// Into the evening's digest.
        Digest,
        /// To the owner at once.
        Now,
        /// It was proposed before, in the same words; nothing follows.
        Known,
    }

    /// The owner looks at proposals, or answers one. A document comes beside the answer, as JSON.
    pub enum VaglioAsk {
        /// Everything about one proposal: what it is, how it was weighed, what became of it.
        Explain(String),
        /// What was not asked, latest first.
        Unasked,
        /// The ends as they count now, and what is wrong with the file, if anything.
        Telos,
        /// What waits for the owner.
        Digest,
        /// What is to be said to him now and was not said yet; it is said by being asked for, once.
        Due,
        /// His answer.
        Answer(ProposalAnswer),
    }

    /// See [`VaglioAsk::Answer`].
    pub struct ProposalAnswer {
        /// Which proposal.
        pub id: String,
        /// Yes or no.
        pub accept: bool,
    }

    /// A rite: only on the admin edge, only by the owner. A document comes beside the answer, as JSON.
    pub enum Rite {
        /// The Laws in force, the Laws in the file, and whether they are the same.
        Look,
        /// The file with this digest is the constitution from now on.
        Constitution(String),
    }
}
