//! The channel of Telegram, by long polling: no port is open for it. Open this file first.
//!
//! [`update`] reads what the servers say, [`sequence`] knows what is new, [`text`] and [`card`] make messages, [`pace`]
//! says how often, [`says`] in which words: all without I/O. [`api`] speaks to the servers, [`bot`] hears them,
//! [`commands`] answers what the door itself can, `files` hands on what is attached, [`transfer`] carries it, [`lanes`] says how many at once, [`scribe`] shows a turn as its [`view`] has it, and [`sent`] remembers
//! what was said. It must never let the token out, nor take a word for a sender's that he did not type himself.

pub mod api;
pub mod bot;
pub mod card;
pub mod commands;
mod files;
pub mod lanes;
pub mod pace;
pub mod says;
pub mod scribe;
pub mod sent;
pub mod sequence;
pub mod text;
pub mod transfer;
pub mod update;
pub mod view;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::rc::Rc;

use metnos_outbound::hold::{CREDENTIALS, Holder};
use metnos_outbound::net::{Net, takes_key};
use metnos_proto::control::Start;
use metnos_proto::models::{Host, ServerAddress};

use crate::session::Door;

/// The door's own folder in the instance.
pub const FOLDER: &str = ".gateway";
/// The name of the token, as a file and as a credential.
pub const TOKEN: &str = "telegram.token";
/// How many connections are kept: one polls, others say something.
const PLACES: usize = 4;

/// Opens what the bot needs, before the lock, and has it begin: the ports that it connects to. None without a token, and
/// then nothing of it is in memory either.
pub fn open(start: &Start, door: &Rc<Door>) -> Vec<u16> {
    let folder = Path::new(&start.instance).join(FOLDER);
    if !folder.is_dir() {
        return Vec::new();
    }
    let credentials = std::env::var_os(CREDENTIALS).map(std::path::PathBuf::from);
    let token = Holder::open(&folder, credentials.as_deref(), TOKEN).map_err(|error| error.to_string());
    let begun = match &token {
        Ok(holder) if holder.key().is_none() => Ok(Vec::new()),
        Ok(holder) => begin(start, door, &folder, holder),
        Err(why) => Err(why.clone()),
    };
    door.keeps_token(token);
    begun.unwrap_or_else(|why| {
        tracing::error!("the bot is not served: {why}");
        door.telegram_is(&format!("is not served: {why}"));
        Vec::new()
    })
}

fn begin(start: &Start, door: &Rc<Door>, folder: &Path, holder: &Holder) -> Result<Vec<u16>, String> {
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
    let sent = sent::Sent::open(folder).map_err(|error| format!("{}: {error}", folder.join(sent::FILE).display()))?;
    let number = token.reveal().split(':').next().unwrap_or_default();
    let api = Rc::new(api::Api::new(client, &server.url(), token, Box::new(chance)));
    let bot = bot::Bot::new(Rc::clone(door), api, number, start.settings.lang, sent);
    door.telegram_is("has not reached Telegram yet");
    let teller = Rc::clone(&bot);
    door.on_news(move |told| {
        tokio::task::spawn_local(Rc::clone(&teller).owner_told(told.clone()));
    });
    let shows = Rc::clone(&bot);
    door.on_owners_card(move |card| {
        tokio::task::spawn_local(Rc::clone(&shows).owners_card(card.clone()));
    });
    tokio::task::spawn_local(bot.run());
    Ok(net.ports(servers))
}

/// A number below that one; for pauses, not for secrets.
pub(crate) fn chance(below: u64) -> u64 {
    RandomState::new().build_hasher().finish().checked_rem(below).unwrap_or(0)
}
