// The mnestome: which abilities have worked together, as a picture and as a table.

import { api } from "../api.js";
import { empty, fill, h, loading } from "../dom.js";
import { moment, t } from "../sentences.js";

/** @typedef {import("../app.js").Butler} Butler */
/** @typedef {{src_executor: string, dst_executor: string, dst_version: string | null, weight: number, uses: number, ts_last: number, state: string}} Edge */
/** @typedef {{name: string, x: number, y: number, degree: number, group: number, isWish: boolean}} Place */
/** @typedef {{from: Place, to: Place, edge: Edge}} Line */

/** The most connections that are fetched. */
const MAX_EDGES = 10000;
/** From how many connections on they are drawn thin and straight. */
const LARGE = 1500;
/** Colours of groups, told apart in light and dark. */
const COLOURS = ["#2f8f7a", "#c8792b", "#6a6fd0", "#b5486f", "#4b8bbf", "#7f9a2f", "#9a5fb0", "#a0703c"];

/**
 * @param {HTMLElement} main
 * @param {Butler} butler
 */
export function show(main, butler) {
  const place = h("div", { class: "mnestome" }, loading(t("loading")));
  fill(main, h("header", { class: "head" }, h("h1", null, t("mnestome")), h("p", { class: "muted" }, t("mnestome_help"))), place);
  if (butler.status?.standing !== "owner") {
    fill(place, empty(t("mnestome_owner")));
    return () => {};
  }
  let stop = () => {};
  edges().then((all) => {
    if (all.length === 0) {
      fill(place, empty(t("mnestome_none"), t("mnestome_more")));
      return;
    }
    const graph = arranged(all);
    const canvas = h("canvas", { class: "picture", role: "img", "aria-label": t("mnestome_picture", { nodes: graph.places.length, edges: all.length }) });
    const find = h("input", { type: "search", class: "field", placeholder: t("abilities_find"), "aria-label": t("abilities_find") });
    const rows = h("div", null, table(all));
    let words = "";
    fill(place, find, canvas, rows);
    const draw = () => paint(canvas, graph, words);
    find.addEventListener("input", () => {
      words = find.value.trim().toLowerCase();
      fill(rows, table(all.filter((one) => `${one.src_executor} ${one.dst_executor}`.toLowerCase().includes(words))));
      draw();
    });
    const watch = new ResizeObserver(draw);
    watch.observe(canvas);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    stop = () => {
      watch.disconnect();
      scheme.removeEventListener("change", draw);
    };
  }).catch((error) => butler.failed(place, error));
  return () => stop();
}

/** @returns {Promise<Edge[]>} */
async function edges() {
  /** @type {Edge[]} */
  const all = [];
  /** @type {number | null} */
  let cursor = 0;
  while (cursor !== null && all.length < MAX_EDGES) {
    const page = await api.page("mnests", cursor, 100);
    all.push(...page.mnests);
    cursor = page.next;
  }
  return all;
}

/**
 * Where everything lies: the same for the same graph, so that people find again what they have seen. Connected places attract
 * each other, all others repel; a large graph is given fewer rounds, and each place a sample of the others.
 * @param {Edge[]} all
 */
function arranged(all) {
  /** @type {Map<string, Place>} */
  const byName = new Map();
  const placeOf = (/** @type {string} */ name, isWish = false) => {
    const known = byName.get(name);
    if (known) {
      return known;
    }
    // The golden angle spreads any number of places evenly.
    const at = byName.size;
    const angle = at * 2.399963;
    const far = 0.08 * Math.sqrt(at + 1);
    const made = { name, x: Math.cos(angle) * far, y: Math.sin(angle) * far, degree: 0, group: at, isWish };
    byName.set(name, made);
    return made;
  };
  const sorted = [...all].sort((one, other) => `${one.src_executor} ${one.dst_executor}`.localeCompare(`${other.src_executor} ${other.dst_executor}`));
  const lines = sorted.map((edge) => ({ from: placeOf(edge.src_executor || t("words")), to: placeOf(edge.dst_executor, edge.dst_version === null), edge }));
  const places = [...byName.values()];
  lines.forEach(({ from, to }) => {
    from.degree += 1;
    to.degree += 1;
  });
  group(lines);
  settle(places, lines);
  return { places, lines };
}

/**
 * Groups: each place takes over the name that its heaviest neighbours have, until nothing changes.
 * @param {Line[]} lines
 */
function group(lines) {
  for (let round = 0; round < 12; round += 1) {
    let isSame = true;
    for (const { from, to, edge } of lines) {
      if (edge.weight >= 0.2 && from.group !== to.group) {
        const least = Math.min(from.group, to.group);
        from.group = least;
        to.group = least;
        isSame = false;
      }
    }
    if (isSame) {
      return;
    }
  }
}

/**
 * @param {Place[]} places
 * @param {Line[]} lines
 */
function settle(places, lines) {
  const count = places.length;
  const rounds = count <= 150 ? 220 : Math.max(20, Math.floor(4000000 / (count * 60)));
  const sample = Math.max(1, Math.floor(count / 60));
  const ideal = 1 / Math.sqrt(count);
  const at = new Map(places.map((place, i) => [place, i]));
  for (let round = 0; round < rounds; round += 1) {
    const heat = 0.06 * (1 - round / rounds);
    const moves = places.map(() => ({ x: 0, y: 0 }));
    for (let i = 0; i < count; i += 1) {
      for (let j = (i + round) % sample; j < count; j += sample) {
        const one = places[i];
        const other = places[j];
        const move = moves[i];
        if (i === j || !one || !other || !move) {
          continue;
        }
        const x = one.x - other.x;
        const y = one.y - other.y;
        const push = (ideal * ideal * sample) / Math.max(1e-4, x * x + y * y);
        move.x += x * push;
        move.y += y * push;
      }
    }
    for (const { from, to, edge } of lines) {
      const x = to.x - from.x;
      const y = to.y - from.y;
      const pull = (Math.hypot(x, y) / ideal) * (0.3 + edge.weight) * 0.5;
      const one = moves[at.get(from) ?? -1];
      const other = moves[at.get(to) ?? -1];
      if (one && other) {
        one.x += x * pull;
        one.y += y * pull;
        other.x -= x * pull;
        other.y -= y * pull;
      }
    }
    places.forEach((place, i) => {
      const move = moves[i];
      if (move) {
        const far = Math.max(1e-9, Math.hypot(move.x, move.y));
        place.x += (move.x / far) * Math.min(far, heat) - place.x * 0.06;
        place.y += (move.y / far) * Math.min(far, heat) - place.y * 0.06;
      }
    });
  }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{places: Place[], lines: Line[]}} graph
 * @param {string} words What is looked for: the rest is pale.
 */
function paint(canvas, { places, lines }, words) {
  const ratio = devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  if (!pen || width === 0) {
    return;
  }
  const style = getComputedStyle(canvas);
  const ink = style.getPropertyValue("color");
  pen.scale(ratio, ratio);
  const xs = places.map((place) => place.x);
  const ys = places.map((place) => place.y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const [padX, padY] = [Math.min(90, width / 5), 40];
  const onX = (/** @type {number} */ x) => padX + ((x - left) / Math.max(1e-6, right - left)) * (width - 2 * padX);
  const onY = (/** @type {number} */ y) => padY + ((y - top) / Math.max(1e-6, bottom - top)) * (height - 2 * padY);
  const colour = (/** @type {Place} */ place) => COLOURS[place.group % COLOURS.length] ?? ink;
  const isLarge = lines.length > LARGE;
  // Lines that look the same are one path: a large graph is a few dozen strokes.
  /** @type {Map<string, {colour: string, strength: number, isWish: boolean, isPale: boolean, path: Path2D}>} */
  const paths = new Map();
  for (const { from, to, edge } of lines) {
    const strength = Math.round(4 * Math.min(1, edge.weight)) / 4;
    const isWish = edge.dst_version === null;
    const isPale = words !== "" && !from.name.toLowerCase().includes(words) && !to.name.toLowerCase().includes(words);
    const key = `${from.group % COLOURS.length} ${strength} ${isWish} ${isPale}`;
    const known = paths.get(key) ?? { colour: colour(from), strength, isWish, isPale, path: new Path2D() };
    paths.set(key, known);
    const [x1, y1, x2, y2] = [onX(from.x), onY(from.y), onX(to.x), onY(to.y)];
    known.path.moveTo(x1, y1);
    if (isLarge) {
      known.path.lineTo(x2, y2);
    } else {
      // Bent, so that both ways between two places are seen.
      known.path.quadraticCurveTo((x1 + x2) / 2 + (y2 - y1) * 0.12, (y1 + y2) / 2 - (x2 - x1) * 0.12, x2, y2);
    }
  }
  pen.lineCap = isLarge ? "butt" : "round";
  for (const one of paths.values()) {
    pen.globalAlpha = one.isPale ? 0.06 : isLarge ? 0.1 + 0.4 * one.strength : 0.25 + 0.6 * one.strength;
    pen.strokeStyle = one.colour;
    pen.lineWidth = isLarge ? 1 : 1 + 5 * one.strength;
    pen.setLineDash(one.isWish ? [5, 5] : []);
    pen.stroke(one.path);
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
  pen.font = `13px ${style.fontFamily}`;
  pen.textAlign = "center";
  for (const place of places) {
    const [x, y] = [onX(place.x), onY(place.y)];
    pen.globalAlpha = words === "" || place.name.toLowerCase().includes(words) ? 1 : 0.35;
    pen.fillStyle = colour(place);
    pen.beginPath();
    pen.arc(x, y, 6 + Math.min(10, Math.sqrt(place.degree) * 2), 0, 2 * Math.PI);
    if (place.isWish) {
      pen.strokeStyle = colour(place);
      pen.lineWidth = 2;
      pen.stroke();
    } else {
      pen.fill();
    }
    if (places.length <= 120) {
      pen.fillStyle = ink;
      pen.fillText(place.name, x, y - 14 - Math.min(10, Math.sqrt(place.degree) * 2) / 2);
    }
  }
}

/** @param {Edge[]} all */
function table(all) {
  const heads = ["from", "to", "weight", "uses", "last"];
  return h(
    "div",
    { class: "table-box", tabindex: "0", role: "region", "aria-label": t("mnestome") },
    h("table", null,
      h("thead", null, h("tr", null, heads.map((key) => h("th", { scope: "col" }, t(key))))),
      h("tbody", null, all.slice(0, 500).map((one) => h("tr", null,
        h("td", null, one.src_executor ? h("code", null, one.src_executor) : t("words")),
        h("td", null, h("code", null, one.dst_executor)),
        h("td", null, one.weight.toFixed(2)),
        h("td", null, one.uses),
        h("td", null, moment(one.ts_last)))))),
  );
}
