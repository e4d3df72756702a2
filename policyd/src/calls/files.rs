//! Files that pass through policyd, sealed and unread: how many at once, and those whose card waits for the owner. Nothing is
//! written to a disk: a file that waits is in memory for as long as its card is open, and is gone with this process.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_proto::msg::common::{Refusal, Standing};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::calls::turns::Turn;
use crate::decision::Verdict;
use crate::executors::registry::Signed;
use crate::people::principal::Principal;
use crate::shares::{FILES, Taken, WAITING_BYTES};

/// The rule that denies a call whose file is not here.
pub(crate) const MISSING: &str = "file.missing";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Whose each is, and whether he is the owner.
    under_way: RefCell<BTreeMap<u64, (String, bool)>>,
    next: Cell<u64>,
    /// By the card, and the digest in its arguments.
    waiting: RefCell<BTreeMap<(String, String), Waits>>,
}

#[derive(Debug)]
struct Waits {
    principal: String,
    owners: bool,
    file: Sealed,
    until_ms: u64,
}

/// A place among the files that are under way, given back when it is dropped.
pub(crate) struct Place {
    files: Rc<Files>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.files.under_way.borrow_mut().remove(&self.number);
    }
}

impl Files {
    /// Takes a place for a file of this principal.
    ///
    /// # Errors
    /// When he has his share, or all are taken.
    pub(crate) fn place(self: &Rc<Self>, principal: &Principal) -> Result<Place, Refusal> {
        let mut under_way = self.under_way.borrow_mut();
        let taken = Taken::of(&principal.name, under_way.values().map(|(name, owners)| (name.as_str(), *owners, 1)));
        FILES.admit(principal.standing, taken, "quota.files", "files are under way", "send it again in a moment")?;
        let number = self.next.get();
        self.next.set(number.wrapping_add(1));
        under_way.insert(number, (principal.name.clone(), principal.standing == Standing::Owner));
        drop(under_way);
        Ok(Place { files: Rc::clone(self), number })
    }

    /// Whether a file of so many bytes may wait for the owner's word.
    ///
    /// # Errors
    /// When there is no room.
    pub(crate) fn has_room(&self, whose: (&str, Standing), bytes: usize, now_ms: u64) -> Result<(), Refusal> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|_, waits| waits.until_ms > now_ms);
        let all = waiting.values().map(|waits| (waits.principal.as_str(), waits.owners, waits.file.len()));
        let taken = Taken::of(whose.0, all);
        // With it there may be as many as the share, and no more.
        let with = |count: usize| count.saturating_add(bytes.saturating_sub(1));
        let taken = Taken { all: with(taken.all), others: with(taken.others), own: with(taken.own) };
        let (what, remedy) = ("bytes of files wait for the owner's word", "send it again when they are answered");
        WAITING_BYTES.admit(whose.1, taken, "quota.files_waiting", what, remedy)
    }

    /// Keeps the file of an act on a card.
    pub(crate) fn waits(&self, card: &str, arguments: &str, whose: (&str, Standing), file: Sealed, until_ms: u64) {
        let (principal, owners) = (whose.0.to_owned(), whose.1 == Standing::Owner);
        let waits = Waits { principal, owners, file, until_ms };
        self.waiting.borrow_mut().insert((card.to_owned(), digest_in(arguments)), waits);
    }

    /// The file of an act on a card, where it is still here.
    pub(crate) fn of_card(&self, card: &str, arguments: &str) -> Option<Sealed> {
        let waiting = self.waiting.borrow();
        waiting.get(&(card.to_owned(), digest_in(arguments))).and_then(|waits| waits.file.share().ok())
    }

    /// A card was answered.
    pub(crate) fn forget(&self, card: &str) {
        self.waiting.borrow_mut().retain(|(of, _), _| of != card);
    }
}

/// The digest of the file that these arguments are about.
fn digest_in(arguments: &str) -> String {
    let value: Value = serde_json::from_str(arguments).unwrap_or_default();
    value["blake3"].as_str().unwrap_or_default().to_owned()
}

/// The file for a call that takes one, and comes without: what an earlier call of its turn has given, such as an attachment.
/// It is the person's own, so it goes nowhere but where the call puts what names no place.
pub(crate) fn of_turn(signed: &Signed, arguments: &Value, turn: &Turn) -> Option<Sealed> {
    signed.manifest.file.and_then(|way| way.takes())?;
    if arguments.get("path").is_some() {
        return None;
    }
    turn.file.as_ref().and_then(|file| file.share().ok())
}

/// Denies a call that takes a file and has none, or has one that it does not take.
pub(crate) fn unfit(signed: Option<&Signed>, file: Option<&Sealed>) -> Option<Verdict> {
    let takes = signed.and_then(|signed| signed.manifest.file).and_then(|way| way.takes());
    match (takes, file) {
        (None, None) => None,
        (Some(most), Some(file)) if file.len() <= most => None,
        (Some(most), Some(file)) => {
            let why = format!("the file has {} bytes, and this executor takes at most {most}", file.len());
            Some(Verdict::deny("file.large", why))
        }
        (Some(_), None) => {
            let why = "the file that this is about is not here: it comes over a channel, or from an earlier call of this turn, \
                       which is kept where the person's files are and names no path; and it waits in memory only";
            Some(Verdict::deny(MISSING, why).with_remedy("have it sent again"))
        }
        (None, Some(_)) => Some(Verdict::deny(MISSING, "this executor takes no file")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn some(bytes: usize) -> Sealed {
        Sealed::new(&vec![1; bytes]).unwrap()
    }

    fn arguments(digest: &str) -> String {
        serde_json::json!({ "blake3": digest, "path": "inbox/a" }).to_string()
    }

    #[test]
    fn a_file_waits_with_its_card_and_no_longer() {
        let (files, guest) = (Files::default(), ("telegram:2", Standing::Guest));
        files.waits("c1", &arguments("x"), guest, some(3), 100);
        assert_eq!(files.of_card("c1", &arguments("x")).unwrap().len(), 3);
        assert!(files.of_card("c1", &arguments("y")).is_none() && files.of_card("c2", &arguments("x")).is_none());
        files.forget("c1");
        assert!(files.of_card("c1", &arguments("x")).is_none());
        files.waits("c1", &arguments("x"), guest, some(3), 100);
        files.has_room(guest, 1, 100).unwrap();
        assert!(files.of_card("c1", &arguments("x")).is_none(), "its card has expired");
    }

    #[test]
    fn a_guest_has_his_share_of_what_waits_and_the_owner_the_rest() {
        let (files, guest) = (Files::default(), ("telegram:2", Standing::Guest));
        let most = WAITING_BYTES.one;
        files.has_room(guest, most, 0).unwrap();
        assert_eq!(files.has_room(guest, most + 1, 0).unwrap_err().rule, "quota.files_waiting");
        files.waits("c1", &arguments("x"), guest, some(1 << 20), 100);
        assert!(files.has_room(guest, most, 0).is_err());
        files.has_room(guest, most - (1 << 20), 0).unwrap();
        files.has_room(("telegram:3", Standing::Guest), most, 0).unwrap();
        files.has_room(("cli:uid:0", Standing::Owner), most, 0).unwrap();
    }
}
