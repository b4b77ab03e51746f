/** The loss curve: how far each rating was from what was expected before it was given. */

import { byId, s, write } from "./dom.js";
import { number } from "./stars.js";
import { state } from "./store.js";

const HEIGHT = 190;
const LEFT = 34;
const BOTTOM = 30;
const TOP = 12;
const LAST = 5;

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The rounds for which something had been learned before. */
const judged = () => state.progress.rounds.filter(({ error }) => typeof error === "number");

function inWords() {
  const errors = judged().map(({ error }) => Math.abs(Number(error)));
  if (!errors.length)
    return "Each rating is guessed before you give it. Here you will see how near the guesses were.";
  const all = `The guesses were off by ${mean(errors).toFixed(2)} on average, over ${errors.length} of your ratings`;
  if (errors.length < 2 * LAST) return `${all}.`;
  return `${all}; by ${mean(errors.slice(-LAST)).toFixed(2)} over the last ${LAST}.`;
}

/** @param {number} most @returns {number} an end of the scale whose quarters are round */
function niceTop(most) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(most, 0.1)));
  return [1, 2, 4, 6, 8, 10].map((times) => times * unit).find((top) => top >= most) ?? most;
}

function draw() {
  write(byId("progress-text"), inWords());
  const rounds = judged();
  const box = byId("curve");
  if (rounds.length < 2) return box.replaceChildren();
  const width = Math.max(280, box.clientWidth);
  const errors = rounds.map(({ error }) => Math.abs(Number(error)));
  let sum = 0;
  const loss = errors.map((error, i) => (sum += error) / (i + 1));
  const top = niceTop(Math.max(...errors));
  /** @param {number} i */
  const x = (i) => LEFT + 8 + (i / Math.max(1, rounds.length - 1)) * (width - LEFT - 20);
  /** @param {number} value */
  const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const grid = [0, 0.25, 0.5, 0.75, 1]
    .map((part) => part * top)
    .flatMap((value) => [
      s("path", { class: "grid", d: `M${LEFT} ${y(value)}H${width}` }),
      s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)),
    ]);
  const points = errors.map((error, i) =>
    s(
      "circle",
      { class: "point", cx: x(i), cy: y(error), r: 3 },
      s("title", {}, `${rounds[i].item.title}: off by ${error.toFixed(2)}`),
    ),
  );
  const path = loss
    .map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  return box.replaceChildren(
    s(
      "svg",
      {
        role: "img",
        viewBox: `0 0 ${width} ${HEIGHT}`,
        height: HEIGHT,
        "aria-label": `Loss curve. ${inWords()}`,
      },
      ...grid,
      ...points,
      s("path", { class: "loss", d: path }),
      s(
        "text",
        { x: width - 2, y: HEIGHT - 8, "text-anchor": "end" },
        `${rounds.length} ratings, oldest first; line: mean error so far`,
      ),
    ),
  );
}

export function startCurve() {
  new ResizeObserver(draw).observe(byId("curve"));
  return draw;
}
