//! What policyd hands sandboxd to execute. Nobody else can address it.

use crate::ids::{Blake3, CallId, TraceId, TurnId};
use crate::msg::common::{CallRef, ExecutorDigests, ExecutorId, InputRef, Leaf, Outcome, Resources};
use crate::words;

words! {
    /// The instance's public key. First on every link, once: nothing runs before it.
    pub struct TrustKey {
        /// Ed25519.
        pub public_key: [u8; 32],
    }

    /// What lies in the pool.
    pub struct Pool {}

    /// One version of one executor in the pool, as found on disk.
    pub struct PoolEntry {
        /// From the folder's names, checked against its manifest.
        pub id: ExecutorId,
        /// Digests of the files as they are now; the profile is what this installation would apply.
        pub digests: ExecutorDigests,
        /// Empty when the files form an executor; else what is wrong with them.
        pub fault: String,
        /// Whether `manifest.sig` is there, fits the digests and the instance's key.
        pub signed: bool,
    }

    /// See [`Pool`]; at most [`super::policyd::MAX_EXECUTORS`].
    pub struct PoolListing {
        /// Sorted by name, then version.
        pub entries: Vec<PoolEntry>,
    }

    /// Run the birth tests of an unsigned executor of the pool, in its own profile.
    pub struct Birth {
        /// Which.
        pub id: ExecutorId,
        /// What policyd has looked at; a mismatch refuses.
        pub digests: ExecutorDigests,
    }

    /// How the birth tests went. Beside it the candidate: a JSON object with the texts of
    /// `manifest`, `code` and `schema`, exactly the bytes that were tested.
    pub struct Born {
        /// One entry a case.
        pub cases: Vec<BirthCase>,
    }

    /// One birth test.
    pub struct BirthCase {
        /// Its name.
        pub name: String,
        /// Whether it held.
        pub passed: bool,
        /// What was expected and what came, when it did not hold.
        pub detail: String,
    }

    /// Put the signature beside the files it covers, and load the executor.
    pub struct Install {
        /// Which.
        pub id: ExecutorId,
        /// What was signed.
        pub digests: ExecutorDigests,
        /// Ed25519, 64 bytes, over the digests in their order.
        pub signature: Vec<u8>,
    }

    /// The owner lifts a quarantine: earlier findings about the executor are dropped, as long as its files
    /// and its sandbox are exactly these.
    pub struct ClearFindings {
        /// Which.
        pub id: ExecutorId,
        /// What policyd has looked at; a mismatch refuses.
        pub digests: ExecutorDigests,
    }

    /// The values of arguments given by reference, so that a decision is about real values.
    pub struct Resolve {
        /// Which turn.
        pub turn: TurnId,
        /// At most [`MAX_REFERENCES`].
        pub references: Vec<Reference>,
    }

    /// A position in an earlier result of the turn.
    pub struct Reference {
        /// The call.
        pub call: CallRef,
        /// JSON pointer in its result.
        pub pointer: String,
    }

    /// The values, in order, as a JSON array beside it.
    pub struct Resolved {
        /// The digest of each value's canonical JSON, in order.
        pub digests: Vec<Blake3>,
    }

    /// Fill the references of the arguments beside it, as the run of this executor would, and hand them back whole: for
    /// mind, to whom policyd passes them on unread.
    pub struct Fill {
        /// Which turn.
        pub turn: TurnId,
        /// Which executor: what does not fit its schema is refused.
        pub id: ExecutorId,
        /// What policyd's registry holds of it.
        pub digests: ExecutorDigests,
    }

    /// Run a decided call. The arguments come beside it, the exact bytes that were decided on.
    pub struct Run {
        /// The call.
        pub call: CallId,
        /// Its place in the turn, by which later arguments refer to its result.
        pub place: CallRef,
        /// Which turn.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// Which executor.
        pub id: ExecutorId,
        /// What policyd's registry holds of it; anything else in the pool refuses and quarantines.
        pub digests: ExecutorDigests,
        /// Digest of the arguments as decided.
        pub arguments: Blake3,
        /// The chronicle line of the decision.
        pub decision_seq: u64,
        /// The folders that its manifest grants, as policyd saw them when it decided. What lies there when they are mounted
        /// must be these and no others; at most one for each grant.
        pub folders: Vec<SeenFolder>,
        /// For a person who may read a part of the workspace only: the folders of it that he may, by their names below it.
        /// Nothing else of what the manifest grants is mounted into this call. See [`crate::executor::guests`].
        pub only: Option<Vec<String>>,
        /// The name of the private folder of the person whose turn it is; empty where there is none. Whatever else lies in
        /// `people/` is hidden from this call.
        pub own: String,
    }

    /// A granted folder, distinguished from every other that may stand in its place.
    pub struct SeenFolder {
        /// Its name below the workspace, empty for the workspace itself; or its absolute path, outside of it.
        pub below: String,
        /// The number of its device.
        pub device: u64,
        /// Its number there.
        pub inode: u64,
    }

    /// [`Run`] for an executor that was granted secrets: they come as the second descriptor, a JSON object of texts,
    /// exactly those that its manifest names; for one that is given an account, its `host`, `port`, `user` and `password`. They
    /// are for this one call and kept nowhere.
    pub struct RunWithSecrets {
        /// The call.
        pub run: Run,
    }

    /// [`Run`] for an executor whose manifest has a model think about its arguments: mind's reply comes as the second
    /// descriptor, a JSON object, for this one call.
    pub struct RunWithAdvice {
        /// The call.
        pub run: Run,
    }

    /// [`Run`] for an executor whose manifest takes a file (`[file]`): its bytes come as the second descriptor, and reach the
    /// executor in pieces.
    pub struct RunWithInputFile {
        /// The call.
        pub run: Run,
        /// Digest of the file's bytes.
        pub file: Blake3,
    }

    /// [`Run`] for an executor whose manifest gives a file: its bytes come beside the report, behind the result; none where
    /// it did not succeed.
    pub struct RunWithOutputFile {
        /// The call.
        pub run: Run,
    }

    /// [`RunWithOutputFile`] for an executor that is given an account, which comes as the second descriptor, as the secrets of
    /// [`RunWithSecrets`] do.
    pub struct RunWithAccountFile {
        /// The call.
        pub run: Run,
    }

    /// [`Run`] while the decision is still being recorded: everything is prepared, and nothing runs before [`Decided`]
    /// has come and the start stands in the chronicle as well. Its `decision_seq` says nothing.
    pub struct RunSpeculative {
        /// The call.
        pub run: Run,
    }

    /// What became of the record of a decision whose call was handed over ahead of it.
    pub struct Decided {
        /// The call.
        pub call: CallId,
        /// The chronicle line of the decision; `None`: there is none, or something else forbids it by now, and nothing runs.
        pub decision_seq: Option<u64>,
    }

    /// The call ran. Its result comes beside it: the JSON document that the schema describes.
    pub struct RunReport {
        /// How it ended.
        pub outcome: Outcome,
        /// Digest of the result's bytes.
        pub result: Blake3,
        /// The result's leaves; at most [`MAX_LEAVES`], after which the rest is one leaf, "".
        pub leaves: Vec<Leaf>,
        /// What arguments were taken from earlier results.
        pub inputs: Vec<InputRef>,
        /// What it used.
        pub resources: Resources,
    }

    /// Stop what runs.
    pub struct Kill {
        /// Which turn's calls; `None` for all.
        pub turn: Option<TurnId>,
    }

    /// How many runs were killed.
    pub struct KilledCount {
        /// That many.
        pub killed: u32,
    }

    /// Drop the results of a turn.
    pub struct Forget {
        /// Which.
        pub turn: TurnId,
    }

    // ---- notes to policyd ----------------------------------------------

    /// An executor's files, signature or profile are not what was signed. It is not loaded any more.
    pub struct Quarantined {
        /// Which.
        pub id: ExecutorId,
        /// What did not fit.
        pub why: String,
    }

    /// An executor attempted an act that no executor needs. The kernel stops such acts.
    pub struct Alarmed {
        /// Which.
        pub id: ExecutorId,
        /// In which call, and what.
        pub why: String,
    }

    /// A running executor reports how far it is.
    pub struct RunProgress {
        /// Which call.
        pub call: CallId,
        /// Steps done.
        pub done: u64,
        /// Steps in all; 0 when unknown.
        pub total: u64,
    }

    // ---- from the owner's admin edge -----------------------------------

    /// Verify one executor of the pool now: files, signature, profile.
    pub struct VerifyExecutor {
        /// Its name.
        pub name: String,
    }

    /// What the verification found, per version.
    pub struct Verified {
        /// One entry a version.
        pub entries: Vec<PoolEntry>,
    }

    /// Build a sandbox and try what must fail in it, right now.
    pub struct Canaries {}

    /// See [`Canaries`].
    pub struct CanaryReport {
        /// One entry a canary.
        pub canaries: Vec<Canary>,
    }

    /// One thing that an executor must not be able to do.
    pub struct Canary {
        /// What was tried.
        pub attempt: String,
        /// Whether it was stopped.
        pub stopped: bool,
        /// By which errno, or what came instead.
        pub detail: String,
    }

    /// The sandboxes of all versions of one executor: as they would be now, and as they were locked.
    pub struct ProfilesOf {
        /// Its name.
        pub name: String,
    }

    /// See [`ProfilesOf`]. Beside it a JSON array, one object a version: `version`, `lock` (of the sandbox as it would
    /// be now), `locked` (what `profile.lock` holds, or null), `plan`, `locked_plan` (null when it was not kept).
    pub struct Profiled {
        /// How many versions.
        pub versions: u32,
    }

    /// Try a family of the escape suite, right now; or name the families.
    pub struct Selftest {
        /// Which; empty to learn which there are.
        pub family: String,
    }

    /// See [`Selftest`]. Beside it a JSON array: of the families (`name`, `about`, `cases`), or of what was tried (`name`,
    /// `layer`, `skipped`; and when it was not, `held`, `carrier`, `wanted`, `came`).
    pub struct Selftested {
        /// How many were tried.
        pub tried: u32,
        /// Of those, how many were stopped as they must be.
        pub held: u32,
    }

    /// What sandboxd is doing, for `status`.
    pub struct SandboxStatus {}

    /// See [`SandboxStatus`].
    pub struct SandboxReport {
        /// Runs going on.
        pub running: u32,
        /// Runs since it started.
        pub runs_total: u64,
        /// The step of the ladder in force, as in the design (sandbox §1).
        pub mode: String,
        /// The interpreter.
        pub interpreter: String,
        /// What carries each layer, one `layer: carrier` a line.
        pub layers: Vec<String>,
    }
}

/// The most bytes of one secret's value.
pub const MAX_SECRET: usize = 16 << 10;
/// The bytes of the shortest secret that is looked for where none may stand: shorter ones stand in honest texts by chance.
pub const MIN_REDACTED_SECRET: usize = 6;
/// The most secrets of one call.
pub const MAX_SECRETS: usize = 16;
/// The most references in one call's arguments.
pub const MAX_REFERENCES: usize = 64;
/// The most leaves reported of one result.
pub const MAX_LEAVES: usize = 256;
