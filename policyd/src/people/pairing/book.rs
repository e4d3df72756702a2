//! The book of open codes: strangers who wait for the owner, and invitations that wait for a bearer. Pure, by an
//! injected clock. A code is taken out of the book before anything follows from it, so that it is good once; no code
//! outlives the process, so that a restart makes codes void and never good again. Who is not heard stays unheard.

use std::collections::BTreeMap;

use metnos_proto::msg::common::{Channel, Standing};

use super::code::Code;

/// How long a code is good, in milliseconds (design: policy §3).
pub const GOOD_MS: u64 = 600_000;
/// How often a stranger is told a line at all, in milliseconds (design: interfaces §4).
pub const LINE_EVERY_MS: u64 = 60_000;
/// Wrong tries of one stranger after which he is not heard and what he guessed at is void, and of the owner after which he
/// must begin anew.
pub const MAX_TRIES: u32 = 5;
/// Wrong tries of different strangers together after which an invitation is void. Where each try has a name of its own, as
/// over HTTP, few of them would otherwise keep everybody out; so few of a million codes are still no guess.
pub const MAX_WRONG: u32 = 64;
/// How long a stranger who tried too often is not heard, in milliseconds.
pub const LOCKED_MS: u64 = 3_600_000;
/// The most strangers that wait on one channel.
pub const MAX_STRANGERS: usize = 16;
/// The most strangers that are remembered on one channel.
pub const MAX_REMEMBERED: usize = 64;
/// The most open invitations.
pub const MAX_INVITATIONS: usize = 16;

/// A stranger who wrote.
#[derive(Debug)]
struct Stranger {
    code: Option<(Code, u64)>,
    told_ms: u64,
    wrong: u32,
    locked_until_ms: u64,
    seen_ms: u64,
}

/// What somebody becomes who is paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// What his principal is.
    pub standing: Standing,
    /// The person who he is, where that was said.
    pub person: Option<String>,
}

impl From<Standing> for Admission {
    fn from(standing: Standing) -> Self {
        Self { standing, person: None }
    }
}

/// A code that the owner has given away.
#[derive(Debug)]
struct Invitation {
    channel: Channel,
    admission: Admission,
    code: Code,
    until_ms: u64,
    wrong: u32,
}

/// All open codes.
#[derive(Debug, Default)]
pub struct Book {
    strangers: BTreeMap<(Channel, String), Stranger>,
    invitations: Vec<Invitation>,
    /// Wrong codes that the owner has typed, by channel, since the last good one.
    mistyped: BTreeMap<Channel, u32>,
}

/// What a stranger receives.
#[derive(Debug, PartialEq, Eq)]
pub enum PairingReply {
    /// A code of his own, good until then (milliseconds).
    Code(Code, u64),
    /// He is known from now on, as this.
    Known(Admission),
    /// Nothing.
    Silence,
}

/// Why the owner's word does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No stranger of this channel has that code, or no longer.
    Wrong,
    /// Too many wrong codes: every waiting one of the channel is void.
    Locked,
    /// Too many invitations are open.
    Full,
}

impl Book {
    /// Forgets what is over.
    fn sweep(&mut self, now_ms: u64) {
        self.invitations.retain(|one| now_ms < one.until_ms && one.wrong < MAX_WRONG);
        self.strangers.retain(|_, one| now_ms < one.seen_ms.saturating_add(LOCKED_MS).max(one.locked_until_ms));
        for one in self.strangers.values_mut() {
            one.code = one.code.filter(|(_, until)| now_ms < *until);
        }
    }

    /// A stranger is at the door; `shown` is what he has shown that has the form of a code. `draw` makes a fresh code.
    pub fn knock(
        &mut self,
        channel: Channel,
        sender: &str,
        shown: Option<Code>,
        now_ms: u64,
        draw: impl FnOnce() -> Option<Code>,
    ) -> PairingReply {
        self.sweep(now_ms);
        let key = (channel, sender.to_owned());
        if !self.strangers.contains_key(&key) && !self.has_room(channel) {
            return PairingReply::Silence;
        }
        let waiting = self.strangers.iter().filter(|((on, _), one)| *on == channel && one.code.is_some()).count();
        let fresh = Stranger { code: None, told_ms: 0, wrong: 0, locked_until_ms: 0, seen_ms: now_ms };
        let first = !self.strangers.contains_key(&key);
        let stranger = self.strangers.entry(key.clone()).or_insert(fresh);
        if now_ms < stranger.locked_until_ms {
            return PairingReply::Silence;
        }
        stranger.seen_ms = now_ms;
        if let Some(shown) = shown {
            return self.shown(key, shown, now_ms);
        }
        if !first && now_ms < stranger.told_ms.saturating_add(LINE_EVERY_MS) {
            return PairingReply::Silence;
        }
        stranger.told_ms = now_ms;
        if stranger.code.is_none() {
            if waiting >= MAX_STRANGERS {
                return PairingReply::Silence;
            }
            stranger.code = draw().map(|code| (code, now_ms.saturating_add(GOOD_MS)));
        }
        stranger.code.map_or(PairingReply::Silence, |(code, until)| PairingReply::Code(code, until))
    }

    /// Whether one more stranger of this channel can be remembered: who waits for nothing and is not locked out makes room,
    /// the one that was seen longest ago first.
    fn has_room(&mut self, channel: Channel) -> bool {
        let on = self.strangers.iter().filter(|((on, _), _)| *on == channel);
        if on.clone().count() < MAX_REMEMBERED {
            return true;
        }
        let idle = on.filter(|(_, one)| one.code.is_none() && one.locked_until_ms == 0 && one.wrong < MAX_TRIES);
        let Some(key) = idle.min_by_key(|(_, one)| one.seen_ms).map(|(key, _)| key.clone()) else { return false };
        self.strangers.remove(&key);
        true
    }

    /// A stranger shows a code: every open invitation of the channel is compared, whichever it is.
    fn shown(&mut self, key: (Channel, String), shown: Code, now_ms: u64) -> PairingReply {
        let mut found = None;
        for (at, one) in self.invitations.iter().enumerate() {
            if one.channel == key.0 && one.code == shown {
                found = Some(at);
            }
        }
        if let Some(at) = found {
            let invitation = self.invitations.remove(at);
            self.strangers.remove(&key);
            return PairingReply::Known(invitation.admission);
        }
        for one in self.invitations.iter_mut().filter(|one| one.channel == key.0) {
            one.wrong += 1;
        }
        let channel = key.0;
        if let Some(stranger) = self.strangers.get_mut(&key) {
            stranger.wrong += 1;
            if stranger.wrong >= MAX_TRIES {
                stranger.locked_until_ms = now_ms.saturating_add(LOCKED_MS);
                stranger.wrong = 0;
                stranger.code = None;
                self.invitations.retain(|one| one.channel != channel);
            }
        }
        PairingReply::Silence
    }

    /// The owner approves a stranger's code; the stranger's name. The code is out of the book.
    ///
    /// # Errors
    /// When nobody has that code, or too many wrong ones were typed.
    pub fn approve(&mut self, channel: Channel, shown: Option<Code>, now_ms: u64) -> Result<String, Fault> {
        self.sweep(now_ms);
        let mut found = None;
        for (key, stranger) in &self.strangers {
            let same = stranger.code.zip(shown).is_some_and(|((code, _), shown)| code == shown);
            if key.0 == channel && same {
                found = Some(key.clone());
            }
        }
        if let Some(key) = found {
            self.strangers.remove(&key);
            self.mistyped.remove(&channel);
            return Ok(key.1);
        }
        let wrong = self.mistyped.entry(channel).or_insert(0);
        *wrong += 1;
        if *wrong < MAX_TRIES {
            return Err(Fault::Wrong);
        }
        self.mistyped.remove(&channel);
        for (_, stranger) in self.strangers.iter_mut().filter(|((on, _), _)| *on == channel) {
            stranger.code = None;
        }
        Err(Fault::Locked)
    }

    /// The owner invites: the code, and until when it is good.
    ///
    /// # Errors
    /// [`Fault::Full`] when too many are open, or no code can be drawn.
    pub fn invite(
        &mut self,
        channel: Channel,
        admission: impl Into<Admission>,
        now_ms: u64,
        draw: impl FnOnce() -> Option<Code>,
    ) -> Result<(Code, u64), Fault> {
        self.sweep(now_ms);
        if self.invitations.len() >= MAX_INVITATIONS {
            return Err(Fault::Full);
        }
        let code = draw().ok_or(Fault::Full)?;
        let until_ms = now_ms.saturating_add(GOOD_MS);
        self.invitations.push(Invitation { channel, admission: admission.into(), code, until_ms, wrong: 0 });
        Ok((code, until_ms))
    }

    /// Who is not heard now, and until when.
    #[must_use]
    pub fn locked(&self, now_ms: u64) -> Vec<(Channel, String, u64)> {
        let locked = self.strangers.iter().filter(|(_, one)| now_ms < one.locked_until_ms);
        locked.map(|((channel, sender), one)| (*channel, sender.clone(), one.locked_until_ms)).collect()
    }

    /// This stranger is not heard until then: he tried too often before this process began.
    pub fn lock(&mut self, channel: Channel, sender: String, until_ms: u64) {
        if self.has_room(channel) {
            let locked = Stranger { code: None, told_ms: 0, wrong: 0, locked_until_ms: until_ms, seen_ms: 0 };
            self.strangers.insert((channel, sender), locked);
        }
    }

    /// Strangers whose code can be approved: channel, sender, until when. The codes are theirs to show.
    #[must_use]
    pub fn waiting(&self, now_ms: u64) -> Vec<(Channel, String, u64)> {
        let open = |((channel, sender), one): (&(Channel, String), &Stranger)| {
            one.code.filter(|(_, until)| now_ms < *until).map(|(_, until)| (*channel, sender.clone(), until))
        };
        self.strangers.iter().filter_map(open).collect()
    }

    /// Invitations that are open: channel, standing, until when.
    #[must_use]
    pub fn invitations(&self, now_ms: u64) -> Vec<(Channel, Standing, u64)> {
        let open = self.invitations.iter().filter(|one| now_ms < one.until_ms && one.wrong < MAX_WRONG);
        open.map(|one| (one.channel, one.admission.standing, one.until_ms)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::pairing::code::CODES;
    use proptest::prelude::*;

    const ON: Channel = Channel::Telegram;

    fn code(number: u32) -> Option<Code> {
        (0..=u32::MAX / CODES).find_map(|round| Code::of((round * CODES + number % CODES).to_le_bytes()))
    }

    fn knock(book: &mut Book, sender: &str, number: u32, now: u64) -> PairingReply {
        book.knock(ON, sender, None, now, || code(number))
    }

    #[test]
    fn a_strangers_code_is_good_once_for_ten_minutes_and_on_its_channel() {
        let mut book = Book::default();
        let PairingReply::Code(first, until) = knock(&mut book, "4711", 7, 0) else { panic!() };
        assert_eq!(until, GOOD_MS);
        assert_eq!(book.approve(Channel::Http, Some(first), 1), Err(Fault::Wrong));
        assert_eq!(book.approve(ON, Some(first), GOOD_MS - 1), Ok("4711".into()));
        assert_eq!(book.approve(ON, Some(first), GOOD_MS - 1), Err(Fault::Wrong), "single use");
        let mut book = Book::default();
        let PairingReply::Code(late, _) = knock(&mut book, "4711", 7, 0) else { panic!() };
        assert_eq!(book.approve(ON, Some(late), GOOD_MS), Err(Fault::Wrong), "too late");
    }

    #[test]
    fn stranger_gets_one_line_a_minute_and_the_same_code() {
        let mut book = Book::default();
        let first = knock(&mut book, "a", 1, 0);
        assert_eq!(knock(&mut book, "a", 2, LINE_EVERY_MS - 1), PairingReply::Silence);
        assert_eq!(knock(&mut book, "a", 2, LINE_EVERY_MS), first, "as long as it is good");
        let PairingReply::Code(second, _) = knock(&mut book, "a", 2, GOOD_MS + 1) else { panic!() };
        assert_eq!(Some(second), code(2));
    }

    #[test]
    fn locked_out_sender_is_refused_until_expiry() {
        let mut book = Book::default();
        book.lock(ON, "a".into(), 1_000);
        assert_eq!(book.locked(999), [(ON, "a".to_owned(), 1_000)]);
        assert_eq!(knock(&mut book, "a", 1, 999), PairingReply::Silence);
        assert!(book.locked(1_000).is_empty());
        assert!(matches!(knock(&mut book, "a", 1, LINE_EVERY_MS), PairingReply::Code(..)));
    }

    #[test]
    fn invitation_is_good_once_for_its_bearer() {
        let mut book = Book::default();
        let (good, _) = book.invite(ON, Standing::Guest, 0, || code(9)).unwrap();
        assert_eq!(book.knock(Channel::Http, "x", Some(good), 1, || None), PairingReply::Silence, "another channel");
        assert_eq!(book.knock(ON, "x", Some(good), 1, || None), PairingReply::Known(Standing::Guest.into()));
        assert_eq!(book.knock(ON, "y", Some(good), 1, || None), PairingReply::Silence, "single use");
        let (late, until) = book.invite(ON, Standing::Guest, 0, || code(9)).unwrap();
        assert_eq!(book.knock(ON, "z", Some(late), until, || None), PairingReply::Silence);
    }

    #[test]
    fn five_wrong_tries_lock_a_stranger_out_and_void_the_invitation() {
        let mut book = Book::default();
        let (good, _) = book.invite(ON, Standing::Owner, 0, || code(9)).unwrap();
        for n in 1..MAX_TRIES {
            assert_eq!(book.knock(ON, "x", code(100 + n), 1, || None), PairingReply::Silence);
        }
        assert_eq!(book.invitations(1).len(), 1);
        assert_eq!(book.knock(ON, "x", code(200), 1, || None), PairingReply::Silence);
        assert_eq!(book.knock(ON, "x", Some(good), 2, || None), PairingReply::Silence, "he is locked out");
        assert_eq!(book.knock(ON, "y", Some(good), 2, || None), PairingReply::Silence, "and for others it is void");
        let (next, _) = book.invite(ON, Standing::Guest, 3, || code(10)).unwrap();
        assert_eq!(book.knock(ON, "x", Some(next), LOCKED_MS, || None), PairingReply::Silence);
        let (next, _) = book.invite(ON, Standing::Guest, LOCKED_MS + 1, || code(11)).unwrap();
        assert_eq!(
            book.knock(ON, "x", Some(next), LOCKED_MS + 1, || None),
            PairingReply::Known(Standing::Guest.into())
        );
    }

    #[test]
    fn many_who_guess_void_the_invitation_and_fill_no_other_channel() {
        let mut book = Book::default();
        let (good, _) = book.invite(ON, Standing::Owner, 0, || code(9)).unwrap();
        let guess = |book: &mut Book, n: u32| book.knock(ON, &format!("x{n}"), code(100 + n), u64::from(n), || None);
        for n in 1..MAX_WRONG {
            assert_eq!(guess(&mut book, n), PairingReply::Silence);
        }
        assert_eq!(book.invitations(MAX_WRONG.into()).len(), 1);
        for n in MAX_WRONG..1_000 {
            assert_eq!(guess(&mut book, n), PairingReply::Silence);
        }
        assert_eq!(book.knock(ON, "y", Some(good), 1_000, || None), PairingReply::Silence, "it is void");
        // The owner makes another, and anyone who comes by another way is received.
        let (good, _) = book.invite(ON, Standing::Owner, 1_000, || code(10)).unwrap();
        assert_eq!(book.knock(ON, "y", Some(good), 1_001, || None), PairingReply::Known(Standing::Owner.into()));
        let there = book.knock(Channel::Cli, "uid:7", None, 1_001, || code(11));
        assert!(matches!(there, PairingReply::Code(..)), "{there:?}");
    }

    #[test]
    fn five_wrong_codes_of_the_owner_void_what_waits() {
        let mut book = Book::default();
        let PairingReply::Code(good, _) = knock(&mut book, "a", 1, 0) else { panic!() };
        for _ in 1..MAX_TRIES {
            assert_eq!(book.approve(ON, code(500), 1), Err(Fault::Wrong));
        }
        assert_eq!(book.approve(ON, None, 1), Err(Fault::Locked));
        assert_eq!(book.approve(ON, Some(good), 1), Err(Fault::Wrong));
    }

    #[test]
    fn everything_in_the_book_is_bounded() {
        let mut book = Book::default();
        for n in 0..MAX_STRANGERS {
            assert!(matches!(knock(&mut book, &n.to_string(), u32::try_from(n).unwrap(), 0), PairingReply::Code(..)));
        }
        assert_eq!(knock(&mut book, "one more", 99, 0), PairingReply::Silence);
        for n in 0..2 * MAX_REMEMBERED {
            knock(&mut book, &format!("s{n}"), 5, 0);
        }
        assert_eq!(book.strangers.len(), MAX_REMEMBERED);
        for n in 0..MAX_INVITATIONS {
            assert!(book.invite(ON, Standing::Guest, 0, || code(u32::try_from(n).unwrap())).is_ok());
        }
        assert_eq!(book.invite(ON, Standing::Guest, 0, || code(9)), Err(Fault::Full));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Knock(u8),
        Show(u8, u32),
        Approve(u32),
        Invite(u32),
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0u8..4).prop_map(Step::Knock),
            (0u8..4, 0u32..6).prop_map(|(who, code)| Step::Show(who, code)),
            (0u32..6).prop_map(Step::Approve),
            (0u32..6).prop_map(Step::Invite),
            (0u64..400_000).prop_map(Step::Wait),
        ]
    }

    proptest! {
        #[test]
        fn pairings_never_exceed_issued_codes(steps in proptest::collection::vec(step(), 0..120)) {
            let (mut book, mut now, mut given, mut known) = (Book::default(), 0, 0_u32, 0_u32);
            for step in steps {
                match step {
                    Step::Knock(who) => {
                        let before = book.waiting(now).len();
                        book.knock(ON, &who.to_string(), None, now, || code(u32::from(who)));
                        given += u32::from(book.waiting(now).len() > before);
                    }
                    Step::Show(who, number) => {
                        known += u32::from(matches!(book.knock(ON, &who.to_string(), code(number), now, || None), PairingReply::Known(_)));
                    }
                    Step::Approve(number) => known += u32::from(book.approve(ON, code(number), now).is_ok()),
                    Step::Invite(number) => given += u32::from(book.invite(ON, Standing::Guest, now, || code(number)).is_ok()),
                    Step::Wait(ms) => now += ms,
                }
                prop_assert!(known <= given);
            }
        }
    }
}
