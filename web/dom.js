// Making elements. Text is text: nothing that anybody has written can become markup here.

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with its attributes, listeners and children. A name `onX` is a listener of the event `x`; an attribute that is
 * `false`, `null` or `undefined` is left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown> | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  set(element, attributes ?? {});
  add(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, unknown>} attributes
 */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) {
      continue;
    }
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2).toLowerCase(), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/**
 * @param {Element} element
 * @param {(Child | Child[])[]} children
 */
function add(element, children) {
  for (const child of children.flat()) {
    if (child instanceof Node) {
      element.append(child);
    } else if (child !== null && child !== undefined && child !== false) {
      element.append(document.createTextNode(String(child)));
    }
  }
}

/**
 * Gives an element other children.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/** The drawings of the navigation and of buttons: one path each, on a field of 24 by 24. */
const DRAWINGS = {
  today: "M4 5h16v11H9l-5 4z",
  waiting: "M9 11l3 3 8-8M20 12v7H4V5h11",
  plans: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4",
  book: "M5 4h12a2 2 0 012 2v14H7a2 2 0 01-2-2zM5 18a2 2 0 012-2h12",
  abilities: "M13 3L5 14h6l-1 7 8-11h-6z",
  mnestome: "M6 6a2 2 0 100 .1M18 8a2 2 0 100 .1M10 18a2 2 0 100 .1M7.5 7l9 1M7 8l3 8M16.5 9.5L11.5 17",
  memory: "M9 4a3 3 0 00-3 3 3 3 0 00-2 5 3 3 0 002 5 3 3 0 003 3h1V4zM15 4a3 3 0 013 3 3 3 0 012 5 3 3 0 01-2 5 3 3 0 01-3 3h-1V4z",
  house: "M4 11l8-7 8 7v9h-6v-6h-4v6H4z",
  send: "M4 12l16-8-6 16-3-6z",
  stop: "M7 7h10v10H7z",
};

/**
 * A small drawing, which says nothing by itself.
 * @param {keyof typeof DRAWINGS} name
 */
export function drawing(name) {
  const svg = document.createElementNS(SVG, "svg");
  set(svg, { viewBox: "0 0 24 24", class: "drawing", "aria-hidden": "true", focusable: "false" });
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", DRAWINGS[name]);
  svg.append(path);
  return svg;
}

/**
 * A message in the place of what is not there.
 * @param {string} title
 * @param {string} [more]
 */
export function empty(title, more) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), more && h("p", null, more));
}

/** What is shown while something is on its way. @param {string} words */
export function loading(words) {
  return h("p", { class: "loading", role: "status" }, words);
}

/**
 * A small button that asks back before it does something: what it does cannot be undone by another press.
 * @param {string} words
 * @param {string} sure
 * @param {string} about What it is about, for whoever does not see where it stands.
 * @param {() => Promise<void>} act
 */
export function asking(words, sure, about, act) {
  const button = h("button", { class: "small-button" });
  let isAsked = false;
  const show = (/** @type {boolean} */ asked) => {
    isAsked = asked;
    button.textContent = asked ? sure : words;
    button.setAttribute("aria-label", `${asked ? sure : words}: ${about.slice(0, 80)}`);
    button.classList.toggle("is-asked", asked);
  };
  button.addEventListener("click", async () => {
    if (!isAsked) {
      show(true);
      return;
    }
    button.disabled = true;
    try {
      await act();
    } catch (error) {
      button.textContent = error instanceof Error ? error.message : String(error);
    }
  });
  button.addEventListener("blur", () => !button.disabled && show(false));
  show(false);
  return button;
}
