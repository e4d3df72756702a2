// The page's beginning: who is here, which view is shown, and what every view shares.

import { api, Problem, Socket } from "./api.js";
import { drawing, fill, h, loading } from "./dom.js";
import { Talk } from "./talk.js";
import { speak, t } from "./sentences.js";
import * as abilities from "./views/abilities.js";
import * as book from "./views/book.js";
import * as house from "./views/house.js";
import * as memory from "./views/memory.js";
import * as mnestome from "./views/mnestome.js";
import * as plans from "./views/plans.js";
import * as today from "./views/today.js";
import * as waiting from "./views/waiting.js";

/** @typedef {import("./api.js").Status} Status */
/** @typedef {import("./api.js").Card} Card */
/** @typedef {import("./api.js").Told} Told */

const VIEWS = { today, waiting, plans, memory, book, abilities, mnestome, house };
/** @typedef {keyof typeof VIEWS} ViewName */
const NAMES = /** @type {ViewName[]} */ (Object.keys(VIEWS));
/** The form of a code, behind the `#` of a link that leads in. */
const CODE = /^#([A-Z0-9]+-[A-Z]+-[0-9]+)$/;

/** What every view shares. */
export class Butler {
  constructor() {
    /** @type {Status | null} */
    this.status = null;
    /** @type {Card[]} */
    this.cards = [];
    this.talk = new Talk();
    /** @type {Set<() => void>} */
    this.cardWatchers = new Set();
    this.socket = new Socket((told) => this.hear(told), (state) => this.link(state));
    this.look = kept("look") ?? "auto";
    this.root = /** @type {HTMLElement} */ (document.getElementById("app"));
    this.main = h("main", { id: "main", tabindex: "-1" });
    this.away = h("div", { class: "away", role: "status" });
    this.leave = () => {};
    /** Puts words where one writes. @type {(words: string) => void} */
    this.put = () => {};
    this.isFramed = false;
    /** What happens in one window of this browser, the others learn by this. */
    this.windows = new BroadcastChannel("metnos");
    this.windows.addEventListener("message", () => {
      void this.loadCards();
      this.talk.load().catch(() => {});
    });
  }

  async start() {
    this.setLook(this.look);
    const asked = kept("lang") ?? navigator.language.slice(0, 2);
    speak(asked === "it" ? "it" : "en");
    const code = CODE.exec(location.hash)?.[1];
    if (code) {
      // The code is good once, and nobody who comes later has any use for it.
      history.replaceState(null, "", "/");
      if (!(await this.isKnown())) {
        await this.enter(code);
        return;
      }
    }
    await this.open();
    if (code && this.isFramed) {
      this.offer(code);
    }
  }

  /**
   * The browser is known here already, and was led in by an invitation that may be for somebody else: it says so.
   * @param {string} code
   */
  offer(code) {
    const name = this.status?.person || t(`standing_${this.status?.standing ?? "guest"}`);
    const bar = h("div", { class: "offer", role: "status" }, h("span", null, t("in_already", { name })),
      h("button", { class: "small-button", onclick: () => void this.changeTo(code) }, t("in_other")),
      h("button", { class: "small-button", onclick: () => bar.remove() }, t("in_stay")));
    this.away.after(bar);
  }

  /** @param {string} code */
  async changeTo(code) {
    await this.enter(code);
    location.reload();
  }

  async isKnown() {
    try {
      await this.loadStatus();
      return true;
    } catch {
      return false;
    }
  }

  async loadStatus() {
    this.status = await api.status();
    if (!kept("lang")) {
      speak(this.status.lang);
    }
  }

  async open() {
    try {
      await this.loadStatus();
    } catch (error) {
      if (error instanceof Problem && error.status === 401) {
        this.doorstep("");
      } else {
        this.unreachable();
      }
      return;
    }
    this.frame();
    this.show();
    this.socket.connect();
    void this.loadCards();
  }

  /**
   * Shows a code, and comes in.
   * @param {string} code
   */
  async enter(code) {
    try {
      await api.pair(code.trim().toUpperCase());
    } catch (error) {
      const isWrong = error instanceof Problem && (error.status === 403 || error.status === 400);
      this.doorstep(isWrong ? t("in_wrong") : error instanceof Problem ? error.message : t("offline"));
      return;
    }
    await this.open();
  }

  /**
   * What anyone sees who is not known here.
   * @param {string} why
   */
  doorstep(why) {
    this.isFramed = false;
    const code = h("input", { class: "field", id: "code", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", placeholder: "K7-DELTA-19", required: true });
    const form = h("form", { class: "doorstep-form" }, h("label", { for: "code" }, t("in_code")), code, h("button", { class: "primary", type: "submit" }, t("in_enter")));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.enter(code.value);
    });
    fill(this.root, h("main", { id: "main", class: "doorstep" }, h("img", { src: "/icon.svg", alt: "", width: "72", height: "72" }), h("h1", null, t("in_title")), h("p", null, t("in_help")), form, h("p", { class: "wrong", role: "alert" }, why)));
    code.focus();
  }

  unreachable() {
    fill(this.root, h("main", { id: "main", class: "doorstep" }, h("img", { src: "/icon.svg", alt: "", width: "72", height: "72" }), h("h1", null, "Metnos"), h("p", { role: "status" }, t("away"))));
    setTimeout(() => void this.open(), 3000);
  }

  /** This browser is known here no more. */
  async signOut() {
    try {
      await api.leave();
    } catch (error) {
      this.failed(this.main, error);
      return;
    }
    location.replace("/");
  }

  /** Everything around the views. */
  frame() {
    this.isFramed = true;
    const count = h("span", { class: "count", hidden: true });
    const links = NAMES.map((name) => h("a", { href: `#${name}`, "data-view": name }, drawing(name), h("span", null, t(name)), name === "waiting" && count));
    const nav = h("nav", { "aria-label": t("views") }, h("a", { class: "brand", href: "#today" }, h("img", { src: "/icon.svg", alt: "", width: "28", height: "28" }), h("span", null, "Metnos")), links);
    fill(this.root, nav, this.away, this.main);
    const skip = document.querySelector(".skip");
    if (skip) {
      skip.textContent = t("skip");
    }
    this.watchCards(() => {
      count.hidden = this.cards.length === 0;
      count.textContent = String(this.cards.length);
    });
  }

  /** The view that the address names. @returns {ViewName} */
  view() {
    const name = /** @type {ViewName} */ (location.hash.slice(1));
    return NAMES.includes(name) ? name : "today";
  }

  show() {
    if (!this.isFramed) {
      return;
    }
    this.leave();
    const name = this.view();
    document.title = name === "today" ? "Metnos" : `${t(name)} · Metnos`;
    this.root.querySelectorAll("nav a[data-view]").forEach((link) => {
      link.toggleAttribute("aria-current", false);
      if (link.getAttribute("data-view") === name) {
        link.setAttribute("aria-current", "page");
      }
    });
    this.main.className = `view-${name}`;
    fill(this.main, loading(t("loading")));
    this.leave = VIEWS[name].show(this.main, this);
    this.main.scrollTop = 0;
  }

  /** @param {ViewName} name */
  go(name) {
    // Without the event that a change of the address by hand brings: it is shown once.
    history.pushState(null, "", `#${name}`);
    this.show();
  }

  /**
   * What a view shows in the place of what it could not load.
   * @param {Element} place
   * @param {unknown} error
   */
  failed(place, error) {
    fill(place, h("p", { class: "wrong", role: "alert" }, error instanceof Problem ? t("failed", { why: error.message }) : t("offline")));
  }

  /** @param {string} words */
  async say(words) {
    const turn = this.talk.begin(words);
    try {
      const name = await this.socket.say(words);
      turn.turn = turn.turn || name;
    } catch (error) {
      Object.assign(turn, { end: "broken", why: error instanceof Problem ? error.message : t("offline") });
    }
    this.talk.changed(turn);
  }

  /** The turns under way. */
  running() {
    return this.talk.items.some((item) => "turn" in item && item.turn !== "" && item.end === "");
  }

  stopLast() {
    const item = this.talk.items.findLast((one) => "turn" in one && one.turn !== "" && one.end === "");
    if (item && "turn" in item) {
      this.socket.stop(item.turn).catch(() => {});
    }
  }

  /** @param {Told} told */
  hear(told) {
    this.talk.hear(told);
    if (told.event === "card") {
      void this.loadCards();
    }
    if (told.event === "card" || told.event === "done") {
      this.windows.postMessage(told.event);
    }
  }

  /**
   * A card was decided here. What becomes of an offer no turn tells.
   * @param {string} id
   * @param {string} state
   */
  decided(id, state) {
    this.talk.items.forEach((item) => {
      if ("turn" in item && item.cards.has(id)) {
        item.cards.set(id, state);
        this.talk.changed(item);
      }
    });
    this.windows.postMessage("card");
    void this.loadCards();
  }

  async loadCards() {
    try {
      this.cards = (await api.cards()).cards;
      this.cardWatchers.forEach((watcher) => watcher());
      this.talk.items.forEach((item) => {
        if ("turn" in item && item.cards.size > 0) {
          this.talk.changed(item);
        }
      });
    } catch {
      // The next event asks again.
    }
  }

  /** @param {() => void} watcher */
  watchCards(watcher) {
    this.cardWatchers.add(watcher);
    return () => {
      this.cardWatchers.delete(watcher);
    };
  }

  /** @param {"up" | "down" | "stranger"} state */
  link(state) {
    fill(this.away, state === "up" ? "" : t("away"));
    this.away.classList.toggle("is-away", state !== "up");
    if (state === "up") {
      this.talk.load().catch(() => {});
      void this.loadCards();
    } else if (state === "stranger") {
      void api.status().catch((error) => {
        if (error instanceof Problem && error.status === 401) {
          location.reload();
        }
      });
    }
  }

  /** @param {string} look */
  setLook(look) {
    this.look = look;
    keep("look", look);
    document.documentElement.dataset.look = look;
    if (this.isFramed) {
      this.show();
    }
  }

  /** @param {"en" | "it"} lang */
  setLang(lang) {
    keep("lang", lang);
    speak(lang);
    this.cardWatchers.clear();
    this.frame();
    this.cardWatchers.forEach((watcher) => watcher());
    this.show();
  }
}

/** What this browser was told to keep; nothing, where it keeps nothing. @param {string} name */
function kept(name) {
  try {
    return localStorage.getItem(`metnos-${name}`);
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
function keep(name, value) {
  try {
    localStorage.setItem(`metnos-${name}`, value);
  } catch {
    // It is as it was before, the next time.
  }
}

/** The worker keeps the page's files for when the door is away. */
function work() {
  const trusted = /** @type {any} */ (window).trustedTypes;
  if (!("serviceWorker" in navigator)) {
    return;
  }
  const path = "/worker.js";
  const address = trusted ? trusted.createPolicy("metnos", { createScriptURL: () => path }).createScriptURL(path) : path;
  navigator.serviceWorker.register(address).catch(() => {});
}

const butler = new Butler();
addEventListener("hashchange", () => butler.show());
void butler.start();
work();
