//! What came of the calls of each turn, so that later calls of the same turn can take parts of it
//! by reference. A result is sealed memory from the moment it exists; it is never visible to
//! another turn, and is dropped with its own.

use std::collections::BTreeMap;

use metnos_proto::ids::{CallId, TurnId};
use metnos_proto::json::{self, JsonError, Limits};
use metnos_proto::msg::common::{CallRef, InputRef, Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::{MAX_REFERENCES, Reference};
use metnos_proto::payload::{MAX_PAYLOAD, Sealed};
use serde_json::Value;

/// The most turns of which results are kept; the one that was idle for longest makes room.
pub const MAX_TURNS: usize = 128;
/// The most calls of one turn. policyd refuses sooner.
pub const MAX_CALLS: usize = 80;
/// The most results kept in all: each holds a descriptor.
pub const MAX_KEPT: usize = 1024;
/// The most bytes kept in all.
pub const MAX_KEPT_BYTES: usize = 64 << 20;
/// The most bytes of arguments once their references are resolved.
pub const MAX_RESOLVED_BYTES: usize = MAX_PAYLOAD;
/// The most bytes that the pointers of one call's references may have together, so that its record fits a frame.
pub const MAX_POINTERS_BYTES: usize = 16 << 10;

/// Why results cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultError {
    /// The arguments are no document.
    #[error("the arguments: {0}")]
    Arguments(#[from] JsonError),
    /// There is no such result.
    #[error("{0} has no result in this turn that could be referred to")]
    NoResult(CallRef),
    /// There is nothing at that place of the result.
    #[error("the result of {call} has nothing at `{pointer}`")]
    Nothing {
        /// Whose result.
        call: CallRef,
        /// Where.
        pointer: String,
    },
    /// It would become too large.
    #[error("the arguments would have more than {max} bytes with their references resolved")]
    TooLarge {
        /// The limit.
        max: usize,
    },
    /// The references themselves are too long.
    #[error("the references of one call may have {MAX_POINTERS_BYTES} bytes of pointers in all")]
    LongPointers,
    /// More references than one ask may have.
    #[error("{0} references; at most {MAX_REFERENCES} are resolved at once")]
    TooMany(usize),
    /// The turn is full.
    #[error("this turn has made {MAX_CALLS} calls, which is the limit of one turn")]
    ManyCalls,
    /// That place in the turn is taken.
    #[error("{0} was called before in this turn")]
    Twice(CallRef),
    /// There is no room for another turn.
    #[error("{MAX_TURNS} turns are running, which is the limit")]
    ManyTurns,
    /// Sealed memory could not be read.
    #[error("a kept result cannot be read: {0}")]
    Unreadable(String),
}

impl ResultError {
    /// The same, for policyd and for a person.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let (code, rule) = match self {
            Self::Arguments(_) => (RefusalCode::Invalid, "arguments.json"),
            Self::NoResult(_) | Self::Nothing { .. } => (RefusalCode::Unknown, "reference.unknown"),
            Self::TooLarge { .. } | Self::LongPointers | Self::TooMany(_) => (RefusalCode::Invalid, "reference.size"),
            Self::ManyCalls | Self::ManyTurns => (RefusalCode::Busy, "quota.results"),
            Self::Twice(_) => (RefusalCode::Invalid, "call.twice"),
            Self::Unreadable(_) => (RefusalCode::Internal, "reference.read"),
        };
        Refusal::new(code, rule, self.to_string())
    }
}

#[derive(Debug)]
struct StoredResult {
    call: CallId,
    sealed: Sealed,
}

#[derive(Debug, Default)]
struct Turn {
    /// `None` while the call runs, or when its result was not kept.
    calls: BTreeMap<CallRef, Option<StoredResult>>,
    running: usize,
    used: u64,
}

impl Turn {
    fn bytes(&self) -> usize {
        self.calls.values().flatten().map(|kept| kept.sealed.len()).sum()
    }

    fn kept(&self) -> usize {
        self.calls.values().flatten().count()
    }
}

/// See the head of this file.
#[derive(Debug, Default)]
pub struct Results {
    turns: BTreeMap<TurnId, Turn>,
    /// Counts uses: the order of turns, not the time.
    uses: u64,
}

/// Arguments as the executor gets them.
#[derive(Debug, PartialEq)]
pub struct Resolved {
    /// With every reference replaced by its value.
    pub arguments: Value,
    /// The same as canonical bytes.
    pub bytes: Vec<u8>,
    /// What was taken from where.
    pub inputs: Vec<InputRef>,
}

impl Results {
    fn touch(&mut self, turn: TurnId) -> Option<&mut Turn> {
        self.uses += 1;
        let found = self.turns.get_mut(&turn)?;
        found.used = self.uses;
        Some(found)
    }

    /// Takes the place of a call that is about to run. Until [`Results::keep`] or [`Results::give_up`] its turn stays.
    ///
    /// # Errors
    /// When the place is taken, or there is no room.
    pub fn begin(&mut self, turn: TurnId, place: CallRef) -> Result<(), ResultError> {
        if !self.turns.contains_key(&turn) {
            if self.turns.len() >= MAX_TURNS && !self.drop_idle(turn) {
                return Err(ResultError::ManyTurns);
            }
            self.turns.insert(turn, Turn::default());
        }
        let Some(open) = self.touch(turn) else { return Err(ResultError::ManyTurns) };
        if open.calls.contains_key(&place) {
            return Err(ResultError::Twice(place));
        }
        if open.calls.len() >= MAX_CALLS {
            return Err(ResultError::ManyCalls);
        }
        open.calls.insert(place, None);
        open.running += 1;
        Ok(())
    }

    /// The call did not run: its place is free again.
    pub fn give_up(&mut self, turn: TurnId, place: CallRef) {
        if let Some(open) = self.turns.get_mut(&turn)
            && matches!(open.calls.get(&place), Some(None))
        {
            open.calls.remove(&place);
            open.running = open.running.saturating_sub(1);
        }
    }

    /// Keeps the result of a call that was begun. Idle turns make room, the longest idle first; when that
    /// is not enough, or the turn was forgotten meanwhile, the result is not kept and `false` comes back.
    pub fn keep(&mut self, turn: TurnId, place: CallRef, call: CallId, sealed: Sealed) -> bool {
        let Some(open) = self.touch(turn) else { return false };
        // Forgotten meanwhile, and perhaps begun anew.
        if !matches!(open.calls.get(&place), Some(None)) {
            return false;
        }
        open.running = open.running.saturating_sub(1);
        while self.bytes().saturating_add(sealed.len()) > MAX_KEPT_BYTES || self.kept() >= MAX_KEPT {
            if !self.drop_idle(turn) {
                return false;
            }
        }
        match self.turns.get_mut(&turn) {
            Some(open) => open.calls.insert(place, Some(StoredResult { call, sealed })),
            None => return false,
        };
        true
    }

    fn bytes(&self) -> usize {
        self.turns.values().map(Turn::bytes).sum()
    }

    fn kept(&self) -> usize {
        self.turns.values().map(Turn::kept).sum()
    }

    /// Drops the turn that was idle for longest, but not `except`; `false` when there is none.
    fn drop_idle(&mut self, except: TurnId) -> bool {
        let idle = self.turns.iter().filter(|(id, turn)| turn.running == 0 && **id != except);
        let oldest = idle.min_by_key(|(_, turn)| turn.used).map(|(id, _)| *id);
        oldest.is_some_and(|id| self.turns.remove(&id).is_some())
    }

    /// Drops the results of a turn; how many bytes those were.
    pub fn forget(&mut self, turn: TurnId) -> usize {
        self.turns.remove(&turn).map_or(0, |turn| turn.bytes())
    }

    /// Drops everything: the client that could refer to it is gone.
    pub fn clear(&mut self) {
        self.turns.clear();
    }

    /// A result, parsed, and whose it is.
    fn result(&self, turn: TurnId, place: CallRef) -> Result<(CallId, Value), ResultError> {
        let open = self.turns.get(&turn).ok_or(ResultError::NoResult(place))?;
        let kept = open.calls.get(&place).and_then(Option::as_ref).ok_or(ResultError::NoResult(place))?;
        let unreadable = |why: String| ResultError::Unreadable(why);
        let bytes = kept.sealed.read().map_err(|error| unreadable(error.to_string()))?;
        let value =
            json::parse_strict(&bytes, Limits::result(MAX_PAYLOAD)).map_err(|error| unreadable(error.to_string()))?;
        Ok((kept.call, value))
    }

    /// The values of references, in order, as a JSON array of at most `limits`, and the digest of each.
    ///
    /// # Errors
    /// A [`ResultError`].
    pub fn values(
        &mut self,
        turn: TurnId,
        references: &[Reference],
        limits: Limits,
    ) -> Result<Vec<Value>, ResultError> {
        if references.len() > MAX_REFERENCES {
            return Err(ResultError::TooMany(references.len()));
        }
        self.touch(turn);
        let mut documents = Documents::new(self, turn);
        let mut size = 2;
        let mut values = Vec::with_capacity(references.len());
        for reference in references {
            let (_, value) = documents.part(reference.call, &reference.pointer)?;
            size = grown(size, value, limits.max_bytes)?;
            if depth(value) >= limits.max_depth {
                return Err(ResultError::Arguments(JsonError::TooDeep { max: limits.max_depth }));
            }
            values.push(value.clone());
        }
        Ok(values)
    }

    /// The arguments with every reference replaced by its value. What a value holds is never taken for a reference.
    ///
    /// # Errors
    /// A [`ResultError`].
    pub fn resolve(&mut self, turn: TurnId, arguments: &[u8]) -> Result<Resolved, ResultError> {
        self.touch(turn);
        let mut arguments = Value::Object(json::parse_object(arguments, Limits::ARGUMENTS)?);
        let sites = json::references(&arguments, MAX_REFERENCES)?;
        if sites.iter().map(|site| site.argument.len() + site.pointer.len()).sum::<usize>() > MAX_POINTERS_BYTES {
            return Err(ResultError::LongPointers);
        }
        let mut documents = Documents::new(self, turn);
        let mut size = 0;
        let mut inputs = Vec::with_capacity(sites.len());
        for site in &sites {
            let (from, value) = documents.part(site.call, &site.pointer)?;
            size = grown(size, value, MAX_RESOLVED_BYTES)?;
            if !json::substitute(&mut arguments, site, value.clone()) {
                return Err(ResultError::Nothing { call: site.call, pointer: site.pointer.clone() });
            }
            inputs.push(InputRef { from, pointer: site.pointer.clone(), argument: site.argument.clone() });
        }
        let bytes = json::canonical(&arguments);
        if bytes.len() > MAX_RESOLVED_BYTES {
            return Err(ResultError::TooLarge { max: MAX_RESOLVED_BYTES });
        }
        Ok(Resolved { arguments, bytes, inputs })
    }
}

/// The results that one ask refers to, each parsed once.
struct Documents<'a> {
    results: &'a Results,
    turn: TurnId,
    parsed: BTreeMap<CallRef, (CallId, Value)>,
}

impl<'a> Documents<'a> {
    const fn new(results: &'a Results, turn: TurnId) -> Self {
        Self { results, turn, parsed: BTreeMap::new() }
    }

    fn part(&mut self, call: CallRef, pointer: &str) -> Result<(CallId, &Value), ResultError> {
        if !json::is_pointer(pointer) {
            let what = "it is no JSON pointer".to_owned();
            return Err(JsonError::BadReference { at: pointer.chars().take(80).collect(), what }.into());
        }
        if !self.parsed.contains_key(&call) {
            self.parsed.insert(call, self.results.result(self.turn, call)?);
        }
        let (from, document) = self.parsed.get(&call).ok_or(ResultError::NoResult(call))?;
        let nothing = || ResultError::Nothing { call, pointer: pointer.chars().take(80).collect() };
        document.pointer(pointer).map(|value| (*from, value)).ok_or_else(nothing)
    }
}

/// The size with another value, as long as it stays within `max`.
fn grown(size: usize, value: &Value, max: usize) -> Result<usize, ResultError> {
    // The comma between values.
    let size = size.saturating_add(json::canonical(value).len()).saturating_add(1);
    if size > max { Err(ResultError::TooLarge { max }) } else { Ok(size) }
}

/// How deep a value is nested. A kept result is at most 32 deep, so this ends.
fn depth(value: &Value) -> u8 {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    below.unwrap_or(0).saturating_add(1)
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
