// The memory: what was said and answered, on every channel of this person, to look for and to forget.

import { api } from "../api.js";
import { asking, empty, fill, h, loading } from "../dom.js";
import { clock, day, named, t } from "../sentences.js";
import { blocks } from "../text.js";

/** @typedef {import("../app.js").Butler} Butler */
/** @typedef {import("../api.js").Exchange} Exchange */

/** How long one stops writing before it is looked for, in milliseconds. */
const PAUSE_MS = 300;
/** The longest words that the door looks for. */
const LONGEST = 100;

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const list = h("div", { class: "book" });
  const more = h("button", { class: "quiet", hidden: true }, t("memory_back"));
  const words = h("input", { class: "field", type: "search", maxlength: LONGEST, placeholder: t("memory_search"), "aria-label": t("memory_search"), autocomplete: "off" });
  fill(main, h("header", { class: "head" }, h("h1", null, t("memory")), h("p", { class: "muted" }, t("memory_help"))), words, list, more, h("p", { class: "muted small beneath" }, t("memory_elsewhere")));
  /** @type {Exchange[]} */
  let found = [];
  /** @type {number | null} */
  let cursor = 0;
  /** Which search is the newest: an older one that comes late is not shown. */
  let search = 0;
  let waits = 0;

  async function load() {
    const mine = search;
    const asked = words.value.trim();
    more.disabled = true;
    const page = await api.memory(asked, cursor ?? 0);
    if (mine !== search) {
      return;
    }
    found.push(...page.turns);
    cursor = page.next;
    more.disabled = false;
    more.hidden = cursor === null;
    draw(asked);
  }

  /** @param {string} asked */
  function draw(asked) {
    let head = "";
    const none = asked ? empty(t("memory_not_found"), t("memory_not_found_more")) : empty(t("memory_none"), t("memory_none_more"));
    fill(list, found.length === 0 && none, found.flatMap((one) => {
      const on = day(one.at_ms);
      const isNew = on !== head;
      head = on;
      return [isNew && h("h2", { class: "day" }, on), row(one, () => {
        found = found.filter((other) => other !== one);
        butler.talk.forgotten(one.turn);
        draw(asked);
      })];
    }));
  }

  function begin() {
    search += 1;
    found = [];
    cursor = 0;
    load().catch((error) => butler.failed(list, error));
  }

  words.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(begin, PAUSE_MS);
  });
  more.addEventListener("click", () => void load().catch((error) => butler.failed(list, error)));
  fill(list, loading(t("loading")));
  begin();
  return () => clearTimeout(waits);
}

/**
 * @param {Exchange} one
 * @param {() => void} gone
 */
function row(one, gone) {
  return h(
    "details",
    { class: "story" },
    h("summary", { class: "row" },
      h("span", { class: "row-at" }, clock(one.at_ms)),
      h("div", { class: "row-main" }, h("span", { class: "cut" }, `“${one.said}”`), h("span", { class: "muted small cut" }, [named("on", one.channel), one.answer.split("\n")[0]].filter(Boolean).join(" · ")))),
    h("div", { class: "story-answer is-kept" }, h("p", { class: "words muted" }, one.said), h("div", { class: "words" }, blocks(one.answer)),
      asking(t("forget"), t("forget_sure"), one.said, async () => {
        await api.forget(one.turn);
        gone();
      })),
  );
}
