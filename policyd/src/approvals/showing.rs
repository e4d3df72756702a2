//! Which cards a person sees, and how a channel is notified of one. Nothing is answered here.

use metnos_proto::doc::card::{CardList, CardView};
use metnos_proto::edges::door_policyd;
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::msg::common::{Lang, Refusal, Standing};
use metnos_proto::msg::policyd::{CardWaits, MAX_NOTICES, OwnersCard};
use metnos_texts::card::leaves;
use serde_json::Value;

use crate::approvals::cards::Cards;
use crate::approvals::{self, Card};
use crate::people::principal::Principal;
use crate::text::head;

/// The most cards in a listing.
const MAX_LISTED: usize = 256;
/// The most bytes of a card that is shown over a channel.
const MAX_SHOWN: usize = 16 * 1024;

/// How much of each end of a long value is shown over a channel, in characters.
const MAX_END: usize = 120;

/// A card as a channel shows it: what is too long for one is shortened.
fn shown_card(card: &Card, now_ms: u64, lang: Lang) -> CardView {
    let mut shown = card.document(now_ms, lang);
    fit(&mut shown);
    shown
}

/// Shortens what is too long for a channel. What leaves the house is never shortened: its card is too long for a channel then, and
/// the door shows it as that, without a way to answer.
fn fit(shown: &mut CardView) {
    if written(shown).len() > MAX_SHOWN {
        for act in shown.acts.iter_mut().filter(|act| !leaves(&act.class)) {
            act.arguments.as_object_mut().into_iter().flat_map(|map| map.values_mut()).for_each(shorten);
            act.always = None;
        }
    }
    if written(shown).len() > MAX_SHOWN {
        shown.acts.iter_mut().for_each(|act| act.fields.clear());
    }
}

/// A card as it goes over a channel; nothing where it could not be written, which is shown as one that is too long.
fn written(shown: &CardView) -> String {
    serde_json::to_string(shown).unwrap_or_default()
}

/// What an act would touch is counted for the owner: it tells whether something is there.
fn without_counts(shown: &mut CardView) {
    shown.acts.iter_mut().for_each(|act| act.count = None);
}

/// Leaves the middle out of a long value, and says how much and of what: both ends stay, and no two are the same.
fn shorten(value: &mut Value) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let count = text.chars().count();
    if count <= 2 * MAX_END {
        return;
    }
    let begin: String = text.chars().take(MAX_END).collect();
    let end: String = text.chars().skip(count - MAX_END).collect();
    let mark: String = Blake3::of(text.as_bytes()).hex().chars().take(12).collect();
    *value =
        Value::String(format!("{begin} [… {} characters left out, fingerprint {mark} …] {end}", count - 2 * MAX_END));
}

impl Cards {
    /// The cards, newest first.
    pub(crate) fn cards(&self) -> CardList {
        let now = self.base.clock.wall_ms();
        let mut cards: Vec<Card> = self.all.borrow().values().filter(|card| self.owner_sees(card)).cloned().collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.made_ms));
        let lang = self.people.lang_of(&self.people.owner_name());
        let shown = |card: &Card| CardView {
            others: Some(!self.people.is_owners(&card.principal)),
            person: self.person_who_asks(card),
            ..card.document(now, lang)
        };
        CardList(cards.iter().take(MAX_LISTED).map(shown).collect())
    }

    /// The cards of this principal that can still be answered, the oldest first, and those of others that are this one's to
    /// decide. What somebody has asked for himself is answered where it was asked, and what others ask for wherever he is, which
    /// `here` says.
    pub(crate) fn cards_of(&self, principal: &Principal) -> CardList {
        let now = self.base.clock.wall_ms();
        let lang = self.people.lang_of(&principal.name);
        let cards = self.all.borrow();
        let counts = matches!(principal.standing, Standing::Owner | Standing::Adult);
        let shares = |card: &Card| principal.standing == Standing::Owner && self.people.is_owners(&card.principal);
        let sees = |card: &&Card| {
            card.is_open(now) && (card.principal == principal.name || shares(card) || self.decides_for(principal, card))
        };
        let mut open: Vec<&Card> = cards.values().filter(sees).collect();
        open.sort_by_key(|card| card.made_ms);
        let shown = |card: &&Card| {
            let mut shown = shown_card(card, now, lang);
            if self.decides_for(principal, card) {
                // It is hard for the one who asks for it, and the owner's to decide where he is.
                (shown.hard, shown.here, shown.others) = (false, Some(true), Some(true));
                shown.person = self.person_who_asks(card);
            } else {
                shown.here = Some(card.principal == principal.name);
            }
            if !counts {
                without_counts(&mut shown);
            }
            shown
        };
        CardList(open.iter().take(MAX_LISTED).map(shown).collect())
    }

    /// Whether the owner sees this card at the machine: what is offered to another person is that person's alone.
    fn owner_sees(&self, card: &Card) -> bool {
        card.offer.is_none() || self.people.is_owners(&card.principal)
    }

    /// Whether this card is another principal's, and whoever speaks here decides it.
    pub(crate) fn decides_for(&self, principal: &Principal, card: &Card) -> bool {
        card.offer.is_none() && self.people.decides_on(principal, &card.principal, card.is_hard())
    }

    /// One card.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) fn show_card(&self, id: &str) -> Result<CardView, Refusal> {
        let cards = self.all.borrow();
        let card = cards.get(id).filter(|card| self.owner_sees(card)).ok_or_else(|| approvals::unknown(id))?;
        let lang = self.people.lang_of(&self.people.owner_name());
        Ok(CardView { person: self.person_who_asks(card), ..card.document(self.base.clock.wall_ms(), lang) })
    }

    /// The name of the person who asks for this, where it is another one's than the owner's.
    fn person_who_asks(&self, card: &Card) -> Option<String> {
        let others = !self.people.is_owners(&card.principal);
        Some(self.people.person_of(&card.principal)).filter(|name| others && !name.is_empty())
    }

    /// Has the door show a card to anyone who is in this turn, which may be another than the one that the card was made in: the
    /// same was asked for again.
    pub(crate) async fn tell_door_of(&self, card: &Card, turn: TurnId) {
        let mut shown = shown_card(card, self.base.clock.wall_ms(), self.people.lang_of(&card.principal));
        let standing = self.people.paired_as(&card.principal);
        if !self.people.is_owners(&card.principal) && standing != Some(Standing::Adult) {
            without_counts(&mut shown);
        }
        let note = CardWaits {
            turn,
            id: card.id.clone(),
            digest: card.digest().to_string(),
            shown: head(&written(&shown), MAX_SHOWN),
        };
        self.people.note_to_door(door_policyd::Note::CardWaits(note)).await;
        if card.offer.is_some() {
            return;
        }
        let to =
            self.people.deciders_of(&card.principal, card.is_hard()).into_iter().take(MAX_NOTICES).collect::<Vec<_>>();
        if !to.is_empty() {
            let note = OwnersCard { to, id: card.id.clone() };
            self.people.note_to_door(door_policyd::Note::OwnersCard(note)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approvals::tests::card;

    #[test]
    fn card_of_a_long_mail_is_never_shortened_for_a_channel() {
        let text = "long words ".repeat(2_000);
        let of = |class: &str| {
            let mut view = card("abcd-efgh").document(1_000, Lang::En);
            for act in &mut view.acts {
                class.clone_into(&mut act.class);
                act.arguments = serde_json::json!({ "body": text });
            }
            fit(&mut view);
            view.acts.iter().all(|act| act.arguments["body"] == text.as_str())
        };
        assert!(of("send") && of("publish"), "it is too long for the channel, and is said to be");
        assert!(!of("self_create"));
    }
}
