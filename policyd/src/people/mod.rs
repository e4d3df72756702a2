//! The principals: who they are, what they may do without asking, and the language they are spoken to in.

use std::cell::RefCell;
use std::rc::Rc;

use metnos_policy::evidence::context::{Confirm, World};
use metnos_policy::text::words::fold;
use metnos_proto::executor::commands::bare;
use metnos_proto::executor::guests;
use metnos_proto::msg::common::{Channel, Level, Refusal, RefusalCode, Role, Standing};
use rusqlite::Connection;

use crate::base::Base;
use crate::calls::turns::Turns;
use crate::guard::shown;
use crate::people::autonomy::Levels;
use crate::people::door::Door;
use crate::people::groups::{Groups, is_group};
use crate::people::language::Languages;
use crate::people::notices::Notices;
use crate::people::pairing::automations::{self, Automations, is_automatic};
use crate::people::pairing::book::{Book, LOCKED_MS};
use crate::people::pairing::{People, can_pair};
use crate::people::persons::{Persons, level_of, standing_of};
use crate::people::principal::{Principal, ROOT, identify};
use crate::people::seals::Seals;
use crate::store::StoreError;
use crate::vault::Secrets;
use crate::vault::accounts::OWNER;

pub mod autonomy;
pub(crate) mod door;
pub mod groups;
pub mod language;
pub(crate) mod notices;
pub mod pairing;
pub mod persons;
pub mod principal;
pub(crate) mod seals;

/// Everybody policyd knows, and how he is spoken to.
#[derive(Debug)]
pub(crate) struct Principals {
    base: Rc<Base>,
    secrets: Rc<Secrets>,
    turns: Rc<RefCell<Turns>>,
    pub(crate) paired: RefCell<People>,
    pub(crate) automations: RefCell<Automations>,
    pub(crate) book: RefCell<Book>,
    pub(crate) levels: RefCell<Levels>,
    languages: RefCell<Languages>,
    pub(crate) notices: Notices,
    pub(crate) persons: RefCell<Persons>,
    pub(crate) change: Change,
    /// The door that spoke last.
    door: Door,
}

/// What is kept of changes only as long as policyd runs.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Held while who is who is changed, or a seal.
    pub(crate) one: tokio::sync::Mutex<()>,
    /// The broken seals.
    seals: RefCell<Seals>,
    /// Who is in the groups.
    groups: RefCell<Groups>,
}

/// What was kept of them.
#[derive(Debug, Default)]
pub struct StoredPeople {
    people: People,
    automations: Automations,
    /// Who was locked out before, until when on the wall's clock.
    locked: Vec<(Channel, String, u64)>,
    levels: Levels,
    languages: Languages,
    notices: Notices,
    persons: Persons,
}

impl StoredPeople {
    /// Makes the tables where they are missing, and reads what is in them.
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let own = [pairing::TABLES, persons::TABLES, autonomy::TABLES];
        for tables in own.into_iter().chain([automations::TABLES, language::TABLES, notices::TABLES]) {
            connection.execute_batch(tables)?;
        }
        Ok(Self {
            people: People::load(connection)?,
            automations: Automations::load(connection)?,
            locked: pairing::locked(connection)?,
            levels: Levels::load(connection)?,
            languages: Languages::load(connection)?,
            notices: Notices::load(connection)?,
            persons: Persons::load(connection)?,
        })
    }
}

impl Principals {
    pub(crate) fn new(
        base: &Rc<Base>,
        secrets: &Rc<Secrets>,
        turns: &Rc<RefCell<Turns>>,
        kept: StoredPeople,
    ) -> Rc<Self> {
        let (now, wall) = (base.clock.monotonic_ms(), base.clock.wall_ms());
        let mut book = Book::default();
        for (channel, sender, until) in kept.locked {
            // Never for longer than it can have been meant, whatever the clock on the wall did.
            let left = until.saturating_sub(wall).min(LOCKED_MS);
            book.lock(channel, sender, now.saturating_add(left));
        }
        Rc::new(Self {
            base: Rc::clone(base),
            secrets: Rc::clone(secrets),
            turns: Rc::clone(turns),
            paired: RefCell::new(kept.people),
            automations: RefCell::new(kept.automations),
            book: RefCell::new(book),
            levels: RefCell::new(kept.levels),
            languages: RefCell::new(kept.languages),
            notices: kept.notices,
            persons: RefCell::new(kept.persons.at_terminal(base.setting.owner_uid)),
            change: Change::default(),
            door: Door::default(),
        })
    }

    /// What holds for the decisions of a turn of this principal.
    pub(crate) fn world(&self, principal: &Principal) -> Rc<World> {
        self.world_for(principal, &principal.name)
    }

    /// Whose accounts are those of this principal: of the person who speaks so, or of an owner who is no person yet. A guest of the
    /// house has none.
    fn holder(&self, principal: &str) -> Option<String> {
        self.holder_among(&self.persons.borrow(), principal)
    }

    fn holder_among(&self, persons: &Persons, principal: &str) -> Option<String> {
        match persons.of(principal) {
            Some((_, person)) if person.role == Role::Guest => None,
            Some((name, _)) => Some(name.to_owned()),
            None => {
                let is_owner = persons.is_at_terminal(principal)
                    || self.paired.borrow().standing(principal) == Some(Standing::Owner);
                (is_owner && !persons.have_owner()).then(|| OWNER.to_owned())
            }
        }
    }

    /// Whose account the owner means, who names a person or nobody.
    ///
    /// # Errors
    /// When nobody is called so, or is a guest.
    pub(crate) fn account_holder(&self, by: &str, person: &str) -> Result<String, Refusal> {
        if person.is_empty() {
            return self.holder(by).ok_or_else(|| persons::unknown(by));
        }
        let persons = self.persons.borrow();
        let (name, known) = persons.called(person).ok_or_else(|| persons::unknown(person))?;
        if known.role == Role::Guest {
            let why = format!("{} is a guest, and a guest has no accounts here", shown(name));
            return Err(Refusal::new(RefusalCode::Invalid, "account.guest", why));
        }
        Ok(name.to_owned())
    }

    /// The same for what this principal allows another one: the private folder is that of the one who asked.
    pub(crate) fn world_for(&self, principal: &Principal, asker: &str) -> Rc<World> {
        let mut world = World::new(principal.level, Confirm::Card, self.base.setting.places.clone());
        world.lang = self.base.setting.lang;
        // No payment passes without a card that a whole turn may not spend.
        world.money_cap = Some(f64::from(self.base.setting.budget.turn_micro) / 1e6);
        world.hosts = self.base.setting.hosts.iter().map(|host| fold(host)).collect();
        world.commands =
            self.base.setting.commands.iter().flat_map(|path| [bare(path).to_owned(), path.clone()]).collect();
        let automatic = is_automatic(principal.channel);
        // A turn of the owner's words alone is his, and reads everything. One that carries data from outside is a guest's.
        world.guest_folders = match principal.channel {
            Channel::Timer => vec![String::new()],
            Channel::Cli | Channel::Http | Channel::Telegram | Channel::Scheduler | Channel::Hook | Channel::Metnos => {
                guests::folders(&self.base.setting.guest_folders)
            }
        };
        world.own_folder = self.persons.borrow().folder_of(asker);
        world.account_holder = if automatic { None } else { self.holder(asker) };
        if let Some(own) = world.own_folder.as_deref().filter(|_| !automatic && !world.shows_everything()) {
            world.guest_folders.push(guests::private(own));
        }
        world.guest_writes = principal.standing == Standing::Guest && !automatic;
        if !automatic && let Some(child) = self.persons.borrow().child(asker) {
            world.may_call = child.may_call.iter().cloned().collect();
            let own = world.own_folder.as_deref().map(guests::private);
            world.own_is_there = own.is_some_and(|own| self.base.perimeter.files.identity(&own).is_some());
        }
        if principal.standing == Standing::Owner {
            world.owner.insert(fold(&principal.name));
            world.owner.extend(self.owner_chats().iter().map(|name| fold(name)));
        }
        Rc::new(world)
    }

    /// `owner`, or a channel and a sender.
    pub(crate) fn named_principal(&self, text: &str) -> Result<Principal, Refusal> {
        let owner = format!("cli:uid:{}", self.base.setting.owner_uid);
        let text = if text == "owner" { &owner } else { text };
        let named =
            text.split_once(':').and_then(|(channel, sender)| Channel::named(channel).map(|channel| (channel, sender)));
        let Some((channel, sender)) = named else {
            let why = format!("{} is no principal: it is written as channel and sender", shown(text));
            return Err(Refusal::new(RefusalCode::Invalid, "principal.sender", why)
                .remedy("write `owner`, or for example `cli:uid:1000` or `telegram:4711`"));
        };
        self.who(channel, sender)
    }

    pub(crate) fn owner_name(&self) -> String {
        format!("cli:uid:{}", self.base.setting.owner_uid)
    }

    /// Whether this is one of the names under which the owner speaks.
    pub(crate) fn is_owners(&self, name: &str) -> bool {
        name == self.owner_name() || name == ROOT || self.paired_as(name) == Some(Standing::Owner)
    }

    /// What this principal was paired as: what the person is who speaks there, else what was said then.
    pub(crate) fn paired_as(&self, name: &str) -> Option<Standing> {
        self.standing_among(&self.persons.borrow(), name)
    }

    /// The same where the persons were these.
    fn standing_among(&self, persons: &Persons, name: &str) -> Option<Standing> {
        let paired = self.paired.borrow().standing(name)?;
        let standing = persons.of(name).map_or(paired, |(_, person)| standing_of(person.role));
        Some(self.standing_with_members(name, standing))
    }

    /// The names under which the owner speaks, beside the terminal of the machine.
    pub(crate) fn owner_chats(&self) -> Vec<String> {
        self.chats_of(Standing::Owner)
    }

    /// The principals that were paired and are this.
    fn chats_of(&self, standing: Standing) -> Vec<String> {
        let paired = self.paired.borrow();
        let people = paired.names().filter(|name| !is_group(name));
        people.filter(|name| self.paired_as(name) == Some(standing)).map(str::to_owned).collect()
    }

    /// The name of the person who speaks as this principal; empty where it is nobody's.
    pub(crate) fn person_of(&self, principal: &str) -> String {
        self.persons.borrow().of(principal).map_or_else(String::new, |(name, _)| name.to_owned())
    }

    /// What a principal has in the household beside its standing: whether a child speaks there.
    pub(crate) fn is_a_childs(&self, name: &str) -> bool {
        self.persons.borrow().of(name).is_some_and(|(_, person)| person.role == Role::Child)
    }

    /// Who is shown a card of this principal beside the principal itself: what a grown-up may answer alone, nobody; what a child
    /// asks for, every grown-up; the rest, the owner.
    pub(crate) fn deciders_of(&self, principal: &str, hard: bool) -> Vec<String> {
        let mut deciders = match self.paired_as(principal) {
            Some(Standing::Owner) => return Vec::new(),
            // Where several people can answer, none of them answers for all.
            Some(Standing::Adult) if !hard && !is_group(principal) => return Vec::new(),
            Some(Standing::Adult | Standing::Guest | Standing::Stranger) | None => self.owner_chats(),
        };
        if self.is_a_childs(principal) {
            deciders.extend(self.chats_of(Standing::Adult));
        }
        deciders
    }

    /// Whether whoever speaks here decides on a card of another principal, as far as the own level goes: what one could not do
    /// without asking is not allowed to others.
    pub(crate) fn decides_on(&self, by: &Principal, principal: &str, hard: bool) -> bool {
        if by.name == principal || by.level == Level::ReadOnly || self.is_owners(principal) || is_group(&by.name) {
            return false;
        }
        match by.standing {
            Standing::Owner => hard || is_group(principal) || self.paired_as(principal) != Some(Standing::Adult),
            Standing::Adult => self.is_a_childs(principal),
            Standing::Guest | Standing::Stranger => false,
        }
    }

    /// Who a sender is, with whom was paired and what was raised: the one place where that is said.
    ///
    /// # Errors
    /// When the sender's name is not one.
    pub(crate) fn who(&self, channel: Channel, sender: &str) -> Result<Principal, Refusal> {
        let mut it = identify(channel, sender, self.base.setting.owner_uid)?;
        let paired = self.paired_as(&it.name).filter(|_| can_pair(channel));
        if let (Standing::Stranger, Some(standing)) = (it.standing, paired) {
            it.standing = standing;
            it.level = level_of(it.standing);
        }
        self.automatic(&mut it);
        if it.standing != Standing::Stranger {
            it.level = self.level_of(&it.name, it.level);
            self.group_level(&mut it);
        }
        Ok(it)
    }

    /// The level of this principal. The machine's root is the owner at the terminal: what is set for that one counts for
    /// both, unless root has a level of his own.
    fn level_of(&self, name: &str, standing: Level) -> Level {
        let (levels, now) = (self.levels.borrow(), self.base.clock.wall_ms());
        let owner = format!("cli:uid:{}", self.base.setting.owner_uid);
        let name = if name == ROOT && !levels.has(ROOT) { &owner } else { name };
        levels.level(name, standing, now)
    }
}
