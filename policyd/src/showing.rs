//! Which cards somebody sees, and how a channel is told of one. Nothing is answered here.

use metnos_proto::edges::door_policyd;
use metnos_proto::msg::common::{Lang, Refusal, Standing};
use metnos_proto::msg::policyd::CardWaits;
use serde_json::{Value, json};

use crate::approvals::{self, Card};
use crate::policy::{Policy, head};
use crate::principal::Principal;
use crate::tongue;

/// The most cards in a listing.
const MAX_LISTED: usize = 256;
/// The most bytes of a card that is shown over a channel.
const MAX_SHOWN: usize = 16 * 1024;

/// A card as a channel shows it: what is too long for one is shortened.
fn shown_card(card: &Card, now_ms: u64, lang: Lang) -> Value {
    let mut shown = card.document(now_ms);
    shown["lang"] = json!(tongue::name(lang));
    if shown.to_string().len() > MAX_SHOWN {
        for act in shown["acts"].as_array_mut().into_iter().flatten() {
            act["arguments"] = json!(head(&act["arguments"].to_string(), 512));
            act["fields"] = json!([]);
            act["always"] = Value::Null;
        }
    }
    shown
}

impl Policy {
    /// The cards, newest first.
    pub(crate) fn cards(&self) -> Value {
        let now = self.clock.wall_ms();
        let mut cards: Vec<Card> = self.cards.borrow().values().cloned().collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.made_ms));
        let lang = self.lang_of(&self.owner_name());
        let shown = |card: &Card| {
            let mut shown = card.document(now);
            shown["lang"] = json!(tongue::name(lang));
            shown
        };
        cards.iter().take(MAX_LISTED).map(shown).collect()
    }

    /// The cards of this principal that can still be answered, the oldest first. The owner sees what he has asked for on
    /// whichever channel; it is answered where it was asked, which `here` says.
    pub(crate) fn cards_of(&self, principal: &Principal) -> Value {
        let now = self.clock.wall_ms();
        let lang = self.lang_of(&principal.name);
        let cards = self.cards.borrow();
        let sees = |card: &&Card| {
            let his = card.principal == principal.name;
            card.is_open(now) && (his || principal.standing == Standing::Owner && self.is_owners(&card.principal))
        };
        let mut open: Vec<&Card> = cards.values().filter(sees).collect();
        open.sort_by_key(|card| card.made_ms);
        let shown = |card: &&Card| {
            let mut shown = shown_card(card, now, lang);
            shown["here"] = json!(card.principal == principal.name);
            shown
        };
        open.iter().take(MAX_LISTED).map(shown).collect()
    }

    fn owner_name(&self) -> String {
        format!("cli:uid:{}", self.setting.owner_uid)
    }

    /// Whether this is one of the names under which the owner speaks.
    fn is_owners(&self, name: &str) -> bool {
        name == self.owner_name()
            || name == "cli:uid:0"
            || self.house().people.borrow().standing(name) == Some(Standing::Owner)
    }

    /// One card.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) fn show_card(&self, id: &str) -> Result<Value, Refusal> {
        let cards = self.cards.borrow();
        let mut shown = cards.get(id).ok_or_else(|| approvals::unknown(id))?.document(self.clock.wall_ms());
        shown["lang"] = json!(tongue::name(self.lang_of(&self.owner_name())));
        Ok(shown)
    }

    /// Has the door show a card to whoever is in the turn.
    pub(crate) async fn tell_door_of(&self, card: &Card) {
        let shown = shown_card(card, self.clock.wall_ms(), self.lang_of(&card.principal));
        let note = CardWaits {
            turn: card.turn,
            id: card.id.clone(),
            digest: card.digest().to_string(),
            shown: head(&shown.to_string(), MAX_SHOWN),
        };
        self.note_to_door(door_policyd::Note::CardWaits(note)).await;
    }
}
