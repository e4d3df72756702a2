// The book: what happened, turn by turn, newest first. It loads as it is read.

import { api } from "../api.js";
import { empty, fill, h, loading } from "../dom.js";
import { clock, day, named, t } from "../sentences.js";
import { blocks } from "../text.js";

/** @typedef {import("../app.js").Butler} Butler */
/** @typedef {{seq: number, ts: string, event_type: string, emitter: string, peer: string, turn?: string, channel?: string, executor?: string, verdict?: string, outcome?: string, hash: string}} Line */

/** Lines on one page. */
const LINES = 100;

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const list = h("div", { class: "book" });
  const more = h("button", { class: "quiet", hidden: true }, t("more"));
  const only = h("select", { "aria-label": t("book_filter") },
    h("option", { value: "turns" }, t("book_turns")), h("option", { value: "house" }, t("book_house")), h("option", { value: "" }, t("book_all")));
  fill(main, h("header", { class: "head" }, h("h1", null, t("book")), h("p", { class: "muted" }, t("book_help"))), h("label", { class: "filter" }, t("book_filter"), only), list, more);
  /** @type {Line[]} */
  const lines = [];
  /** @type {number | null} */
  let cursor = 0;

  async function load() {
    if (cursor === null) {
      return;
    }
    more.disabled = true;
    const page = await api.page("audit", cursor, LINES);
    lines.push(...page.lines);
    cursor = page.next;
    more.disabled = false;
    more.hidden = cursor === null;
    draw();
  }

  function draw() {
    const stories = grouped(lines).filter((story) => (only.value === "turns" ? story.turn : only.value === "house" ? !story.turn : true));
    let head = "";
    fill(list, stories.length === 0 && empty(t("book_none")), stories.map((story) => {
      const on = day(Date.parse(story.lines[0]?.ts ?? ""));
      const isNew = on !== head;
      head = on;
      return [isNew && h("h2", { class: "day" }, on), storyView(story, butler)];
    }).flat());
  }

  only.addEventListener("change", draw);
  more.addEventListener("click", () => void load().catch((error) => butler.failed(list, error)));
  fill(list, loading(t("loading")));
  load().catch((error) => butler.failed(list, error));
  return () => {};
}

/** @typedef {{turn: string, lines: Line[]}} Story */

/**
 * Lines of one turn together, in the place of its newest.
 * @param {Line[]} lines
 */
function grouped(lines) {
  /** @type {Map<string, Story>} */
  const turns = new Map();
  /** @type {Story[]} */
  const stories = [];
  for (const line of lines) {
    const known = line.turn ? turns.get(line.turn) : undefined;
    if (known) {
      known.lines.push(line);
      continue;
    }
    const story = { turn: line.turn ?? "", lines: [line] };
    stories.push(story);
    if (line.turn) {
      turns.set(line.turn, story);
    }
  }
  return stories;
}

/**
 * @param {Story} story
 * @param {Butler} butler
 */
function storyView(story, butler) {
  const newest = story.lines[0];
  if (!newest) {
    return null;
  }
  const ran = [...new Set(story.lines.filter((line) => line.event_type === "run_ended" || line.event_type === "run_started").map((line) => line.executor ?? ""))].filter(Boolean).reverse();
  // One's own words are known here; nobody else's are.
  const said = butler.talk.find(story.turn)?.said;
  const isMine = newest.peer === butler.status?.principal;
  const at = h("span", { class: "row-at" }, clock(Date.parse(newest.ts)));
  if (!story.turn) {
    return h("div", { class: "row story" }, at, h("div", { class: "row-main" }, h("span", null, named("ev", newest.event_type)), h("span", { class: "muted small" }, newest.emitter)), h("code", { class: "seq" }, `#${newest.seq}`));
  }
  const refused = story.lines.some((line) => line.verdict === "deny");
  const answer = h("div", { class: "story-answer" });
  const details = h(
    "details",
    { class: "story" },
    h("summary", { class: "row" }, at,
      h("div", { class: "row-main" }, h("span", { class: "cut" }, said ? `“${said}”` : ran.length > 0 ? ran.join(" → ") : t("ev_owner_message")), h("span", { class: "muted small cut" }, [isMine ? t("you") : newest.peer, said && ran.join(" → ")].filter(Boolean).join(" · "))),
      refused && h("span", { class: "tag is-bad" }, t("call_denied"))),
    h("ol", { class: "story-lines" }, [...story.lines].reverse().map((line) =>
      h("li", null, h("code", { class: "seq" }, `#${line.seq}`), " ", named("ev", line.event_type), line.executor && h("code", null, ` ${line.executor}`),
        (line.verdict || line.outcome) && h("span", { class: "muted" }, ` · ${named("how", line.verdict ?? line.outcome ?? "")}`)))),
    isMine && answer,
  );
  // Asked for when it is looked at: a book is long, and most of it is never opened.
  details.addEventListener("toggle", async () => {
    if (!details.open || !isMine || answer.childElementCount > 0) {
      return;
    }
    try {
      const { text } = await api.turn(story.turn);
      fill(answer, text ? h("div", { class: "words" }, blocks(text)) : null);
    } catch (error) {
      butler.failed(answer, error);
    }
  });
  return details;
}
