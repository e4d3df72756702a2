//! The bot: it polls, hands each update to its own task, and confirms it when it is dealt with. An update is dealt with
//! when its answer was shown, or when nothing is to be shown; until then Telegram says it again, and whatever was
//! already done of it the chronicle knows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Lang, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::{Delivered, MarkState, Marked};
use metnos_proto::msg::people::Paired;
use metnos_proto::msg::planner::{CancelTurn, TurnEnd};
use metnos_proto::msg::policyd::{Identified, OwnerNotice};
use metnos_proto::payload::Sealed;
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::time::Instant;

use super::api::{Api, ApiError, Outgoing, POLL_SECONDS};
use super::backoff::{self, StrangerLimit};
use super::commands::parse::{self, Command};
use super::file_queue::{FileQueue, PersonFiles};
use super::groups::{Groups, OTHER_MEMBERS, words_for_bot};
use super::message_editor::MessageEditor;
use super::phrases;
use super::sent::SentLog;
use super::sequence::Sequence;
use super::text::{MAX_UNITS, escape, spans, split};
use super::update::{Kind, Message, Update};
use super::view::View;
use crate::session::Door;
use crate::session::say::{Taken, has_the_form_of_a_code};
use crate::session::speaker::{Speaker, SpeakerSession};

/// How long until Telegram is asked again while something is being dealt with, in milliseconds.
pub const ASK_AGAIN_MS: u64 = 1_000;
/// How long a poll that brings nothing takes at least, together with the pause behind it.
pub const AT_LEAST: Duration = Duration::from_millis(500);
/// The most messages of one chat that wait for the one before.
pub const MAX_WAITING: usize = 8;
/// The most chats whose sessions are kept.
pub const MAX_CHATS: usize = 256;
/// The most places where the owner is shown others' cards: each card in each of a few chats.
pub(super) const MAX_OWNERS_VIEWS: usize = 256;
/// How often words are said to the other daemons, when one of them is just being restarted.
pub const SAY_TRIES: u32 = 5;
/// After so long without an update its numbers may begin anew, in seconds.
pub const FORGET_AFTER_SECONDS: u64 = 86_400;

/// One chat with one person.
pub(super) struct Chat {
    pub(super) voice: SpeakerSession,
    /// One message after the other.
    turn: Mutex<()>,
    waiting: Cell<usize>,
    pub(super) files: PersonFiles,
}

/// See the module.
pub struct Bot {
    pub(super) door: Rc<Door>,
    pub(super) api: Rc<Api>,
    /// The number of the bot, which stands before every mark.
    number: String,
    lang: Lang,
    chats: RefCell<BTreeMap<i64, Rc<Chat>>>,
    sequence: RefCell<Sequence>,
    pub(super) sent: SentLog,
    /// Files that are under way.
    pub(super) lanes: FileQueue,
    wake: Notify,
    strangers: RefCell<StrangerLimit>,
    pub(super) groups: Groups,
    /// Where the owner is shown others' cards, by chat and card.
    pub(super) owners_views: RefCell<BTreeMap<(i64, String), Weak<View>>>,
    began: Instant,
}

impl Bot {
    /// A bot that learns nothing yet.
    #[must_use]
    pub fn new(door: Rc<Door>, api: Rc<Api>, number: &str, lang: Lang, sent: SentLog) -> Rc<Self> {
        Rc::new(Self {
            door,
            api,
            number: number.to_owned(),
            lang,
            chats: RefCell::default(),
            sequence: RefCell::default(),
            sent,
            lanes: FileQueue::default(),
            wake: Notify::new(),
            strangers: RefCell::default(),
            groups: Groups::default(),
            owners_views: RefCell::default(),
            began: Instant::now(),
        })
    }

    /// Receives for as long as the daemon lives. A token that Telegram refuses is shown to it again, ever more seldom: what it
    /// took for none an hour ago may be one.
    pub async fn run(self: Rc<Self>) {
        let mut refused = 0_u32;
        loop {
            let fault = match self.begin().await {
                Ok(name) => {
                    refused = 0;
                    self.poll_updates(&name).await
                }
                Err(fault) => fault,
            };
            self.is_refused(&fault);
            tokio::time::sleep(backoff::refused(refused, self.api.chance())).await;
            refused = refused.saturating_add(1);
        }
    }

    /// Receives until Telegram says that the token is none.
    async fn poll_updates(self: &Rc<Self>, name: &str) -> ApiError {
        let says = if name.is_empty() { "listens".to_owned() } else { format!("@{name} listens") };
        self.door.telegram_is(&says);
        name.clone_into(&mut self.groups.name.borrow_mut());
        tracing::info!("the bot {says}");
        let (mut tried, mut heard) = (0_u32, Instant::now());
        loop {
            let (floor, open) = (self.sequence.borrow().floor(), self.sequence.borrow().open());
            let seconds = if open == 0 { POLL_SECONDS } else { 0 };
            let asked = Instant::now();
            match self.api.updates(floor, seconds).await {
                // A server that does not wait with its answer is not asked over and over.
                Ok(updates) if updates.is_empty() && open == 0 && asked.elapsed() < AT_LEAST => {
                    tokio::time::sleep(AT_LEAST).await;
                }
                Ok(updates) => {
                    if tried > 0 {
                        self.door.telegram_is(&says);
                    }
                    tried = 0;
                    let took = updates.into_iter().filter(|update| self.take(update)).count();
                    if took > 0 {
                        heard = Instant::now();
                    } else if heard.elapsed() > Duration::from_secs(FORGET_AFTER_SECONDS) {
                        self.sequence.borrow_mut().forget();
                        heard = Instant::now();
                    }
                }
                Err(ApiError::Rejected { code: 401 | 404, why }) => return ApiError::Rejected { code: 401, why },
                Err(fault) => self.rest(&fault, &mut tried).await,
            }
            if self.sequence.borrow().open() > 0 {
                tokio::select! {
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep(Duration::from_millis(ASK_AGAIN_MS)) => {}
                }
            }
        }
    }

    /// Learns the bot's name and shows its commands, however long it takes to reach Telegram.
    async fn begin(&self) -> Result<String, ApiError> {
        let mut tried = 0;
        loop {
            let begun = async {
                let name = match self.api.me().await {
                    // A server that does not tell names: the poll says whether there is a bot at all.
                    Err(ApiError::Rejected { code, .. }) if code != 401 => String::new(),
                    name => name?,
                };
                let (mine, other, code) = match self.lang {
                    Lang::En => (Lang::En, Lang::It, "it"),
                    Lang::It => (Lang::It, Lang::En, "en"),
                };
                let (mine, other) = (phrases::commands(mine), phrases::commands(other));
                self.api.introduce(&[(None, &mine), (Some(code), &other)]).await?;
                Ok::<_, ApiError>(name)
            };
            match begun.await {
                Ok(name) => return Ok(name),
                Err(no @ ApiError::Rejected { code: 401 | 404, .. }) => return Err(no),
                Err(fault) => self.rest(&fault, &mut tried).await,
            }
        }
    }

    fn is_refused(&self, fault: &ApiError) {
        let line = format!("is not served: {fault}; it is tried again. `metnosctl telegram token` gives another token");
        tracing::error!("the bot {line}");
        self.door.telegram_is(&line);
    }

    async fn rest(&self, fault: &ApiError, tried: &mut u32) {
        let wish = match fault {
            ApiError::RetryAfter(seconds) => Some(*seconds),
            ApiError::Unreachable(_) | ApiError::Rejected { .. } => None,
        };
        let line = match fault {
            ApiError::Rejected { code: 409, .. } => {
                "another program uses this bot, too: end it, or make a bot of its own".to_owned()
            }
            ApiError::Rejected { .. } | ApiError::Unreachable(_) | ApiError::RetryAfter(_) => fault.to_string(),
        };
        if *tried == 0 {
            tracing::warn!("the bot does not listen: {line}");
        }
        self.door.telegram_is(&format!("does not listen: {line}"));
        let pause = backoff::pause(*tried, wish, self.api.chance());
        *tried = tried.saturating_add(1);
        tokio::time::sleep(pause).await;
    }

    /// Takes an update, unless it is being dealt with already; whether it did.
    fn take(self: &Rc<Self>, update: &Update) -> bool {
        if !self.sequence.borrow_mut().take(update.id) {
            return false;
        }
        let (bot, Update { id, kind }) = (Rc::clone(self), update.clone());
        tokio::task::spawn_local(async move {
            match kind {
                Kind::Message(message) => bot.message(id, message).await,
                Kind::Press(press) => bot.pressed(press).await,
                Kind::Other => {}
            }
            bot.sequence.borrow_mut().done(id);
            bot.wake.notify_one();
        });
        true
    }

    /// Says a line, and lets it be when that cannot be.
    pub(super) async fn say(&self, chat: i64, text: &str) -> bool {
        for piece in split(&spans(text), MAX_UNITS) {
            let out = Outgoing { html: piece.html, buttons: Vec::new() };
            if let Err(fault) = self.api.send(chat, &out).await {
                tracing::warn!(%fault, "a line could not be said in a chat");
                return false;
            }
        }
        true
    }

    /// Tells the owner in each of his chats, in the language of that chat; nobody who is not him any more.
    pub(super) async fn notify_owner(self: Rc<Self>, told: OwnerNotice) {
        let chats = told.to.iter().filter_map(|name| name.strip_prefix("telegram:")?.parse::<i64>().ok());
        for chat in chats {
            let speaker = Speaker { channel: Channel::Telegram, sender: chat.to_string(), lang: None };
            let Some(who) = self.identify(&speaker).await else { continue };
            if who.standing != Standing::Owner {
                continue;
            }
            let text = phrases::notice(who.lang, &told.notice);
            for tried in 0..SAY_TRIES {
                if self.say(chat, &text).await {
                    break;
                }
                tokio::time::sleep(backoff::pause(tried, None, self.api.chance())).await;
            }
        }
    }

    /// Sends a reminder; whether Telegram has said that it took it. What Telegram asks to be sent later surely did not arrive.
    pub(super) async fn remind(self: Rc<Self>, chat: String, text: String) -> bool {
        let Ok(chat) = chat.parse::<i64>() else { return false };
        for piece in split(&spans(&text), MAX_UNITS) {
            let out = Outgoing { html: piece.html, buttons: Vec::new() };
            let mut tried = 0;
            loop {
                match self.api.send_once(chat, &out).await {
                    Ok(()) => break,
                    Err(ApiError::RetryAfter(seconds)) if tried + 1 < SAY_TRIES => {
                        tokio::time::sleep(backoff::pause(tried, Some(seconds), self.api.chance())).await;
                        tried += 1;
                    }
                    Err(fault) => {
                        tracing::warn!(%fault, "a reminder may not have arrived");
                        return false;
                    }
                }
            }
        }
        true
    }

    async fn message(self: &Rc<Self>, update: u64, message: Message) {
        let Some(from) = message.from else { return };
        if !message.private || message.chat != from {
            return self.in_group(update, from, message).await;
        }
        let speaker = Speaker { channel: Channel::Telegram, sender: from.to_string(), lang: message.lang };
        let Some(who) = self.identify(&speaker).await else { return };
        if who.standing == Standing::Stranger {
            return self.stranger(&speaker, from, &message.text, who.lang).await;
        }
        // What stands below a file that was passed on is another principal's, as the file may be.
        let is_alone = message.passed_on || message.text.trim().is_empty();
        if let Some(file) = &message.file {
            self.keep(is_alone.then_some(update), from, &speaker, &who, file).await;
            if is_alone {
                return;
            }
        }
        if message.passed_on {
            self.say(from, &phrases::passed_on(who.lang)).await;
        } else if (message.attached && message.file.is_none()) || message.text.trim().is_empty() {
            self.say(from, &phrases::no_files(who.lang)).await;
        } else {
            self.words(update, from, &speaker, &who, &message.text).await;
        }
    }

    /// Who it is; a policyd that is just being restarted is waited for.
    pub(super) async fn identify(&self, speaker: &Speaker) -> Option<Identified> {
        let mut tried = 0;
        loop {
            match self.door.identify(speaker).await {
                Ok(who) => return Some(who),
                Err(refusal) if tried + 1 < SAY_TRIES && may_pass(&refusal) => {
                    tokio::time::sleep(backoff::pause(tried, None, self.api.chance())).await;
                    tried += 1;
                }
                Err(refusal) => {
                    tracing::warn!(%refusal, "a sender was not identified, so his message is dropped");
                    return None;
                }
            }
        }
    }

    async fn stranger(&self, speaker: &Speaker, from: i64, text: &str, lang: Lang) {
        // A link of the bot carries the code behind the word `start`.
        let text = text.strip_prefix("/start ").unwrap_or(text).trim();
        if !self.may_be_told(from, has_the_form_of_a_code(text)) {
            return;
        }
        let line = match self.door.pair(speaker, text).await {
            Ok(Paired::Code(code)) => phrases::stranger(lang, &code.code, code.seconds),
            Ok(Paired::Known) => phrases::known(lang),
            Ok(Paired::Silence) => return,
            Err(refusal) => {
                tracing::debug!(%refusal, "a stranger could not be paired");
                return;
            }
        };
        self.say(from, &line).await;
    }

    /// A message in a group.
    async fn in_group(self: &Rc<Self>, update: u64, from: i64, message: Message) {
        let chat = message.chat;
        if message.members_change {
            return self.groups.changed(&self.door, chat).await;
        }
        let answers_it = message.answers.is_some_and(|to| to.to_string() == self.number);
        let Some(text) = words_for_bot(&message.text, &self.groups.name.borrow(), answers_it) else { return };
        let group = Speaker { channel: Channel::Telegram, sender: chat.to_string(), lang: message.lang };
        let Some(who) = self.identify(&group).await else { return };
        if who.standing == Standing::Stranger {
            return self.unknown_group(&group, from, chat, message.lang).await;
        }
        let who = match self.groups.look_at(&self.door, &self.api, chat).await {
            Ok(who) => who,
            Err(refusal) => {
                if refusal.rule == OTHER_MEMBERS {
                    self.say(chat, &metnos_texts::refusal(who.lang, &refusal)).await;
                }
                return;
            }
        };
        if message.passed_on {
            self.say(chat, &phrases::passed_on(who.lang)).await;
            return;
        }
        match parse::read(&text) {
            None if text.is_empty() || message.attached => {}
            None | Some(Command::Undo) => return self.words(update, chat, &group, &who, &text).await,
            Some(Command::Help | Command::Status | Command::Approvals | Command::File | Command::Pause) => {}
        }
        self.say(chat, &phrases::private_only(who.lang)).await;
    }

    /// A member who is known receives the code of a group that is not; to others nothing is said.
    async fn unknown_group(&self, group: &Speaker, from: i64, chat: i64, lang: Option<Lang>) {
        let member = Speaker { channel: Channel::Telegram, sender: from.to_string(), lang };
        let Some(who) = self.identify(&member).await.filter(|who| who.standing != Standing::Stranger) else { return };
        if !self.may_be_told(chat, false) {
            return;
        }
        match self.door.pair(group, "").await {
            Ok(Paired::Code(code)) => {
                self.say(chat, &phrases::unknown_group(who.lang, &code.code, code.seconds)).await;
            }
            Ok(Paired::Known | Paired::Silence) => {}
            Err(refusal) => tracing::debug!(%refusal, "a group could not be paired"),
        }
    }

    /// Whether a stranger, a person or a group, is sent a line now.
    fn may_be_told(&self, stranger: i64, shows_code: bool) -> bool {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.strangers.borrow_mut().may(stranger, shows_code, now)
    }

    /// The session of a person who is known.
    pub(super) fn chat(&self, from: i64, speaker: &Speaker) -> Rc<Chat> {
        let mut chats = self.chats.borrow_mut();
        if chats.len() >= MAX_CHATS && !chats.contains_key(&from) {
            chats.retain(|_, chat| Rc::strong_count(chat) > 1);
        }
        let fresh = || {
            let voice = SpeakerSession::new(speaker.clone(), self.door.number(), Rc::new(View::new(self.lang)));
            Rc::new(Chat { voice, turn: Mutex::new(()), waiting: Cell::new(0), files: PersonFiles::default() })
        };
        Rc::clone(chats.entry(from).or_insert_with(fresh))
    }

    pub(super) async fn words(
        self: &Rc<Self>,
        update: u64,
        from: i64,
        speaker: &Speaker,
        who: &Identified,
        text: &str,
    ) {
        let command = parse::read(text);
        // No one waits for the answer to an order to stop.
        if command == Some(Command::Pause) {
            return self.command(Command::Pause, from, speaker, who).await;
        }
        let chat = self.chat(from, speaker);
        if chat.waiting.get() >= MAX_WAITING {
            self.say(from, &phrases::too_many(who.lang)).await;
            return;
        }
        chat.waiting.set(chat.waiting.get() + 1);
        let one = chat.turn.lock().await;
        chat.waiting.set(chat.waiting.get() - 1);
        let mark = format!("bot{}:{update}", self.number);
        if let Some(go_on) = self.before(update, from, who, &mark, command.is_some()).await {
            if !go_on {
                return;
            }
        } else {
            self.say(from, &phrases::interrupted(who.lang)).await;
            return;
        }
        match command {
            Some(Command::Undo) => self.undo(update, from, speaker, who, text, &mark).await,
            Some(Command::File) => self.send_out(update, from, &chat, (speaker, who), parse::file_in(text)).await,
            Some(command) => self.command(command, from, speaker, who).await,
            None => self.turn(update, from, &chat, who, text, mark).await,
        }
        drop(one);
    }

    /// What became of these words before this door was started: whether they are to be heard now. `None` when nobody can say.
    async fn before(&self, update: u64, from: i64, who: &Identified, mark: &str, is_command: bool) -> Option<bool> {
        let memoryd = &self.door.peers().memoryd;
        let ask = || Marked { principal: who.principal.clone(), mark: mark.to_owned() };
        let mut tried = 0;
        let (known, answer) = loop {
            match memoryd.marked(TraceId::NONE, ask(), []).await {
                Ok((known, [answer])) => break (known, answer),
                Err(_) if tried + 1 < SAY_TRIES => {
                    tokio::time::sleep(backoff::pause(tried, None, self.api.chance())).await;
                    tried += 1;
                }
                Err(error) => {
                    tracing::warn!(%error, "memoryd does not say what became of a message");
                    return None;
                }
            }
        };
        let MarkState { turn: Some(turn), trace, acted, aside, delivered } = known else { return Some(true) };
        if delivered || aside {
            if delivered && !self.sent.has(update) {
                let text = answer.read().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
                if self.say(from, &text).await {
                    self.sent.note(update);
                }
            }
            return Some(false);
        }
        // It goes on for nobody: whatever it has not begun is not begun any more.
        if let Err(error) = self.door.peers().planner.cancel_turn(trace, CancelTurn { turn }, []).await {
            tracing::debug!(%turn, %error, "the planner has no such turn");
        }
        let acted = acted
            || is_command
            || match memoryd.marked(TraceId::NONE, ask(), []).await {
                Ok((known, [_])) => known.acted,
                Err(_) => true,
            };
        if !acted {
            return Some(true);
        }
        let text = phrases::interrupted(who.lang);
        self.delivered(update, from, (turn, trace), TurnEnd::Broken, &text).await;
        Some(false)
    }

    /// Has an answer recorded, then says it.
    pub(super) async fn delivered(
        &self,
        update: u64,
        from: i64,
        (turn, trace): (metnos_proto::ids::TurnId, TraceId),
        end: TurnEnd,
        text: &str,
    ) {
        match Sealed::new(text.as_bytes()) {
            Ok(sealed) => {
                if let Err(error) = self.door.peers().memoryd.delivered(trace, Delivered { turn, end }, [sealed]).await
                {
                    tracing::warn!(%turn, %error, "an answer could not be recorded");
                }
            }
            Err(error) => tracing::warn!(%turn, %error, "an answer could not be recorded"),
        }
        if self.say(from, text).await {
            self.sent.note(update);
        }
    }

    /// A turn like any other: its answer is shown as it comes.
    async fn turn(&self, update: u64, from: i64, chat: &Chat, who: &Identified, text: &str, mark: String) {
        let mut tried = 0;
        let (view, words) = loop {
            let view = Rc::new(View::new(who.lang));
            let sink: Rc<dyn crate::session::speaker::NoteSink> = Rc::clone(&view) as _;
            let voice = chat.voice.with_sink(sink).with_mark(mark.clone());
            let taken = match Sealed::new(text.as_bytes()) {
                Ok(words) => self.door.say(&voice, words).await,
                Err(error) => Err(Refusal::new(RefusalCode::Internal, "words.share", error.to_string())),
            };
            match taken {
                Ok(taken) => break (view, taken),
                Err(refusal) if tried + 1 < SAY_TRIES && may_pass(&refusal) => {
                    tokio::time::sleep(backoff::pause(tried, None, self.api.chance())).await;
                    tried += 1;
                }
                Err(refusal) => {
                    self.say(from, &metnos_texts::refusal(who.lang, &refusal)).await;
                    return;
                }
            }
        };
        match words {
            Taken::Opened(_) => {
                let (first, done) = oneshot::channel();
                tokio::task::spawn_local(MessageEditor::new(Rc::clone(&self.api), from, who.lang, view).run(first));
                if done.await == Ok(true) {
                    self.sent.note(update);
                }
            }
            // He was revoked in this very moment.
            Taken::Stranger(_) => {}
        }
    }
}

/// Whether what stands in the way may be gone in a moment.
pub(super) fn may_pass(refusal: &Refusal) -> bool {
    match refusal.code {
        RefusalCode::Unavailable | RefusalCode::Busy => true,
        RefusalCode::Denied | RefusalCode::Invalid | RefusalCode::Unknown | RefusalCode::Internal => false,
    }
}

/// A line of ours as HTML.
pub(super) fn line(text: &str) -> Outgoing {
    Outgoing { html: escape(text), buttons: Vec::new() }
}
