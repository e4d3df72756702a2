//! In which language a person is spoken to: the one that was set for him, else that of his own words, else what his channel
//! says, else the language of the instance (design: interfaces §8). Nothing is decided by it but words.

use std::collections::BTreeMap;

use metnos_proto::doc::people::LanguageSet;
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::Speaks;
use rusqlite::{Connection, params};

use crate::guard::shown;
use crate::people::Principals;
use crate::people::pairing::MAX_PEOPLE;
use crate::people::principal::Principal;
use crate::store::{StoreError, not_durable};

/// The table.
pub(crate) const TABLES: &str =
    "CREATE TABLE IF NOT EXISTS languages (principal TEXT PRIMARY KEY, lang TEXT NOT NULL) STRICT;";
/// The most principals of whom it is remembered what their channels said.
const MAX_HEARD: usize = 2 * MAX_PEOPLE;

/// See the module.
#[derive(Debug, Default)]
pub struct Languages {
    chosen: BTreeMap<String, Lang>,
    /// How each was spoken to last.
    last: BTreeMap<String, Lang>,
    /// In which language each has last said something that tells.
    worded: BTreeMap<String, Lang>,
}

/// The name of a language in documents and in the store.
#[must_use]
pub const fn name(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "en",
        Lang::It => "it",
    }
}

impl Languages {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement = connection.prepare("SELECT principal, lang FROM languages")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut chosen = BTreeMap::new();
        for row in rows {
            let (principal, lang) = row?;
            let lang = [Lang::En, Lang::It].into_iter().find(|one| name(*one) == lang);
            let lang = lang.ok_or_else(|| StoreError::Damaged(format!("the language of {principal}")))?;
            chosen.insert(principal, lang);
        }
        Ok(Self { chosen, ..Self::default() })
    }

    /// How this one is spoken to now. The house's own language is the owner's: what his telephone says of itself turns an
    /// Italian house into no English one, but a house of nobody's choice into an Italian one.
    fn now(&mut self, it: &Principal, heard: Option<Lang>, spoke: Option<Lang>, house: Lang) -> Lang {
        if let Some(spoke) = spoke {
            let has_room = self.worded.len() < MAX_HEARD || self.worded.contains_key(&it.name);
            if it.standing != Standing::Stranger && has_room {
                self.worded.insert(it.name.clone(), spoke);
            }
        }
        let chosen = self.chosen.get(&it.name).copied();
        if let Some(lang) = chosen.or(spoke).or_else(|| self.worded.get(&it.name).copied()) {
            return lang;
        }
        let lang = match it.standing {
            Standing::Owner if house != Lang::En => house,
            Standing::Owner | Standing::Adult | Standing::Guest | Standing::Stranger => {
                heard.or_else(|| self.last.get(&it.name).copied()).unwrap_or(house)
            }
        };
        let has_room = self.last.len() < MAX_HEARD || self.last.contains_key(&it.name);
        if it.standing != Standing::Stranger && has_room {
            self.last.insert(it.name.clone(), lang);
        }
        lang
    }

    fn of(&self, principal: &str, house: Lang) -> Lang {
        let known = [&self.chosen, &self.worded, &self.last];
        known.into_iter().find_map(|langs| langs.get(principal)).copied().unwrap_or(house)
    }

    /// Nothing is known of him any more.
    pub(crate) fn forget(&mut self, principal: &str) {
        self.chosen.remove(principal);
        self.last.remove(principal);
        self.worded.remove(principal);
    }

    /// The owner has said how this one is spoken to: what was heard before counts no longer.
    fn choose(&mut self, principal: String, lang: Lang) {
        self.worded.remove(&principal);
        self.chosen.insert(principal, lang);
    }
}

impl Principals {
    /// In which language this one is spoken to, who has just been heard: what his channel says of him, and the language of
    /// his words, as far as they tell.
    pub(crate) fn speaks(&self, it: &Principal, heard: Option<Lang>, spoke: Option<Lang>) -> Lang {
        self.languages.borrow_mut().now(it, heard, spoke, self.base.setting.lang)
    }

    /// In which language this one is spoken to.
    pub(crate) fn lang_of(&self, principal: &str) -> Lang {
        self.languages.borrow().of(principal, self.base.setting.lang)
    }

    /// The owner says which language a person is spoken to in.
    ///
    /// # Errors
    /// When nobody is known by that name, or it could not be recorded.
    pub(crate) async fn set_lang(&self, by: &str, ask: Speaks) -> Result<LanguageSet, Refusal> {
        let owner = format!("cli:uid:{}", self.base.setting.owner_uid);
        let who = if ask.principal == "owner" { owner.clone() } else { ask.principal };
        if who != owner && self.paired.borrow().standing(&who).is_none() {
            let why = format!("{} is not known here", shown(&who));
            return Err(Refusal::new(RefusalCode::Unknown, "pairing.unknown", why)
                .remedy("`metnosctl pairing list` shows who is known; the owner's own name is `owner`"));
        }
        let lang = name(ask.lang);
        self.base.chronicled("language", &format!("{by} has {who} spoken to in {lang}")).await?;
        // Root at the terminal is the owner, too.
        let names = if who == owner { vec![who.clone(), "cli:uid:0".to_owned()] } else { vec![who.clone()] };
        let rows = names.clone();
        self.base
            .store
            .run(move |connection| {
                for row in &rows {
                    connection.execute("INSERT OR REPLACE INTO languages VALUES (?1, ?2)", params![row, lang])?;
                }
                Ok(())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        let mut languages = self.languages.borrow_mut();
        names.into_iter().for_each(|name| languages.choose(name, ask.lang));
        drop(languages);
        Ok(LanguageSet { principal: who, lang: ask.lang.into() })
    }
}

#[cfg(test)]
mod tests {
    use metnos_proto::msg::common::{Channel, Level};

    use super::*;

    fn one(name: &str, standing: Standing) -> Principal {
        Principal { name: name.into(), channel: Channel::Telegram, standing, level: Level::ReadOnly }
    }

    #[test]
    fn language_comes_from_owner_then_channel_then_instance() {
        let (owner, guest) = (one("telegram:1", Standing::Owner), one("telegram:2", Standing::Guest));
        let mut it = Languages::default();
        assert_eq!(it.now(&guest, None, None, Lang::It), Lang::It);
        assert_eq!(it.now(&guest, Some(Lang::En), None, Lang::It), Lang::En);
        assert_eq!(it.of("telegram:2", Lang::It), Lang::En);
        assert_eq!(it.now(&guest, None, None, Lang::It), Lang::En, "as he was spoken to last");
        assert_eq!(it.now(&owner, Some(Lang::En), None, Lang::It), Lang::It, "the house is his");
        assert_eq!(it.now(&owner, Some(Lang::It), None, Lang::En), Lang::It);
        it.chosen.insert("telegram:1".into(), Lang::En);
        assert_eq!(it.now(&owner, Some(Lang::It), None, Lang::It), Lang::En);
        it.forget("telegram:1");
        assert_eq!(it.of("telegram:1", Lang::It), Lang::It);
    }

    #[test]
    fn the_language_of_his_own_words_counts_before_everything_else() {
        let (owner, guest) = (one("cli:uid:1", Standing::Owner), one("telegram:2", Standing::Guest));
        let mut it = Languages::default();
        assert_eq!(it.now(&owner, None, Some(Lang::It), Lang::En), Lang::It);
        assert_eq!(it.of("cli:uid:1", Lang::En), Lang::It, "a card that his words lead to");
        assert_eq!(it.now(&owner, Some(Lang::En), None, Lang::En), Lang::It, "words that tell nothing change nothing");
        assert_eq!(it.now(&guest, Some(Lang::En), Some(Lang::It), Lang::En), Lang::It);
        assert_eq!(it.now(&guest, Some(Lang::En), Some(Lang::En), Lang::En), Lang::En, "each is answered as he speaks");
        assert_eq!(it.of("cli:uid:1", Lang::En), Lang::It, "and nobody as another does");
        it.choose("cli:uid:1".into(), Lang::En);
        assert_eq!(it.of("cli:uid:1", Lang::It), Lang::En, "the owner's word on it is newer than what was heard");
    }

    #[test]
    fn language_of_strangers_is_not_stored_and_store_is_bounded() {
        let mut it = Languages::default();
        assert_eq!(it.now(&one("telegram:3", Standing::Stranger), Some(Lang::It), Some(Lang::It), Lang::En), Lang::It);
        assert!(it.last.is_empty() && it.worded.is_empty());
        for number in 0..2 * MAX_HEARD {
            it.now(&one(&format!("telegram:{number}"), Standing::Guest), Some(Lang::It), None, Lang::En);
        }
        assert_eq!(it.last.len(), MAX_HEARD);
    }
}
