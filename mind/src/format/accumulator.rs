//! A reply as it grows: every format puts its pieces together here, so that every bound stands in one place.

use metnos_proto::prompt::{MAX_CALLS, ModelCall, Reply, Stop};

use crate::error::{Class, CompletionError};

/// The most text of one reply, in bytes.
pub const MAX_TEXT: usize = 512 * 1024;
/// The longest arguments of one call, in bytes.
pub const MAX_ARGUMENTS: usize = 128 * 1024;
/// The longest id of a call, in bytes.
pub const MAX_ID: usize = 256;
/// The longest name of a tool that is repeated, in bytes: longer than any that exists.
pub const MAX_NAME: usize = 256;
/// The most pieces that one reply may come in.
pub const MAX_PIECES: usize = 1_000_000;
/// A token is hardly ever longer, in bytes: who writes more was not bound by the tokens it was given.
pub const BYTES_A_TOKEN: usize = 64;
/// What a reply may have beside its tokens, in bytes.
const SLACK: usize = 4_096;

/// What a server says was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Tokens read, those from a cache included.
    pub tokens_in: Option<u64>,
    /// Of those, from a cache.
    pub cached: u64,
    /// Tokens written.
    pub tokens_out: Option<u64>,
}

#[derive(Debug, Default)]
struct PartialCall {
    key: u64,
    id: String,
    name: String,
    arguments: String,
}

/// A reply as it grows.
#[derive(Debug)]
pub struct Accumulator {
    text: String,
    calls: Vec<PartialCall>,
    stop: Option<Stop>,
    pieces: usize,
    most: usize,
    /// What the server says was used.
    pub counted: Counted,
}

impl Accumulator {
    /// An empty one, for so many tokens at most.
    #[must_use]
    pub fn new(max_tokens: u32) -> Self {
        let most =
            usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_A_TOKEN).saturating_add(SLACK);
        Self { text: String::new(), calls: Vec::new(), stop: None, pieces: 0, most, counted: Counted::default() }
    }

    /// What it says so far.
    #[must_use]
    pub fn said(&self) -> &str {
        &self.text
    }

    /// Whether anything has come of the reply.
    #[must_use]
    pub fn produced(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// Everything the model wrote, in bytes.
    #[must_use]
    pub fn written(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.name.len() + call.arguments.len());
        self.text.len() + calls.sum::<usize>()
    }

    /// One more piece of whatever kind.
    ///
    /// # Errors
    /// When there were too many.
    pub fn piece(&mut self) -> Result<(), CompletionError> {
        self.pieces += 1;
        if self.pieces > MAX_PIECES {
            Err(CompletionError::too_much("the number of pieces", MAX_PIECES))
        } else {
            Ok(())
        }
    }

    /// A piece of text.
    ///
    /// # Errors
    /// When it is too much.
    pub fn text(&mut self, piece: &str) -> Result<(), CompletionError> {
        if self.text.len() + piece.len() > MAX_TEXT {
            return Err(CompletionError::too_much("the text", MAX_TEXT));
        }
        self.text.push_str(piece);
        self.bound()
    }

    /// A call begins, or is heard of again: its id and name count where they are new.
    ///
    /// # Errors
    /// When there are too many, or something of it is too long.
    pub fn call(&mut self, key: u64, id: &str, name: &str) -> Result<(), CompletionError> {
        if id.len() > MAX_ID || name.len() > MAX_NAME {
            return Err(CompletionError::too_much("the name of a call", MAX_NAME));
        }
        let at = match self.calls.iter().position(|call| call.key == key) {
            Some(at) => at,
            None if self.calls.len() >= MAX_CALLS => {
                return Err(CompletionError::too_much("the number of calls", MAX_CALLS));
            }
            None => {
                self.calls.push(PartialCall { key, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        self.bound()
    }

    /// A piece of a call's arguments.
    ///
    /// # Errors
    /// When the call has not begun, or has too much of them.
    pub fn arguments(&mut self, key: u64, piece: &str) -> Result<(), CompletionError> {
        let call = self.calls.iter_mut().find(|call| call.key == key);
        let call = call.ok_or_else(|| CompletionError::broken("arguments of the server belong to no call"))?;
        if call.arguments.len() + piece.len() > MAX_ARGUMENTS {
            return Err(CompletionError::too_much("the arguments of a call", MAX_ARGUMENTS));
        }
        call.arguments.push_str(piece);
        self.bound()
    }

    /// Why the model stopped.
    pub fn stopped(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// Whether the model has said why it stopped.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    fn bound(&self) -> Result<(), CompletionError> {
        if self.written() > self.most {
            let why = format!("the server goes on beyond the tokens it was given ({} bytes)", self.most);
            return Err(CompletionError::new(Class::TooMuch, why));
        }
        Ok(())
    }

    /// The reply. A call without an id of its server gets one; two with the same id get two.
    #[must_use]
    pub fn reply(self, otherwise: Stop) -> Reply {
        let mut calls: Vec<ModelCall> = Vec::with_capacity(self.calls.len());
        for (at, call) in self.calls.into_iter().enumerate() {
            let taken = call.id.is_empty() || calls.iter().any(|other| other.id == call.id);
            let id = if taken { format!("call_{at}_{}", calls.len()) } else { call.id };
            let arguments = if call.arguments.trim().is_empty() { "{}".to_owned() } else { call.arguments };
            calls.push(ModelCall { id, name: call.name, arguments });
        }
        let stop = match self.stop.unwrap_or(otherwise) {
            // Some servers say that a reply with calls has simply ended.
            Stop::End if !calls.is_empty() => Stop::Calls,
            stop @ (Stop::End | Stop::Calls | Stop::Length | Stop::Refused | Stop::Stopped) => stop,
        };
        Reply { text: self.text, calls, stop }
    }
}
