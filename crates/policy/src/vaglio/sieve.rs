//! The way of a proposal: guard, judge, alignment, brake, and what becomes of it. A proposal that contradicts a Law is
//! blocked before any judge has heard of it.

use crate::call::paths::Places;
use crate::rules::files;
use crate::rules::guard;
use crate::vaglio::bother::{self, Day, Quiet};
use crate::vaglio::judge::{Judge, Shown};
use crate::vaglio::telos::Telos;
use crate::vaglio::weigh::{self, ESTIMATE_MARGIN, SPEAK_FROM, Weighed};

/// From this urgency on a proposal is not held back until the evening, nor by quiet hours.
pub const URGENT_FROM: f64 = 0.8;
/// The longest title, in bytes.
pub const MAX_TITLE: usize = 160;
/// The longest text about the effect, in bytes.
pub const MAX_EFFECT: usize = 1024;
/// The most things that a proposal says it would touch.
pub const MAX_TOUCHES: usize = 32;

/// What kinds of growth may be proposed; none of them is carried out by being proposed.
pub const KINDS: [&str; 8] = ["archival", "synthesis", "merge", "generalise", "specialise", "tidy", "remind", "budget"];

/// A finished proposal, without why its author made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// One of [`KINDS`].
    pub kind: String,
    /// What it is about, by its id.
    pub subject: String,
    /// In a line.
    pub title: String,
    /// What would be done.
    pub effect: String,
    /// Paths and addresses it would touch.
    pub touches: Vec<String>,
    /// Whether it can be undone.
    pub reversible: bool,
    /// 0 to 1: what is lost by waiting.
    pub urgency: f64,
    /// 0 to 1: how sure its author is.
    pub confidence: f64,
}

/// What a proposal contradicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The rule, such as `guard.path`.
    pub rule: &'static str,
    /// Why, for a person.
    pub why: String,
}

/// Where a proposal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It contradicts a Law. Nobody learns of it, and the judge has not.
    Blocked,
    /// Not worth the owner's attention now: into the register of what was not asked.
    Unasked,
    /// Into the evening's digest.
    Digest,
    /// At once.
    Now,
}

impl Disposition {
    /// The name in the store and in the chronicle.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Unasked => "unasked",
            Self::Digest => "digest",
            Self::Now => "now",
        }
    }

    /// The way of this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Blocked, Self::Unasked, Self::Digest, Self::Now].into_iter().find(|way| way.name() == text)
    }
}

/// What holds for the proposals of a moment.
#[derive(Debug)]
pub struct Standard<'a> {
    /// Where the instance lives.
    pub places: &'a Places,
    /// The owner's ends, with what answers have made of each weight, in the same order.
    pub ends: &'a [Telos],
    /// See [`Standard::ends`].
    pub learned: &'a [f64],
    /// When proposals were heard lately, in milliseconds since the epoch.
    pub heard_ms: &'a [u64],
    /// The owner's day.
    pub day: Day,
    /// Now, in milliseconds since the epoch.
    pub now_ms: u64,
}

/// What became of a proposal, and why: everything that `vaglio explain` shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Sifted {
    /// Where it goes.
    pub way: Disposition,
    /// The rule that decided.
    pub rule: &'static str,
    /// Why, for a person.
    pub why: String,
    /// Who judged; empty when nobody was asked.
    pub judge: &'static str,
    /// The judgement is an estimate.
    pub estimate: bool,
    /// Each end as it was weighed, in the order of the telos; empty when nobody judged.
    pub ends: Vec<Weighed>,
    /// The alignment, before the brake.
    pub alignment: f64,
    /// The brake.
    pub brake: f64,
    /// What their product had to reach.
    pub needed: f64,
    /// When it may be said, in milliseconds since the epoch; 0 when never.
    pub due_ms: u64,
}

impl Sifted {
    fn without_judge(way: Disposition, rule: &'static str, why: String) -> Self {
        let (judge, estimate, ends) = ("", false, Vec::new());
        Self { way, rule, why, judge, estimate, ends, alignment: 0.0, brake: 1.0, needed: SPEAK_FROM, due_ms: 0 }
    }
}

/// What the Laws have against a proposal, if anything. Binary and deterministic, and it does not know the telos.
#[must_use]
pub fn blocked(proposal: &Proposal, places: &Places) -> Option<Block> {
    let block = |rule, why| Some(Block { rule, why });
    if !KINDS.contains(&proposal.kind.as_str()) {
        return block("guard.kind", format!("{} is no kind of proposal", guard::shown(&proposal.kind)));
    }
    let texts = [(&proposal.title, MAX_TITLE), (&proposal.effect, MAX_EFFECT), (&proposal.subject, MAX_TITLE)];
    if texts.iter().any(|(text, most)| text.len() > *most || text.chars().any(char::is_control)) {
        return block(
            "guard.text",
            "its text is too long, or holds characters that no screen should be sent".to_owned(),
        );
    }
    if proposal.title.trim().is_empty() {
        return block("guard.text", "it does not say what it proposes".to_owned());
    }
    if proposal.touches.len() > MAX_TOUCHES {
        return block("law.perimeter", format!("it would touch more than {MAX_TOUCHES} things at once"));
    }
    proposal.touches.iter().find_map(|touched| {
        if let Some(objection) = guard::check("what it would touch", touched, places) {
            return block(objection.rule, objection.why);
        }
        constitution(touched, places).then(|| Block {
            rule: "law.constitution",
            why: format!("it would touch {}, which only the owner changes", guard::shown(touched)),
        })
    })
}

/// Whether this is one of the six files that say who Metnos is.
fn constitution(touched: &str, places: &Places) -> bool {
    files::is_core_file(touched, &files::CORE_FILES, places)
}

/// Sifts a proposal. `judge` is asked exactly when the guard has nothing against it.
pub async fn sift<J: Judge>(proposal: &Proposal, standard: &Standard<'_>, judge: &J) -> Sifted {
    if let Some(block) = blocked(proposal, standard.places) {
        return Sifted::without_judge(Disposition::Blocked, block.rule, block.why);
    }
    if standard.ends.is_empty() {
        let why = "there is no telos by which it could be judged".to_owned();
        return Sifted::without_judge(Disposition::Unasked, "vaglio.telos", why);
    }
    let shown = Shown { title: &proposal.title, effect: &proposal.effect, reversible: proposal.reversible };
    let fits = match judge.judge(shown, standard.ends).await {
        Ok(fits) if fits.len() == standard.ends.len() => fits,
        Ok(fits) => {
            let why = format!("{} ends were judged, there are {}", fits.len(), standard.ends.len());
            return Sifted::without_judge(Disposition::Unasked, "vaglio.judge", why);
        }
        Err(error) => return Sifted::without_judge(Disposition::Unasked, "vaglio.judge", error.to_string()),
    };
    weighed(proposal, standard, (judge.name(), judge.is_estimate()), &fits)
}

/// What follows from a judgement, by arithmetic alone.
fn weighed(
    proposal: &Proposal,
    standard: &Standard<'_>,
    (judge, estimate): (&'static str, bool),
    fits: &[f64],
) -> Sifted {
    let learned = standard.learned.iter().copied().chain(std::iter::repeat(1.0));
    let ends: Vec<Weighed> = standard
        .ends
        .iter()
        .zip(learned)
        .zip(fits)
        .map(|((end, learned), fit)| Weighed {
            weight: weigh::effective(end, learned),
            threshold: weigh::threshold(end.threshold, estimate),
            fit: *fit,
        })
        .collect();
    let alignment = weigh::alignment(&ends, proposal.urgency, proposal.confidence);
    let brake = bother::brake(standard.heard_ms, standard.now_ms);
    let needed = if estimate { SPEAK_FROM * (1.0 + ESTIMATE_MARGIN) } else { SPEAK_FROM };
    let (way, rule, why, due_ms) = way(proposal, standard, alignment * brake >= needed);
    Sifted { way, rule, why, judge, estimate, ends, alignment, brake, needed, due_ms }
}

fn way(proposal: &Proposal, standard: &Standard<'_>, worth: bool) -> (Disposition, &'static str, String, u64) {
    let quiet: Vec<Quiet> = standard.ends.iter().filter_map(|end| end.quiet).collect();
    if !worth {
        let why = "it serves the telos too little for how much was said lately";
        (Disposition::Unasked, "vaglio.below", why.to_owned(), 0)
    } else if proposal.urgency >= URGENT_FROM {
        (Disposition::Now, "vaglio.now", "it serves the telos, and waiting would cost".to_owned(), standard.now_ms)
    } else {
        let due = standard.day.evening(&quiet, standard.now_ms);
        (Disposition::Digest, "vaglio.digest", "it serves the telos and can wait for the evening".to_owned(), due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vaglio::judge::{JudgeError, Lexical, at_once};
    use crate::vaglio::telos::{parse, tests::SHIPPED};
    use std::cell::Cell;

    const NOW: u64 = 1_770_000_000_000;

    struct Counting {
        asked: Cell<u32>,
        answer: Result<Vec<f64>, JudgeError>,
        estimate: bool,
    }

    impl Counting {
        fn saying(fit: f64) -> Self {
            Self { asked: Cell::new(0), answer: Ok(vec![fit; 3]), estimate: false }
        }
    }

    impl Judge for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }
        fn is_estimate(&self) -> bool {
            self.estimate
        }
        async fn judge(&self, _: Shown<'_>, _: &[Telos]) -> Result<Vec<f64>, JudgeError> {
            self.asked.set(self.asked.get() + 1);
            self.answer.clone()
        }
    }

    fn proposal() -> Proposal {
        Proposal {
            kind: "archival".into(),
            subject: "m1".into(),
            title: "Put an unused pair aside".into(),
            effect: "It stays, and can be restored.".into(),
            touches: vec!["notes/a.md".into()],
            reversible: true,
            urgency: 0.5,
            confidence: 0.9,
        }
    }

    fn sifted<J: Judge>(proposal: &Proposal, judge: &J, heard: &[u64]) -> Sifted {
        let (places, ends) = (Places::of_instance("/srv/metnos"), parse(SHIPPED).unwrap());
        let standard = Standard {
            places: &places,
            ends: &ends,
            learned: &[1.0; 3],
            heard_ms: heard,
            day: Day::default(),
            now_ms: NOW,
        };
        at_once(sift(proposal, &standard, judge))
    }

    #[test]
    fn proposal_against_a_law_is_blocked_without_calling_the_judge() {
        for (touched, rule) in [
            ("/etc/shadow", "guard.path"),
            ("../../../etc/passwd", "guard.climb"),
            ("~/.ssh/id_ed25519", "guard.spelling"),
            ("SOUL.md", "law.constitution"),
            ("notes/../TELOS.md", "law.constitution"),
            ("a\0b", "guard.nul"),
        ] {
            let judge = Counting::saying(1.0);
            let found = sifted(&Proposal { touches: vec![touched.into()], urgency: 1.0, ..proposal() }, &judge, &[]);
            assert_eq!(
                (found.way, found.rule, judge.asked.get()),
                (Disposition::Blocked, rule, 0),
                "{touched}: {}",
                found.why
            );
        }
        let judge = Counting::saying(1.0);
        let broken = [
            Proposal { kind: "widen".into(), ..proposal() },
            Proposal { title: "a\u{1b}[2J".into(), ..proposal() },
            Proposal { title: " ".into(), ..proposal() },
            Proposal { touches: vec!["a".into(); MAX_TOUCHES + 1], ..proposal() },
        ];
        for one in broken {
            assert_eq!(sifted(&one, &judge, &[]).way, Disposition::Blocked, "{one:?}");
        }
        assert_eq!(judge.asked.get(), 0);
        // The same judge is asked once where the guard is silent: the count above is not nought by accident.
        assert_eq!(sifted(&proposal(), &judge, &[]).way, Disposition::Digest);
        assert_eq!(judge.asked.get(), 1);
    }

    #[test]
    fn worth_and_urgency_choose_the_way() {
        let of = |fit, urgency, heard: &[u64]| {
            sifted(&Proposal { urgency, ..proposal() }, &Counting::saying(fit), heard).way
        };
        assert_eq!(of(0.9, 0.5, &[]), Disposition::Digest);
        assert_eq!(of(0.9, 0.9, &[]), Disposition::Now);
        assert_eq!(of(0.3, 0.9, &[]), Disposition::Unasked);
        assert_eq!(of(0.9, 0.5, &[NOW; 5]), Disposition::Unasked, "much was said just now");
        assert_eq!(of(-0.9, 0.9, &[]), Disposition::Unasked);
    }

    #[test]
    fn an_estimate_makes_the_sieve_finer_and_never_coarser() {
        for fit in [0.0, 0.3, 0.5, 0.55, 0.62, 0.7, 1.0] {
            let sure = sifted(&proposal(), &Counting::saying(fit), &[]);
            let guess = sifted(&proposal(), &Counting { estimate: true, ..Counting::saying(fit) }, &[]);
            assert!(guess.alignment <= sure.alignment && guess.needed > sure.needed, "{fit}");
            assert!(sure.way != Disposition::Unasked || guess.way == Disposition::Unasked, "{fit}");
        }
    }

    #[test]
    fn no_judgement_is_silence() {
        let failed = Counting { answer: Err(JudgeError("gone".into())), ..Counting::saying(1.0) };
        assert_eq!(sifted(&proposal(), &failed, &[]).rule, "vaglio.judge");
        let short = Counting { answer: Ok(vec![1.0]), ..Counting::saying(1.0) };
        assert_eq!(sifted(&proposal(), &short, &[]).way, Disposition::Unasked);
        let nothing = Counting { answer: Ok(vec![f64::NAN; 3]), ..Counting::saying(1.0) };
        assert_eq!(sifted(&proposal(), &nothing, &[]).way, Disposition::Unasked);
    }

    #[test]
    fn the_estimate_is_marked_as_one() {
        let found = sifted(&proposal(), &Lexical, &[]);
        assert!(found.estimate && found.judge == "lexical");
    }
}
