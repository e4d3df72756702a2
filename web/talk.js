// The conversation: what was said and answered, and what is under way. It outlives the view that shows it.

import { api } from "./api.js";

/** @typedef {import("./api.js").Told} Told */
/** @typedef {import("./api.js").Exchange} Exchange */

/**
 * @typedef {object} Turn
 * @property {string} turn Its name; empty until the door has given one.
 * @property {number} at
 * @property {string} said
 * @property {string} text
 * @property {string} end Empty while it is under way.
 * @property {string} why
 * @property {boolean} redacted
 * @property {Map<string, {executor: string, state: string, done: number, total: number}>} calls
 * @property {Map<string, string>} cards How each card stands.
 */
/** @typedef {{note: string, at: number}} Note */

/** @param {Partial<Turn>} some @returns {Turn} */
function turnOf(some) {
  return { turn: "", at: Date.now(), said: "", text: "", end: "", why: "", redacted: false, calls: new Map(), cards: new Map(), ...some };
}

export class Talk {
  constructor() {
    /** @type {(Turn | Note)[]} */
    this.items = [];
    /** Where the page of earlier turns begins; null when there are none. @type {number | null} */
    this.earlier = null;
    this.isLoaded = false;
    /** @type {Set<(item: Turn | Note | null) => void>} */
    this.watchers = new Set();
  }

  /**
   * Has a function called on each change: with what has changed, or null for everything.
   * @param {(item: Turn | Note | null) => void} watcher
   */
  watch(watcher) {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  /** @param {Turn | Note | null} item */
  changed(item) {
    this.watchers.forEach((watcher) => watcher(item));
  }

  /** Loads what was said before; once more after a pause, what was missed. */
  async load() {
    const { turns, next } = await api.page("turns", 0, 20);
    const known = new Set(this.items.map((item) => ("turn" in item ? item.turn : "")));
    const older = /** @type {Exchange[]} */ (turns).filter((one) => !known.has(one.turn)).reverse();
    this.items = [...older.map(past), ...this.items].sort((one, other) => one.at - other.at);
    // One that was under way here and is over by now.
    for (const one of /** @type {Exchange[]} */ (turns)) {
      const here = this.find(one.turn);
      if (here && !here.end) {
        Object.assign(here, { text: one.answer, end: one.end });
      }
    }
    if (!this.isLoaded) {
      this.earlier = next;
    }
    this.isLoaded = true;
    this.changed(null);
  }

  async loadEarlier() {
    if (this.earlier === null) {
      return;
    }
    const { turns, next } = await api.page("turns", this.earlier, 20);
    this.items = [.../** @type {Exchange[]} */ (turns).reverse().map(past), ...this.items];
    this.earlier = next;
    this.changed(null);
  }

  /** @param {string} turn @returns {Turn | undefined} */
  find(turn) {
    return /** @type {Turn | undefined} */ (this.items.find((item) => "turn" in item && item.turn === turn && turn !== ""));
  }

  /**
   * The words of a turn were forgotten.
   * @param {string} turn
   */
  forgotten(turn) {
    const item = this.find(turn);
    if (item) {
      Object.assign(item, { said: "", text: "", why: "", redacted: true });
      this.changed(item);
    }
  }

  /**
   * Something is being said; its turn is named once the door has opened it.
   * @param {string} said
   */
  begin(said) {
    const turn = turnOf({ said });
    this.items.push(turn);
    this.changed(turn);
    return turn;
  }

  /** @param {string} text */
  note(text) {
    const note = { note: text, at: Date.now() };
    this.items.push(note);
    this.changed(note);
  }

  /**
   * An event of a turn.
   * @param {Told} told
   */
  hear({ event, data }) {
    if (event === "reminder") {
      this.note(data.text);
      return;
    }
    // The door replies with the turn's name before it sends the first event. A card of another turn is in the list of cards.
    const turn = this.find(data.turn);
    if (!turn) {
      return;
    }
    if (event === "text") {
      turn.text += data.text;
    } else if (event === "call") {
      const before = turn.calls.get(data.call);
      turn.calls.set(data.call, { done: before?.done ?? 0, total: before?.total ?? 0, executor: data.executor, state: data.state });
    } else if (event === "progress") {
      const call = turn.calls.get(data.call);
      if (call) {
        Object.assign(call, { done: data.done, total: data.total });
      }
    } else if (event === "card") {
      turn.cards.set(data.card, data.state);
    } else if (event === "done") {
      Object.assign(turn, { end: data.end, why: data.why });
    }
    this.changed(turn);
  }
}

/** @param {Exchange} one @returns {Turn} */
function past(one) {
  return turnOf({ turn: one.turn, at: one.at_ms, said: one.said, text: one.answer, end: one.end, redacted: one.redacted });
}
