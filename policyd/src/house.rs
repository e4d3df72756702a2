//! What policyd keeps beside executors and cards: the constitution, proposals, who is known and how far, budgets and
//! secrets. Each part has its own folder; here they are opened together, from tables of `policy.sqlite` that are made
//! where they are missing, so that no part waits for another one's form.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use metnos_proto::msg::common::{Channel, Refusal};
use rusqlite::Connection;
use tokio::sync::Mutex;

use crate::budget::count::{Budget, Used};
use crate::budget::daily::Daily;
use crate::budget::drafts::Runs;
use crate::budget::funds::Funds;
use crate::executors::origins::{self, Origins};
use crate::key::Kept;
use crate::people::autonomy::Levels;
use crate::people::language::{self, Languages};
use crate::people::notices::{self, Notices};
use crate::people::pairing;
use crate::people::pairing::People;
use crate::people::pairing::automations::{self, Automations};
use crate::people::pairing::book::Book;
use crate::perimeter::outside::Folders;
use crate::perimeter::owner_files::OwnerFiles;
use crate::policy::Policy;
use crate::store::StoreError;
use crate::vaglio::Vaglio;
use crate::vaglio::constitution::Constitution;
use crate::vault::Vault;
use crate::{budget, vault};

/// The tables of all parts.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS constitution (
        one INTEGER PRIMARY KEY CHECK (one = 1), text BLOB NOT NULL, since_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS telos_learned (slug TEXT PRIMARY KEY, factor REAL NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS proposals (id TEXT PRIMARY KEY, made_ms INTEGER NOT NULL, document TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS principals (
        name TEXT PRIMARY KEY, standing TEXT NOT NULL, since_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS pairing_locks (
        channel TEXT NOT NULL, sender TEXT NOT NULL, until_ms INTEGER NOT NULL, PRIMARY KEY (channel, sender)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS levels (
        principal TEXT PRIMARY KEY, base TEXT, raised TEXT, until_ms INTEGER NOT NULL
    ) STRICT;";

/// All parts, as they were left.
#[derive(Debug, Default)]
pub struct House {
    pub(crate) files: Option<OwnerFiles>,
    /// The folders outside the workspace that the owner has listed.
    pub(crate) folders: Folders,
    pub(crate) constitution: RefCell<Constitution>,
    pub(crate) vaglio: RefCell<Vaglio>,
    pub(crate) people: RefCell<People>,
    pub(crate) automations: RefCell<Automations>,
    pub(crate) book: RefCell<Book>,
    /// Who was locked out before, until when on the wall's clock.
    pub(crate) locked: Vec<(Channel, String, u64)>,
    pub(crate) levels: RefCell<Levels>,
    pub(crate) languages: RefCell<Languages>,
    pub(crate) notices: Notices,
    pub(crate) daily: RefCell<Daily>,
    pub(crate) vault: RefCell<Vault>,
    /// Where executors come from; the registry takes it over.
    pub(crate) origins: RefCell<Origins>,
    /// Held by whoever changes the vault.
    pub(crate) keeping: Mutex<()>,
    pub(crate) used: RefCell<Used>,
    /// What open turns may think.
    pub(crate) funds: RefCell<Funds>,
    /// The runs in which syntd has something drafted.
    pub(crate) drafts: RefCell<Runs>,
    /// For which budgets more was proposed, by whose they are and the day.
    pub(crate) escalated: RefCell<BTreeSet<(String, Budget, u64)>>,
    /// Held by whoever has a proposal judged.
    pub(crate) judging: Mutex<()>,
    /// Held by whoever spends money.
    pub(crate) spending: Mutex<()>,
}

impl House {
    /// Makes the tables where they are missing, and reads what is in them.
    ///
    /// # Errors
    /// When a row is damaged, or the database says no.
    pub(crate) fn load(connection: &Connection, key: &Kept) -> Result<Self, StoreError> {
        let house = [TABLES, automations::TABLES, language::TABLES, notices::TABLES, vault::TABLES];
        for tables in house.into_iter().chain([budget::TABLES, origins::TABLES]) {
            connection.execute_batch(tables)?;
        }
        Ok(Self {
            files: None,
            folders: Folders::default(),
            constitution: RefCell::new(Constitution::load(connection)?),
            vaglio: RefCell::new(Vaglio::load(connection)?),
            people: RefCell::new(People::load(connection)?),
            automations: RefCell::new(Automations::load(connection)?),
            book: RefCell::default(),
            locked: pairing::locked(connection)?,
            levels: RefCell::new(Levels::load(connection)?),
            languages: RefCell::new(Languages::load(connection)?),
            notices: Notices::load(connection)?,
            daily: RefCell::new(Daily::load(connection)?),
            vault: RefCell::new(Vault::load(connection, key)?),
            origins: RefCell::new(origins::load(connection)?),
            keeping: Mutex::default(),
            used: RefCell::new(budget::load(connection)?),
            funds: RefCell::default(),
            drafts: RefCell::default(),
            escalated: RefCell::default(),
            judging: Mutex::default(),
            spending: Mutex::default(),
        })
    }

    /// Opens the folder of the owner's files; call it before the lock.
    ///
    /// # Errors
    /// When it is not there, or not a folder.
    pub fn open_files(&mut self, workspace: &Path) -> Result<(), std::io::Error> {
        self.files = Some(OwnerFiles::open(workspace)?);
        Ok(())
    }

    /// Takes over the folders outside the workspace that were opened for policyd.
    pub fn hold_folders(&mut self, folders: Folders) {
        self.folders = folders;
    }
}

impl Policy {
    /// A line in the chronicle that is waited for: without it, what it is about does not happen.
    pub(crate) async fn chronicled(&self, kind: &str, text: &str) -> Result<u64, Refusal> {
        use metnos_proto::ids::TraceId;
        use metnos_proto::msg::memoryd::{MAX_EVENT_TEXT, SystemEvent};
        let text = crate::policy::head(text, MAX_EVENT_TEXT);
        let event = SystemEvent { kind: kind.to_owned(), text, turn: None };
        let (recorded, []) = self
            .memory
            .system_event(TraceId::NONE, event, [])
            .await
            .map_err(|error| crate::refusals::memory_gone(&error))?;
        Ok(recorded.seq)
    }
}
