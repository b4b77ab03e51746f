/** The projection: films on a line by their score, and the thresholds that cut it into ratings. */

import { byId, counted, noun, nouns, s, set, write } from "./dom.js";
import { named } from "./items.js";
import { number } from "./stars.js";
import { state } from "./store.js";

/** @typedef {import("./api.js").Entry} Entry */

const MARGIN = 16;
const TOP = 26; // the names of the ratings
const ROW = 19; // between rows of titles
const LETTER = 6.6; // a usual letter's width
const DOT = 7;
const SMALL = 3.5;

/** @type {Map<string, SVGElement>} the films that are drawn: they are moved, not made anew */
const dots = new Map();
/** @type {any} */
let svg = null;
/** @type {any} */
let bands;
/** @type {any} */
let items;

/** @param {number[]} xs ascending @param {number} apart @param {number} most @returns {number[]} a row for each */
function rowsOf(xs, apart, most) {
  const ends = new Array(most).fill(-Infinity);
  return xs.map((x) => {
    const free = ends.findIndex((end) => x - end >= apart);
    const row = free < 0 ? ends.indexOf(Math.min(...ends)) : free;
    ends[row] = x;
    return row;
  });
}

/**
 * Where titles stand: each in the lowest row where it overlaps no other, or nowhere (null).
 * @param {{x: number, text: string}[]} labels
 * @param {number} width
 * @param {number} most
 */
function placeTitles(labels, width, most) {
  /** @type {[number, number][][]} */
  const rows = Array.from({ length: most }, () => []);
  return labels.map(({ x, text }) => {
    const half = (text.length * LETTER) / 2 + 5;
    const centre = Math.min(Math.max(x, half), width - half);
    const row = rows.findIndex((taken) =>
      taken.every(([from, to]) => centre + half < from || centre - half > to),
    );
    if (row < 0) return null;
    rows[row].push([centre - half, centre + half]);
    return { row, shift: centre - x };
  });
}

/** @param {string} text */
const short = (text) => (text.length > 24 ? `${text.slice(0, 22).trimEnd()}…` : text);

/** @param {number[]} values */
const finite = (values) =>
  values.filter((value) => typeof value === "number" && Number.isFinite(value));

function draw() {
  const { rated, unseen } = state.lists;
  byId("picture").hidden = !state.isLearned || !rated || !unseen;
  if (byId("picture").hidden || !rated || !unseen) return;
  const box = byId("line");
  const width = Math.max(280, box.clientWidth);
  if (!svg) {
    svg = s("svg", { role: "img" }, (bands = s("g", {})), (items = s("g", {})));
    box.replaceChildren(svg);
  }
  const own = rated.entries
    .filter(({ item }) => state.ratings.has(item.id))
    .sort((a, b) => a.score - b.score);
  const others = unseen.entries
    .filter(({ item }) => !state.ratings.has(item.id))
    .sort((a, b) => a.score - b.score);
  const cuts = finite(rated.thresholds);
  const scores = [...own, ...others].map(({ score }) => score);
  const low = Math.min(...scores);
  const high = Math.max(...scores);
  const spread = high - low || 1;
  /** @param {number} score */
  const xOf = (score) =>
    MARGIN + ((score - low + 0.04 * spread) / (1.08 * spread)) * (width - 2 * MARGIN);

  const texts = own.map(({ item, score }) => ({ x: xOf(score), text: short(item.title) }));
  const titles = placeTitles(texts, width, width < 600 ? 6 : 4);
  const count = Math.max(1, ...titles.map((title) => (title ? title.row + 1 : 0)));
  const ownRows = rowsOf(
    own.map(({ score }) => xOf(score)),
    2 * DOT + 1,
    3,
  );
  const deep = Math.max(1, ...ownRows.map((row) => row + 1));
  const line = TOP + count * ROW + deep * 2 * DOT + 14;
  const otherRows = rowsOf(
    others.map(({ score }) => xOf(score)),
    2 * SMALL + 1,
    4,
  );
  const height = line + 72;
  set(svg, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": inWords(own, others) });
  drawBands(cuts, rated.levels, xOf, width, line, height);
  drawDirection(finite(rated.direction ?? []), width);
  write(byId("learned"), learned(rated.direction ?? [], cuts));

  const drawn = new Set();
  own.forEach((entry, i) => {
    const title = titles[i];
    const y = line - 12 - ownRows[i] * (2 * DOT + 1);
    const top = title ? TOP + (count - title.row) * ROW - 5 : null;
    const rise = top === null ? 0 : top - y;
    put(entry, xOf(entry.score), y, title ? texts[i].text : "", title?.shift ?? 0, rise, drawn);
  });
  others.forEach((entry, i) =>
    put(entry, xOf(entry.score), line + 12 + otherRows[i] * (2 * SMALL + 1), "", 0, 0, drawn),
  );
  for (const [id, node] of dots) {
    if (drawn.has(id)) continue;
    node.remove();
    dots.delete(id);
  }
}

/** @returns {SVGElement} */
const newDot = () =>
  s(
    "g",
    { class: "dot" },
    s("path"),
    s("circle"),
    s("text", { "text-anchor": "middle" }),
    s("title"),
  );

/**
 * @param {Entry} entry
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {number} shift
 * @param {number} rise
 * @param {Set<string>} drawn
 */
function put({ item, score }, x, y, text, shift, rise, drawn) {
  const given = state.ratings.get(item.id);
  drawn.add(item.id);
  const node = dots.get(item.id) ?? newDot();
  if (!node.isConnected) items.append(node);
  dots.set(item.id, node);
  const [path, circle, label, title] = node.children;
  node.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
  node.classList.toggle("own", Boolean(given));
  const { low, high } = state.scale;
  node.style.setProperty(
    "--part",
    given ? `${(100 * (given.rating - low)) / (high - low)}%` : "0%",
  );
  set(circle, { r: given ? DOT : SMALL });
  set(path, { d: text ? `M0 0V${rise + 5}` : "M0 0" });
  set(label, { x: shift, y: rise });
  if (label.textContent !== text) label.textContent = text;
  title.textContent = `${named(item)}: score ${score.toFixed(2)}${given ? `, you gave ${number(given.rating)}` : ""}`;
}

/**
 * @param {number[]} cuts
 * @param {number[]} levels the ratings between them
 * @param {(score: number) => number} xOf
 * @param {number} width
 * @param {number} line
 * @param {number} height
 */
function drawBands(cuts, levels, xOf, width, line, height) {
  const inside = cuts.map((cut) => Math.min(Math.max(xOf(cut), 0), width));
  const ends = [0, ...inside, width];
  let count = 0;
  const parts = ends.slice(1).flatMap((to, i) => {
    const from = ends[i];
    const size = to - from;
    if (size < 1) return [];
    count += 1;
    const name =
      size > 24
        ? [s("text", { x: from + size / 2, y: 15, "text-anchor": "middle" }, number(levels[i]))]
        : [];
    return [
      s("rect", {
        class: count % 2 ? "odd" : "even",
        x: from,
        y: 0,
        width: size,
        height: height - 26,
      }),
      ...name,
    ];
  });
  const marks = inside
    .filter((x) => x > 0 && x < width)
    .map((x) => s("path", { class: "cut", d: `M${x} 22V${height - 26}` }));
  bands.replaceChildren(
    ...parts,
    ...marks,
    s("path", { class: "axis", d: `M0 ${line}H${width}` }),
    s("text", { class: "end", x: 2, y: height - 8 }, "← less to your taste"),
    s(
      "text",
      { class: "end", x: width - 2, y: height - 8, "text-anchor": "end" },
      "more to your taste →",
    ),
  );
}

/**
 * The weights of a linear method as bars, the largest first.
 * @param {number[]} weights descending
 * @param {number} width
 */
function drawDirection(weights, width) {
  const box = byId("direction");
  box.hidden = !weights.length;
  if (box.hidden) return;
  const most = Math.max(...weights.map(Math.abs)) || 1;
  const step = (width - 2 * MARGIN) / weights.length;
  const bars = weights.map((weight, i) => {
    const size = (28 * weight) / most;
    return `M${(MARGIN + (i + 0.5) * step).toFixed(1)} 36v${(-size).toFixed(1)}`;
  });
  const height = 72;
  box.replaceChildren(
    s(
      "svg",
      {
        role: "img",
        viewBox: `0 0 ${width} ${height}`,
        height,
        "aria-label": `The direction: ${weights.length} weights, the largest first.`,
      },
      s("path", { class: "axis", d: `M0 36H${width}` }),
      s("path", {
        class: "weights",
        d: bars.join(""),
        "stroke-width": Math.max(0.8, 0.7 * step).toFixed(1),
      }),
    ),
  );
}

/** @param {number[]} weights @param {number[]} cuts */
function learned(weights, cuts) {
  const title = state.methods.find(({ name }) => name === state.method)?.title ?? "It";
  const ends = cuts.map((cut) => cut.toFixed(2).replace("-", "−")).join(", ");
  const thresholds = `${cuts.length === 1 ? "1 threshold" : `${cuts.length} thresholds`}: ${ends}.`;
  return weights.length
    ? `Learned by ${title}: a direction, a weight for each of ${weights.length} other people (bars: up, their likes count for a ${noun}; down, against it); ${thresholds}`
    : `Learned by ${title}: a score for each ${noun}; ${thresholds}`;
}

/** @param {Entry[]} own @param {Entry[]} others */
function inWords(own, others) {
  const best = own.at(-1)?.item.title;
  const said = best
    ? ` Of your ${nouns} ${best} is furthest to the better side, ${own[0].item.title} to the other.`
    : "";
  return `A line with ${counted(own.length)} that you rated above it and ${others.length} others below it, by score.${said}`;
}

export function startPicture() {
  new ResizeObserver(draw).observe(byId("line"));
  return draw;
}
