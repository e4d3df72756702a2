//! What is said to a process inside: the words of its call, and behind them, where its manifest takes one, a file, of which no
//! more than a piece is held at once.

use std::cell::RefCell;
use std::os::fd::OwnedFd;

use metnos_proto::json;
use metnos_proto::payload::{FILE_PIECE, Filling, Sealed};
use rustix::io::Errno;
use serde::Serialize;
use tokio::io::unix::AsyncFd;

use crate::plan::{Plan, TMP, WORKSPACE};
use crate::pool::{Entry, Keeper};
use crate::process::frames::{self, Instruction};

/// What is taken from a call beside its result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken<'a> {
    /// Where the file goes that it gives, where it may give one.
    pub file: Option<&'a RefCell<Filling>>,
    /// What makes durable what it keeps, where it may keep something.
    pub keeper: Option<&'a dyn Keeper>,
}

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct CallRequest<'a> {
    /// Frames.
    pub words: &'a [u8],
    /// What comes behind them.
    pub file: Option<&'a Sealed>,
}

impl<'a> CallRequest<'a> {
    /// These words and no file.
    #[must_use]
    pub const fn words(words: &'a [u8]) -> Self {
        Self { words, file: None }
    }

    /// Says it piece by piece. A process that does not read it ends by the clock.
    pub(crate) async fn send(self, channel: &AsyncFd<OwnedFd>) {
        if !send_all(channel, self.words).await {
            return;
        }
        let Some(file) = self.file else { return };
        if !send_all(channel, &frames::head(Instruction::File, file.len())).await {
            return;
        }
        let (mut piece, mut at) = (vec![0; FILE_PIECE.min(file.len())], 0);
        while at < file.len() {
            // Its own memory: were it not to be read, the process would wait for the rest until its clock ends it.
            let Ok(length @ 1..) = file.read_at(&mut piece, at) else { return };
            if !send_all(channel, piece.get(..length).unwrap_or_default()).await {
                return;
            }
            at += length;
        }
    }
}

/// What a request says of its sandbox.
#[derive(Serialize)]
struct Head<'a> {
    connections: u64,
    entry: &'a str,
    tmp: &'a str,
    wall_s: u64,
    workspace: &'a str,
}

/// The folders outside the workspace.
#[derive(Serialize)]
struct Outside<'a> {
    folders: Vec<&'a str>,
    home: &'a str,
}

/// The request to the host script: canonical JSON around `args`, which are JSON already.
#[must_use]
pub fn request(plan: &Plan, entry: &Entry) -> Vec<u8> {
    let (name, args, thought): (&str, &[u8], Option<&Vec<u8>>) = match entry {
        Entry::Call { args, thought } => ("run", args, thought.as_ref()),
        Entry::Filed { args, .. } | Entry::Undoing { args, .. } => ("run", args, None),
        Entry::Cases => ("cases", b"{}", None),
    };
    let mut body = json::canonical_of(&Head {
        connections: plan.egress().map_or(0, |egress| egress.connections.into()),
        entry: name,
        tmp: TMP,
        wall_s: plan.spec().limits.wall_s.into(),
        workspace: WORKSPACE,
    });
    // The arguments are put in as they are: they may be megabytes, and were checked and written canonically.
    body.pop();
    let outside: Vec<&str> = plan.outside().collect();
    if !outside.is_empty() {
        body.extend_from_slice(b",\"outside\":");
        body.extend_from_slice(&json::canonical_of(&Outside { folders: outside, home: &plan.spec().home }));
    }
    let commands = &plan.spec().commands;
    if !commands.is_empty() {
        body.extend_from_slice(b",\"commands\":");
        body.extend_from_slice(&json::canonical_of(commands));
    }
    if let Some(file) = entry.takes() {
        body.extend_from_slice(format!(",\"file\":{}", file.len()).as_bytes());
    }
    if entry.gives().is_some() {
        body.extend_from_slice(b",\"gives\":true");
    }
    body.extend_from_slice(b",\"args\":");
    body.extend_from_slice(args);
    if let Some(thought) = thought {
        body.extend_from_slice(b",\"thought\":");
        body.extend_from_slice(thought);
    }
    if let Entry::Undoing { before: Some(before), .. } = entry {
        body.extend_from_slice(b",\"before\":");
        body.extend_from_slice(before);
    }
    body.push(b'}');
    body
}

/// The same for a call that keeps what it is about to change.
#[must_use]
pub fn keeping(mut request: Vec<u8>) -> Vec<u8> {
    request.pop();
    request.extend_from_slice(b",\"keeps\":true}");
    request
}

/// Whether all of it was taken.
pub(crate) async fn send_all(channel: &AsyncFd<OwnedFd>, words: &[u8]) -> bool {
    let mut rest = words;
    while !rest.is_empty() {
        let Ok(mut ready) = channel.writable().await else { return false };
        match rustix::net::send(channel.get_ref(), rest, rustix::net::SendFlags::NOSIGNAL) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::AGAIN) => ready.clear_ready(),
            Err(Errno::INTR) => {}
            // It has ended, or does not want to hear; its end says which.
            Err(_) => return false,
        }
    }
    true
}
