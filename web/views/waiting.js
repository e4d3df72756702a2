// Waiting: every card that this person may answer, or has caused.

import { cardView } from "../cards.js";
import { empty, fill, h } from "../dom.js";
import { t } from "../sentences.js";

/** @typedef {import("../app.js").Butler} Butler */

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const list = h("div", { class: "cards" });
  fill(main, h("header", { class: "head" }, h("h1", null, t("waiting"))), list);
  const draw = () => {
    const self = butler.status?.principal ?? "";
    fill(list, butler.cards.map((card) => cardView(card, self, (id, state) => butler.decided(id, state))), butler.cards.length === 0 && empty(t("waiting_none"), t("waiting_more")));
  };
  draw();
  void butler.loadCards();
  return butler.watchCards(draw);
}
