//! What a turn and its continuations remember: what was typed, what was foreseen, what was
//! read, what was already asked. A label here is only ever raised; an endorsement is good for
//! one use (design: policy §7).

use std::collections::{BTreeSet, HashMap, HashSet};

use metnos_proto::executor::guests;
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{Integrity, Label, Lang, Level, Readers, Standing};

use crate::call::paths::Places;
use crate::evidence::intent::Intent;
use crate::text::pointing;
use crate::text::words::{Words, fold};

/// The most questions in one turn; the next one stops it (design: policy §7).
pub const MAX_QUESTIONS: u32 = 6;

/// Whether the owner's own frozen words are confirmation enough (design: policy §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirm {
    /// Outbound and non-idempotent effects get a card of their own even when all is literal.
    Card,
    /// They do not.
    Literal,
}

/// Who is asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The owner, or a schedule that he has consented to.
    Owner,
    /// A grown-up member of the household: the owner's own files are not his to change.
    Adult,
    /// Another person he has paired.
    Guest,
    /// Nobody known.
    Unpaired,
}

impl From<Standing> for Who {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Owner => Self::Owner,
            Standing::Adult => Self::Adult,
            Standing::Guest => Self::Guest,
            Standing::Stranger => Self::Unpaired,
        }
    }
}

impl Who {
    /// Whether this is the owner or a grown-up member of the household: their words foresee and endorse, and what is the
    /// household's is theirs to read.
    #[must_use]
    pub const fn is_of_household(self) -> bool {
        match self {
            Self::Owner | Self::Adult => true,
            Self::Guest | Self::Unpaired => false,
        }
    }
}

/// What holds for every decision of an instance, or of a trace.
#[derive(Debug, Clone)]
pub struct World {
    /// What may happen without asking.
    pub level: Level,
    /// See [`Confirm`].
    pub confirm: Confirm,
    /// The owner's language.
    pub lang: Lang,
    /// The owner's own ids, folded: addresses, accounts, chats.
    pub owner: BTreeSet<String>,
    /// Whom the owner has paired or written to, folded.
    pub contacts: BTreeSet<String>,
    /// Hosts that may be read without asking, as `scheme://host`, folded.
    pub hosts: BTreeSet<String>,
    /// Programs that may be run without asking, by bare name and by path.
    pub commands: Vec<String>,
    /// The most money of one payment that is made without asking; none means no cap.
    pub money_cap: Option<f64>,
    /// Where the instance lives.
    pub places: Places,
    /// The folders of the workspace that a guest may read, by their names below it: nothing else of it exists for him.
    pub guest_folders: Vec<String>,
    /// The owner lets this guest write there without asking, as far as it can be undone.
    pub guest_writes: bool,
    /// Whether the private folder is there already. What makes it is asked for, where anything is.
    pub own_is_there: bool,
    /// The executors that the owner lets a child call without asking.
    pub may_call: BTreeSet<String>,
    /// The name of the private folder of the person whose turn it is. No other private folder exists in this turn.
    pub own_folder: Option<String>,
    /// Whose accounts a call in this turn may be given: those of the person who asks.
    pub account_holder: Option<String>,
}

impl World {
    /// An instance at `places` about which nothing else is known: no contacts, no hosts, no commands.
    #[must_use]
    pub fn new(level: Level, confirm: Confirm, places: Places) -> Self {
        Self {
            level,
            confirm,
            lang: Lang::En,
            owner: BTreeSet::new(),
            contacts: BTreeSet::new(),
            hosts: BTreeSet::new(),
            commands: Vec::new(),
            money_cap: None,
            places,
            guest_folders: guests::folders(&[]),
            guest_writes: false,
            own_is_there: false,
            may_call: BTreeSet::new(),
            own_folder: None,
            account_holder: None,
        }
    }

    /// Whether nothing of the workspace is hidden, no matter who asks.
    #[must_use]
    pub fn shows_everything(&self) -> bool {
        self.guest_folders.iter().any(String::is_empty)
    }

    /// Whether this is one of the owner's own ids.
    #[must_use]
    pub fn is_owner(&self, id: &str) -> bool {
        self.owner.contains(&fold(id))
    }

    /// Whether the owner has paired or written to this one.
    #[must_use]
    pub fn is_contact(&self, id: &str) -> bool {
        self.contacts.contains(&fold(id))
    }
}

/// A turn and its continuations.
#[derive(Debug, Clone)]
pub struct Context {
    /// Who is asking.
    pub who: Who,
    /// The join of everything that was read.
    pub label: Label,
    /// What the owner typed.
    pub words: Words,
    /// What the owner typed just before, where the words of this turn point back at it. A file that it has called is one that
    /// these words may mean; it endorses nothing else.
    pub before: Words,
    /// What someone else typed: it endorses nothing, but an address that he has typed himself carries nothing of the owner's.
    pub heard: Words,
    /// A person waits for the answer: no hook, timer or schedule.
    pub attended: bool,
    /// A question that is answered by itself: what changes anything is denied, and nobody is asked.
    pub reads_only: bool,
    /// The calls that may change something in such a turn all the same, each once: by [`metnos_proto::msg::schedule::frozen_call`].
    pub frozen: HashSet<Blake3>,
    /// What was foreseen.
    pub intent: Intent,
    /// Endorsements other than the owner's words that were used up, by what they endorsed.
    pub used: HashSet<Blake3>,
    /// Something private was read without being asked for.
    pub pried: bool,
    /// The last act was an effect that was allowed or approved, and nothing came after it.
    pub confirmable: bool,
    /// Questions of this turn so far.
    pub questions: u32,
}

impl Context {
    /// A context in which nothing was said or read.
    #[must_use]
    pub fn new(who: Who) -> Self {
        Self {
            who,
            label: Label::CLEAN,
            words: Words::default(),
            before: Words::default(),
            heard: Words::default(),
            attended: true,
            reads_only: false,
            frozen: HashSet::new(),
            intent: Intent::default(),
            used: HashSet::new(),
            pried: false,
            confirmable: false,
            questions: 0,
        }
    }

    /// Words came in. The owner's are a prompt; anybody else's are data, and read.
    pub fn said(&mut self, words: &str, registered: bool, lang: Lang) {
        self.questions = 0;
        match self.who {
            Who::Owner | Who::Adult if registered => self.words.add(words, lang),
            Who::Guest if registered => {
                self.heard = Words::default();
                self.heard.add(words, lang);
                self.read(Label { integrity: Integrity::Untrusted, readers: Readers::Public }, true);
            }
            Who::Owner | Who::Adult | Who::Guest | Who::Unpaired => {
                self.read(Label { integrity: Integrity::Untrusted, readers: Readers::Public }, true)
            }
        }
    }

    /// These words of a turn follow others of the same person, which they may point back at.
    pub fn follows(&mut self, before: &str, words: &str, lang: Lang) {
        if self.who.is_of_household() && pointing::points_back(words) {
            self.before.add(before, lang);
        }
    }

    /// These words of a turn agree to what was offered for the last ones of the same person: that counts as if it were said.
    pub fn agrees_to(&mut self, offered: &str, lang: Lang) {
        if self.who.is_of_household() {
            self.words.add(offered, lang);
        }
    }

    /// Whether the owner has called this file by its name, in these words or in those that they point back at.
    #[must_use]
    pub fn calls_file(&self, path: &str) -> bool {
        self.words.call_file(path) || self.before.name_file(path) || self.before.call_file(path)
    }

    /// The words of the caller.
    #[must_use]
    pub const fn own_words(&self) -> &Words {
        match self.who {
            Who::Owner | Who::Adult => &self.words,
            Who::Guest | Who::Unpaired => &self.heard,
        }
    }

    /// Whether all of the workspace exists for the caller; for everybody else only what guests may read does.
    #[must_use]
    pub const fn reads_everything(&self) -> bool {
        self.who.is_of_household()
    }

    /// Whether nothing untrusted was read.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.label.integrity != Integrity::Untrusted
    }

    /// Something was read: the label rises for good. `asked` says whether the intent had foreseen it.
    pub fn read(&mut self, label: Label, asked: bool) {
        self.label = self.label.join(label);
        self.pried |= !asked && label.readers != Readers::Public;
    }
}

/// What was written while something untrusted was read keeps that, by digest, until the owner says
/// otherwise.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    labels: HashMap<Blake3, Integrity>,
}

/// The most digests kept.
pub const MAX_STORED: usize = 100_000;

impl Stored {
    /// Remembers that these bytes were written in such a context. Full: nothing is forgotten, and what
    /// finds no room counts as untrusted wherever a label is asked for, see [`Stored::label`].
    pub fn wrote(&mut self, digest: Blake3, integrity: Integrity) {
        if self.labels.len() < MAX_STORED || self.labels.contains_key(&digest) {
            let known = self.labels.entry(digest).or_insert(integrity);
            *known = (*known).max(integrity);
        }
    }

    /// The label of these bytes, if they were written here.
    #[must_use]
    pub fn label(&self, digest: &Blake3) -> Option<Integrity> {
        self.labels.get(digest).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guests_words_are_data_and_an_owners_are_a_prompt() {
        let mut guest = Context::new(Who::Guest);
        guest.said("give me x", true, Lang::En);
        assert!(!guest.is_clean() && !guest.words.mention("x"));
        let mut owner = Context::new(Who::Owner);
        owner.said("give me x", true, Lang::En);
        assert!(owner.is_clean() && owner.words.mention("x"));
        owner.said("forwarded y", false, Lang::En);
        assert!(!owner.is_clean() && !owner.words.mention("y"));
    }

    #[test]
    fn words_before_name_a_file_only_for_words_that_point_back() {
        let says = |who: Who, words: &str| {
            let mut context = Context::new(who);
            context.said(words, true, Lang::En);
            context.follows("what is on the shopping list?", words, Lang::En);
            context
        };
        assert!(says(Who::Owner, "add rice to it").calls_file("notes/shopping.md"));
        assert!(!says(Who::Owner, "add rice to it").calls_file("notes/diary.md"));
        assert!(!says(Who::Owner, "good morning").calls_file("notes/shopping.md"));
        assert!(!says(Who::Guest, "add rice to it").calls_file("notes/shopping.md"));
        let agrees = |who: Who| {
            let mut context = Context::new(who);
            context.said("yes", true, Lang::En);
            context.agrees_to("add rice to the shopping list", Lang::En);
            context
        };
        assert!(agrees(Who::Owner).calls_file("notes/shopping.md"));
        assert!(!agrees(Who::Owner).calls_file("notes/diary.md"));
        assert!(!agrees(Who::Guest).calls_file("notes/shopping.md"));
        assert!(agrees(Who::Owner).own_words().mention("rice") && !agrees(Who::Guest).own_words().mention("rice"));
    }

    #[test]
    fn labels_only_ever_rise_and_prying_is_remembered() {
        let mut context = Context::new(Who::Owner);
        let private = Label { integrity: Integrity::Vouched, readers: Readers::Private };
        context.read(private, true);
        assert!(context.is_clean() && !context.pried);
        context.read(Label { integrity: Integrity::Untrusted, readers: Readers::Public }, false);
        context.read(Label::CLEAN, true);
        assert!(!context.is_clean() && !context.pried);
        context.read(private, false);
        assert!(context.pried);
    }

    #[test]
    fn label_of_written_content_never_improves() {
        let mut stored = Stored::default();
        let digest = Blake3::of(b"x");
        stored.wrote(digest, Integrity::Untrusted);
        stored.wrote(digest, Integrity::Trusted);
        assert_eq!(stored.label(&digest), Some(Integrity::Untrusted));
        assert_eq!(stored.label(&Blake3::of(b"y")), None);
    }
}
