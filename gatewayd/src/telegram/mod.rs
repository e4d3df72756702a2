//! The channel of Telegram, by long polling: no port is open for it. Open this file first.
//!
//! [`update`] reads what the servers say, [`sequence`] knows what is new, [`text`] and [`card`] make messages, [`backoff`]
//! says how often, [`phrases`] in which words: all without I/O. [`api`] speaks to the servers, [`bot`] receives them,
//! [`commands`] answers what the door itself can, [`groups`] hears what is said where several people read, `files` hands on what is attached, [`transfer`] carries it, [`file_queue`] says how many at once, [`message_editor`] shows a turn as its [`view`] has it, and [`sent`] remembers
//! what was said. It must never let the token out, nor take a word for a sender's that he did not type himself.

pub mod api;
pub mod backoff;
pub mod bot;
pub mod card;
pub mod commands;
mod documents;
pub mod file_queue;
mod files;
pub mod groups;
pub mod message_editor;
pub mod phrases;
pub mod sent;
pub mod sequence;
pub mod text;
pub mod transfer;
pub mod update;
pub mod view;

use std::path::Path;
use std::rc::Rc;

use metnos_outbound::net::{Net, takes_key};
use metnos_outbound::secret_file::{CREDENTIALS, SecretFile};
use metnos_proto::control::Start;
use metnos_proto::models::{Host, ServerAddress};
use metnos_proto::msg::common::Lang;

use crate::chance;
use crate::session::Door;

/// The door's own folder in the instance.
pub const FOLDER: &str = ".gateway";
/// The name of the token, as a file and as a credential.
pub const TOKEN: &str = "telegram.token";
/// How many connections are kept: one polls, others say something.
const PLACES: usize = 4;

/// What the bot needs from before the lock. Without a token nothing of it is in memory.
pub struct Opened {
    /// The file of the token; none where the door has no folder.
    token: Option<Result<SecretFile, String>>,
    bot: Result<Option<Parts>, String>,
}

/// What a bot is made of.
struct Parts {
    api: api::Api,
    /// The number that its token begins with.
    number: String,
    lang: Lang,
    sent: sent::SentLog,
    ports: Vec<u16>,
}

impl Opened {
    /// Opens the token's file and, where it holds one, what a bot needs.
    #[must_use]
    pub fn open(start: &Start) -> Self {
        let folder = Path::new(&start.instance).join(FOLDER);
        if !folder.is_dir() {
            return Self { token: None, bot: Ok(None) };
        }
        let credentials = std::env::var_os(CREDENTIALS).map(std::path::PathBuf::from);
        let token = SecretFile::open(&folder, credentials.as_deref(), TOKEN).map_err(|error| error.to_string());
        let bot = match &token {
            Ok(holder) if holder.key().is_none() => Ok(None),
            Ok(holder) => Parts::open(start, &folder, holder).map(Some),
            Err(why) => Err(why.clone()),
        };
        if let Err(why) = &bot {
            tracing::error!("the bot is not served: {why}");
        }
        Self { token: Some(token), bot }
    }

    /// The ports that it connects to.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        match &self.bot {
            Ok(Some(parts)) => &parts.ports,
            Ok(None) | Err(_) => &[],
        }
    }

    /// Has the bot begin.
    pub fn begin(self, door: &Rc<Door>) {
        if let Some(token) = self.token {
            door.set_token(token);
        }
        match self.bot {
            Ok(Some(parts)) => parts.begin(door),
            Ok(None) => {}
            Err(why) => door.telegram_is(&format!("is not served: {why}")),
        }
    }
}

impl Parts {
    fn open(start: &Start, folder: &Path, holder: &SecretFile) -> Result<Self, String> {
        let Some(token) = holder.key().filter(|key| api::is_token(key.reveal())) else {
            return Err("what stands in the place of its token is none".to_owned());
        };
        let url = &start.settings.telegram_api;
        let server = ServerAddress::parse(url).ok_or("telegram.api is no address")?;
        if !takes_key(&server) {
            return Err("telegram.api leads there unencrypted, and the token stands in every request".to_owned());
        }
        if let Host::Address(address) = server.host
            && !server.tls
            && !address.is_loopback()
        {
            tracing::warn!("the bot's token travels unencrypted within your network");
        }
        let servers = std::slice::from_ref(&server);
        let net = Net::open(&start.settings.net, servers);
        let client = net.client(&server, PLACES)?;
        let sent =
            sent::SentLog::open(folder).map_err(|error| format!("{}: {error}", folder.join(sent::FILE).display()))?;
        let number = token.reveal().split(':').next().unwrap_or_default().to_owned();
        let api = api::Api::new(client, &server.url(), token, Box::new(chance::draw));
        Ok(Self { api, number, lang: start.settings.lang, sent, ports: net.ports(servers) })
    }

    fn begin(self, door: &Rc<Door>) {
        let bot = bot::Bot::new(Rc::clone(door), Rc::new(self.api), &self.number, self.lang, self.sent);
        door.telegram_is("has not reached Telegram yet");
        let teller = Rc::clone(&bot);
        door.on_news(move |told| {
            tokio::task::spawn_local(Rc::clone(&teller).notify_owner(told.clone()));
        });
        let shows = Rc::clone(&bot);
        door.on_owners_card(move |card| {
            tokio::task::spawn_local(Rc::clone(&shows).owners_card(card.clone()));
        });
        let reminds = Rc::clone(&bot);
        let looks = Rc::clone(&bot);
        door.set_may_send(Rc::new(move |chat| {
            let bot = Rc::clone(&looks);
            Box::pin(async move {
                match chat.parse::<i64>().ok().filter(|chat| groups::is_group(*chat)) {
                    Some(group) => bot.groups.look_at(&bot.door, &bot.api, group).await.is_ok(),
                    None => true,
                }
            })
        }));
        door.set_messenger(Rc::new(move |chat, text| Box::pin(Rc::clone(&reminds).remind(chat, text))));
        tokio::task::spawn_local(bot.run());
    }
}
