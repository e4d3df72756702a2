// What Metnos says, with the little markup that people write in notes: headings, lists, code and bold. Everything else is shown
// as it stands; a link is its text, and nothing is loaded from anywhere.

import { h } from "./dom.js";

/**
 * @param {string} text
 * @returns {HTMLElement[]}
 */
export function blocks(text) {
  const lines = text.split("\n");
  /** @type {HTMLElement[]} */
  const all = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const heading = /^(#{1,6})\s+(\S.*)$/.exec(line);
    if (line.trim() === "") {
      at += 1;
    } else if (line.startsWith("```")) {
      const end = lines.findIndex((other, i) => i > at && other.startsWith("```"));
      const last = end < 0 ? lines.length : end;
      all.push(h("pre", { tabindex: "0" }, h("code", null, lines.slice(at + 1, last).join("\n"))));
      at = last + 1;
    } else if (heading) {
      all.push(h("p", { class: "heading" }, inline(heading[2] ?? "")));
      at += 1;
    } else if (/^[-*] \S/.test(line)) {
      const items = run(lines, at, /^[-*] (.*)$/);
      all.push(h("ul", { class: "bullets" }, items.map(([, words]) => h("li", null, inline(words ?? "")))));
      at += items.length;
    } else if (/^\d{1,4}[.)] \S/.test(line)) {
      const items = run(lines, at, /^(\d{1,4})[.)] (.*)$/);
      all.push(h("ol", { class: "numbers" }, items.map(([, number, words]) => h("li", { value: number }, inline(words ?? "")))));
      at += items.length;
    } else {
      const begin = at;
      while (at < lines.length && (lines[at] ?? "").trim() !== "" && (at === begin || !/^(#{1,6} |[-*] \S|\d{1,4}[.)] \S|```)/.test(lines[at] ?? ""))) {
        at += 1;
      }
      all.push(h("p", null, inline(lines.slice(begin, at).join("\n"))));
    }
  }
  return all;
}

/**
 * The lines from one on that have this form, taken apart.
 * @param {string[]} lines
 * @param {number} at
 * @param {RegExp} form
 */
function run(lines, at, form) {
  /** @type {RegExpExecArray[]} */
  const found = [];
  for (const line of lines.slice(at)) {
    const parts = form.exec(line);
    if (!parts) {
      break;
    }
    found.push(parts);
  }
  return found;
}

/**
 * Code and bold in a line.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function inline(text) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part) => {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) {
      return h("code", null, part.slice(1, -1));
    }
    return part.length > 4 && part.startsWith("**") && part.endsWith("**") ? h("strong", null, part.slice(2, -2)) : part;
  });
}
