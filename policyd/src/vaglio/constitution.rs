//! The constitution in force: the bytes of `SOUL.md` that the owner has last confirmed. A file that says something else
//! changes nothing until the rite, and until then Metnos does nothing of its own accord (design: policy §1).

use metnos_policy::soul::{self, Law, Soul};
use metnos_proto::doc::vaglio as doc;
use metnos_proto::doc::vaglio::{ConstitutionReport, LawsInFile, LawsInForce};
use metnos_proto::ids::{Blake3, TraceId};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd::ConstitutionModified;
use metnos_proto::msg::vaglio::Rite;
use rusqlite::{Connection, OptionalExtension, params};

use crate::refusals::memory_gone;
use crate::store::{StoreError, not_durable, signed, unsigned};
use crate::vaglio::Proposals;

/// The file.
pub const SOUL_FILE: &str = "SOUL.md";

/// What is in force.
#[derive(Debug, Default)]
pub struct Constitution {
    /// The Laws in force; none as long as no file was ever confirmed or found at the first start.
    pub pinned: Option<Soul>,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
    /// The digest of the file about which a line was written already.
    told: Option<Blake3>,
}

impl Constitution {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let row: Option<(Vec<u8>, i64)> = connection
            .query_row("SELECT text, since_ms FROM constitution", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((text, since)) = row else { return Ok(Self::default()) };
        let pinned = soul::parse(&text).map_err(|_| StoreError::Damaged("the constitution".to_owned()))?;
        Ok(Self { pinned: Some(pinned), since_ms: unsigned(since), told: None })
    }
}

/// How the file stands to what is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    /// They are the same.
    No,
    /// The file is another constitution, or none; why, for a person.
    Yes(String),
}

impl Proposals {
    fn soul_file(&self) -> Result<(Vec<u8>, Soul), String> {
        let bytes = self.base.perimeter.files.read(SOUL_FILE)?.ok_or("workspace/SOUL.md is not there")?;
        let soul = soul::parse(&bytes).map_err(|why| why.to_string())?;
        Ok((bytes, soul))
    }

    /// At the very first start the constitution is the one that the instance was made with.
    pub async fn first_constitution(&self) {
        if self.constitution.borrow().pinned.is_some() {
            return;
        }
        let found = self.soul_file();
        let pinned = match found {
            Ok((bytes, soul)) => {
                let text = format!("the constitution of this instance is {}", soul.digest);
                match self.base.chronicled("constitution_pinned", &text).await {
                    Ok(_) => self.pin(bytes, soul).await,
                    Err(refusal) => Err(refusal),
                }
            }
            Err(why) => Err(Refusal::new(RefusalCode::Unavailable, "constitution.none", why)),
        };
        if let Err(refusal) = pinned {
            tracing::warn!(%refusal, "no constitution is in force yet");
        }
    }

    /// Sees to it that a constitution is in force, as soon as memoryd can record that.
    pub async fn keep_constitution(self: std::rc::Rc<Self>) {
        let mut generations = self.base.memory.generations();
        loop {
            if *generations.borrow_and_update() != 0 {
                self.first_constitution().await;
                if self.constitution.borrow().pinned.is_some() {
                    return;
                }
            }
            if generations.changed().await.is_err() {
                return;
            }
        }
    }

    async fn pin(&self, bytes: Vec<u8>, soul: Soul) -> Result<(), Refusal> {
        let now = self.base.clock.wall_ms();
        self.base
            .store
            .run(move |connection| {
                connection
                    .execute("INSERT OR REPLACE INTO constitution VALUES (1, ?1, ?2)", params![bytes, signed(now)])
                    .map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        *self.constitution.borrow_mut() = Constitution { pinned: Some(soul), since_ms: now, told: None };
        Ok(())
    }

    /// How `SOUL.md` stands to what is in force, right now.
    #[must_use]
    pub fn constitution_pending(&self) -> Pending {
        let found = self.soul_file();
        let constitution = self.constitution.borrow();
        match (&constitution.pinned, found) {
            (Some(pinned), Ok((_, soul))) if soul.digest == pinned.digest => Pending::No,
            (Some(_), Ok(_)) => Pending::Yes("workspace/SOUL.md is not the constitution in force".to_owned()),
            (None, Ok(_)) => Pending::Yes("no constitution was ever confirmed".to_owned()),
            (_, Err(why)) => Pending::Yes(why),
        }
    }

    /// Refuses every act of Metnos's own accord while the constitution is pending.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn constitution_holds(self: &std::rc::Rc<Self>) -> Result<(), Refusal> {
        let Pending::Yes(why) = self.constitution_pending() else { return Ok(()) };
        let digest = self.soul_file().map_or(Blake3([0; 32]), |(_, soul)| soul.digest);
        let fresh = self.constitution.borrow_mut().told.replace(digest) != Some(digest);
        if fresh {
            let text = format!("{why}; nothing is done of Metnos's own accord until the rite");
            self.base.event("constitution_pending", &text, None);
        }
        Err(Refusal::new(RefusalCode::Denied, "constitution.pending", why)
            .remedy("the owner looks at it with `metnosctl rite constitution`, at the machine"))
    }

    /// The owner looks at the Laws, or confirms the file he was shown.
    ///
    /// # Errors
    /// When the file is none, or not the one that was shown.
    pub(crate) async fn rite(&self, by: &str, ask: Rite) -> Result<ConstitutionReport, Refusal> {
        match ask {
            Rite::Look => Ok(self.look_at_laws()),
            Rite::Constitution(digest) => self.confirm(by, &digest).await,
        }
    }

    async fn confirm(&self, by: &str, digest: &str) -> Result<ConstitutionReport, Refusal> {
        let (bytes, soul) =
            self.soul_file().map_err(|why| Refusal::new(RefusalCode::Invalid, "constitution.form", why))?;
        if soul.digest.to_string() != digest {
            let why = "workspace/SOUL.md is not what was shown: it was changed meanwhile; nothing was done";
            return Err(Refusal::new(RefusalCode::Denied, "constitution.altered", why)
                .remedy("look at it again with `metnosctl rite constitution`"));
        }
        let before = self.constitution.borrow().pinned.as_ref().map(|pinned| pinned.digest);
        if before == Some(soul.digest) {
            return Ok(self.look_at_laws());
        }
        let word = ConstitutionModified {
            from: before.map_or_else(String::new, |digest| digest.to_string()),
            to: soul.digest.to_string(),
            why: format!("the rite, performed by {by}"),
        };
        self.base.memory.constitution(TraceId::NONE, word, []).await.map_err(|error| memory_gone(&error))?;
        self.pin(bytes, soul).await?;
        Ok(self.look_at_laws())
    }

    fn look_at_laws(&self) -> ConstitutionReport {
        let pending = self.constitution_pending();
        let file = self.soul_file();
        let constitution = self.constitution.borrow();
        let in_force = constitution.pinned.as_ref().map(|soul| LawsInForce {
            digest: soul.digest.to_string(),
            laws: laws(&soul.laws),
            since_ms: constitution.since_ms,
        });
        let file = match file {
            Ok((_, soul)) => {
                LawsInFile { digest: soul.digest.to_string(), laws: laws(&soul.laws), fault: String::new() }
            }
            Err(fault) => LawsInFile { digest: String::new(), laws: Vec::new(), fault },
        };
        let (pending, why) = match pending {
            Pending::No => (false, String::new()),
            Pending::Yes(why) => (true, why),
        };
        ConstitutionReport { in_force, file, pending, why }
    }
}

fn laws(laws: &[Law]) -> Vec<doc::Law> {
    laws.iter().map(|law| doc::Law { name: law.name.clone(), text: law.text.clone() }).collect()
}
