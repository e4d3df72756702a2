// A card: what Metnos may not do without a word, with exactly what would be done.

import { api, Problem } from "./api.js";
import { fill, h } from "./dom.js";
import { moment, t } from "./sentences.js";

/** @typedef {import("./api.js").Card} Card */

/**
 * The lines of a card, act by act.
 * @param {Card} card
 */
function lines(card) {
  return h(
    "dl",
    { class: "card-lines" },
    card.parts.map((part) => h("div", { class: `card-line field-${part.field.replace(/[^a-z]/g, "")}` },
      h("dt", null, part.label), h("dd", null, part.text))),
  );
}

/**
 * What stands in the place of a card that was decided.
 * @param {string} state
 */
export function settled(state) {
  return h("p", { class: `card-settled is-${state}` }, t(`card_${state}`));
}

/**
 * A card with its buttons.
 * @param {Card} card
 * @param {string} self The principal of this page.
 * @param {(id: string, state: string) => void} [decided]
 */
export function cardView(card, self, decided) {
  const title = card.offer ? t("offer") : card.principal && card.principal !== self ? t("card_of", { who: card.person ?? card.principal }) : t("card");
  const said = h("div", { class: "card-said", role: "status" });
  const code = h("input", { class: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "8", "aria-label": t("card_code"), placeholder: t("card_code") });
  const box = h("article", { class: "card", "data-card": card.id, "aria-label": title });
  const buttons = h("div", { class: "card-buttons" });

  /** @param {"once" | "turn" | "no"} answer */
  async function decide(answer) {
    const all = buttons.querySelectorAll("button");
    all.forEach((button) => (button.disabled = true));
    try {
      const { state } = await api.answer(card, answer, code.value.trim());
      fill(box, settled(state));
      decided?.(card.id, state);
    } catch (error) {
      const why = error instanceof Problem ? [error.message, error.remedy].filter(Boolean).join(" ") : t("offline");
      fill(said, why);
      all.forEach((button) => (button.disabled = false));
    }
  }

  if (card.here) {
    fill(
      buttons,
      card.hard && code,
      h("button", { class: "primary", onclick: () => decide("once") }, t(card.offer ? "offer_yes" : "card_yes")),
      !card.hard && !card.offer && h("button", { onclick: () => decide("turn") }, t("card_turn")),
      h("button", { onclick: () => decide("no") }, t(card.offer ? "offer_no" : "card_no")),
    );
  } else {
    fill(buttons, h("p", { class: "muted" }, t("card_elsewhere")));
  }
  fill(
    box,
    h("h2", null, title),
    lines(card),
    buttons,
    card.expires_ms > 0 && h("p", { class: "muted small" }, t("card_until", { when: moment(card.expires_ms) })),
    said,
  );
  return box;
}
