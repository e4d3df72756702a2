//! The commands, and the presses of buttons: what the door itself answers. What has an effect goes to policyd under the
//! sender's own name, and nothing counts here but what policyd says of it.

pub mod parse;

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use metnos_proto::doc::card::CardView;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Lang, Refusal, Standing};
use metnos_proto::msg::door::AnswerHere;
use metnos_proto::msg::policyd::{Identified, OwnersCard, PanicHere};
use metnos_proto::payload::Sealed;
use tokio::sync::oneshot;

use self::parse::Command;
use crate::session::speaker::{NoteSink, Speaker, TurnNote};
use crate::session::undo::OwnRequest;
use crate::telegram::bot::{Bot, MAX_OWNERS_VIEWS, line};
use crate::telegram::card::{self, Pressed};
use crate::telegram::message_editor::{MessageEditor, outgoing};
use crate::telegram::phrases;
use crate::telegram::update::Press;
use crate::telegram::view::View;

/// A refusal, as it is said to the sender.
fn refusal_text(refusal: &Refusal, lang: Lang) -> String {
    metnos_texts::refusal(lang, refusal)
}

impl Bot {
    /// Answers a command that needs no record.
    pub(in crate::telegram) async fn command(&self, command: Command, from: i64, speaker: &Speaker, who: &Identified) {
        let text = match command {
            Command::Help => help(who.lang),
            Command::Status => self.status(speaker, who).await,
            Command::Pause => self.pause(from, speaker, who).await,
            Command::Approvals => return self.approvals(from, speaker, who).await,
            Command::Undo | Command::File => return,
        };
        self.say(from, &text).await;
    }

    async fn status(&self, speaker: &Speaker, who: &Identified) -> String {
        let waiting = self.door.cards_of(speaker).await.map_or(0, |cards| cards.len());
        let report = self.door.report();
        match who.standing {
            Standing::Owner => phrases::status(who.lang, report.turns, waiting, Some(&self.door.models_in(who.lang))),
            // How the instance is, only the owner learns.
            Standing::Adult | Standing::Guest | Standing::Stranger => phrases::status(who.lang, 0, waiting, None),
        }
    }

    async fn pause(&self, from: i64, speaker: &Speaker, who: &Identified) -> String {
        match who.standing {
            Standing::Owner => {
                let ask = PanicHere { channel: Channel::Telegram, sender: speaker.sender.clone() };
                match self.door.peers().policyd.panic_here(TraceId::NONE, ask, []).await {
                    Ok((panicked, [])) => phrases::stopped(who.lang, panicked.killed),
                    Err(error) => refusal_text(&error.into_refusal(), who.lang),
                }
            }
            Standing::Adult | Standing::Guest | Standing::Stranger => {
                self.door.cancel_turns_of(self.chat(from, speaker).voice.number);
                phrases::own_stopped(who.lang)
            }
        }
    }

    async fn approvals(&self, from: i64, speaker: &Speaker, who: &Identified) {
        let watched = match self.watched_cards(speaker, who.lang).await {
            Ok(cards) => cards,
            Err(refusal) => {
                self.say(from, &refusal_text(&refusal, who.lang)).await;
                return;
            }
        };
        if watched.is_empty() {
            self.say(from, &phrases::nothing_waits(who.lang)).await;
        }
        for (shown, view) in watched {
            self.show_card(from, who.lang, &shown, view).await;
        }
    }

    /// Shows a card to those who decide on another principal's, in each of their chats, with its buttons, in the language of that chat. One
    /// that was added to is shown anew in the place where it stands.
    pub(in crate::telegram) async fn owners_card(self: Rc<Self>, card: OwnersCard) {
        let chats = card.to.iter().filter_map(|name| name.strip_prefix("telegram:")?.parse::<i64>().ok());
        for chat in chats {
            let speaker = Speaker { channel: Channel::Telegram, sender: chat.to_string(), lang: None };
            let Some(who) = self.identify(&speaker).await else { continue };
            if matches!(who.standing, Standing::Owner | Standing::Adult)
                && let Err(refusal) = self.owners_card_in(chat, &speaker, &who, &card.id).await
            {
                tracing::warn!(%refusal, "a card could not be shown to the owner");
            }
        }
    }

    async fn owners_card_in(&self, chat: i64, speaker: &Speaker, who: &Identified, id: &str) -> Result<(), Refusal> {
        let waits = |cards: Vec<CardView>| cards.into_iter().find(|card| card.id == id);
        let shown_before = {
            let mut shown = self.owners_views.borrow_mut();
            shown.retain(|_, view| view.upgrade().is_some_and(|view| view.is_open()));
            shown.get(&(chat, id.to_owned())).and_then(Weak::upgrade)
        };
        if let Some(view) = shown_before {
            let Some(shown) = waits(self.door.cards_of(speaker).await?) else { return Ok(()) };
            view.deliver(TurnNote::CardWaits(shown.note(TurnId::NONE))).await;
            return Ok(());
        }
        // It learns what becomes of the card before policyd is asked how it stands.
        let view = self.view_of(id, who.lang);
        let shown = self.door.cards_of(speaker).await.map(waits);
        let Ok(Some(shown)) = shown else {
            view.iter().for_each(|view| view.close());
            return shown.map(|_| ());
        };
        if let Some(view) = &view {
            let mut views = self.owners_views.borrow_mut();
            if views.len() < MAX_OWNERS_VIEWS {
                views.insert((chat, id.to_owned()), Rc::downgrade(view));
            }
        }
        self.show_card(chat, who.lang, &shown, view).await;
        Ok(())
    }

    /// Sends a card with its buttons, and watches what becomes of it.
    async fn show_card(&self, chat: i64, lang: Lang, shown: &CardView, view: Option<Rc<View>>) {
        let out = outgoing(&card::spans(Some(shown), &shown.id, lang), card::buttons(Some(shown), lang));
        match (self.api.send(chat, &out).await, view) {
            (Ok(message), Some(view)) => self.watch(chat, message, shown, view),
            (Ok(_), None) => {}
            (Err(fault), view) => {
                tracing::warn!(%fault, "a card could not be shown");
                view.iter().for_each(|view| view.close());
            }
        }
    }

    /// The cards that wait, each with a view that learns what becomes of it, if there was room for one. The views are there
    /// before policyd is asked once more which cards still wait: one that is decided while its message is on the way is
    /// heard of, and one that was decided before is not shown.
    async fn watched_cards(&self, speaker: &Speaker, lang: Lang) -> Result<Vec<(CardView, Option<Rc<View>>)>, Refusal> {
        let mut views = BTreeMap::new();
        for shown in self.door.cards_of(speaker).await?.iter().take(crate::telegram::sequence::MAX_OPEN) {
            views.insert(shown.id.clone(), self.view_of(&shown.id, lang));
        }
        let waiting = if views.is_empty() { Ok(Vec::new()) } else { self.door.cards_of(speaker).await };
        let watched = waiting.map(|cards| {
            let watched = cards.into_iter().filter_map(|shown| {
                let view = views.remove(&shown.id)?;
                Some((shown, view))
            });
            watched.collect()
        });
        // Also when policyd has not answered: a card has room for a few who listen.
        views.into_values().flatten().for_each(|view| view.close());
        watched
    }

    /// Takes back, and records that it was asked for: a restart does not take back twice.
    pub(in crate::telegram) async fn undo(
        &self,
        update: u64,
        from: i64,
        speaker: &Speaker,
        who: &Identified,
        text: &str,
        mark: &str,
    ) {
        let registered = match Sealed::new(text.as_bytes()) {
            Ok(words) => self.door.register((speaker, mark), who, words).await,
            Err(error) => {
                Err(Refusal::new(metnos_proto::msg::common::RefusalCode::Internal, "words.share", error.to_string()))
            }
        };
        let registered = match registered {
            Ok((registered, _)) => registered,
            Err(refusal) => {
                self.say(from, &refusal_text(&refusal, who.lang)).await;
                return;
            }
        };
        let request = crate::session::undo::asked(text)
            .map_or_else(|| OwnRequest::TakeBack(String::new()), |(_, request)| request);
        let (end, text) = self.door.done_here(speaker, registered.trace, who.lang, request).await;
        self.delivered(update, from, (registered.turn, registered.trace), end, &text).await;
    }

    /// A person pressed a button. It counts where it stands in his own chat, under a card of his own, as it was shown.
    pub(in crate::telegram) async fn pressed(self: &Rc<Self>, press: Press) {
        let speaker = Speaker { channel: Channel::Telegram, sender: press.from.to_string(), lang: press.lang };
        let Some(who) = self.identify(&speaker).await else { return };
        let own = press.under.filter(|(chat, _)| *chat == press.from && who.standing != Standing::Stranger);
        let wanted = Pressed::parse(&press.data);
        let found = match (own, &wanted) {
            (Some(_), Some(wanted)) => {
                let cards = self.door.cards_of(&speaker).await.unwrap_or_default();
                cards.into_iter().find(|shown| shown.id == wanted.id && card::short(&shown.digest) == wanted.short)
            }
            (None, _) | (_, None) => None,
        };
        let (Some((_, message)), Some(wanted), Some(shown)) = (own, wanted, found) else {
            let says = if who.standing == Standing::Stranger { String::new() } else { phrases::stale(who.lang) };
            self.acknowledge(&press.query, &says).await;
            if let Some((chat, message)) = own
                && let Err(fault) = self.api.bare(chat, message).await
            {
                tracing::debug!(%fault, "the buttons of a stale card stay");
            }
            return;
        };
        self.acknowledge(&press.query, &phrases::noted(who.lang)).await;
        // A card from before this door: nobody watches the message under which it was pressed.
        if !self.door.is_shown(&wanted.id)
            && let Some(view) = self.view_of(&wanted.id, who.lang)
        {
            self.watch(press.from, message, &shown, view);
        }
        let ask = AnswerHere { id: wanted.id, digest: shown.digest, answer: wanted.answer, code: String::new() };
        if let Err(refusal) = self.door.answer(&speaker, ask).await
            && let Err(fault) = self.api.send(press.from, &line(&refusal_text(&refusal, who.lang))).await
        {
            tracing::warn!(%fault, "a refusal could not be said");
        }
    }

    async fn acknowledge(&self, query: &str, text: &str) {
        // Telegram takes an acknowledgement for a short while only; a late one is nobody's loss.
        if let Err(fault) = self.api.acknowledge(query, text).await {
            tracing::debug!(%fault, "a press could not be acknowledged");
        }
    }

    /// A view that learns what becomes of this card; none when too many listen to it.
    fn view_of(&self, id: &str, lang: Lang) -> Option<Rc<View>> {
        let view = Rc::new(View::new(lang));
        self.door.was_shown(id, Rc::clone(&view) as Rc<dyn NoteSink>).then_some(view)
    }

    /// Has the message below which a card stands edited when the view learns that it was decided, wherever that was.
    fn watch(&self, chat: i64, message: i64, shown: &CardView, view: Rc<View>) {
        let lang = view.lang();
        let editor = MessageEditor::new(Rc::clone(&self.api), chat, lang, view);
        let (first, _) = oneshot::channel();
        tokio::task::spawn_local(
            editor.with_card(&shown.id, message, card::spans(Some(shown), &shown.id, lang)).run(first),
        );
    }
}

fn help(lang: Lang) -> String {
    let mut text = phrases::help(lang);
    text.push('\n');
    for (command, says) in phrases::commands(lang) {
        text.push_str(&format!("\n/{command} – {says}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_command_in_both_languages() {
        for lang in [Lang::En, Lang::It] {
            let text = help(lang);
            assert!(phrases::commands(lang).iter().all(|(command, _)| text.contains(&format!("/{command}"))), "{text}");
        }
    }
}
