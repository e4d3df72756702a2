//! How far each principal goes without asking, and for how long. A raise ends by itself; what was set for good stays
//! until it is set anew (design: policy §2).

use std::collections::BTreeMap;

use metnos_proto::doc::people::{AutonomyAnswer, LevelSet, PrincipalLevel};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::{Channel, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::{AutonomyAsk, SetLevel};
use rusqlite::{Connection, params};

use crate::people::Principals;
use crate::people::principal::Principal;
use crate::store::{StoreError, not_durable, signed, unsigned};

/// The longest raise, in seconds: a day.
pub const MAX_RAISE_S: u32 = 86_400;
/// The table.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS levels (
        principal TEXT PRIMARY KEY, base TEXT, raised TEXT, until_ms INTEGER NOT NULL
    ) STRICT;";

/// What was set for a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Own {
    /// For good.
    pub base: Option<Level>,
    /// For a while: until when, in milliseconds since the epoch.
    pub raised: Option<(Level, u64)>,
}

impl Own {
    /// The level at `now_ms`, where `standing` is what his standing gives him.
    #[must_use]
    pub fn level(self, standing: Level, now_ms: u64) -> Level {
        match self.raised {
            Some((level, until)) if now_ms < until => level,
            _ => self.base.unwrap_or(standing),
        }
    }
}

/// What was set, by principal.
#[derive(Debug, Default)]
pub struct Levels(BTreeMap<String, Own>);

impl Levels {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement = connection.prepare("SELECT principal, base, raised, until_ms FROM levels")?;
        let rows = statement.query_map([], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, Option<String>>(1)?,
                row.get::<_, Option<String>>(2)?,
                row.get::<_, i64>(3)?,
            ))
        })?;
        let mut levels = BTreeMap::new();
        for row in rows {
            let (name, base, raised, until) = row?;
            let read = |text: Option<String>| match text {
                None => Ok(None),
                Some(text) => parse(&text).map(Some).ok_or_else(|| StoreError::Damaged(format!("level of {name}"))),
            };
            let own = Own { base: read(base)?, raised: read(raised)?.map(|level| (level, unsigned(until))) };
            levels.insert(name, own);
        }
        Ok(Self(levels))
    }

    /// The level of this principal at `now_ms`.
    #[must_use]
    pub fn level(&self, name: &str, standing: Level, now_ms: u64) -> Level {
        self.0.get(name).map_or(standing, |own| own.level(standing, now_ms))
    }

    /// Until when it is raised; `None` when it is not.
    #[must_use]
    pub fn raised_until(&self, name: &str, now_ms: u64) -> Option<u64> {
        self.0.get(name)?.raised.map(|(_, until)| until).filter(|until| now_ms < *until)
    }

    /// Whether a level was set for this principal.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }
}

/// The name of a level in documents.
#[must_use]
pub const fn level_name(level: Level) -> &'static str {
    match level {
        Level::ReadOnly => "readonly",
        Level::Supervised => "supervised",
        Level::Full => "full",
    }
}

/// The level of this name.
#[must_use]
pub fn parse(name: &str) -> Option<Level> {
    [Level::ReadOnly, Level::Supervised, Level::Full].into_iter().find(|level| level_name(*level) == name)
}

/// Whether a person of this standing may have this level for so long (0: for good).
///
/// # Errors
/// The refusal.
pub fn admissible(standing: Standing, level: Level, seconds: u32) -> Result<(), Refusal> {
    let no = |why: String| Err(Refusal::new(RefusalCode::Denied, "autonomy.level", why));
    match (standing, level) {
        (Standing::Stranger, _) => no("a stranger has no level: pair him first".to_owned()),
        (Standing::Adult, Level::Full) => no("only the owner goes further than `supervised`".to_owned()),
        (Standing::Guest, Level::Full) => no("a guest never goes further than `supervised`".to_owned()),
        (_, Level::Full) if seconds == 0 => {
            let no = Refusal::new(RefusalCode::Denied, "autonomy.level", "`full` is for a session, never for good");
            Err(no.remedy("say for how long: `--for 2h`"))
        }
        _ if seconds > MAX_RAISE_S => no(format!("a level is raised for at most {MAX_RAISE_S} seconds")),
        (Standing::Owner | Standing::Adult | Standing::Guest, Level::ReadOnly | Level::Supervised | Level::Full) => {
            Ok(())
        }
    }
}

impl Principals {
    /// The owner looks at levels, or sets one.
    ///
    /// # Errors
    /// When the principal is unknown, may not have that level, or it could not be recorded.
    pub(crate) async fn autonomy(&self, by: &str, ask: AutonomyAsk) -> Result<AutonomyAnswer, Refusal> {
        match ask {
            AutonomyAsk::Show => Ok(AutonomyAnswer::Levels(self.show_levels())),
            AutonomyAsk::Set(ask) => self.set_level(by, &ask).await.map(AutonomyAnswer::Set),
        }
    }

    fn show_levels(&self) -> Vec<PrincipalLevel> {
        let now = self.base.clock.wall_ms();
        let owner = format!("cli:uid:{}", self.base.setting.owner_uid);
        let mut names: Vec<String> = vec![owner];
        names.extend(self.paired.borrow().names().map(str::to_owned));
        names.extend(self.automations.borrow().names().map(str::to_owned));
        names.extend(self.levels.borrow().0.keys().cloned());
        names.sort();
        names.dedup();
        let one = |name: &String| {
            let it = self.named_principal(name).ok()?;
            let until = self.levels.borrow().raised_until(name, now);
            Some(PrincipalLevel {
                principal: it.name,
                standing: it.standing.into(),
                level: it.level.into(),
                raised_until_ms: until,
            })
        };
        names.iter().filter_map(one).collect()
    }

    async fn set_level(&self, by: &str, ask: &SetLevel) -> Result<LevelSet, Refusal> {
        let it = self.named_principal(&ask.principal)?;
        admissible(it.standing, ask.level, ask.seconds)?;
        let now = self.base.clock.wall_ms();
        let before = self.levels.borrow().0.get(&it.name).copied().unwrap_or_default();
        let own = if ask.seconds == 0 {
            Own { base: Some(ask.level), raised: None }
        } else {
            Own { raised: Some((ask.level, now.saturating_add(u64::from(ask.seconds) * 1_000))), ..before }
        };
        let long = if ask.seconds == 0 { "for good".to_owned() } else { format!("for {} seconds", ask.seconds) };
        let line = format!("{by}: {} is {} {long}", it.name, level_name(ask.level));
        self.base.chronicled("autonomy", &line).await?;
        let name = it.name.clone();
        self.base
            .store
            .run(move |connection| {
                let (raised, until) = own.raised.map_or((None, 0), |(level, until)| (Some(level_name(level)), until));
                let values = params![name, own.base.map(level_name), raised, signed(until)];
                connection.execute("INSERT OR REPLACE INTO levels VALUES (?1, ?2, ?3, ?4)", values).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        self.levels.borrow_mut().0.insert(it.name.clone(), own);
        self.refresh_worlds();
        let until = own.raised.map(|(_, until)| until);
        Ok(LevelSet { principal: it.name, level: ask.level.into(), raised_until_ms: until })
    }

    /// Open turns go by the level that holds now.
    fn refresh_worlds(&self) {
        let open: Vec<TurnId> = self.turns.borrow().each().map(|(id, _)| id).collect();
        for id in open {
            self.refresh_world(id);
        }
    }

    /// A turn goes by the level that holds now: a raise that has ended ends in the middle of a turn, too.
    pub(crate) fn refresh_world(&self, id: TurnId) {
        let before = match self.turns.borrow().get(id) {
            Some(turn) => turn.principal.clone(),
            None => return,
        };
        let Some((_, sender)) = before.name.split_once(':') else { return };
        let now = if before.channel == Channel::Scheduler {
            // It is the turn of a person who is not there: what was given up when it began does not come back.
            let level_of =
                |now: Principal| Principal { channel: before.channel, level: now.level.min(before.level), ..now };
            self.named_principal(&before.name).map(level_of)
        } else {
            self.who(before.channel, sender)
        };
        let Ok(now) = now else { return };
        if now.level == before.level {
            return;
        }
        let world = self.world(&now);
        if let Some(turn) = self.turns.borrow_mut().get_mut(id) {
            turn.principal.level = now.level;
            // Whose private folder it is does not go by the level, and of a card it is the asker's.
            let (own_folder, guest_folders) = (turn.world.own_folder.clone(), turn.world.guest_folders.clone());
            turn.world = std::rc::Rc::new(metnos_policy::evidence::context::World {
                own_folder,
                guest_folders,
                ..(*world).clone()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_raise_ends_by_itself_and_leaves_what_was_before() {
        let own = Own { base: Some(Level::ReadOnly), raised: Some((Level::Full, 100)) };
        assert_eq!(own.level(Level::Supervised, 99), Level::Full);
        assert_eq!(own.level(Level::Supervised, 100), Level::ReadOnly);
        assert_eq!(Own { base: None, ..own }.level(Level::Supervised, 100), Level::Supervised);
    }

    #[test]
    fn full_is_for_the_owner_and_for_a_while() {
        assert!(admissible(Standing::Owner, Level::Full, 1).is_ok());
        assert!(admissible(Standing::Owner, Level::Full, MAX_RAISE_S).is_ok());
        assert!(admissible(Standing::Owner, Level::Full, MAX_RAISE_S + 1).is_err());
        assert!(admissible(Standing::Owner, Level::Full, 0).is_err());
        assert!(admissible(Standing::Guest, Level::Full, 60).is_err());
        assert!(admissible(Standing::Guest, Level::Supervised, 0).is_ok());
        assert!(admissible(Standing::Stranger, Level::ReadOnly, 60).is_err());
    }

    proptest! {
        #[test]
        fn after_a_raise_the_level_is_never_higher_than_without_it(until in 0u64..1_000, later in 0u64..1_000) {
            let own = Own { base: None, raised: Some((Level::Full, until)) };
            prop_assert_eq!(own.level(Level::ReadOnly, until + later), Level::ReadOnly);
        }
    }
}
