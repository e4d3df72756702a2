// The door's public HTTP API: requests, and the one socket on which turns, cards and reminders come.

/** Why the door did not do something. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {{detail?: string, remedy?: string, rule?: string}} document
   */
  constructor(status, document) {
    super(document.detail ?? `HTTP ${status}`);
    this.status = status;
    this.rule = document.rule ?? "";
    this.remedy = document.remedy ?? "";
  }
}

/**
 * @typedef {object} CardPart
 * @property {string} field
 * @property {number} act
 * @property {string} label
 * @property {string} text
 */
/**
 * @typedef {object} Card
 * @property {string} id
 * @property {string} digest
 * @property {string} principal
 * @property {string} [person]
 * @property {boolean} hard
 * @property {boolean} here
 * @property {number} made_ms
 * @property {number} expires_ms
 * @property {boolean} offer
 * @property {CardPart[]} parts
 */
/**
 * @typedef {object} Schedule
 * @property {number} number
 * @property {string} person
 * @property {string} kind
 * @property {string} what
 * @property {string} when
 * @property {string} told
 * @property {string[]} next
 * @property {string} state
 * @property {string} held
 * @property {string} zone
 */
/**
 * @typedef {object} Exchange
 * @property {string} turn
 * @property {string} channel
 * @property {number} at_ms
 * @property {string} said
 * @property {string} answer
 * @property {string} end
 * @property {boolean} redacted
 */
/**
 * @typedef {object} Status
 * @property {string} principal
 * @property {string} [person]
 * @property {"owner" | "adult" | "guest" | "stranger"} standing
 * @property {"readonly" | "supervised" | "full"} level
 * @property {"en" | "it"} lang
 * @property {{sessions: number, turns: number, turns_total: number, models: string, connections: number}} [door]
 */
/** @typedef {{event: string, id?: string, ref?: string, status?: number, data: any}} Told */

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
async function ask(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { accept: "application/json", "accept-language": document.documentElement.lang };
  if (body !== undefined) {
    headers["content-type"] = "application/json";
  }
  const answer = await fetch(path, {
    method,
    headers,
    credentials: "same-origin",
    cache: "no-store",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const read = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    throw new Problem(answer.status, read);
  }
  return read;
}

export const api = {
  /** @param {string} code */
  pair: (code) => ask("POST", "/v1/pair", { code, cookie: true }),
  leave: () => ask("DELETE", "/v1/pair"),
  /** @returns {Promise<Status>} */
  status: () => ask("GET", "/v1/status"),
  /** @returns {Promise<{cards: Card[]}>} */
  cards: () => ask("GET", "/v1/approvals"),
  /**
   * @param {Card} card
   * @param {"once" | "turn" | "no"} answer
   * @param {string} code
   */
  answer: (card, answer, code) => ask("POST", `/v1/approvals/${card.id}`, { digest: card.digest, answer, code }),
  /** @param {string} turn @returns {Promise<{text?: string}>} */
  turn: (turn) => ask("GET", `/v1/turns/${turn}`),
  /** @param {string} turn @returns {Promise<{lines: number}>} */
  forget: (turn) => ask("DELETE", `/v1/turns/${turn}/words`),
  /**
   * What is remembered of oneself.
   * @param {string} words
   * @param {number} cursor
   * @returns {Promise<{turns: Exchange[], next: number | null}>}
   */
  memory: (words, cursor) => ask("GET", `/v1/memory?words=${encodeURIComponent(words)}&cursor=${cursor}&limit=30`),
  /** @param {number} number */
  cancel: (number) => ask("DELETE", `/v1/schedules/${number}`),
  /**
   * One page of a list.
   * @param {"turns" | "executors" | "mnests" | "audit" | "schedules"} list
   * @param {number} [cursor]
   * @param {number} [limit]
   */
  page: (list, cursor = 0, limit = 50) => ask("GET", `/v1/${list}?cursor=${cursor}&limit=${limit}`),
};

/** How long the page waits before it connects again: longer each time. */
const AGAIN_MS = [500, 1000, 2000, 4000, 8000, 15000];

/**
 * The one socket. It comes back by itself, and every turn that was under way is heard on from where it was.
 */
export class Socket {
  /**
   * @param {(told: Told) => void} told
   * @param {(state: "up" | "down" | "stranger") => void} state
   */
  constructor(told, state) {
    this.told = told;
    this.state = state;
    this.tries = 0;
    this.last = 0;
    /** How far each turn under way was heard. @type {Map<string, string>} */
    this.heard = new Map();
    /** @type {Map<string, {done: (data: any) => void, failed: (error: Error) => void}>} */
    this.asked = new Map();
    /** @type {WebSocket | null} */
    this.socket = null;
  }

  connect() {
    const place = new URL("/v1/ws", location.href);
    place.protocol = "ws:";
    const socket = new WebSocket(place);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.tries = 0;
      this.state("up");
      for (const [turn, after] of this.heard) {
        this.listen(turn, after);
      }
    });
    socket.addEventListener("message", (event) => this.hear(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => this.closed(event));
  }

  /** @param {CloseEvent} event */
  closed(event) {
    this.socket = null;
    for (const { failed } of this.asked.values()) {
      failed(new Error("closed"));
    }
    this.asked.clear();
    if (event.reason === "door.stranger") {
      // Also when policyd was restarted: whether this is a stranger now, the next request tells.
      this.state("stranger");
    } else {
      this.state("down");
    }
    const wait = AGAIN_MS[Math.min(this.tries, AGAIN_MS.length - 1)] ?? 15000;
    this.tries += 1;
    setTimeout(() => this.connect(), wait);
  }

  /** @param {Told} told */
  hear(told) {
    if (told.event === "reply") {
      const waits = this.asked.get(told.ref ?? "");
      this.asked.delete(told.ref ?? "");
      if (waits && (told.status ?? 0) < 400) {
        waits.done(told.data);
      } else if (waits) {
        waits.failed(new Problem(told.status ?? 0, told.data));
      }
      return;
    }
    const turn = told.data?.turn;
    if (told.event === "again") {
      setTimeout(() => this.listen(turn, this.heard.get(turn) ?? ""), told.data.after_ms);
      return;
    }
    if (turn && told.id) {
      this.heard.set(turn, told.id);
    }
    if (told.event === "done") {
      this.heard.delete(turn);
    }
    this.told(told);
  }

  /**
   * Says something that the door answers with one reply.
   * @param {Record<string, unknown>} message
   * @returns {Promise<any>}
   */
  ask(message) {
    const socket = this.socket;
    if (!socket || socket.readyState !== WebSocket.OPEN) {
      return Promise.reject(new Error("closed"));
    }
    this.last += 1;
    const ref = `r${this.last}`;
    return new Promise((done, failed) => {
      this.asked.set(ref, { done, failed });
      socket.send(JSON.stringify({ ...message, ref }));
    });
  }

  /** @param {string} text */
  async say(text) {
    const opened = await this.ask({ do: "say", text });
    if (!this.heard.has(opened.turn)) {
      this.heard.set(opened.turn, "");
    }
    return opened.turn;
  }

  /**
   * @param {string} turn
   * @param {string} after
   */
  listen(turn, after) {
    this.heard.set(turn, after);
    this.ask({ do: "listen", turn, after }).catch(() => {});
  }

  /** @param {string} turn */
  stop(turn) {
    return this.ask({ do: "stop", turn });
  }
}
