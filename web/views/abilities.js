// Abilities: the executors, each with what it does and how far it reaches.

import { api } from "../api.js";
import { empty, fill, h, loading } from "../dom.js";
import { named, t } from "../sentences.js";

/** @typedef {import("../app.js").Butler} Butler */
/** @typedef {{name: string, version: string, state: string, summary: string, class: string, why?: string, examples?: string[]}} Ability */

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const list = h("div", { class: "grid" }, loading(t("loading")));
  const find = h("input", { type: "search", class: "field", placeholder: t("abilities_find"), "aria-label": t("abilities_find") });
  fill(main, h("header", { class: "head" }, h("h1", null, t("abilities")), h("p", { class: "muted" }, t("abilities_help"))), find, list);
  /** @type {Ability[]} */
  let all = [];
  const draw = () => {
    const words = find.value.trim().toLowerCase();
    const fits = all.filter((one) => `${one.name} ${one.summary}`.toLowerCase().includes(words));
    fill(list, fits.map((one) => view(one, butler)), fits.length === 0 && empty(t("abilities_none")));
  };
  find.addEventListener("input", draw);
  const load = async () => {
    /** @type {number | null} */
    let cursor = 0;
    while (cursor !== null && all.length < 1000) {
      const page = await api.page("executors", cursor, 100);
      all = all.concat(page.executors);
      cursor = page.next;
    }
    draw();
  };
  load().catch((error) => butler.failed(list, error));
  return () => {};
}

/**
 * @param {Ability} one
 * @param {Butler} butler
 */
function view(one, butler) {
  // Taken from here, an example stands where one writes, and is said by whoever reads it over.
  const take = (/** @type {string} */ words) => {
    butler.go("today");
    butler.put(words);
  };
  const isOdd = one.state !== "active";
  return h(
    "article",
    { class: `ability class-${one.class.replace(/[^a-z]/g, "")}` },
    h("h2", null, h("code", null, one.name)),
    h("p", null, one.summary),
    h("p", { class: "tags" }, h("span", { class: "tag" }, named("class", one.class)), isOdd && h("span", { class: "tag is-bad" }, named("st", one.state)), h("span", { class: "muted small" }, one.version)),
    one.why && h("p", { class: "small" }, one.why),
    one.examples && h("ul", { class: "examples" }, one.examples.map((words) => h("li", null, h("button", { class: "example", onclick: () => take(words) }, words)))),
  );
}
