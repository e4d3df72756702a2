//! The names of all texts, each with the variables that stand in it.

macro_rules! keys {
    ($($key:ident = $name:literal ($($variable:literal),*),)*) => {
        /// A text that Metnos says.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each says in English what it is: texts/en.ftl")]
        pub enum Key {
            $($key,)*
        }

        impl Key {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$key,)*];

            /// Its name in the files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$key => $name,)* }
            }

            /// What stands in it, by name.
            #[must_use]
            pub const fn variables(self) -> &'static [&'static str] {
                match self { $(Self::$key => &[$($variable),*],)* }
            }
        }
    };
}

keys! {
    Greeting = "greeting" (),
    GreetingExample = "greeting-example" ("example"),
    Welcome = "welcome" (),
    Help = "help" (),
    HelpNothing = "help-nothing" (),
    DoubtUnknown = "doubt-unknown" (),
    DoubtAmbiguous = "doubt-ambiguous" (),
    DoubtEffects = "doubt-effects" (),
    DoubtLater = "doubt-later" (),
    DoubtEmpty = "doubt-empty" (),
    DoubtTooLong = "doubt-too-long" (),
    Nearest = "nearest" (),
    NoModel = "no-model" (),
    ErrorClass = "error-class" ("class"),
    OutcomeCrashed = "outcome-crashed" ("executor"),
    OutcomeBadOutput = "outcome-bad-output" ("executor"),
    OutcomeCpu = "outcome-cpu" ("executor"),
    OutcomeMemory = "outcome-memory" ("executor"),
    OutcomeTimeout = "outcome-timeout" ("executor"),
    OutcomeOutput = "outcome-output" ("executor"),
    OutcomeProcesses = "outcome-processes" ("executor"),
    OutcomeKilled = "outcome-killed" ("executor"),
    OutcomeInterrupted = "outcome-interrupted" ("executor"),
    OutcomeSandbox = "outcome-sandbox" ("executor"),
    Unreadable = "unreadable" ("executor"),
    Empty = "empty" (),
    Done = "done" (),
    Truncated = "truncated" ("shown", "total"),
    TruncatedSomehow = "truncated-somehow" (),
    Yes = "yes" (),
    No = "no" (),
    Gone = "gone" ("role"),
    Late = "late" ("role"),
    Ended = "ended" ("why"),
    TooLong = "too-long" (),
    Cancelled = "cancelled" (),
    PlannerGone = "planner-gone" (),
    PlannerLate = "planner-late" (),
    AnswerCut = "answer-cut" (),
    NotRecorded = "not-recorded" ("why"),
    ModelUseless = "model-useless" (),
    ModelRepeated = "model-repeated" ("why"),
    ModelTooMuch = "model-too-much" (),
    ModelCutOff = "model-cut-off" (),
    ModelRefused = "model-refused" (),
    ModelTooLong = "model-too-long" (),
    ModelBound = "model-bound" (),
    ModelUnasked = "model-unasked" ("why"),
    ModelUnfunded = "model-unfunded" ("why"),
    DoneUntilThen = "done-until-then" ("executors"),
    WaitsForCard = "waits-for-card" (),
    CardAsks = "card-asks" (),
    CardYes = "card-yes" (),
    CardYesTurn = "card-yes-turn" (),
    CardNo = "card-no" (),
    CardTooLong = "card-too-long" ("card"),
    CardFrom = "card-from" ("source"),
    CardTouches = "card-touches" ("files", "folders"),
    CardReversible = "card-reversible" (),
    CardIrreversible = "card-irreversible" (),
    CardAtTheMachine = "card-at-the-machine" ("card"),
    CardApproved = "card-approved" ("by", "ran"),
    CardDenied = "card-denied" ("by"),
    CardStale = "card-stale" (),
    CardHeard = "card-heard" (),
    CardNone = "card-none" (),
    CommandHelp = "command-help" (),
    CommandStatus = "command-status" (),
    CommandUndo = "command-undo" (),
    CommandApprovals = "command-approvals" (),
    CommandPause = "command-pause" (),
    ChatHelp = "chat-help" (),
    ChatStranger = "chat-stranger" ("minutes", "code"),
    ChatKnown = "chat-known" (),
    ChatPrivateOnly = "chat-private-only" (),
    ChatPassedOn = "chat-passed-on" (),
    ChatNoFiles = "chat-no-files" (),
    ChatTooMany = "chat-too-many" (),
    ChatInterrupted = "chat-interrupted" (),
    ChatNothingSaid = "chat-nothing-said" (),
    ChatAsAFile = "chat-as-a-file" (),
    ChatWorking = "chat-working" (),
    ChatStopped = "chat-stopped" ("killed"),
    ChatOwnStopped = "chat-own-stopped" (),
    ChatStatus = "chat-status" ("turns", "waiting"),
    ChatUndone = "chat-undone" ("done", "left"),
}
