//! Shows one turn in its chat: one message that is edited as it goes on, never more often than its bound; cards with
//! their buttons, edited when they are decided, wherever that was; and the answer, in as many messages as it needs.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::planner::{TurnDone, TurnEnd};
use metnos_proto::msg::policyd::{CardSettled, CardWaits};
use metnos_proto::payload::Sealed;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::api::{Api, ApiError, Outgoing};
use super::groups::is_group;
use super::text::{MAX_UNITS, Piece, Span, Style, spans, split};
use super::view::{Event, View};
use super::{card, phrases};

/// What an answer is as a file.
const PLAIN: &str = "text/plain; charset=utf-8";

/// How long a turn goes on before anything of it is shown, in milliseconds: most are done by then.
pub const DRAFT_AFTER_MS: u64 = 1_200;
/// How often a message is edited at most, in milliseconds: Telegram bears about one message a second in a chat.
pub const EDIT_EVERY_MS: u64 = 2_000;
/// The most messages of one answer; a longer one is sent as a file behind the first.
pub const MAX_MESSAGES: usize = 8;
/// How long a turn that waits for a card is watched, in milliseconds: longer than a card can be answered, with the turn's
/// own time behind it.
pub const WATCH_MS: u64 = 600_000 + crate::session::TURN_WITHIN_MS;

/// One turn's way into its chat.
pub struct MessageEditor {
    /// The servers.
    pub api: Rc<Api>,
    /// Where.
    pub chat: i64,
    /// In which language.
    pub lang: Lang,
    /// What is to be shown.
    pub view: Rc<View>,
    /// The message that is edited, and what stands in it.
    draft: Option<(i64, String)>,
    /// The cards that were shown, as they stand.
    cards: BTreeMap<String, (i64, Vec<Span>)>,
}

impl MessageEditor {
    /// For a turn of which nothing is shown yet.
    #[must_use]
    pub fn new(api: Rc<Api>, chat: i64, lang: Lang, view: Rc<View>) -> Self {
        Self { api, chat, lang, view, draft: None, cards: BTreeMap::new() }
    }

    /// As [`MessageEditor::new`], of a turn whose card stands there from before this door.
    #[must_use]
    pub fn with_card(mut self, id: &str, message: i64, shown: Vec<Span>) -> Self {
        self.cards.insert(id.to_owned(), (message, shown));
        self
    }

    /// Shows everything until the turn is over. `first` receives when it is done, or suspended, for the first time; it receives
    /// whether all that was to be shown was.
    pub async fn run(mut self, first: oneshot::Sender<bool>) {
        let end = Instant::now() + Duration::from_millis(WATCH_MS);
        let mut next = Instant::now() + Duration::from_millis(DRAFT_AFTER_MS);
        let mut first = Some(first);
        // A turn that is done may leave cards behind, whose fate is shown as well.
        let (mut quiet, mut over) = (false, false);
        loop {
            while let Some(event) = self.view.event() {
                let shown = match event {
                    Event::Card(card) => self.card(card).await,
                    Event::Settled(settled) => self.settled(settled).await,
                    Event::Done(done) => {
                        (quiet, over) = (true, done.end != TurnEnd::Suspended);
                        let shown = self.done(&done).await;
                        if let Some(first) = first.take() {
                            let _ = first.send(shown.is_ok());
                        }
                        shown
                    }
                };
                if let Err(fault) = shown {
                    tracing::warn!(%fault, "something could not be shown in a chat");
                }
                next = Instant::now() + Duration::from_millis(DRAFT_AFTER_MS);
            }
            if over && self.cards.is_empty() {
                self.view.close();
                return;
            }
            let draft = self.view.draft();
            let is_new = !quiet && self.draft.as_ref().is_none_or(|(_, shown)| *shown != draft);
            tokio::select! {
                biased;
                () = self.view.changed() => quiet = over,
                () = sleep_until(next), if is_new => {
                    if let Err(fault) = self.sketch(draft).await {
                        tracing::debug!(%fault, "a turn's progress could not be shown");
                    }
                    next = Instant::now() + Duration::from_millis(EDIT_EVERY_MS);
                }
                () = sleep_until(end) => {
                    self.view.close();
                    return;
                }
            }
        }
    }

    /// Puts what there is into the one message.
    async fn sketch(&mut self, draft: String) -> Result<(), ApiError> {
        let Some(piece) = split(&spans(&draft), MAX_UNITS).into_iter().next() else { return Ok(()) };
        let out = Outgoing { html: piece.html, buttons: Vec::new() };
        match &mut self.draft {
            Some((message, shown)) => {
                *shown = draft;
                self.api.edit(self.chat, *message, &out).await
            }
            None => {
                let message = self.api.send(self.chat, &out).await?;
                self.draft = Some((message, draft));
                Ok(())
            }
        }
    }

    /// The whole text, the first piece in the place of the one message, if there is one.
    async fn write(&mut self, text: &str) -> Result<(), ApiError> {
        let pieces = split(&spans(text), MAX_UNITS);
        let as_file = pieces.len() > MAX_MESSAGES;
        let shown = if as_file { 1 } else { pieces.len() };
        let mut draft = self.draft.take().map(|(message, _)| message);
        for Piece { html, .. } in pieces.into_iter().take(shown) {
            let out = Outgoing { html, buttons: Vec::new() };
            match draft.take() {
                Some(message) => drop(self.api.put(self.chat, message, &out).await?),
                None => drop(self.api.send(self.chat, &out).await?),
            }
        }
        if as_file {
            let file =
                Sealed::new(text.as_bytes()).map_err(|_| ApiError::Unreachable("there is no memory for the file"))?;
            self.api.send_file(self.chat, ("answer.txt", PLAIN), &phrases::as_a_file(self.lang), &file).await?;
        }
        Ok(())
    }

    async fn done(&mut self, done: &TurnDone) -> Result<(), ApiError> {
        let mut text = self.view.take();
        if done.end == TurnEnd::Suspended {
            // The card says what is to be said; a message that only says that something is being done goes on later.
            return if text.trim().is_empty() { Ok(()) } else { self.write(&text).await };
        }
        if !done.why.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&done.why);
        }
        if text.trim().is_empty() {
            text = phrases::done_silently(self.lang);
        }
        self.write(&text).await
    }

    async fn card(&mut self, waits: CardWaits) -> Result<(), ApiError> {
        let shown = waits.card();
        let mut spans = card::spans(shown.as_ref(), &waits.id, self.lang);
        let mut buttons = card::buttons(shown.as_ref(), self.lang);
        if is_group(self.chat) {
            // A tap would be that of any member.
            buttons.clear();
            spans.push(Span::new(Style::Plain, format!("\n{}", phrases::group_card(self.lang))));
        }
        let out = outgoing(&spans, buttons);
        // A card that was added to is another one: the message shows it as it is now.
        let message = match self.cards.get(&waits.id) {
            Some((message, _)) => self.api.put(self.chat, *message, &out).await?,
            None => self.api.send(self.chat, &out).await?,
        };
        self.cards.insert(waits.id, (message, spans));
        Ok(())
    }

    /// A decided card says so, and has no buttons any more.
    async fn settled(&mut self, settled: CardSettled) -> Result<(), ApiError> {
        let Some((message, mut spans)) = self.cards.remove(&settled.id) else { return Ok(()) };
        let line = metnos_texts::card::settled(self.lang, &settled.state, &settled.by, settled.ran);
        spans.insert(0, Span::new(Style::Bold, format!("{line}\n\n")));
        self.api.put(self.chat, message, &outgoing(&spans, Vec::new())).await.map(drop)
    }
}

/// A card as one message; what does not fit is at the machine.
#[must_use]
pub fn outgoing(spans: &[Span], buttons: Vec<Vec<card::Button>>) -> Outgoing {
    let html = split(spans, MAX_UNITS).into_iter().next().unwrap_or_default().html;
    Outgoing { html, buttons }
}
