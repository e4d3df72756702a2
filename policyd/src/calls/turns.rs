//! The open turns: what was really said, where the context stands, which calls were made and
//! which results are kept. A label here is only ever raised; a number is only ever used once.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use metnos_policy::evidence::context::{Context, Who, World};
use metnos_policy::evidence::results::Output;
use metnos_policy::text::pointing::points_back;
use metnos_policy::text::words::Words;
use metnos_proto::edge::{ServeError, Word};
use metnos_proto::edges::planner_policyd::Ask;
use metnos_proto::ids::{CallId, HandleId, TraceId, TurnId};
use metnos_proto::msg::common::{CallRef, Integrity, Label, Readers, Refusal, RefusalCode, Standing};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::{TurnPhase, Violation};

use crate::calls::carried::Firing;
use crate::people::principal::Principal;
use crate::shares::{TURNS, Taken};

/// The most open turns.
pub const MAX_TURNS: usize = TURNS.all;
/// How long a turn may lie untouched before another may take its place, in milliseconds.
pub const IDLE_MS: u64 = 600_000;

/// How long ago words may have been said that others point back at, in milliseconds.
pub const POINTS_BACK_MS: u64 = 600_000;
/// The longest words that are kept for that, in bytes.
const MAX_LAST_WORDS: usize = 2_048;
/// How many principals' words are.
const MAX_SPEAKERS: usize = 64;

/// The words by which people ask for something to be taken back, in both languages. "Annulla" alone is no such word: it also
/// cancels an appointment.
const UNDO_WORDS: [&str; 22] = [
    "undo",
    "revert",
    "take it back",
    "take that back",
    "take this back",
    "take back what",
    "take back the last",
    "annulla l'ultima",
    "annulla l'ultimo",
    "annulla quello",
    "annulla ciò",
    "annulla la modifica",
    "annulla le modifiche",
    "annullare l'ultima",
    "annullare l'ultimo",
    "annullare quello",
    "annullare la modifica",
    "annullalo",
    "annullala",
    "disfa",
    "torna indietro",
    "tornare indietro",
];

/// A result that is kept for its turn.
#[derive(Debug)]
pub struct StoredResult {
    /// The call it came from.
    pub call: CallId,
    /// The bytes, which nobody here reads.
    pub result: Rc<Sealed>,
    /// Where they came from.
    pub labels: Output,
    /// The intent had foreseen the call.
    pub foreseen: bool,
}

/// One turn.
#[derive(Debug)]
pub struct Turn {
    /// Ties its records together.
    pub trace: TraceId,
    /// Who spoke.
    pub principal: Principal,
    /// What holds for every decision of this turn.
    pub world: Rc<World>,
    /// What was said, foreseen and read in it.
    pub flow: Context,
    /// Calls made, whatever became of them.
    pub calls: u32,
    /// Calls running.
    pub running: usize,
    /// It has put too many questions: nothing more is done in it.
    pub stopped: bool,
    /// Its planner has asked for the last change to be taken back.
    pub undone: bool,
    /// How many schedules it has made or changed.
    pub scheduled: u32,
    /// Whether a change of what is planned was admitted in it.
    pub changed: bool,
    /// What the same person said just before: a reminder may be asked for in two turns.
    pub earlier: Words,
    /// The file that the call of a direct turn has given.
    pub file: Option<Sealed>,
    /// The due time that has opened it.
    pub firing: Option<Firing>,
    phase: TurnPhase,
    results: BTreeMap<CallRef, HandleId>,
    handles: HashMap<HandleId, StoredResult>,
    /// The join of the labels of all results that were released: what the caller's words mean is not in it.
    released: Label,
    link: Option<u32>,
    touched_ms: u64,
}

impl Turn {
    /// A turn on these words, clean.
    #[must_use]
    pub fn new(trace: TraceId, principal: Principal, world: Rc<World>, words: &str, now_ms: u64) -> Self {
        let mut flow = Context::new(principal.standing.into());
        flow.said(words, true, world.lang);
        Self {
            trace,
            principal,
            world,
            flow,
            calls: 0,
            running: 0,
            stopped: false,
            undone: false,
            scheduled: 0,
            changed: false,
            earlier: Words::default(),
            file: None,
            firing: None,
            phase: TurnPhase::Registered,
            results: BTreeMap::new(),
            handles: HashMap::new(),
            released: Label::CLEAN,
            link: None,
            touched_ms: now_ms,
        }
    }

    /// Counts the owner's own call, which is the only one of this turn: no planner says anything about it.
    pub const fn begin_direct(&mut self) {
        self.phase = TurnPhase::Direct;
        self.count_call();
    }

    /// Counts a call.
    pub const fn count_call(&mut self) {
        self.calls = self.calls.saturating_add(1);
    }

    /// Keeps a result and names it.
    pub fn keep(&mut self, place: CallRef, kept: StoredResult) -> HandleId {
        let handle = HandleId::new();
        self.results.insert(place, handle);
        self.handles.insert(handle, kept);
        handle
    }

    /// Keeps the result of an act that a person approved, under the name that it has: it can be released, and passed on
    /// by no number.
    pub fn adopt(&mut self, handle: HandleId, kept: StoredResult) {
        self.handles.insert(handle, kept);
    }

    /// Gives a result away.
    pub fn give(&mut self, handle: HandleId) -> Option<StoredResult> {
        self.results.retain(|_, known| *known != handle);
        self.handles.remove(&handle)
    }

    /// Whether a result of this name is here.
    #[must_use]
    pub fn has(&self, handle: HandleId) -> bool {
        self.handles.contains_key(&handle)
    }

    /// A turn that goes on although what was known of it is gone: nobody knows what was read in it, so everything was,
    /// and no words endorse anything.
    #[must_use]
    pub fn anew(trace: TraceId, principal: Principal, world: Rc<World>, now_ms: u64) -> Self {
        let mut turn = Self::new(trace, principal, world, "", now_ms);
        let everything = Label { integrity: Integrity::Untrusted, readers: Readers::Secret };
        turn.flow.read(everything, false);
        turn.released = everything;
        // What was done before stays done: no intent is taken any more.
        turn.phase = TurnPhase::Acting(CallRef(0));
        turn
    }

    /// The result that the call at `place` has left.
    #[must_use]
    pub fn result_of(&self, place: CallRef) -> Option<&StoredResult> {
        self.handles.get(self.results.get(&place)?)
    }

    /// The calls whose results are kept, with what is known of where those came from.
    #[must_use]
    pub fn results(&self) -> BTreeMap<CallRef, &Output> {
        let known = |(place, handle): (&CallRef, &HandleId)| Some((*place, &self.handles.get(handle)?.labels));
        self.results.iter().filter_map(known).collect()
    }

    /// How many results it has kept.
    #[must_use]
    pub fn handles(&self) -> usize {
        self.handles.len()
    }

    /// How many bytes they have, with the file that a call has given.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let file = self.file.as_ref().map_or(0, Sealed::len);
        self.handles.values().map(|kept| kept.result.len()).sum::<usize>().saturating_add(file)
    }

    /// The calls that have left these results.
    pub fn kept(&self) -> impl Iterator<Item = &StoredResult> {
        self.handles.values()
    }

    /// The bytes behind a handle, for a look at whether they may be given at all: nothing is given.
    #[must_use]
    pub fn behind(&self, handle: HandleId) -> Option<Rc<Sealed>> {
        self.handles.get(&handle).map(|kept| Rc::clone(&kept.result))
    }

    /// Whether a result holds a secret.
    #[must_use]
    pub fn is_secret(&self, handle: HandleId) -> bool {
        self.handles.get(&handle).is_some_and(|kept| kept.labels.whole.readers == Readers::Secret)
    }

    /// Raises the context by what reading this result means, and only then gives the bytes.
    #[must_use]
    pub fn release(&mut self, handle: HandleId) -> Option<Rc<Sealed>> {
        let kept = self.handles.get(&handle)?;
        self.flow.read(kept.labels.whole, kept.foreseen);
        self.released = self.released.join(kept.labels.whole);
        Some(Rc::clone(&kept.result))
    }

    /// The planner asks for the principal's last change to be taken back. It has no more power in this than the person: his
    /// registered words must ask for it. It counts once, whatever becomes of it.
    ///
    /// # Errors
    /// The refusal when the words do not ask for it, it was asked before, a call was made, or something was read.
    pub fn begin_undo(&mut self) -> Result<(), Refusal> {
        let no = |rule: &str, why: &str| {
            Err(Refusal::new(RefusalCode::Denied, rule, why).remedy("say \"undo\", and nothing else"))
        };
        if self.undone {
            return no("undo.again", "the last change was to be taken back in this turn already");
        }
        if self.calls > 0 {
            return no("undo.late", "calls were made in this turn, so the last change is not the one that was meant");
        }
        if !self.flow.attended || !self.is_clean_talk() {
            return no("undo.read", "something other than the person's own words was read in this turn");
        }
        if !UNDO_WORDS.iter().any(|word| self.flow.own_words().mention(word)) {
            return no("undo.words", "the person's words do not ask for something to be taken back");
        }
        self.undone = true;
        Ok(())
    }

    /// Whether nothing was read in this turn but words that its caller has said himself and what anybody may see. Only then
    /// may its answer stand in the clean part of a later turn. A webhook's data are no caller's words.
    #[must_use]
    pub fn is_clean_talk(&self) -> bool {
        let words_alone = match self.flow.who {
            Who::Owner | Who::Adult => self.flow.label == Label::CLEAN,
            // A guest's own words are untrusted in each of his turns.
            Who::Guest => self.flow.attended && self.flow.label.readers == Readers::Public,
            Who::Unpaired => false,
        };
        words_alone && self.released == Label::CLEAN
    }
}

/// All open turns.
#[derive(Debug, Default)]
pub struct Turns {
    open: HashMap<TurnId, Turn>,
    said: LastWords,
}

/// What each principal said last, for words that point back at it.
#[derive(Debug, Default)]
struct LastWords(HashMap<String, (String, u64)>);

impl LastWords {
    /// The words that he said last, if that was not long ago; and these in their place.
    fn exchange(&mut self, principal: &str, words: &str, now_ms: u64) -> Option<String> {
        let recent = |said_ms: u64| now_ms.saturating_sub(said_ms) <= POINTS_BACK_MS;
        self.0.retain(|_, (_, said_ms)| recent(*said_ms));
        let before = self.0.remove(principal).map(|(words, _)| words);
        // "Add rice to it", "and tea": what the first one has named, the second means as well.
        let kept = match &before {
            Some(before) if points_back(words) => format!("{before}\n{words}"),
            Some(_) | None => words.to_owned(),
        };
        if kept.len() <= MAX_LAST_WORDS && self.0.len() < MAX_SPEAKERS {
            self.0.insert(principal.to_owned(), (kept, now_ms));
        }
        before
    }
}

impl Turns {
    /// Opens a turn. When there are too many, the one that has lain idle longest makes room: to the owner anybody's, to
    /// everybody else one of his own.
    ///
    /// # Errors
    /// `Busy` when none is idle.
    pub fn open(&mut self, id: TurnId, turn: Turn, now_ms: u64) -> Result<Option<TurnId>, Refusal> {
        let mut evicted = None;
        let (name, standing) = (&turn.principal.name, turn.principal.standing);
        let taken = self.taken(name, |_| 1);
        if TURNS.full(standing, taken).is_some() {
            let idle = |turn: &&Turn| {
                turn.running == 0
                    && now_ms.saturating_sub(turn.touched_ms) >= IDLE_MS
                    && (standing == Standing::Owner || turn.principal.name == *name)
            };
            let oldest = self.open.iter().filter(|(_, turn)| idle(turn)).min_by_key(|(_, turn)| turn.touched_ms);
            let Some(oldest) = oldest.map(|(id, _)| *id) else {
                let why =
                    format!("{} turns are open, which is the limit", TURNS.full(standing, taken).unwrap_or(TURNS.all));
                return Err(
                    Refusal::new(RefusalCode::Busy, "quota.turns", why).remedy("wait until one of them has ended")
                );
            };
            self.open.remove(&oldest);
            evicted = Some(oldest);
        }
        self.open.insert(id, turn);
        Ok(evicted)
    }

    /// The words that this principal said last, if that was not long ago; from now on these are.
    pub fn exchange_words(&mut self, principal: &str, words: &str, now_ms: u64) -> Option<String> {
        self.said.exchange(principal, words, now_ms)
    }

    /// The words that this principal said last are not kept any longer.
    pub fn forget_words(&mut self, principal: &str) {
        self.said.0.remove(principal);
    }

    /// The turn, if it is open.
    #[must_use]
    pub fn get(&self, id: TurnId) -> Option<&Turn> {
        self.open.get(&id)
    }

    /// The turn, if it is open, to change it.
    pub fn get_mut(&mut self, id: TurnId) -> Option<&mut Turn> {
        self.open.get_mut(&id)
    }

    /// In which phase the turn is for the planner of this link, which says `ask` about it.
    ///
    /// # Errors
    /// The refusal when the turn is not open, or the violation when it is another link's.
    pub fn phase_of(&self, id: TurnId, ask: &Ask, link: u32) -> Result<TurnPhase, ServeError> {
        let turn = self.open.get(&id).ok_or_else(|| unknown(id))?;
        if turn.link.is_some_and(|before| before != link) {
            let state = "over another channel than the turn's first word";
            return Err(Violation { word: ask.name(), state }.into());
        }
        Ok(turn.phase)
    }

    /// The planner of this link has said an admissible word about the turn. A turn that the word ends stays what it was
    /// until it is ended.
    pub fn enter(&mut self, id: TurnId, link: u32, now_ms: u64, next: Option<TurnPhase>) {
        if let Some(turn) = self.open.get_mut(&id) {
            turn.phase = next.unwrap_or(turn.phase);
            turn.link = Some(link);
            turn.touched_ms = now_ms;
        }
    }

    /// The turn, to change it.
    ///
    /// # Errors
    /// The refusal when it is not open.
    pub fn known(&mut self, id: TurnId) -> Result<&mut Turn, Refusal> {
        self.open.get_mut(&id).ok_or_else(|| unknown(id))
    }

    /// Ends a turn; its handles and its context are gone.
    pub fn end(&mut self, id: TurnId) -> Option<Turn> {
        self.open.remove(&id)
    }

    /// Ends every turn that the planner of this link has touched, and names them.
    pub fn end_of_link(&mut self, link: u32) -> Vec<TurnId> {
        let ended: Vec<TurnId> =
            self.open.iter().filter(|(_, turn)| turn.link == Some(link)).map(|(id, _)| *id).collect();
        for id in &ended {
            self.open.remove(id);
        }
        ended
    }

    /// Ends every turn of this principal, and names them.
    pub fn end_of_principal(&mut self, name: &str) -> Vec<TurnId> {
        let ended: Vec<TurnId> =
            self.open.iter().filter(|(_, turn)| turn.principal.name == name).map(|(id, _)| *id).collect();
        for id in &ended {
            self.open.remove(id);
        }
        ended
    }

    /// Every open turn.
    pub fn each(&self) -> impl Iterator<Item = (TurnId, &Turn)> {
        self.open.iter().map(|(id, turn)| (*id, turn))
    }

    /// How many are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How much of something is taken, when `of` says how much of it a turn has.
    #[must_use]
    pub fn taken(&self, name: &str, of: impl Fn(&Turn) -> usize) -> Taken {
        let all = self
            .open
            .values()
            .map(|turn| (turn.principal.name.as_str(), turn.principal.standing == Standing::Owner, of(turn)));
        Taken::of(name, all)
    }
}

/// What is said about a turn that is not open.
#[must_use]
pub fn unknown(id: TurnId) -> Refusal {
    Refusal::new(RefusalCode::Unknown, "turn.unknown", format!("there is no open turn {id}"))
        .remedy("it has ended, or policyd was started anew in the middle: ask again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::principal::identify;
    use crate::testing::world;
    use metnos_proto::msg::common::Channel;
    use metnos_proto::msg::policyd::{Act, EndTurn, Intent, Release};
    use metnos_proto::phase::Machine;
    use proptest::prelude::*;

    fn turn(now_ms: u64) -> Turn {
        Turn::new(TraceId::new(), identify(Channel::Cli, "uid:0", 0).unwrap(), world(), "read a", now_ms)
    }

    fn kept(integrity: Integrity) -> StoredResult {
        let mut labels = Output::failed(Readers::Public);
        labels.whole.integrity = integrity;
        StoredResult { call: CallId::new(), result: Rc::new(Sealed::new(b"{}").unwrap()), labels, foreseen: true }
    }

    /// What the dispatcher does with a word of the planner of `link`.
    fn admit(turns: &mut Turns, ask: &Ask, link: u32) -> Result<(), ServeError> {
        let id = TurnPhase::subject(ask);
        let next = turns.phase_of(id, ask, link)?.admit(ask)?;
        turns.enter(id, link, 0, next);
        Ok(())
    }

    fn act(id: TurnId) -> Ask {
        Ask::Act(Act { turn: id, call: CallRef(1), executor: "e".into() })
    }

    #[test]
    fn the_limit_of_open_turns_holds_and_idle_ones_make_room() {
        let mut turns = Turns::default();
        let ids: Vec<TurnId> = (0..MAX_TURNS).map(|_| TurnId::new()).collect();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(turns.open(*id, turn(n as u64), n as u64).unwrap(), None);
        }
        assert!(turns.open(TurnId::new(), turn(0), IDLE_MS - 1).is_err());
        turns.get_mut(ids[0]).unwrap().running = 1;
        assert!(turns.open(TurnId::new(), turn(0), IDLE_MS).is_err(), "what runs is not idle");
        assert_eq!(turns.open(TurnId::new(), turn(IDLE_MS), IDLE_MS + 1).unwrap(), Some(ids[1]));
        assert_eq!(turns.len(), MAX_TURNS);
    }

    #[test]
    fn a_guest_who_opens_turns_without_end_is_refused_and_the_owner_is_not() {
        let guests = |name: &str, now| {
            let mut turn = turn(now);
            (turn.principal.name, turn.principal.standing) = (name.to_owned(), Standing::Guest);
            turn
        };
        let mut turns = Turns::default();
        let opened = |turns: &mut Turns, name: &str| {
            (0..MAX_TURNS).filter(|_| turns.open(TurnId::new(), guests(name, 0), 0).is_ok()).count()
        };
        assert_eq!(opened(&mut turns, "http:a"), TURNS.one);
        assert!(turns.open(TurnId::new(), guests("http:b", 0), 0).is_ok(), "another guest has his own");
        let others: usize = (0..8).map(|n| opened(&mut turns, &format!("http:{n}"))).sum();
        assert_eq!(TURNS.one + 1 + others, TURNS.others);
        for _ in 0..MAX_TURNS - TURNS.others {
            assert!(turns.open(TurnId::new(), turn(0), 0).is_ok(), "the owner is served");
        }
        // Of what lies idle a guest gets his own place only.
        assert!(turns.open(TurnId::new(), guests("http:new", 0), IDLE_MS).is_err());
        assert!(turns.open(TurnId::new(), guests("http:a", 0), IDLE_MS).unwrap().is_some());
    }

    #[test]
    fn call_number_is_good_once_and_only_ascending() {
        let mut turns = Turns::default();
        let id = TurnId::new();
        turns.open(id, turn(0), 0).unwrap();
        let act = |number| Ask::Act(Act { turn: id, call: CallRef(number), executor: "e".into() });
        for (number, good) in [(0, false), (2, true), (2, false), (1, false), (3, true)] {
            assert_eq!(admit(&mut turns, &act(number), 1).is_ok(), good, "{number}");
        }
        let turn = turns.known(id).unwrap();
        turn.count_call();
        assert_eq!(turn.calls, 1);
    }

    #[test]
    fn direct_turn_takes_no_word_of_a_planner() {
        let mut turns = Turns::default();
        let id = TurnId::new();
        let mut direct = turn(0);
        direct.begin_direct();
        assert_eq!(direct.calls, 1);
        turns.open(id, direct, 0).unwrap();
        for word in [act(id), Ask::EndTurn(EndTurn { turn: id })] {
            assert!(matches!(admit(&mut turns, &word, 1), Err(ServeError::Violation(_))), "{word:?}");
        }
    }

    #[test]
    fn reading_raises_the_context_for_good() {
        let mut turn = turn(0);
        let untrusted = turn.keep(CallRef(1), kept(Integrity::Untrusted));
        let vouched = turn.keep(CallRef(2), kept(Integrity::Vouched));
        assert_eq!(turn.flow.label, Label::CLEAN, "keeping is not reading");
        assert!(turn.release(vouched).is_some());
        assert_eq!(turn.flow.label.integrity, Integrity::Vouched);
        assert!(turn.release(untrusted).is_some());
        assert!(turn.release(vouched).is_some());
        assert_eq!(turn.flow.label.integrity, Integrity::Untrusted);
        assert!(turn.release(HandleId::new()).is_none());
    }

    #[test]
    fn talk_is_clean_until_something_of_lower_trust_is_released() {
        let mut turn = turn(0);
        let vouched = turn.keep(CallRef(1), kept(Integrity::Vouched));
        assert!(turn.is_clean_talk(), "keeping is not reading");
        let _ = turn.release(vouched);
        assert!(!turn.is_clean_talk());
        let principal = identify(Channel::Cli, "uid:0", 0).unwrap();
        assert!(!Turn::anew(TraceId::new(), principal, world(), 0).is_clean_talk());
    }

    #[test]
    fn guests_talk_is_clean_on_own_words_and_never_after_a_page() {
        let mut principal = identify(Channel::Http, "somebody", 0).unwrap();
        principal.standing = Standing::Guest;
        let guest = || Turn::new(TraceId::new(), principal.clone(), world(), "hello", 0);
        assert!(guest().is_clean_talk());
        let mut reads = guest();
        // A page is worth no less than a guest's own words: the label does not show that it was read.
        let page = reads.keep(CallRef(1), kept(Integrity::Untrusted));
        let before = reads.flow.label;
        let _ = reads.release(page);
        assert!(reads.flow.label == before && !reads.is_clean_talk());
        let mut webhook = guest();
        webhook.flow.attended = false;
        assert!(!webhook.is_clean_talk(), "what it has brought is nobody's word");
    }

    #[test]
    fn last_change_is_taken_back_only_on_the_persons_own_word_and_once() {
        let said =
            |words: &str| Turn::new(TraceId::new(), identify(Channel::Cli, "uid:0", 0).unwrap(), world(), words, 0);
        let rule = |turn: &mut Turn| turn.begin_undo().map_err(|no| no.rule);
        for words in ["undo what you did with the list", "Puoi annullare l'ultima modifica?", "please take that back"] {
            let mut turn = said(words);
            assert_eq!(rule(&mut turn), Ok(()), "{words}");
            assert_eq!(rule(&mut turn), Err("undo.again".into()));
        }
        // A hijacked planner in a clean turn.
        for words in ["read notes/a.md", "what is undone today", "good morning", "annulla l'appuntamento di domani"] {
            assert_eq!(rule(&mut said(words)), Err("undo.words".into()), "{words}");
        }
        let mut late = said("undo it");
        late.count_call();
        assert_eq!(rule(&mut late), Err("undo.late".into()));
        let mut read = said("undo it");
        let page = read.keep(CallRef(1), kept(Integrity::Untrusted));
        let _ = read.release(page);
        assert_eq!(rule(&mut read), Err("undo.read".into()));
        let mut timer = said("undo it");
        timer.flow.attended = false;
        assert_eq!(rule(&mut timer), Err("undo.read".into()));
    }

    #[test]
    fn last_words_are_of_one_principal_recent_and_bounded() {
        let mut turns = Turns::default();
        assert_eq!(turns.exchange_words("a", "one", 0), None);
        assert_eq!(turns.exchange_words("b", "other", 1), None);
        assert_eq!(turns.exchange_words("a", "two", 2).as_deref(), Some("one"));
        assert_eq!(turns.exchange_words("c", "the shopping list", 2), None);
        assert_eq!(turns.exchange_words("c", "add rice to it", 2).as_deref(), Some("the shopping list"));
        let chained = turns.exchange_words("c", "good night", 2);
        assert_eq!(chained.as_deref(), Some("the shopping list\nadd rice to it"));
        assert_eq!(turns.exchange_words("c", "and that", 2).as_deref(), Some("good night"));
        assert_eq!(turns.exchange_words("a", "three", 3 + POINTS_BACK_MS), None, "that was long ago");
        assert_eq!(
            turns.exchange_words("a", &"x".repeat(MAX_LAST_WORDS + 1), 4 + POINTS_BACK_MS).as_deref(),
            Some("three")
        );
        assert_eq!(turns.exchange_words("a", "four", 5 + POINTS_BACK_MS), None, "too long to be kept");
        for n in 0..2 * MAX_SPEAKERS {
            turns.exchange_words(&n.to_string(), "hello", 6 + POINTS_BACK_MS);
        }
        assert!(turns.said.0.len() <= MAX_SPEAKERS);
    }

    #[test]
    fn a_turn_opened_anew_has_read_everything_and_takes_no_intent() {
        let mut turns = Turns::default();
        let id = TurnId::new();
        let principal = identify(Channel::Cli, "uid:0", 0).unwrap();
        let anew = Turn::anew(TraceId::new(), principal, world(), 0);
        assert_eq!(anew.flow.label, Label { integrity: Integrity::Untrusted, readers: Readers::Secret });
        assert!(!anew.flow.is_clean() && !anew.flow.words.mention("read"));
        turns.open(id, anew, 0).unwrap();
        let intent = Ask::Intent(Intent { turn: id, slots: Vec::new() });
        assert!(admit(&mut turns, &intent, 1).is_err());
        assert!(admit(&mut turns, &act(id), 1).is_ok());
    }

    #[test]
    fn result_given_to_another_turn_leaves_the_first() {
        let (mut from, mut to) = (turn(0), turn(0));
        let handle = from.keep(CallRef(1), kept(Integrity::Untrusted));
        let given = from.give(handle).unwrap();
        to.adopt(handle, given);
        assert!(!from.has(handle) && from.result_of(CallRef(1)).is_none() && from.release(handle).is_none());
        assert!(to.has(handle) && to.result_of(CallRef(1)).is_none());
        assert!(to.release(handle).is_some());
        assert_eq!(to.flow.label.integrity, Integrity::Untrusted, "reading it raises the context");
    }

    #[test]
    fn a_turn_belongs_to_the_link_that_spoke_of_it_first() {
        let mut turns = Turns::default();
        let (mine, untouched) = (TurnId::new(), TurnId::new());
        turns.open(mine, turn(0), 0).unwrap();
        turns.open(untouched, turn(0), 0).unwrap();
        assert!(admit(&mut turns, &act(mine), 1).is_ok());
        assert!(matches!(admit(&mut turns, &act(mine), 2), Err(ServeError::Violation(_))));
        assert_eq!(turns.end_of_link(1), [mine]);
        assert!(matches!(admit(&mut turns, &act(mine), 1), Err(ServeError::Refused(_))));
        assert_eq!(turns.len(), 1, "the words wait for the planner that comes back");
    }

    #[test]
    fn words_out_of_phase_are_violations() {
        let mut turns = Turns::default();
        let id = TurnId::new();
        turns.open(id, turn(0), 0).unwrap();
        let intent = Ask::Intent(Intent { turn: id, slots: Vec::new() });
        let release = Ask::Release(Release { turn: id, handle: HandleId::new() });
        assert!(admit(&mut turns, &release, 1).is_err());
        assert!(admit(&mut turns, &intent, 1).is_ok());
        assert!(admit(&mut turns, &intent, 1).is_err());
        assert!(admit(&mut turns, &act(id), 1).is_ok());
        assert!(admit(&mut turns, &intent, 1).is_err());
        assert!(admit(&mut turns, &Ask::EndTurn(EndTurn { turn: id }), 1).is_ok());
    }

    proptest! {
        #[test]
        fn labels_only_ever_rise(order in proptest::collection::vec(0usize..3, 0..20)) {
            let mut turn = turn(0);
            let handles: Vec<HandleId> = [Integrity::Trusted, Integrity::Vouched, Integrity::Untrusted]
                .into_iter()
                .zip(1..)
                .map(|(integrity, place)| turn.keep(CallRef(place), kept(integrity)))
                .collect();
            for index in order {
                let before = turn.flow.label;
                let _ = turn.release(handles[index]);
                prop_assert_eq!(turn.flow.label.join(before), turn.flow.label);
            }
        }
    }
}
