/** Why an item stands where it does: what each rating adds to its score, as bars. */

import { get } from "./api.js";
import { byId, h } from "./dom.js";
import { named } from "./items.js";
import { number } from "./stars.js";

/** @typedef {import("./api.js").Item} Item */

const SHOWN = 8;

/** @param {Item} item */
export async function explain(item) {
  const dialog = byId("why");
  const body = h("div", { "aria-live": "polite" }, h("p", {}, "…"));
  dialog.replaceChildren(
    h("h2", { id: "why-title" }, `Why ${named(item)}?`),
    body,
    h("form", { method: "dialog", class: "buttons" }, h("button", { class: "primary" }, "Close")),
  );
  if (!dialog.open) dialog.showModal();
  try {
    const answer = await get(`explain/${encodeURIComponent(item.id)}`);
    body.replaceChildren(answer.parts.length ? bars(answer) : h("p", {}, answer.sentence));
  } catch (error) {
    body.replaceChildren(h("p", {}, /** @type {Error} */ (error).message));
  }
}

/** @param {{score: number, expected: number, mean: number, parts: {item: Item, rating: number, contribution: number}[], rest: number}} answer */
function bars({ score, expected, mean, parts, rest }) {
  const shown = parts.slice(0, SHOWN);
  const other = parts.slice(SHOWN).reduce((sum, part) => sum + part.contribution, rest ?? 0);
  const rows = shown.map(({ item, rating, contribution }) => ({
    name: `${named(item)}, rated ${number(rating)}`,
    by: contribution,
  }));
  if (Math.abs(other) >= 0.005) rows.push({ name: "Everything else", by: other });
  const most = Math.max(...rows.map(({ by }) => Math.abs(by)), 1e-9);
  const list = rows.map(({ name, by }) => {
    const bar = h("span", { class: by < 0 ? "bar-part minus" : "bar-part", "aria-hidden": "true" });
    bar.style.setProperty("--size", String(Math.abs(by) / most));
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      h("td", {}, signed(by)),
      h("td", { class: "bars" }, bar),
    );
  });
  const cut = Math.abs(score - expected) < 0.05 ? "" : ` (${score.toFixed(1)}, but the scale ends there)`;
  const caption = `We expect ${expected.toFixed(1)} from you${cut}. People give it ${mean.toFixed(1)} on average, and your ratings change that:`;
  return h("table", { class: "parts" }, h("caption", {}, caption), h("tbody", {}, ...list));
}

/** @param {number} value */
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
