//! What a card is about, as it lies on the disk: sealed with the key of the vault, because it holds what persons have said.

use metnos_proto::doc::card::HabitOffer;
use serde::{Deserialize, Serialize};

use crate::approvals::{Card, PendingAct};
use crate::vault::Vault;

/// What a card is about, as it is sealed.
#[derive(Debug, Serialize, Deserialize)]
struct Matter {
    acts: Vec<PendingAct>,
    offer: Option<HabitOffer>,
}

/// The name under which the matter of a card is sealed: that of one does not open for another.
fn place(id: &str) -> String {
    format!("card {id}")
}

/// What a card is about, sealed; `None` without random numbers.
#[must_use]
pub(crate) fn sealed(vault: &Vault, card: &Card) -> Option<Vec<u8>> {
    let matter = Matter { acts: card.acts.clone(), offer: card.offer.clone() };
    vault.seal_own(&place(&card.id), &serde_json::to_vec(&matter).ok()?)
}

/// The acts and the offer of a card, as its row has them: sealed, or its acts in plain text. `None` where they cannot be read.
#[must_use]
pub(crate) fn matter(
    id: &str,
    (acts, sealed): (&str, &[u8]),
    vault: &Vault,
) -> Option<(Vec<PendingAct>, Option<HabitOffer>)> {
    if sealed.is_empty() {
        return Some((serde_json::from_str(acts).ok()?, None));
    }
    let Matter { acts, offer } = serde_json::from_slice(&vault.open_own(&place(id), sealed)?).ok()?;
    Some((acts, offer))
}
