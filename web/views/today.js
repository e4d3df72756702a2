// Today: the conversation, with cards in their place, and beside it what is due and what waits.

import { api, Problem } from "../api.js";
import { cardView, settled } from "../cards.js";
import { asking, drawing, fill, h, loading } from "../dom.js";
import { blocks } from "../text.js";
import { moment, named, t } from "../sentences.js";

/** @typedef {import("../talk.js").Turn} Turn */
/** @typedef {import("../talk.js").Note} Note */
/** @typedef {import("../app.js").Butler} Butler */

/** How near its end a conversation is followed, in pixels. */
const NEAR_END = 120;

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const log = h("div", { class: "log", role: "log", "aria-label": t("talk"), tabindex: "0" });
  const aside = h("aside", { class: "beside" });
  const composer = composerOf(butler);
  fill(main, h("div", { class: "today" }, h("section", { class: "talk", "aria-label": t("talk") }, h("h1", { class: "hidden" }, t("today")), log, composer.form), aside));
  /** @type {Map<Turn | Note, HTMLElement>} */
  const shown = new Map();

  function all() {
    const { items, earlier, isLoaded } = butler.talk;
    shown.clear();
    const views = items.map((item) => {
      const view = h("div", { class: "item" });
      shown.set(item, view);
      draw(view, item, butler);
      return view;
    });
    fill(
      log,
      earlier !== null && h("button", { class: "quiet", onclick: () => butler.talk.loadEarlier().catch(() => {}) }, t("earlier")),
      views,
      !isLoaded && items.length === 0 && loading(t("loading")),
      isLoaded && items.length === 0 && greeting(butler),
    );
    log.scrollTop = log.scrollHeight;
  }

  /** @param {Turn | Note | null} item */
  function changed(item) {
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
    const view = item && shown.get(item);
    if (item && view) {
      draw(view, item, butler);
    } else {
      all();
      return;
    }
    composer.update();
    if (isAtEnd) {
      log.scrollTop = log.scrollHeight;
    }
    if ("turn" in item && item.end) {
      beside(aside, butler);
    }
  }

  butler.put = composer.put;
  all();
  beside(aside, butler);
  const stop = butler.talk.watch((item) => {
    changed(item);
    composer.update();
  });
  const stopCards = butler.watchCards(() => beside(aside, butler));
  composer.field.focus({ preventScroll: true });
  return () => {
    stop();
    stopCards();
  };
}

/**
 * What an empty conversation begins with.
 * @param {Butler} butler
 */
function greeting(butler) {
  const name = butler.status?.person;
  return h(
    "div",
    { class: "greeting" },
    h("h2", null, name ? t("hello", { name }) : t("hello_nobody")),
    h("p", null, t("hello_more")),
    h("div", { class: "ideas" }, ["try_1", "try_2", "try_3", "try_4"].map((key) => h("button", { class: "idea", onclick: () => butler.put(t(key)) }, t(key)))),
  );
}

/**
 * Where one writes. Enter says it; with Shift it begins a new line.
 * @param {Butler} butler
 */
function composerOf(butler) {
  const field = h("textarea", { rows: "1", class: "field", "aria-label": t("say"), placeholder: t("say"), autocomplete: "off", enterkeyhint: "send" });
  const send = h("button", { class: "primary round", type: "submit", "aria-label": t("send"), title: t("send") }, drawing("send"));
  const stop = h("button", { class: "round", type: "button", "aria-label": t("stop"), title: t("stop"), hidden: true, onclick: () => butler.stopLast() }, drawing("stop"));
  const grow = () => {
    field.rows = Math.min(8, field.value.split("\n").length);
  };
  const update = () => {
    stop.hidden = !butler.running();
  };
  const say = () => {
    const words = field.value.trim();
    if (words) {
      field.value = "";
      grow();
      void butler.say(words);
    }
  };
  field.addEventListener("input", grow);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      say();
    }
  });
  const form = h("form", { class: "composer" }, field, stop, send);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say();
    field.focus();
  });
  const put = (/** @type {string} */ words) => {
    field.value = words;
    grow();
    field.focus();
  };
  return { form, field, put, update };
}

/**
 * @param {HTMLElement} view
 * @param {Turn | Note} item
 * @param {Butler} butler
 */
function draw(view, item, butler) {
  if ("note" in item) {
    fill(view, h("div", { class: "note" }, h("span", { class: "note-head" }, `${t("reminder")} · ${moment(item.at)}`), h("p", { class: "words" }, item.note)));
    return;
  }
  const isEmpty = !item.text && !item.end;
  // A sentence says by itself how it ended; where there is none, how it ended is said.
  const isOdd = item.end !== "" && item.end !== "answered" && !item.why && !item.text && !item.redacted;
  fill(
    view,
    item.redacted && h("p", { class: "muted small" }, t("forgotten")),
    item.said && h("div", { class: "mine" }, h("span", { class: "hidden" }, `${t("you")}: `), h("p", { class: "words" }, item.said), h("span", { class: "at" }, item.turn && item.end && forgetOf(item, butler), moment(item.at))),
    steps(item),
    h(
      "div",
      { class: "theirs" },
      item.text && item.end !== "not_understood" && h("div", { class: "words" }, blocks(item.text)),
      isEmpty && item.cards.size === 0 && h("p", { class: "thinking", role: "status" }, t("thinking")),
      [...item.cards].map(([card, state]) => cardPlace(card, state, item, butler)),
      isOdd && h("p", { class: "ended" }, named("end", item.end)),
      item.end === "not_understood" && nearest(item.why || item.text, butler),
      item.end !== "not_understood" && item.why && h("p", { class: item.end === "denied" || item.end === "broken" ? "words ended" : "words" }, item.why),
      takeBack(item, butler),
    ),
  );
}

/**
 * An answer that names the words for taking back, with which it ends, has a button that says them: as long as nothing was said
 * since, it is this that they take back.
 * @param {Turn} item
 * @param {Butler} butler
 */
function takeBack(item, butler) {
  const words = /(?:Say “(undo)” to take it back|Di’ «(annulla)» per tornare indietro)\./.exec(item.text);
  const said = words?.[1] ?? words?.[2];
  if (!said || item.end !== "answered" || butler.talk.items.at(-1) !== item) {
    return null;
  }
  return h("div", { class: "ideas" }, h("button", { class: "idea", onclick: () => void butler.say(said) }, t("undo")));
}

/**
 * An answer to what was not understood: the nearest things that can be said are indented there, and here they can be taken.
 * @param {string} text
 * @param {Butler} butler
 */
function nearest(text, butler) {
  const isPhrase = (/** @type {string} */ line) => /^ {2}\S/.test(line);
  const lines = text.split("\n");
  const words = lines.filter((line) => !isPhrase(line)).join("\n");
  const phrases = lines.filter(isPhrase).map((line) => line.trim());
  return h("div", { class: "words" }, blocks(words), phrases.length > 0 && h("div", { class: "ideas" }, phrases.map((phrase) => h("button", { class: "idea", onclick: () => butler.put(phrase) }, phrase))));
}

/**
 * What ran in a turn, one line a call.
 * @param {Turn} item
 */
function steps(item) {
  if (item.calls.size === 0) {
    return null;
  }
  const lines = [...item.calls.values()].map((call) =>
    h("li", { class: `call is-${call.state}` }, h("code", null, call.executor), " ", named("call", call.state),
      call.total > 0 && call.state === "started" && h("progress", { max: String(call.total), value: String(call.done), "aria-label": call.executor })));
  return h("details", { class: "steps", open: !item.end }, h("summary", null, t("steps")), h("ul", null, lines));
}

/**
 * @param {string} id
 * @param {string} state
 * @param {Turn} item
 * @param {Butler} butler
 */
function cardPlace(id, state, item, butler) {
  if (state !== "waiting") {
    return settled(state);
  }
  const card = butler.cards.find((one) => one.id === id);
  if (card) {
    return cardView(card, butler.status?.principal ?? "", (which, became) => butler.decided(which, became));
  }
  // An offer that was decided elsewhere: its turn was over before.
  return item.end === "answered" ? null : loading(t("loading"));
}

/**
 * What is due and what waits.
 * @param {HTMLElement} aside
 * @param {Butler} butler
 */
async function beside(aside, butler) {
  /** @type {import("../api.js").Schedule[]} */
  let next = [];
  try {
    next = (await api.page("schedules", 0, 20)).schedules.filter((/** @type {any} */ one) => one.next.length > 0).slice(0, 4);
  } catch (error) {
    if (!(error instanceof Problem)) {
      return;
    }
  }
  const count = butler.cards.length;
  fill(
    aside,
    h("section", null, h("h2", null, t("next")),
      next.length === 0 ? h("p", { class: "muted" }, t("next_none")) : h("ul", { class: "due" }, next.map((one) => h("li", null, h("span", { class: "at" }, moment(Date.parse(one.next[0] ?? ""), one.zone)), h("span", null, one.what))))),
    h("section", null, h("h2", null, t("look_back")), h("button", { class: "example", onclick: () => void butler.say(t("look_back_say")) }, t("look_back_say"))),
    h("section", null, h("h2", null, t("due")),
      count === 0 ? h("p", { class: "muted" }, t("due_none")) : h("a", { href: "#waiting" }, t("due_some", { count }))),
  );
}

/**
 * A button that has the words of a turn forgotten: the first press asks, the second does it.
 * @param {Turn} item
 * @param {Butler} butler
 */
function forgetOf(item, butler) {
  return asking(t("forget"), t("forget_sure"), item.said, async () => {
    await api.forget(item.turn);
    butler.talk.forgotten(item.turn);
  });
}
