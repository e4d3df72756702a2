//! What policyd is asked: who is this, what was said, may this happen.

use crate::ids::{CallId, HandleId, TraceId, TurnId};
use crate::msg::common::{
    CallRef, Channel, ExecutorId, Label, Lang, Leaf, Level, Outcome, Refusal, Resources, Standing,
};
use crate::words;

/// The most notices to the owner that are kept, and the most names under which he is notified.
pub const MAX_NOTICES: usize = 16;
/// The most bytes of a file that goes over a channel, in or out: what a bot may fetch from Telegram (Bot API, `getFile`).
pub const MAX_FILE: usize = crate::payload::MAX_FILE;

words! {
    // ---- from the door -------------------------------------------------

    /// Who is this sender on this channel?
    pub struct Identify {
        /// The channel the words came in on.
        pub channel: Channel,
        /// The sender as the channel names it: `uid:1000` at the terminal.
        pub sender: String,
        /// The language that the channel says he speaks, where it does. The owner's word on it counts before this.
        pub lang: Option<Lang>,
        /// The language of the words that he has just said, where they show it. It counts before everything else.
        pub spoke: Option<Lang>,
    }

    /// Who it is.
    pub struct Identified {
        /// `channel:sender`, as it stands in the chronicle.
        pub principal: String,
        /// What it is to this instance.
        pub standing: Standing,
        /// Its level of autonomy.
        pub level: Level,
        /// The language it is spoken to in.
        pub lang: Lang,
        /// The name of the person who speaks so; empty where it is nobody's.
        pub person: String,
    }

    /// Fix what a sender really said, before any model has read it. The words come beside it.
    pub struct RegisterPrompt {
        /// As in [`Identify`]; identified again, so that a principal cannot be made up.
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
    }

    /// The turn that these words have opened.
    pub struct PromptRegistered {
        /// Its name.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// How many executors are still being tested, and cannot be called yet.
        pub unborn: u32,
    }

    /// A person's answer to a card, as it came over the channel. It counts for a card of that very principal,
    /// and no further than what could be allowed there; what is hard needs a one-time code.
    pub struct AnswerCard {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
        /// The card's name.
        pub id: String,
        /// The digest of what was shown.
        pub digest: String,
        /// What was answered.
        pub answer: Answer,
        /// A one-time code; empty without one.
        pub code: String,
    }

    /// The cards of a principal that wait for an answer, as a JSON array beside the answer.
    pub struct CardsHere {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
    }

    /// A person has sent a file over a channel: it is kept below `inbox/`, as far as he may. Its bytes, at most
    /// [`MAX_FILE`] of them, come beside it.
    pub struct KeepFile {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
        /// Under which name; one part of a path.
        pub name: String,
    }

    /// A person asks over a channel for a file of the workspace: it is fetched, as far as he may have it. Beside the answer
    /// come what the executor that fetches it says, and the file's bytes, at most [`MAX_FILE`]; none where it gave none.
    pub struct SendFile {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
        /// Which, as he wrote it.
        pub path: String,
    }

    /// Takes back the last turn of a principal that can be, or the last change of a thing. What became of it comes beside the
    /// answer, as JSON.
    pub struct UndoHere {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
        /// What the thing was called; empty for whatever was done last.
        pub thing: String,
    }

    /// A principal cancels something that it has planned, by its number. How it stands then comes beside the answer, as JSON.
    pub struct CancelHere {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
        /// Which.
        pub number: u64,
    }

    /// A principal wants the words of a turn of its own forgotten, as [`crate::msg::memoryd::ForgetTurn`] has it.
    pub struct ForgetHere {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
        /// Which.
        pub turn: TurnId,
    }

    /// The owner says from elsewhere that everything is to stop, as [`Panic`] does. To go on is said at the machine.
    pub struct PanicHere {
        /// As in [`Identify`].
        pub channel: Channel,
        /// As in [`Identify`].
        pub sender: String,
    }

    /// What may be answered to a card (design: policy §4).
    pub enum Answer {
        /// Yes, this once.
        Once,
        /// Yes, and to the like of it in this turn.
        Turn,
        /// Yes, and to the like of it for so many days.
        Always(u16),
        /// No.
        No,
        /// No, and never to the like of it.
        Never,
    }

    /// What became of an answer. The results of what ran come beside it: a JSON array, one for each run.
    pub struct Answered {
        /// `approved` or `denied`; of an offer, `planned` or `declined`.
        pub state: String,
        /// What ran, in order; without the leaves of its results.
        pub runs: Vec<CallRun>,
    }

    /// Note to the door: a turn has put a question, which is for the owner's eyes and not through the planner.
    pub struct CardWaits {
        /// Which turn.
        pub turn: TurnId,
        /// The card's name.
        pub id: String,
        /// The digest that an answer must name.
        pub digest: String,
        /// The card as JSON; what is too long for a channel is shortened in it.
        pub shown: String,
    }

    /// Note to the door: a card was answered.
    pub struct CardSettled {
        /// The turn that had asked.
        pub turn: TurnId,
        /// The card's name.
        pub id: String,
        /// As in [`Answered::state`].
        pub state: String,
        /// Who answered.
        pub by: String,
        /// How many of its acts ran.
        pub ran: u32,
        /// What became of each of its acts, in its order.
        pub acts: Vec<SettledAct>,
    }

    /// What became of one act of a card.
    pub struct SettledAct {
        /// The executor.
        pub executor: String,
        /// Whether it ran.
        pub ran: bool,
        /// How it ended, when it ran.
        pub outcome: Outcome,
        /// Names its result in the turn that had asked; [`HandleId::NONE`] when it is not there.
        pub handle: HandleId,
        /// What reading it would give the context.
        pub label: Label,
        /// The size of the result in bytes.
        pub bytes: u64,
    }

    // ---- from the planner ----------------------------------------------

    /// What the planner means to do, frozen while it has read nothing but the owner's words
    /// (design: policy §7). At most [`MAX_SLOTS`] slots.
    pub struct Intent {
        /// Which turn.
        pub turn: TurnId,
        /// The calls it foresees.
        pub slots: Vec<Slot>,
    }

    /// One foreseen call.
    pub struct Slot {
        /// The executor's name.
        pub executor: String,
        /// Arguments it knows literally.
        pub literals: Vec<Literal>,
        /// JSON pointers of the other arguments, whose values will turn up.
        pub open: Vec<String>,
        /// How many such calls; at most [`MAX_PER_SLOT`].
        pub max: u8,
    }

    /// An argument with a value that stands in the owner's words.
    pub struct Literal {
        /// JSON pointer of the argument.
        pub pointer: String,
        /// The value as JSON text.
        pub json: String,
    }

    /// What of the intent policyd found again in the registered words.
    pub struct IntentFrozen {
        /// Literals found and frozen.
        pub frozen: u16,
        /// Literals not found, as `executor pointer`; they are not endorsed.
        pub ignored: Vec<String>,
    }

    /// Decide on this call and, if it is allowed, run it. The arguments come beside it, as JSON.
    pub struct Act {
        /// Which turn.
        pub turn: TurnId,
        /// The planner's number of the call; each number once, ascending.
        pub call: CallRef,
        /// The executor's name.
        pub executor: String,
    }

    /// The call was decided and, when allowed, has run.
    pub enum Acted {
        /// It ran.
        Ran(Ran),
        /// It was refused; nothing ran.
        Denied(Refusal),
    }

    /// A call that ran.
    pub struct Ran {
        /// The call.
        pub call: CallId,
        /// Names the result; the bytes stay behind until released.
        pub handle: HandleId,
        /// How it ended.
        pub outcome: Outcome,
        /// The label that reading the result would give the context.
        pub label: Label,
        /// The shape of the result: its leaves' pointers and digests, no content.
        pub leaves: Vec<Leaf>,
        /// The line of the chronicle that records the decision.
        pub line: u64,
        /// What it used.
        pub resources: Resources,
    }

    /// Hand over the bytes of a result, raising the label of the context first.
    pub struct Release {
        /// Which turn.
        pub turn: TurnId,
        /// Which result of it.
        pub handle: HandleId,
    }

    /// The result comes beside it.
    pub struct Released {
        /// The context's label from now on.
        pub context: Label,
    }

    /// Grant a fund for the thoughts of this turn. Asked before the first thought of a turn, and again when what
    /// was given is used up.
    pub struct FundTurn {
        /// Which turn.
        pub turn: TurnId,
        /// How many more tokens are wanted, read and written.
        pub tokens: u64,
    }

    /// mind knows of it. How much is left may be less than was asked for.
    pub struct TurnFunded {
        /// Tokens that the turn may still use.
        pub tokens: u64,
    }

    /// Take back the last change of this turn's principal, as [`UndoHere`] does for the door. Only where the registered words
    /// ask for it, once in a turn, before any call of it, and while nothing of lower trust was read.
    pub struct UndoLast {
        /// Which turn.
        pub turn: TurnId,
    }

    /// What became of it. No word of an executor stands here.
    pub struct UndoneLast {
        /// How many acts were taken back.
        pub undone: u32,
        /// How many could not be.
        pub kept: u32,
    }

    /// The planner is done with this turn: handles and contexts of it are dropped.
    pub struct EndTurn {
        /// Which.
        pub turn: TurnId,
    }

    // ---- from syntd ----------------------------------------------------

    /// How much growth is still allowed today.
    pub struct GrowthQuota {}

    /// See [`GrowthQuota`] (design: executor §2).
    pub struct GrowthLeft {
        /// Births still allowed today.
        pub births_today: u8,
        /// Further synthesised executors that may be active at once.
        pub active: u8,
        /// Whether drafts are only shown: none may be put into the pool (`[synt] dry_run`).
        pub dry_run: bool,
    }

    /// Grant a fund for a run of drafts of syntd. Asked before the first draft of a run, and again when what was given
    /// is used up. A run is syntd's alone: nobody else can think in it, and syntd in nothing else.
    pub struct FundDrafts {
        /// The run, as policyd has named it; [`TurnId::NONE`] opens one.
        pub run: TurnId,
        /// How many more tokens are wanted, read and written.
        pub tokens: u64,
    }

    /// mind knows of it. How much is left may be less than was asked for.
    pub struct DraftsFunded {
        /// The run.
        pub run: TurnId,
        /// Tokens that it may still use.
        pub tokens: u64,
    }

    /// syntd is done with this run: what it has not used is given back.
    pub struct EndDrafts {
        /// Which.
        pub run: TurnId,
    }

    // ---- from the owner's admin edge -----------------------------------

    /// One call through the whole path, without the planner. Arguments beside it as JSON.
    pub struct RunCall {
        /// The executor's name.
        pub executor: String,
    }

    /// What became of it; when it ran, the result comes beside it, else an empty document.
    pub struct CallRun {
        /// The turn it was recorded as.
        pub turn: TurnId,
        /// As for the planner.
        pub acted: Acted,
    }

    /// The registry of executors.
    pub struct Executors {}

    /// One executor as policyd knows it.
    pub struct ExecutorRow {
        /// Name and version.
        pub id: ExecutorId,
        /// Where in its life it stands.
        pub state: ExecutorState,
        /// Why, when it is not active.
        pub why: String,
        /// What it does, in a line.
        pub summary: String,
        /// `read`, `send`, …
        pub class: String,
    }

    /// See [`Executors`]; at most [`MAX_EXECUTORS`].
    pub struct ExecutorList {
        /// Sorted by name, then version.
        pub rows: Vec<ExecutorRow>,
    }

    /// The full record of one executor, as JSON beside it: manifest, schema, digests, signature.
    pub struct ShowExecutor {
        /// Its name.
        pub name: String,
    }

    /// The cards that wait or were answered lately, as a JSON array beside the answer.
    pub struct Approvals {}

    /// One card, as JSON beside the answer: what it is about, its digest, and how it stands.
    pub struct ShowApproval {
        /// Its name.
        pub id: String,
    }

    /// The owner's answer at the machine: an approved card is carried out at once, exactly as it stands, and only once.
    pub struct Decide {
        /// The card's name.
        pub id: String,
        /// The digest of what was shown.
        pub digest: String,
        /// What he says.
        pub answer: Answer,
    }

    /// The stored grants, as a JSON array beside the answer.
    pub struct Grants {}

    /// Revokes a stored grant.
    pub struct RevokeGrant {
        /// Its name.
        pub id: String,
    }

    /// Makes a secret for one-time codes; it counts after [`CodesConfirm`].
    pub struct CodesEnrol {}

    /// Shown once, and kept by nobody but policyd and the owner's device.
    pub struct CodesEnrolled {
        /// The secret in base 32.
        pub secret: String,
        /// The same as an `otpauth` address.
        pub uri: String,
    }

    /// Confirms the secret with a code.
    pub struct CodesConfirm {
        /// The code that his device shows now.
        pub code: String,
    }

    /// Removes the secret: no code is accepted any more.
    pub struct CodesRemove {}

    /// Takes back what a turn has done, or the last turn that can be: the last act first. What became of it
    /// comes beside the answer, as JSON.
    pub struct Undo {
        /// Which turn; none for the last one of this principal.
        pub turn: Option<TurnId>,
    }

    /// The acts that can be taken back, and those that were, newest first, as a JSON array beside the answer.
    pub struct Undoable {}

    /// Stop everything: what runs is ended, and nothing is allowed until [`Resume`], also after restarts.
    pub struct Panic {}

    /// It is stopped.
    pub struct Panicked {
        /// How many runs were ended.
        pub killed: u32,
    }

    /// Allow calls again after [`Panic`].
    pub struct Resume {}

    /// Switch every version of an executor off (its runs are ended) or on.
    pub struct SwitchExecutor {
        /// Its name.
        pub name: String,
        /// On, or off.
        pub on: bool,
    }

    /// List the quarantined executors with the reasons and what has changed; or, confirmed, lift the quarantine.
    pub struct LiftQuarantine {
        /// Which executor; `None` for all in quarantine.
        pub name: Option<String>,
        /// Those whose sandbox has changed since they were signed, to be tested in it and signed again; else those for
        /// which nothing is to be signed, because all is again as it was.
        pub relock: bool,
        /// The digest that a look has shown; empty to look.
        pub confirm: String,
    }

    /// The switch is as was asked.
    pub struct Switched {
        /// Whether it was not so before.
        pub changed: bool,
    }

    /// What would become of this call, step by step: the explanation comes beside the answer, as JSON.
    /// Nothing runs, nothing is recorded and nothing is used up.
    pub struct CheckPolicy {
        /// `channel:sender`, or `owner`.
        pub principal: String,
        /// The executor's name.
        pub executor: String,
    }

    /// Puts calls that must not happen through the path of every other call. Each leaves its lines in the
    /// chronicle, and touches nothing.
    pub struct PolicyCanaries {}

    /// See [`PolicyCanaries`].
    pub struct PolicyCanaried {
        /// One for each control.
        pub canaries: Vec<PolicyCanary>,
    }

    /// What one of them has met.
    pub struct PolicyCanary {
        /// The control that must stop it.
        pub control: String,
        /// What was tried.
        pub attempt: String,
        /// Whether that control stopped it.
        pub stopped: bool,
        /// The rule that did; empty when nothing did.
        pub by: String,
        /// What was said.
        pub detail: String,
    }

    /// What policyd is doing, for `status`.
    pub struct PolicyStatus {}

    /// See [`PolicyStatus`].
    pub struct PolicyReport {
        /// Turns with an open context.
        pub turns: u32,
        /// Calls running now.
        pub running: u32,
        /// Decisions since it started.
        pub decisions_total: u64,
        /// Of those, denials.
        pub denials_total: u64,
        /// The instance's public key, 64 hexadecimal digits.
        pub public_key: String,
        /// Why nothing is decided: the chronicle is not, or is not known to be, what was signed; empty while it is.
        pub undecided: String,
        /// The last line of the chronicle whose head is signed.
        pub signed_line: u64,
        /// How many lines followed the last signature when the chronicle was opened last: after a crash some may, after a stop
        /// none.
        pub unsigned_lines: u64,
        /// Executors whose birth is under way or still to come: they cannot be called yet.
        pub unborn: u32,
        /// Since when everything is stopped, in milliseconds since the epoch; 0 when it is not.
        pub stopped_ms: u64,
        /// Who stopped it; empty when it is not.
        pub stopped_by: String,
        /// The executors that are switched off.
        pub disabled: Vec<String>,
        /// What the owner was notified of last, newest last; at most [`MAX_NOTICES`].
        pub notices: Vec<Notice>,
    }

    /// Something about an executor that the owner must know.
    pub struct Notice {
        /// When, in milliseconds since the epoch.
        pub at_ms: u64,
        /// What kind.
        pub kind: NoticeKind,
        /// Which executor.
        pub id: ExecutorId,
        /// What was found.
        pub why: String,
    }

    /// See [`Notice::kind`].
    pub enum NoticeKind {
        /// It is in quarantine, and does not run any more.
        SetAside,
        /// It tried what no executor has a use for, and still runs.
        Alarm,
    }

    /// Note to the door: deliver this notice to the owner on his channels.
    pub struct OwnerNotice {
        /// The names under which he speaks, `channel:sender`; at most [`MAX_NOTICES`].
        pub to: Vec<String>,
        /// What.
        pub notice: Notice,
    }

    /// Note to the door: show the owner a card of another principal on his channels.
    pub struct OwnersCard {
        /// The names under which he speaks, `channel:sender`; at most [`MAX_NOTICES`].
        pub to: Vec<String>,
        /// The card's name. Each of them receives what it shows in his own language when he asks for it.
        pub id: String,
    }

    /// The heads of the chronicle that policyd has signed, one a line beside the answer
    /// ([`crate::chain::Anchor::to_line`]).
    pub struct Anchors {
        /// Only those after this line.
        pub after: u64,
    }

    /// See [`Anchors`]; at most [`MAX_ANCHORS`].
    pub struct AnchorList {
        /// How many came.
        pub anchors: u32,
        /// Where to go on; 0 when these were all.
        pub next: u64,
        /// Why the chronicle is not what was anchored; empty when it is.
        pub broken: String,
    }

    /// A rite: take a line's payload out of the chronicle.
    pub struct RedactPayload {
        /// Which line.
        pub seq: u64,
        /// Why, for a person.
        pub why: String,
    }

    /// The line that says so.
    pub struct Redacted {
        /// Its number.
        pub seq: u64,
    }

    /// A copy of `policy.sqlite`, whole and consistent, beside the answer: for a backup.
    pub struct CopyRegistry {}

    // ---- notes to the planner ------------------------------------------

    /// A running call reports how far it is.
    pub struct CallProgress {
        /// Which turn.
        pub turn: TurnId,
        /// Which call of it.
        pub call: CallRef,
        /// Steps done.
        pub done: u64,
        /// Steps in all; 0 when unknown.
        pub total: u64,
    }

    /// Where an executor stands in its life (design: executor §4).
    pub enum ExecutorState {
        /// In the pool, not yet signed.
        Staged,
        /// Callable.
        Active,
        /// Not loaded, not deleted.
        Quarantined,
        /// Put away by the owner, until he brings it back.
        Archived,
        /// Its signature counts no more, for ever; its files stay readable.
        Revoked,
    }
}

/// The most slots in an intent (design: policy §7).
pub const MAX_SLOTS: usize = 16;
/// The most calls one slot may foresee (design: policy §7).
pub const MAX_PER_SLOT: u8 = 3;
/// The most anchors in one answer.
pub const MAX_ANCHORS: u32 = 10_000;
/// The most executors in a listing, so that it fits a frame.
pub const MAX_EXECUTORS: usize = 128;

impl ExecutorState {
    /// The name used in JSON and on screen.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Active => "active",
            Self::Quarantined => "quarantined",
            Self::Archived => "archived",
            Self::Revoked => "revoked",
        }
    }
}
