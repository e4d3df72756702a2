//! `audit export|anchors|prove|redact`: the chronicle against what policyd has signed. What can be calculated is
//! calculated here, and not believed.

use std::fs::OpenOptions;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ed25519_dalek::VerifyingKey;
use metnos_proto::chain::Anchor;
use metnos_proto::doc::chronicle::{LineProof, SignedHead};
use metnos_proto::edges::{CtlMemoryd, CtlPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{Finding, LinesWanted, MemoryStatus, ProofWanted, Query};
use metnos_proto::msg::policyd::{Anchors, PolicyStatus, RedactPayload};
use schemars::JsonSchema;
use serde::Serialize;

use crate::audit::documents;
use crate::audit::search::page;
use crate::audit::witness::{Follower, Proof, Signed, check as check_proof, key_of};
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::json_constant::ConstTrue;
use crate::screen::human::{ago, counted, now_ms};
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// The largest file of a proof that is read, in bytes.
const MAX_PROOF_BYTES: u64 = 64 * 1024 * 1024;

/// policyd's signed heads as they came, and what is wrong with them.
#[derive(Debug)]
pub struct Heads {
    /// All of them, oldest first.
    pub signed: Vec<Signed>,
    /// Why policyd distrusts the chronicle; empty when it does not.
    pub broken: String,
    /// The instance's public key.
    pub public_key: String,
    key: VerifyingKey,
}

impl Heads {
    /// What is wrong with them, each a finding.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let unsigned = self.signed.iter().filter(|one| !one.holds(&self.key)).map(|one| Finding {
            seq: one.anchor.seq,
            kind: "anchor".to_owned(),
            detail: "the signature of this head is not policyd's".to_owned(),
        });
        let broken = (!self.broken.is_empty()).then(|| Finding {
            seq: 0,
            kind: "anchor".to_owned(),
            detail: format!("policyd decides nothing on this chronicle: {}", self.broken),
        });
        broken.into_iter().chain(unsigned).collect()
    }
}

/// Every head that policyd has signed.
///
/// # Errors
/// When it refuses, cannot be reached, or answers with something else.
pub fn signed_heads(reach: &mut Connection) -> Result<Heads, CtlError> {
    let unreadable = |why: String| CtlError::failed("the signed heads", why, "look at `metnosctl doctor`");
    let mut policyd = reach.open::<CtlPolicyd>()?;
    let public_key = policyd.policy_status(TraceId::NONE, PolicyStatus {}, [])?.0.public_key;
    let key = key_of(&public_key).ok_or_else(|| unreadable("the instance's public key is none".to_owned()))?;
    let mut heads = Heads { signed: Vec::new(), broken: String::new(), public_key, key };
    let mut after = 0;
    loop {
        let (list, [text]) = policyd.anchors(TraceId::NONE, Anchors { after }, [])?;
        let bytes = text.read().map_err(|error| unreadable(error.to_string()))?;
        for one in documents::<SignedHead>(&bytes).map_err(unreadable)? {
            heads.signed.push(Signed::read(&one).ok_or_else(|| unreadable("one of them is none".to_owned()))?);
        }
        heads.broken = list.broken;
        if list.next <= after {
            return Ok(heads);
        }
        after = list.next;
    }
}

/// The heads that policyd has signed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignedHeads<'a> {
    /// The instance's public key.
    public_key: &'a str,
    /// Why policyd distrusts the chronicle; empty when it does not.
    broken: &'a str,
    /// Each head, oldest first.
    anchors: Vec<CheckedHead>,
}

/// A signed head, and whether its signature is the instance's.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckedHead {
    /// The head.
    #[serde(flatten)]
    head: SignedHead,
    /// Whether the instance has signed it.
    holds: bool,
}

/// `audit anchors`.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn anchors(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let heads = signed_heads(reach)?;
    let findings = heads.findings();
    let exit = if findings.is_empty() { Exit::Done } else { Exit::Failed };
    if screen.json() {
        let head = |one: &Signed| CheckedHead { head: one.document(), holds: one.holds(&heads.key) };
        let anchors = heads.signed.iter().map(head).collect();
        screen.document(&SignedHeads { public_key: &heads.public_key, broken: &heads.broken, anchors })?;
        return Ok(exit);
    }
    let mut table = Table::new(&["SEQ", "SIGNED", "HASH", ""]);
    for one in &heads.signed {
        let (word, ink) = if one.holds(&heads.key) { ("signed", Ink::Plain) } else { ("NOT policyd's", Ink::Bad) };
        table.row(vec![
            cell(one.anchor.seq.to_string()),
            cell(ago(one.anchor.ts_ms, now_ms())),
            inked(one.anchor.hash.to_string(), Ink::Dim),
            inked(word, ink),
        ]);
    }
    table.show(screen, 0)?;
    for finding in findings.iter().filter(|finding| finding.seq == 0) {
        screen.aside(Ink::Bad, &finding.detail)?;
    }
    Ok(exit)
}

/// What was written to a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Exported {
    /// It was done.
    ok: ConstTrue,
    /// How many lines.
    lines: u64,
    /// How many signed heads were met.
    anchors: u64,
    /// The number of the last line.
    last: u64,
    /// How many of them are another person's, and stand without their payload.
    sealed: u64,
}

/// `audit export`.
///
/// # Errors
/// When the file exists or cannot be written, a daemon cannot be reached, or a line does not hold.
pub fn export(
    screen: &mut Screen,
    reach: &mut Connection,
    from: u64,
    to: Option<u64>,
    file: Option<&Path>,
) -> Result<Exit, CtlError> {
    let heads = signed_heads(reach)?;
    let head = reach.open::<CtlMemoryd>()?.memory_status(TraceId::NONE, MemoryStatus {}, [])?.0.head.seq;
    let upto = to.unwrap_or(head).min(head);
    let told =
        |path: &Path, error: std::io::Error| CtlError::failed(path.display().to_string(), error, "name another file");
    let mut out = match file {
        Some(path) => {
            let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            Some((path, opened.map_err(|error| told(path, error))?))
        }
        None => None,
    };
    let mut follower = Follower::new(from, &heads.signed).as_shown();
    let mut next = from;
    let mut wrong = None;
    while next != 0 && next <= upto && wrong.is_none() {
        let (bytes, after) = page(reach, Query::Lines(LinesWanted { from: next, upto }))?;
        next = after;
        match &mut out {
            Some((path, file)) => file.write_all(&bytes).map_err(|error| told(path, error))?,
            None => screen.raw(&bytes)?,
        }
        wrong = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .find_map(|line| follower.take(line).err());
    }
    if let Some((path, file)) = &out {
        file.sync_all().map_err(|error| told(path, error))?;
    }
    let unsigned = heads.findings().into_iter().next().map(|finding| finding.detail);
    let short = (follower.last() < upto).then(|| format!("it ends at line {}", follower.last()));
    if let Some(why) = wrong.or(short).or(unsigned) {
        let remedy = "the lines are written; `metnosctl audit verify` says more";
        return Err(CtlError::failed("what was exported does not hold", why, remedy));
    }
    let lines = counted((follower.last() + 1).saturating_sub(from), "line", "lines");
    let met = counted(follower.met, "signed head", "signed heads");
    let sealed = follower.sealed.unwrap_or(0);
    if screen.json() && file.is_some() {
        let (lines, last) = ((follower.last() + 1).saturating_sub(from), follower.last());
        screen.document(&Exported { ok: ConstTrue, lines, anchors: follower.met, last, sealed })?;
    } else if !screen.json() {
        screen.aside(Ink::Plain, &format!("{lines}, a whole chain, {met} met."))?;
        if sealed > 0 {
            let what = counted(sealed, "line is another person's and stands", "lines are other persons' and stand");
            screen.aside(Ink::Plain, &format!("{what} there without what was said or done."))?;
        }
    }
    Ok(Exit::Done)
}

/// `audit prove SEQ`.
///
/// # Errors
/// When no signed head covers the line yet, a daemon cannot be reached, or the proof does not hold.
pub fn prove(screen: &mut Screen, reach: &mut Connection, seq: u64) -> Result<Exit, CtlError> {
    let heads = signed_heads(reach)?;
    let Some(signed) = heads.signed.iter().find(|one| one.anchor.seq >= seq && seq > 0) else {
        let why = "no head that policyd has signed covers it yet";
        return Err(CtlError::failed(format!("line {seq}"), why, "heads are signed every minute: try again in one"));
    };
    let wanted = ProofWanted { seq, size: signed.anchor.seq };
    let (bytes, _) = page(reach, Query::Proof(wanted))?;
    let refused =
        |why: String| CtlError::failed(format!("the proof of line {seq}"), why, "`metnosctl audit verify` says more");
    let proof: LineProof =
        documents(&bytes).map_err(refused)?.pop().ok_or_else(|| refused("there is none".to_owned()))?;
    let whole = Proof::new(proof, signed, &heads.public_key);
    let text = serde_json::to_string(&whole).map_err(|error| refused(error.to_string()))?;
    check_proof(&text).map_err(refused)?;
    screen.document(&whole)?;
    Ok(Exit::Done)
}

/// What a proof proves.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Proven {
    /// It proves something.
    ok: ConstTrue,
    /// The number of the line.
    seq: u64,
    /// Among how many lines it stands.
    size: u64,
    /// When their head was signed, in milliseconds since the epoch.
    ts_ms: u64,
    /// With which key.
    public_key: String,
}

/// `audit prove --check FILE`.
///
/// # Errors
/// When the file cannot be read, or proves nothing.
pub fn check(screen: &mut Screen, path: &Path) -> Result<Exit, CtlError> {
    let name = path.display().to_string();
    let failed = |why: String| CtlError::failed(name.clone(), why, "");
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_PROOF_BYTES).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_PROOF_BYTES).read_to_string(&mut text))
    };
    read.map_err(|error| failed(error.to_string()))?;
    let (seq, anchor, key) = check_proof(&text).map_err(|why| failed(format!("it proves nothing: {why}")))?;
    if screen.json() {
        let Anchor { seq: size, ts_ms, .. } = anchor;
        screen.document(&Proven { ok: ConstTrue, seq, size, ts_ms, public_key: key })?;
    } else {
        let size = anchor.seq;
        screen.line(&format!(
            "Line {seq} is among the first {size} of the chronicle whose head was signed with key {key}."
        ))?;
        screen.aside(Ink::Plain, "  → compare the key with the instance's: `metnosctl status`")?;
    }
    Ok(Exit::Done)
}

/// What was taken out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Redacted {
    /// It was done.
    ok: ConstTrue,
    /// The line that it was in.
    seq: u64,
    /// The line that says so.
    recorded: u64,
}

/// `audit redact`.
///
/// # Errors
/// When it is not confirmed, or policyd or memoryd refuse.
pub fn redact(
    screen: &mut Screen,
    reach: &mut Connection,
    seq: u64,
    why: &str,
    confirm: Option<u64>,
) -> Result<Exit, CtlError> {
    let usage =
        |what: &str| CtlError::Usage { what: what.to_owned(), remedy: format!("repeat the number: `--confirm {seq}`") };
    let confirmed = match confirm {
        Some(number) => number == seq,
        None if !std::io::stdin().is_terminal() => {
            return Err(usage("a rite is confirmed at the terminal, or by `--confirm`"));
        }
        None => {
            let what = format!(
                "What line {seq} holds will be gone for good, and that you had it taken out stays. Its number again: "
            );
            screen.aside(Ink::Plain, &what)?;
            let mut typed = String::new();
            let read = std::io::stdin().lock().take(64).read_line(&mut typed);
            read.is_ok() && typed.trim() == seq.to_string()
        }
    };
    if !confirmed {
        return Err(usage("that is not the line's number, so nothing was taken out"));
    }
    let word = RedactPayload { seq, why: why.to_owned() };
    let (done, []) = reach.open::<CtlPolicyd>()?.redact(TraceId::NONE, word, [])?;
    if screen.json() {
        screen.document(&Redacted { ok: ConstTrue, seq, recorded: done.seq })?;
    } else {
        screen.line(&format!("What line {seq} held is gone; line {} says so, and the chain holds.", done.seq))?;
        screen.aside(Ink::Plain, "  → older backups, snapshots of the disk and exports still have it")?;
    }
    Ok(Exit::Done)
}
