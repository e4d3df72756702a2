//! What `metnosctl` checks of the chronicle by itself: signatures of policyd's anchors, the chain of exported lines,
//! and proofs that a line belongs to a signed head. It believes neither memoryd nor the file it reads.

use ed25519_dalek::{Signature, VerifyingKey};
use metnos_proto::chain::{Anchor, GENESIS, Link};
use metnos_proto::doc::chronicle::{LineProof, SignedHead};
use metnos_proto::ids::Sha256;
use metnos_proto::merkle::root_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A signed head of the chronicle.
#[derive(Debug, Clone)]
pub struct Signed {
    /// The head.
    pub anchor: Anchor,
    /// policyd's signature.
    pub signature: [u8; 64],
}

/// The public key of an instance, from its 64 hexadecimal digits.
#[must_use]
pub fn key_of(hex: &str) -> Option<VerifyingKey> {
    let digest = Sha256::parse(&format!("sha256:{hex}"))?;
    VerifyingKey::from_bytes(&digest.0).ok()
}

impl Signed {
    /// Reads an anchor as policyd writes it.
    #[must_use]
    pub fn read(head: &SignedHead) -> Option<Self> {
        let document = serde_json::to_value(head).ok()?;
        Anchor::from_json(&document).map(|(anchor, signature)| Self { anchor, signature })
    }

    /// The anchor as a document.
    #[must_use]
    pub fn document(&self) -> SignedHead {
        let Anchor { seq, hash, root, ts_ms } = self.anchor;
        let signature = self.signature.iter().map(|byte| format!("{byte:02x}")).collect();
        SignedHead { seq, hash: hash.to_string(), root: root.to_string(), ts_ms, signature }
    }

    /// Whether the instance with this key has signed it.
    #[must_use]
    pub fn holds(&self, key: &VerifyingKey) -> bool {
        key.verify_strict(&self.anchor.signed_bytes(), &Signature::from_bytes(&self.signature)).is_ok()
    }
}

/// Follows a chain, line by line, and meets the anchors on the way.
#[derive(Debug)]
pub struct Follower {
    expected: u64,
    last: Option<Sha256>,
    /// The anchors that are still to be met, the next one last.
    anchors: Vec<Anchor>,
    /// How many were met.
    pub met: u64,
    /// Lines whose payload was taken out by rite.
    pub without_payload: u64,
    /// Lines whose payload was withheld, as they are shown; `None` where none may be: in a file every payload stands, encrypted or not.
    pub sealed: Option<u64>,
}

impl Follower {
    /// Begins at line `from`. From the first line on, its predecessor is known; otherwise it is believed.
    #[must_use]
    pub fn new(from: u64, anchors: &[Signed]) -> Self {
        let mut anchors: Vec<Anchor> = anchors.iter().map(|one| one.anchor).filter(|one| one.seq >= from).collect();
        anchors.sort_by_key(|anchor| std::cmp::Reverse(anchor.seq));
        let last = (from == 1).then_some(GENESIS);
        Self { expected: from, last, anchors, met: 0, without_payload: 0, sealed: None }
    }

    /// The same for lines as memoryd shows them to the owner.
    #[must_use]
    pub fn as_shown(self) -> Self {
        Self { sealed: Some(0), ..self }
    }

    /// Takes the next line, without its newline.
    ///
    /// # Errors
    /// In a sentence, what is wrong with it.
    pub fn take(&mut self, line: &[u8]) -> Result<(), String> {
        let expected = self.expected;
        let link = Link::read(line).map_err(|why| format!("line {expected}: {why}"))?;
        if link.seq != expected {
            return Err(format!("line {} stands where line {expected} belongs", link.seq));
        }
        if self.last.is_some_and(|last| link.prev_hash != last) {
            return Err(format!("line {expected} does not follow from the one before it"));
        }
        match (link.sealed, &mut self.sealed) {
            (_, Some(_)) if link.encrypted => return Err(format!("line {expected}: its payload lies encrypted")),
            (true, Some(sealed)) => *sealed += 1,
            (true, None) => return Err(format!("line {expected}: its payload was withheld")),
            (false, _) => self.without_payload += u64::from(!link.payload_holds && !link.encrypted),
        }
        if let Some(anchor) = self.anchors.pop_if(|anchor| anchor.seq == expected) {
            if anchor.hash != link.hash {
                return Err(format!("line {expected} had hash {} when policyd signed it", anchor.hash));
            }
            self.met += 1;
        }
        self.last = Some(link.hash);
        self.expected += 1;
        Ok(())
    }

    /// A line that was signed and has not been met; `None` when all were.
    #[must_use]
    pub fn left(&self) -> Option<u64> {
        self.anchors.last().map(|anchor| anchor.seq)
    }

    /// The hash of the last line that was taken.
    #[must_use]
    pub fn head(&self) -> Sha256 {
        self.last.unwrap_or(GENESIS)
    }

    /// The number of the last line that was taken.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.expected - 1
    }
}

/// What a file of a proof says that it is.
pub const FORMAT: &str = "metnos-inclusion-proof-v1";

/// A proof that a line belongs to a signed head: all that is needed to check it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// What it is: [`FORMAT`].
    pub format: String,
    /// What memoryd has calculated.
    pub proof: LineProof,
    /// The signed head.
    pub anchor: SignedHead,
    /// Who has signed it.
    pub public_key: String,
}

impl Proof {
    /// Puts a proof together.
    #[must_use]
    pub fn new(proof: LineProof, signed: &Signed, public_key: &str) -> Self {
        Self { format: FORMAT.to_owned(), proof, anchor: signed.document(), public_key: public_key.to_owned() }
    }
}

/// Checks the text of a proof from it alone; gives the line's number, the anchor and the key.
///
/// # Errors
/// In a sentence, why it proves nothing.
pub fn check(text: &str) -> Result<(u64, Anchor, String), String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if document["format"] != FORMAT {
        return Err(format!("it is no `{FORMAT}`"));
    }
    let Proof { proof, anchor, public_key, .. } =
        serde_json::from_value(document).map_err(|error| error.to_string())?;
    let key = key_of(&public_key).ok_or("its public key is none")?;
    let signed = Signed::read(&anchor).ok_or("its anchor cannot be read")?;
    if !signed.holds(&key) {
        return Err("the anchor was not signed by that key".to_owned());
    }
    let link = Link::read(proof.line.as_bytes()).map_err(|why| format!("the line: {why}"))?;
    if proof.size != signed.anchor.seq {
        return Err(format!("it is about {} lines, the anchor about {}", proof.size, signed.anchor.seq));
    }
    let path: Option<Vec<Sha256>> = proof.path.iter().map(|one| Sha256::parse(one)).collect();
    let path = path.ok_or("its path cannot be read")?;
    let index = link.seq.checked_sub(1).ok_or("there is no line 0")?;
    match root_of(&link.hash, index, proof.size, &path) {
        Some(root) if root == signed.anchor.root => Ok((link.seq, signed.anchor, public_key)),
        Some(_) | None => Err("its path does not lead to what was signed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};
    use metnos_proto::chain::{FIELDS, preimage, sha256};
    use metnos_proto::merkle::{Frontier, siblings};
    use serde_json::json;

    fn line(seq: u64, prev: &Sha256, text: &str) -> (String, Sha256) {
        let payload = format!("{{\"text\":\"{text}\"}}");
        let digest = sha256(payload.as_bytes());
        let (seq_text, prev_text, digest_text) = (seq.to_string(), prev.to_string(), digest.to_string());
        let mut fields = ["x"; FIELDS];
        (fields[0], fields[1], fields[2], fields[14]) = (&seq_text, &prev_text, "", &digest_text);
        let hash = sha256(&preimage(&fields));
        let middle: String = [
            "ts",
            "emitter",
            "session_key",
            "turn_id",
            "trace_id",
            "event_type",
            "agent_id",
            "model",
            "channel",
            "peer",
            "trust",
        ]
        .iter()
        .map(|name| format!(",\"{name}\":\"x\""))
        .collect();
        (
            format!(
                "{{\"seq\":{seq},\"prev_hash\":\"{prev}\",\"parent\":null{middle},\"payload_sha256\":\"{digest}\",\"payload\":{payload},\"hash\":\"{hash}\"}}"
            ),
            hash,
        )
    }

    fn chain(n: u64) -> Vec<(String, Sha256)> {
        let mut last = GENESIS;
        (1..=n)
            .map(|seq| {
                let one = line(seq, &last, &seq.to_string());
                last = one.1;
                one
            })
            .collect()
    }

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    fn signed(chain: &[(String, Sha256)]) -> Signed {
        let mut tree = Frontier::default();
        chain.iter().for_each(|(_, hash)| tree.push(hash));
        let anchor = Anchor { seq: chain.len() as u64, hash: chain.last().unwrap().1, root: tree.root(), ts_ms: 1 };
        Signed { anchor, signature: key().sign(&anchor.signed_bytes()).to_bytes() }
    }

    fn public() -> String {
        Sha256(key().verifying_key().to_bytes()).hex()
    }

    #[test]
    fn a_chain_is_followed_and_its_anchors_are_met() {
        let chain = chain(5);
        let mut follower = Follower::new(1, &[signed(&chain[..3]), signed(&chain)]);
        chain.iter().for_each(|(line, _)| follower.take(line.as_bytes()).unwrap());
        assert_eq!((follower.last(), follower.met, follower.without_payload), (5, 2, 0));
        let mut later = Follower::new(3, &[signed(&chain)]);
        chain[2..].iter().for_each(|(line, _)| later.take(line.as_bytes()).unwrap());
        assert_eq!(later.met, 1);
    }

    #[test]
    fn a_chain_that_was_written_anew_does_not_meet_its_anchors() {
        let (old, mut last) = (signed(&chain(3)), GENESIS);
        let mut follower = Follower::new(1, &[old]);
        let mut told = Ok(());
        for seq in 1..=3 {
            let (line, hash) = line(seq, &last, "a lie");
            last = hash;
            told = follower.take(line.as_bytes());
        }
        assert!(told.unwrap_err().contains("when policyd signed it"));
    }

    #[test]
    fn encrypted_payload_may_stand_in_a_file_and_not_in_what_is_shown() {
        let chain = chain(2);
        let encrypted = chain[1].0.replace("{\"text\":\"2\"}", "{\"encrypted\":\"AAAA\"}");
        assert_ne!(encrypted, chain[1].0);
        for (follower, holds) in [(Follower::new(1, &[]), true), (Follower::new(1, &[]).as_shown(), false)] {
            let mut follower = follower;
            follower.take(chain[0].0.as_bytes()).unwrap();
            assert_eq!(follower.take(encrypted.as_bytes()).is_ok(), holds);
            assert_eq!(follower.without_payload, 0);
        }
    }

    #[test]
    fn lines_that_were_moved_left_out_or_changed_are_noticed() {
        let chain = chain(3);
        let take = |lines: &[&str]| {
            let mut follower = Follower::new(1, &[]);
            lines.iter().try_for_each(|line| follower.take(line.as_bytes()))
        };
        assert!(take(&[&chain[0].0, &chain[1].0]).is_ok());
        assert!(take(&[&chain[1].0]).is_err() && take(&[&chain[0].0, &chain[2].0]).is_err());
        assert!(take(&[&chain[0].0.replace("\"x\"", "\"y\"")]).unwrap_err().contains("hash"));
        assert!(take(&[&chain[0].0.replace("\"text\":\"1\"", "\"text\":\"2\"")]).unwrap_err().contains("payload"));
        let foreign = line(2, &GENESIS, "2").0;
        assert!(take(&[&chain[0].0, &foreign]).unwrap_err().contains("follow"));
    }

    #[test]
    fn a_proof_stands_by_itself_and_every_change_of_it_breaks_it() {
        let chain = chain(7);
        let hashes: Vec<Sha256> = chain.iter().map(|(_, hash)| *hash).collect();
        let path: Vec<String> = siblings(2, 7)
            .iter()
            .map(|(from, to)| {
                let mut tree = Frontier::default();
                hashes[*from as usize..*to as usize].iter().for_each(|hash| tree.push(hash));
                tree.root().to_string()
            })
            .collect();
        let proof = LineProof { seq: 3, size: 7, line: chain[2].0.clone(), path, root: String::new() };
        let good = serde_json::to_value(Proof::new(proof, &signed(&chain), &public())).unwrap();
        assert_eq!(check(&good.to_string()).unwrap().0, 3);
        for (pointer, value) in [
            ("/format", json!("x")),
            ("/public_key", json!("00".repeat(32))),
            ("/anchor/seq", json!(8)),
            ("/anchor/root", json!(GENESIS.to_string())),
            ("/anchor/ts_ms", json!(2)),
            ("/proof/size", json!(6)),
            ("/proof/line", json!(chain[3].0)),
            ("/proof/path", json!([])),
            ("/proof/path/0", json!(GENESIS.to_string())),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            assert!(check(&bad.to_string()).is_err(), "{pointer}");
        }
    }
}
