//! The owner's one-time codes: enrolled, shown to be his, used once each and removed. The codes themselves are in `totp.rs`.

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::policyd::CodesEnrolled;
use tokio::sync::Mutex;

use crate::approvals::cards::not_durable;
use crate::approvals::totp::{self, Enrolled, SECRET_BYTES};
use crate::approvals::{Card, no};
use crate::base::Base;
use crate::people::principal::Principal;
use crate::vault::Secrets;

/// What the vault seals the secret of the one-time codes as.
const CODES: &str = "codes";

/// The owner's one-time codes.
#[derive(Debug)]
pub(crate) struct Codes {
    base: Rc<Base>,
    secrets: Rc<Secrets>,
    enrolled: RefCell<Option<Enrolled>>,
    /// Held by anyone who judges one.
    judging: Mutex<()>,
}

impl Codes {
    pub(crate) fn new(base: &Rc<Base>, secrets: &Rc<Secrets>, kept: Option<Enrolled>) -> Self {
        let (base, secrets, judging) = (Rc::clone(base), Rc::clone(secrets), Mutex::default());
        let codes = Self { base, secrets, enrolled: RefCell::default(), judging };
        codes.enrolled.replace(kept.and_then(|kept| codes.opened(kept)));
        codes
    }

    /// Whether this code counts for this card: once, and not for another.
    pub(crate) async fn code_counts(&self, code: &str, card: &Card) -> Result<(), Refusal> {
        let hard = || {
            let why = "this card is answered at the machine, or with a one-time code; nothing was done".to_owned();
            no("approvals.hard", why).remedy(format!("`metnosctl approval approve {}`", card.id))
        };
        if code.is_empty() {
            return Err(hard());
        }
        match self.judge_code(code, true).await? {
            totp::Verdict::Right => {
                self.base.event("approval_code", &format!("a one-time code was used for the card {}", card.id), None);
                Ok(())
            }
            totp::Verdict::Wrong => {
                self.base.event(
                    "approval_code_wrong",
                    &format!("a wrong one-time code for the card {}", card.id),
                    None,
                );
                Err(no("approvals.code", "that code does not count; nothing was done".to_owned()))
            }
            totp::Verdict::Locked => {
                let why = "too many wrong codes: none counts for a while; nothing was done".to_owned();
                Err(no("approvals.code_locked", why).remedy(format!("`metnosctl approval approve {}`", card.id)))
            }
        }
    }

    /// Judges a code and keeps what follows before anybody learns of it.
    async fn judge_code(&self, code: &str, confirmed: bool) -> Result<totp::Verdict, Refusal> {
        let _one = self.judging.lock().await;
        let known = self.enrolled.borrow().clone().filter(|codes| codes.confirmed == confirmed);
        let Some(mut codes) = known else { return Ok(totp::Verdict::Wrong) };
        let verdict = codes.judge(code, self.base.clock.wall_ms());
        if verdict == totp::Verdict::Right {
            codes.confirmed = true;
        }
        self.keep_codes(&codes).await?;
        *self.enrolled.borrow_mut() = Some(codes);
        Ok(verdict)
    }

    /// Keeps the codes, their secret sealed as the vault seals.
    async fn keep_codes(&self, codes: &Enrolled) -> Result<(), Refusal> {
        let sealed = self.secrets.vault.borrow().seal_own(CODES, &codes.secret);
        let secret = sealed.ok_or_else(|| not_durable("the kernel gives no random numbers"))?;
        let codes = Enrolled { secret, ..codes.clone() };
        self.base.store.codes(Some(codes)).await.map_err(|error| not_durable(&error.to_string()))
    }

    /// The codes as they were kept, opened.
    pub(crate) fn opened(&self, codes: Enrolled) -> Option<Enrolled> {
        let secret = self.secrets.vault.borrow().open_own(CODES, &codes.secret).map(|secret| secret.to_vec());
        if secret.is_none() {
            tracing::error!("the vault's key does not open the secret of the one-time codes, so no code counts");
        }
        secret.map(|secret| Enrolled { secret, ..codes })
    }

    /// Makes a new secret; the one before counts no more.
    ///
    /// # Errors
    /// When it could not be kept.
    pub(crate) async fn enrol_codes(&self, principal: &Principal) -> Result<CodesEnrolled, Refusal> {
        let _one = self.judging.lock().await;
        let mut secret = vec![0; SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(|error| not_durable(&error.to_string()))?;
        let codes = Enrolled::new(secret);
        self.keep_codes(&codes).await?;
        let text = totp::base32(&codes.secret);
        *self.enrolled.borrow_mut() = Some(codes);
        self.base.event("codes", &format!("{} has begun to enrol one-time codes", principal.name), None);
        let uri = format!("otpauth://totp/Metnos?secret={text}&issuer=Metnos&algorithm=SHA1&digits=6&period=30");
        Ok(CodesEnrolled { secret: text, uri })
    }

    /// The owner shows that he has the secret; codes count from then on.
    ///
    /// # Errors
    /// When the code is not one of it.
    pub(crate) async fn confirm_codes(&self, principal: &Principal, code: &str) -> Result<(), Refusal> {
        match self.judge_code(code, false).await? {
            totp::Verdict::Right => {
                self.base.event("codes", &format!("{} has enrolled one-time codes", principal.name), None);
                Ok(())
            }
            totp::Verdict::Wrong | totp::Verdict::Locked => {
                let why = "that is no code of the secret that was made last".to_owned();
                Err(no("approvals.code", why).remedy("check the clock of the other device, and type the newest code"))
            }
        }
    }

    /// No code counts any more.
    ///
    /// # Errors
    /// When that could not be kept.
    pub(crate) async fn remove_codes(&self, principal: &Principal) -> Result<(), Refusal> {
        let _one = self.judging.lock().await;
        self.base.store.codes(None).await.map_err(|error| not_durable(&error.to_string()))?;
        *self.enrolled.borrow_mut() = None;
        self.base.event("codes", &format!("{} has removed the one-time codes", principal.name), None);
        Ok(())
    }
}
