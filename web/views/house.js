// House: who one is here, how the page looks, and how the door is.

import { fill, h } from "../dom.js";
import { t } from "../sentences.js";

/** @typedef {import("../app.js").Butler} Butler */

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const draw = () => {
    const status = butler.status;
    if (!status) {
      return;
    }
    const { door } = status;
    fill(
      main,
      h("header", { class: "head" }, h("h1", null, t("house"))),
      h("div", { class: "grid" },
        h("section", { class: "panel" }, h("h2", null, t("house_you")),
          facts([
            [t("house_is"), [status.person, t(`standing_${status.standing}`)].filter(Boolean).join(", ")],
            [t("house_level"), t(`level_${status.level}`)],
            [t("house_name"), h("code", { class: "long" }, status.principal)],
          ]),
          h("button", { onclick: () => butler.signOut() }, t("house_out")),
          h("p", { class: "muted small" }, t("house_leave", { who: status.principal }))),
        h("section", { class: "panel" }, h("h2", null, t("house_page")),
          h("h3", { class: "muted" }, t("house_look")),
          choice(t("house_look"), ["auto", "light", "dark"].map((name) => [name, t(`look_${name}`)]), butler.look, (name) => butler.setLook(name)),
          h("h3", { class: "muted" }, t("house_lang")),
          choice(t("house_lang"), [["en", "English"], ["it", "Italiano"]], document.documentElement.lang, (name) => butler.setLang(name === "it" ? "it" : "en"))),
        door && h("section", { class: "panel" }, h("h2", null, t("house_door")),
          facts([
            [t("door_models"), !door.models || door.models.startsWith("no language model") ? t("door_none") : door.models],
            [t("door_turns"), String(door.turns_total)],
            [t("door_open"), String(door.turns)],
            [t("door_sessions"), String(door.sessions)],
            [t("door_connections"), String(door.connections)],
          ]))),
    );
  };
  draw();
  butler.loadStatus().then(draw).catch(() => {});
  return () => {};
}

/** @param {[string, Node | string][]} rows */
function facts(rows) {
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/**
 * @param {string} label
 * @param {string[][]} options
 * @param {string} now
 * @param {(name: string) => void} chosen
 */
function choice(label, options, now, chosen) {
  const buttons = options.map(([name, words]) => h("button", { "aria-pressed": String(name === now), onclick: () => chosen(name ?? "") }, words));
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}
