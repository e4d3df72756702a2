//! What memoryd is ordered to remember, and asked to recall. It asks nobody.

use crate::ids::{Blake3, CallId, Sha256, TraceId, TurnId};
use crate::msg::common::{CallRef, Channel, ExecutorDigests, ExecutorId, InputRef, Lang, Outcome, Resources, Standing};
use crate::msg::planner::TurnEnd;
use crate::words;

words! {
    /// The line is on the disk.
    pub struct Recorded {
        /// Its number.
        pub seq: u64,
        /// Its hash.
        pub hash: Sha256,
    }

    /// Something that happened to a daemon, worth a line.
    pub struct SystemEvent {
        /// What kind, in a word: `violation`, `quarantine`, `degraded`, [`UNDONE`], …
        pub kind: String,
        /// What, for a person. At most [`MAX_EVENT_TEXT`] bytes.
        pub text: String,
        /// The turn it belongs to, if any.
        pub turn: Option<TurnId>,
    }

    // ---- from the door -------------------------------------------------

    /// Words of a person were received. They come beside it.
    pub struct Received {
        /// The turn it opens.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// Where it came in.
        pub channel: Channel,
        /// The principal.
        pub principal: String,
        /// What that principal is.
        pub standing: Standing,
        /// Its language.
        pub lang: Lang,
        /// What its channel calls these words, so that they are known when they come again; empty where they never do.
        /// At most [`MAX_MARK`] bytes.
        pub mark: String,
    }

    /// Whether the chronicle has words of a principal under this mark of its channel, and how their turn stands.
    pub struct Marked {
        /// The principal.
        pub principal: String,
        /// As in [`Received::mark`]; never empty.
        pub mark: String,
    }

    /// See [`Marked`]; of several turns on the same words, the last. Its answer as it was delivered comes beside it, empty
    /// when there is none.
    pub struct MarkState {
        /// The turn that the words have opened; none when they were never received.
        pub turn: Option<TurnId>,
        /// Its trace.
        pub trace: TraceId,
        /// Whether a call was decided in it.
        pub acted: bool,
        /// Whether it was suspended until a person answers.
        pub aside: bool,
        /// Whether its answer was delivered.
        pub delivered: bool,
    }

    /// The answer was delivered. Its text comes beside it.
    pub struct Delivered {
        /// The turn it answers.
        pub turn: TurnId,
        /// How the turn ended.
        pub end: TurnEnd,
    }

    /// What was answered in a turn, for anyone who had opened it and comes back. Another principal's turn is unknown.
    pub struct AnswerOf {
        /// The turn.
        pub turn: TurnId,
        /// Who had opened it.
        pub principal: String,
    }

    /// How that turn stands. The answer comes beside it; nothing does as long as there is none.
    pub struct AnswerFound {
        /// How it ended; none as long as it is open.
        pub end: Option<TurnEnd>,
    }

    /// Who opened a turn? For a door that finds a turn of an earlier door.
    pub struct WhoseTurn {
        /// The turn.
        pub turn: TurnId,
    }

    /// What the journal says of a turn.
    pub struct TurnOwner {
        /// Its trace.
        pub trace: TraceId,
        /// Where the words came in.
        pub channel: Channel,
        /// Who said them.
        pub principal: String,
        /// In which language.
        pub lang: Lang,
        /// Whether its answer was delivered.
        pub is_delivered: bool,
    }

    // ---- from the planner ----------------------------------------------

    /// Hand over what the planner may read for this turn, its clean part. Once a turn.
    pub struct BeginTurn {
        /// Which.
        pub turn: TurnId,
    }

    /// The envelope comes beside it: [`crate::envelope::Envelope`] as JSON.
    pub struct TurnBegun {
        /// Ties later claims to what was shown.
        pub nonce: u64,
    }

    /// The turn is over: derive the mnests from what was recorded.
    pub struct CloseTurn {
        /// Which.
        pub turn: TurnId,
        /// How it ended.
        pub end: TurnEnd,
        /// What was missing, when the planner could not do it; empty otherwise.
        pub wish: String,
        /// What it would take and give, as far as the planner said.
        pub signature: WishedSignature,
    }

    /// What an executor that does not exist would take, give and fail with. Names and kinds are a model's words.
    #[derive(Default)]
    pub struct WishedSignature {
        /// At most [`MAX_WISHED`].
        pub inputs: Vec<WishedField>,
        /// At most [`MAX_WISHED`].
        pub outputs: Vec<WishedField>,
        /// Classes of errors, at most [`MAX_WISHED`], each of at most [`MAX_WISHED_BYTES`].
        pub errors: Vec<String>,
    }

    /// One field of a [`WishedSignature`].
    pub struct WishedField {
        /// Its name, at most [`MAX_WISHED_BYTES`].
        pub name: String,
        /// What it is: `string`, `path`, …; at most [`MAX_WISHED_BYTES`].
        pub kind: String,
    }

    /// A model was asked in this turn. The very bytes that were sent to it come beside it.
    pub struct ModelAsked {
        /// Which turn.
        pub turn: TurnId,
        /// Which thought of it.
        pub thought: u32,
        /// `substrate/model`, as mind has it.
        pub model: String,
    }

    /// Suspend a turn until a person has answered: what is needed to go on comes beside it, and is interpreted by
    /// nobody here. At most [`MAX_SUSPENDED_BYTES`].
    pub struct SuspendTurn {
        /// Which.
        pub turn: TurnId,
    }

    /// Hand over what was suspended for a turn. Once: it goes on from there, or not at all.
    pub struct TakeUpTurn {
        /// Which.
        pub turn: TurnId,
    }

    /// What was suspended comes beside it.
    pub struct TurnTakenUp {
        /// The turn's trace.
        pub trace: TraceId,
    }

    /// What the turn left behind.
    pub struct TurnClosed {
        /// Mnests made or strengthened.
        pub mnests: u16,
    }

    // ---- from syntd ----------------------------------------------------

    /// Executors that were asked for and do not exist.
    pub struct Gaps {}

    /// See [`Gaps`].
    pub struct GapList {
        /// At most [`MAX_GAPS`], most wished for first.
        pub gaps: Vec<Gap>,
    }

    /// One wish.
    pub struct Gap {
        /// In the words of the request.
        pub wish: String,
        /// How often.
        pub times: u32,
    }

    /// What the ager proposes and nobody has settled yet, oldest first.
    pub struct AgerProposals {
        /// Only those after this one: the line at which the ager made it, and its name. 0 and empty for all.
        pub after_seq: u64,
        /// See [`AgerProposals::after_seq`].
        pub after_id: String,
    }

    /// See [`AgerProposals`].
    pub struct AgerProposalList {
        /// At most [`MAX_AGER_PROPOSALS`].
        pub proposals: Vec<AgerProposal>,
        /// Whether there are more after these.
        pub more: bool,
    }

    /// One proposal of the ager (design: memory §2). It changes nothing.
    pub struct AgerProposal {
        /// The line at which the ager came.
        pub seq: u64,
        /// Its name.
        pub id: String,
        /// `archival`, `synthesis`, `fusion`, `generalisation` or `specialisation`.
        pub kind: String,
        /// About which mnest.
        pub mnest: String,
        /// Whose output that mnest begins with: name and version; empty when it was nobody's.
        pub src: String,
        /// Whose input it ends in: name and version, or what was wished for.
        pub dst: String,
        /// Why, for a person.
        pub why: String,
    }

    /// A note: the ager has run, and has a new proposal.
    pub struct AgerProposed {}

    // ---- from policyd --------------------------------------------------

    /// A call was decided. The arguments come beside it. Awaited before any effect.
    pub struct Decision {
        /// Which turn.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// The call.
        pub call: CallId,
        /// Its place in the turn.
        pub place: CallRef,
        /// For whom.
        pub principal: String,
        /// The channel of the turn.
        pub channel: Channel,
        /// Which executor; the version is empty when there is no such executor.
        pub id: ExecutorId,
        /// Digest of the arguments.
        pub arguments: Blake3,
        /// What was decided.
        pub verdict: Verdict,
        /// Which rule decided.
        pub rule: String,
        /// Why, for a person.
        pub why: String,
    }

    /// What policyd decided.
    pub enum Verdict {
        /// It may happen, and does.
        Allow,
        /// It may not.
        Deny,
        /// It may, if the owner approves it.
        Ask,
    }

    /// The owner calls an executor without the planner: a turn of its own.
    pub struct DirectTurn {
        /// The turn.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// For whom.
        pub principal: String,
        /// Which executor.
        pub executor: String,
    }

    /// That turn is over: derive the mnests from what was recorded.
    pub struct DirectTurnDone {
        /// Which.
        pub turn: TurnId,
        /// How it ended.
        pub end: TurnEnd,
    }

    /// An executor was signed. Its public contract comes beside it: [`crate::envelope::Candidate`] as JSON.
    pub struct ExecutorBorn {
        /// Which.
        pub id: ExecutorId,
        /// What was signed.
        pub digests: ExecutorDigests,
    }

    /// An executor is no longer callable.
    pub struct ExecutorLost {
        /// Which.
        pub id: ExecutorId,
        /// Why.
        pub why: String,
    }

    /// The end of the chain: sent unasked every [`crate::chain::ANCHOR_EVERY`] events or
    /// [`crate::chain::ANCHOR_WITHIN_MS`], for policyd to sign.
    pub struct ChainHead {
        /// The last line; 0 when there is none.
        pub seq: u64,
        /// Its hash.
        pub hash: Sha256,
        /// The root of the Merkle tree over all lines up to it ([`crate::merkle`]).
        pub root: Sha256,
        /// The last line that memoryd found in the files when it opened them, before it wrote any itself.
        pub opened: u64,
        /// memoryd has been ordered to end and writes no line after this one.
        pub closed: bool,
    }

    /// Is the line that was signed last still what it was? What follows it is verified, too.
    pub struct Anchored {
        /// Its number; 0 when nothing was signed yet.
        pub seq: u64,
        /// Its hash.
        pub hash: Sha256,
        /// Every line of the files is to have been read and verified since memoryd opened them, or since this was answered
        /// last. While that goes on, the answer is a refusal by [`VERIFYING`].
        pub whole: bool,
        /// It was signed when Metnos was stopped: memoryd must have found no line after it when it opened the files.
        pub closed: bool,
    }

    /// The owner has it that a line's payload is taken out; the chain still holds afterwards.
    pub struct Redact {
        /// Which line.
        pub seq: u64,
        /// Why, for a person. At most [`MAX_WHY`] bytes.
        pub why: String,
    }

    /// A principal wants forgotten what it said in a turn and was answered, and what a model was sent of it. What was decided and
    /// run stays: it is what the witnesses compare.
    pub struct ForgetTurn {
        /// The turn.
        pub turn: TurnId,
        /// Whose it must be.
        pub principal: String,
    }

    /// See [`ForgetTurn`].
    pub struct TurnForgotten {
        /// How many payloads were taken out; 0 where they were before.
        pub lines: u32,
    }

    /// The Laws were changed by the owner's rite (design: policy §1).
    pub struct ConstitutionModified {
        /// BLAKE3 of the `SOUL.md` that was in force; empty when none was.
        pub from: String,
        /// BLAKE3 of the one that is in force from now on.
        pub to: String,
        /// Whose word it was. At most [`MAX_WHY`] bytes.
        pub why: String,
    }

    /// Something costs something (design: memory §6).
    pub struct Cost {
        /// What it is an entry about: estimate and settlement name the same.
        pub entry: CallId,
        /// Before, after, or never settled.
        pub stage: CostStage,
        /// The turn; [`TurnId::NONE`] outside turns.
        pub turn: TurnId,
        /// For whom.
        pub principal: String,
        /// Which model role it was, `interface`, `judge`, …; empty when it was no model.
        pub role: String,
        /// Which executor it was, or which one a model worked for; empty when it was none.
        pub executor: String,
        /// How much, in millionths of the instance's currency.
        pub micro: u64,
        /// Tokens read by a model.
        pub tokens_in: u64,
        /// Tokens written by a model.
        pub tokens_out: u64,
        /// The digest of what was sent to the model, as mind has it; `None` when it was none.
        pub sent: Option<Blake3>,
    }

    /// Where an entry of the ledger stands.
    pub enum CostStage {
        /// What it is expected to cost, before.
        Estimate,
        /// What it did cost: takes the estimate's place.
        Actual,
        /// It could not be settled: the estimate counts.
        Unsettled,
    }

    /// A planner's turn is over, and nothing was read in it but what the caller said and what anybody may see: its answer
    /// may stand in the clean part of a later turn of the same principal. Of every other turn nothing is said.
    pub struct CleanTurn {
        /// Which.
        pub turn: TurnId,
        /// Whose.
        pub principal: String,
    }

    /// What was spent, for the caps.
    pub struct Spending {
        /// The turn; [`TurnId::NONE`] for none.
        pub turn: TurnId,
        /// The principal.
        pub principal: String,
    }

    /// See [`Spending`]. All in millionths; days and months are those of UTC.
    pub struct Spent {
        /// In that turn.
        pub turn: u64,
        /// By that principal today.
        pub principal_day: u64,
        /// By that principal this month.
        pub principal_month: u64,
        /// By everybody today.
        pub day: u64,
        /// By everybody this month.
        pub month: u64,
        /// Tokens, read and written, in that turn.
        pub turn_tokens: u64,
        /// By that principal today.
        pub principal_day_tokens: u64,
        /// By that principal this month.
        pub principal_month_tokens: u64,
    }

    // ---- from sandboxd -------------------------------------------------

    /// An executor is about to run. Awaited: no effect without a durable line.
    pub struct Started {
        /// Which turn.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// The call.
        pub call: CallId,
        /// Its place in the turn.
        pub place: CallRef,
        /// Which executor.
        pub id: ExecutorId,
        /// Digest of the arguments as handed over, references unresolved.
        pub arguments: Blake3,
        /// The profile in force.
        pub profile: Blake3,
        /// The decision that it carries out.
        pub decision_seq: u64,
        /// What arguments were taken from earlier results.
        pub inputs: Vec<InputRef>,
    }

    /// It has ended.
    pub struct Ended {
        /// Which turn.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// The call.
        pub call: CallId,
        /// Which executor.
        pub id: ExecutorId,
        /// How.
        pub outcome: Outcome,
        /// The error's class, as the executor named it; empty when it succeeded.
        pub error_class: String,
        /// Digest of the result.
        pub result: Blake3,
        /// What it used.
        pub resources: Resources,
        /// The line that says it started.
        pub started_seq: u64,
    }

    /// What a call is about to change, as it is now, so that its inverse can put it back. Awaited: no effect without a durable
    /// line. Once a call.
    pub struct KeepBefore {
        /// Which turn.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// The call.
        pub call: CallId,
        /// Which executor.
        pub id: ExecutorId,
        /// The line that says it started.
        pub started_seq: u64,
        /// A JSON object, at most [`MAX_BEFORE`] bytes.
        pub before: String,
    }

    /// What an earlier call of the same person has kept with [`KeepBefore`], for its inverse.
    pub struct BeforeOf {
        /// The turn of the inverse.
        pub turn: TurnId,
        /// The earlier call.
        pub call: CallId,
    }

    /// See [`BeforeOf`].
    pub struct BeforeFound {
        /// The JSON object; none when nothing was kept, or it was taken out since.
        pub before: Option<String>,
    }

    // ---- from the owner's admin edge -----------------------------------

    /// The last lines of the chronicle, as they stand in the files, one a line beside it.
    pub struct Tail {
        /// How many at most; capped at [`MAX_TAIL`].
        pub lines: u32,
        /// Only lines after this number.
        pub after: u64,
    }

    /// See [`Tail`].
    pub struct Tailed {
        /// How many came.
        pub lines: u32,
        /// The last number in the chronicle.
        pub last_seq: u64,
    }

    /// Check the chain, and that the witnesses agree. Beside it policyd's anchors, one a line
    /// ([`crate::chain::Anchor::to_line`]): each must be met.
    pub struct Verify {
        /// Only what follows this line, which is taken for right; 0 for everything.
        pub since: u64,
    }

    /// The owner looks at something; what is found comes beside the answer, as JSON, one document a line.
    pub enum Query {
        /// Lines of the chronicle, as they stand in the files.
        Lines(LinesWanted),
        /// Lines that meet all that is asked for, newest first.
        Search(SearchWanted),
        /// That one line belongs to a chronicle of so many lines: one document.
        Proof(ProofWanted),
        /// What looks like a secret in the lines from this number on.
        Secrets(u64),
        /// The heaviest mnests.
        Mnests(MnestsWanted),
        /// What the ager proposes, and what became of it.
        Proposals,
        /// The mnestome's snapshots, oldest first.
        Snapshots,
        /// What was spent by day, principal, role and executor, newest day first; before it, where that leads.
        Ledger,
        /// How useful each executor has been, and which are out of sight: a document each.
        Fitness,
    }

    /// See [`Query::Lines`].
    pub struct LinesWanted {
        /// The first.
        pub from: u64,
        /// The last; what does not fit one answer comes with the next.
        pub upto: u64,
    }

    /// See [`Query::Search`]; what is empty or 0 is not asked for.
    pub struct SearchWanted {
        /// A text that the payload contains, capitals or not.
        pub text: String,
        /// The type of event.
        pub event_type: String,
        /// Who reported it.
        pub emitter: String,
        /// The principal.
        pub peer: String,
        /// The turn, or the end of its name.
        pub turn: String,
        /// Not before this instant, in milliseconds.
        pub from_ms: u64,
        /// Before this instant, in milliseconds.
        pub until_ms: u64,
        /// Only lines before this number; 0 for all.
        pub before: u64,
        /// How many lines at most; capped at [`MAX_TAIL`].
        pub lines: u32,
    }

    /// See [`Query::Proof`].
    pub struct ProofWanted {
        /// The line.
        pub seq: u64,
        /// How many lines the chronicle had when its head was signed.
        pub size: u64,
    }

    /// policyd: a page for a person on a channel.
    pub enum PageQuery {
        /// What happened, without what was said or done in it, newest first.
        Audit(PageOf),
        /// The heaviest mnests.
        Mnests(PageOf),
        /// What is planned for the principal, the one that is due first before the others.
        Schedules(PageOf),
        /// What the principal has said and was answered, newest first.
        Exchanges(PageOf),
        /// What the person of this principal has said and was answered, newest first.
        Remembered(RememberedOf),
    }

    /// See [`PageQuery::Remembered`].
    pub struct RememberedOf {
        /// Whose, and which part of it.
        pub page: PageOf,
        /// Only where each of these words, or one that begins with it, stands in what was said or answered; empty for all.
        pub words: String,
    }

    /// See [`PageQuery`].
    pub struct PageOf {
        /// Only what this principal has caused; empty for everything.
        pub principal: String,
        /// Where the page begins: 0, or what the page before said.
        pub from: u64,
        /// How many at most.
        pub lines: u32,
    }

    /// See [`Query::Mnests`].
    pub struct MnestsWanted {
        /// Only those that lead from this executor; empty for all.
        pub from: String,
        /// How many at most; capped at [`MAX_TAIL`].
        pub lines: u32,
    }

    /// How much came.
    pub struct QueryResult {
        /// Documents beside it.
        pub lines: u32,
        /// Where to go on: the next line to be asked for, or the line to search before; 0 when that was all.
        pub next: u64,
    }

    /// The owner decides about what was derived. Recorded before it is done, so that a replay does it, too.
    pub enum OwnersAct {
        /// A word of the owner's for a mnest.
        Tag(Tagged),
        /// The word is taken back.
        Untag(Tagged),
        /// A mnest is out of use, and stays.
        Archive(Reasoned),
        /// It is in use again.
        Restore(Reasoned),
        /// What the ager proposed is not wanted.
        Decline(Reasoned),
        /// Nothing ages and nothing is proposed until it is taken back; a mnestshot is kept.
        Freeze(Reasoned),
        /// As if no time had passed.
        Defrost(Reasoned),
        /// The mnestome is kept as it is now.
        Snapshot(Reasoned),
        /// The mnestome becomes what a snapshot holds. Can itself be taken back: what was is kept first.
        Rollback(Reasoned),
        /// A turn was of use, or it was not. What is said of a turn last counts.
        Judge(TurnJudged),
    }

    /// See [`OwnersAct::Judge`].
    pub struct TurnJudged {
        /// The turn: one that is over, in which something was called.
        pub turn: TurnId,
        /// Whether it was of use.
        pub good: bool,
    }

    /// A word for a mnest.
    pub struct Tagged {
        /// Its id.
        pub id: String,
        /// The word: at most [`MAX_TAG`] bytes.
        pub tag: String,
    }

    /// Something named, and why.
    pub struct Reasoned {
        /// A mnest's id, a proposal's, a snapshot's name; empty where the act needs none.
        pub id: String,
        /// Why, for a person. At most [`MAX_WHY`] bytes.
        pub why: String,
    }

    /// What the check found.
    pub struct VerifyReport {
        /// Lines read.
        pub lines: u64,
        /// The number and hash of the last one.
        pub head: Recorded,
        /// Everything that is wrong, first finding first; at most [`MAX_FINDINGS`].
        pub findings: Vec<Finding>,
        /// How many findings there were in all.
        pub findings_total: u64,
    }

    /// Something that is wrong with the chronicle.
    pub struct Finding {
        /// The line it was found at; 0 when it is none in particular.
        pub seq: u64,
        /// What kind: `chain`, `field`, `order`, `execution_without_decision`, …
        pub kind: String,
        /// What, for a person.
        pub detail: String,
    }

    /// The mnests, as a JSON array beside it.
    pub struct Mnests {}

    /// See [`Mnests`].
    pub struct MnestCount {
        /// How many.
        pub mnests: u32,
    }

    /// The owner asks what is remembered. What is found comes beside the answer, as JSON.
    pub enum Recollect {
        /// Turns that answer a question, whose words come beside the ask: a list, best first.
        Search(SearchMemory),
        /// Why an item is there and where it stands in the chain, by the number of its line: one document.
        Explain(u64),
        /// The communities of the mnestome, as they were last found: one document.
        Traces,
        /// What a peer said and was answered lately, the last tasks, and what is left of older talk: one document.
        Late(SearchMemory),
    }

    /// See [`Recollect::Search`] and [`Recollect::Late`].
    pub struct SearchMemory {
        /// Whose memory is asked, as `channel:sender`.
        pub peer: String,
        /// How many items at most; capped at [`MAX_RECALLED`].
        pub limit: u32,
    }

    /// See [`Recollect`] and [`Rehearse`].
    pub struct Recollected {
        /// How many items came.
        pub items: u32,
    }

    /// A measurement, on a store of its own that is never written to the disk. Only where nothing has been lived yet.
    pub enum Rehearse {
        /// Begin anew: everything rehearsed is forgotten.
        Anew,
        /// Remember the turns that come beside the ask, one JSON document a line: `id`, `session`, `time`, `speaker`, `text`.
        Turns,
        /// Answer the question that comes beside the ask: `ids`, best first, and `wall_us`. At most so many ids.
        Question(u32),
        /// Rank the tools of a line of a dialogue (JSON: `dialogue`, `message`, `calls`, `tools`) before each of its
        /// calls, with and without what was learned from the lines before, then learn from it.
        Step,
    }

    /// What memoryd is doing, for `status`.
    pub struct MemoryStatus {}

    /// See [`MemoryStatus`].
    pub struct MemoryReport {
        /// The last line.
        pub head: Recorded,
        /// Mnests, of whatever state.
        pub mnests: u32,
        /// The clock of use, in thousandths of a use-day.
        pub use_time_milli: u64,
        /// Lines set aside as torn when it last started.
        pub torn: u32,
        /// Why nothing is recorded any more; empty when something can be.
        pub altered: String,
        /// Whether the clock of use is stopped: nothing ages.
        pub frozen: bool,
    }
}

/// The kind of a [`SystemEvent`] by which policyd says that something its turn did was taken back: memoryd counts it against
/// what did it.
pub const UNDONE: &str = "undone";
/// The longest text of a [`SystemEvent`], in bytes.
pub const MAX_EVENT_TEXT: usize = 4096;
/// The most bytes that a call keeps of what it is about to change.
pub const MAX_BEFORE: usize = 16 * 1024;
/// The longest mark of what was said, in bytes.
pub const MAX_MARK: usize = 64;
/// The most lines [`Tail`] gives.
pub const MAX_TAIL: u32 = 10_000;
/// The most findings reported.
pub const MAX_FINDINGS: usize = 64;
/// The most items that one question brings back.
pub const MAX_RECALLED: u32 = 100;
/// The longest question, in bytes; the rest is not looked up.
pub const MAX_QUESTION_BYTES: usize = 8 * 1024;
/// The longest reason for an act, in bytes.
pub const MAX_WHY: usize = 1024;
/// The rule under which memoryd refuses to prove its chronicle while it is still reading it.
pub const VERIFYING: &str = "chronicle.verifying";
/// The longest tag, in bytes.
pub const MAX_TAG: usize = 64;
/// The most bytes of what is suspended for one turn.
pub const MAX_SUSPENDED_BYTES: usize = 4 << 20;
/// The most inputs, outputs and errors of something wished for that are kept, each.
pub const MAX_WISHED: usize = 12;
/// The longest name or kind of them, in bytes.
pub const MAX_WISHED_BYTES: usize = 64;
/// The most gaps listed.
pub const MAX_GAPS: usize = 64;
/// The most proposals of the ager in one answer.
pub const MAX_AGER_PROPOSALS: usize = 16;
/// The longest text in one of them, in bytes: what is longer is cut.
pub const MAX_AGER_TEXT: usize = 512;

impl Verdict {
    /// The name used in JSON and in the chronicle.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

impl CostStage {
    /// The name used in JSON and in the chronicle.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Actual => "actual",
            Self::Unsettled => "unsettled",
        }
    }
}
