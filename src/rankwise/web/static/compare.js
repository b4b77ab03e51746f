/** Two items, which is better? The taste learns from the answer too. */

import { byId, h, noun, nouns, write } from "./dom.js";
import { named } from "./items.js";
import { compare, ratingOf, state } from "./store.js";

/** @typedef {import("./api.js").Item} Item */

let turn = 0;
let drawn = "";
/** @type {Set<string>} */
const asked = new Set();

/** @returns {Item[]} items that may be compared: those rated, and the first of the others */
function candidates() {
  const rated = [...state.ratings.values()].map(({ item }) => item);
  const unseen = state.lists.unseen?.entries.slice(0, 10).map(({ item }) => item) ?? [];
  return [...rated, ...unseen.filter((item) => ratingOf(item.id) === null)];
}

/** Pairs of rated items, those of equal rating first: there an answer tells most. */
function pairs() {
  const rated = [...state.ratings.values()];
  const all = rated.flatMap((a, i) =>
    rated.slice(i + 1).map((b) => ({ a, b, apart: Math.abs(a.rating - b.rating) })),
  );
  return all
    .sort((p, q) => p.apart - q.apart)
    .filter(({ a, b }) => !asked.has(keyOf(a.item.id, b.item.id)));
}

/** @param {string} a @param {string} b */
const keyOf = (a, b) => [a, b].sort().join(" ");

function draw() {
  const items = candidates();
  const all = pairs();
  const box = byId("pair");
  const pair = all.length ? all[turn % all.length] : null;
  box.hidden = items.length < 2;
  write(
    byId("compare-text"),
    items.length < 2
      ? `Rate two ${nouns}, and you can say which of them is better.`
      : "You may rate two alike and still like one of them more: say which.",
  );
  const key = [pair?.a.item.id, pair?.b.item.id, ...items.map(({ id }) => id)].join(" ");
  if (items.length < 2 || key === drawn || box.contains(document.activeElement)) return;
  drawn = key;
  const first = pair?.a.item ?? items[0];
  const second = pair?.b.item ?? items[1];
  const left = choice(`First ${noun}`, items, first);
  const right = choice(`Second ${noun}`, items, second);
  box.replaceChildren(
    left.node,
    right.node,
    h(
      "button",
      { type: "button", class: "primary", click: () => answer(left.select, right.select) },
      "The first is better",
    ),
    h(
      "button",
      { type: "button", class: "primary", click: () => answer(right.select, left.select) },
      "The second is better",
    ),
    h("button", { type: "button", class: "quiet", click: another }, "Another pair"),
  );
}

/** @param {string} label @param {Item[]} items @param {Item} chosen */
function choice(label, items, chosen) {
  const select = h(
    "select",
    {},
    ...items.map((item) =>
      h("option", { value: item.id, selected: item.id === chosen.id }, named(item)),
    ),
  );
  return { select, node: h("label", {}, h("span", {}, label), select) };
}

/** @param {HTMLSelectElement} better @param {HTMLSelectElement} worse */
function answer(better, worse) {
  if (better.value === worse.value)
    return write(byId("compare-text"), `Choose two different ${nouns}.`);
  asked.add(keyOf(better.value, worse.value));
  compare(better.value, worse.value);
  return redraw();
}

function another() {
  turn += 1;
  redraw();
}

/** Draw anew though a button has the focus, and give the focus to the same button. */
function redraw() {
  const box = byId("pair");
  const at = [...box.querySelectorAll("button")].indexOf(document.activeElement);
  /** @type {any} */ (document.activeElement)?.blur();
  drawn = "";
  draw();
  if (at >= 0) box.querySelectorAll("button")[at]?.focus({ preventScroll: true });
}

export const startCompare = () => draw;
