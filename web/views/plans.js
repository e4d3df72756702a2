// Plans: what is due, day by day, and what is over.

import { api } from "../api.js";
import { asking, empty, fill, h, loading } from "../dom.js";
import { clock, day, moment, named, t } from "../sentences.js";

/** @typedef {import("../app.js").Butler} Butler */
/** @typedef {import("../api.js").Schedule} Schedule */

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const list = h("div", { class: "plans" }, loading(t("loading")));
  const what = h("input", { class: "field", placeholder: t("plans_hint"), "aria-label": t("plans_new"), autocomplete: "off" });
  const form = h("form", { class: "new-plan" }, h("label", null, t("plans_new"), what), h("button", { class: "primary", type: "submit" }, t("plans_add")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = what.value.trim();
    if (words) {
      // Said as one would say it, so that it goes the way of every request.
      butler.go("today");
      void butler.say(t("plans_say", { what: words }));
    }
  });
  fill(main, h("header", { class: "head" }, h("h1", null, t("plans"))), form, list);
  draw(list).catch((error) => butler.failed(list, error));
  return butler.talk.watch((item) => {
    if (item && "turn" in item && item.end) {
      draw(list).catch(() => {});
    }
  });
}

/** @param {HTMLElement} list */
async function draw(list) {
  /** @type {Schedule[]} */
  const all = [];
  /** @type {number | null} */
  let cursor = 0;
  while (cursor !== null && all.length < 400) {
    const page = await api.page("schedules", cursor, 100);
    all.push(...page.schedules);
    cursor = page.next;
  }
  const due = all.filter((one) => one.next.length > 0).sort((one, other) => first(one) - first(other));
  const past = all.filter((one) => one.next.length === 0);
  /** @type {Map<string, Schedule[]>} */
  const days = new Map();
  for (const one of due) {
    const head = day(first(one));
    days.set(head, [...(days.get(head) ?? []), one]);
  }
  fill(
    list,
    due.length === 0 && empty(t("plans_none"), t("plans_more")),
    [...days].map(([head, plans]) => h("section", null, h("h2", { class: "day" }, head), h("ul", { class: "rows" }, plans.map((one) => row(one, () => void draw(list).catch(() => {})))))),
    past.length > 0 && h("details", { class: "past" }, h("summary", null, `${t("plans_past")} (${past.length})`), h("ul", { class: "rows" }, past.map((one) => row(one)))),
  );
}

/** @param {Schedule} one */
function first(one) {
  return Date.parse(one.next[0] ?? "");
}

/**
 * @param {Schedule} one
 * @param {() => void} [changed] Where it can be cancelled: what is done then.
 */
function row(one, changed) {
  const state = named("state", one.state);
  const at = one.next.length > 0 ? clock(first(one), one.zone) : "";
  return h(
    "li",
    { class: "row" },
    h("span", { class: "row-at" }, at),
    h("div", { class: "row-main" },
      h("span", { class: "row-title" }, one.what || t("words")),
      h("span", { class: "muted small" }, [named("kind", one.kind), one.told, one.person && t("plan_for", { person: one.person }), one.held && t("plan_held", { when: moment(Date.parse(one.held)) })].filter(Boolean).join(" · "))),
    state && one.state !== "active" && h("span", { class: "tag" }, state),
    changed && asking(t("plan_cancel"), t("plan_sure"), one.what, async () => {
      await api.cancel(one.number);
      changed();
    }),
  );
}
