/** The items to rate: search, cards, pages, and which one to rate next. */

import { byId, counted, h, keyed, noun, set, write } from "./dom.js";
import { ratingControl } from "./stars.js";
import { draft, isSent, look, rate, ratingOf, skip, state } from "./store.js";

/** @typedef {import("./api.js").Item} Item */

const TYPING = 150; // milliseconds without a key until a search is asked

/** @param {Item} item */
export const named = (item) => (item.year === null ? item.title : `${item.title} (${item.year})`);

/** @param {Item} item */
export const aboutOf = (item) =>
  [item.author, item.genres.join(", ")].filter(Boolean).join(" · ");

/**
 * The picture of an item, if it has one; one that cannot be loaded goes away.
 * @param {Item} item
 */
export function cover(item) {
  if (!item.image) return [];
  const drop = (/** @type {Event} */ event) => /** @type {Element} */ (event.target).remove();
  return [h("img", { class: "cover", src: item.image, alt: "", loading: "lazy", error: drop })];
}

/**
 * The title of an item, and a link to its page if it has one.
 * @param {Item} item
 * @param {string} text
 */
export const titled = (item, text) =>
  item.url ? h("a", { href: item.url, target: "_blank", rel: "noopener noreferrer" }, text) : text;

/**
 * A rating control that follows the store.
 * @param {Item} item
 */
export function ratingOfItem(item) {
  const control = ratingControl(item, state.scale, rate, draft);
  return {
    node: control.node,
    update: () => control.update(ratingOf(item.id), isSent(item.id)),
  };
}

/** @param {Item} item */
function card(item) {
  const control = ratingOfItem(item);
  const year = item.year === null ? "" : ` ${item.year}`;
  const node = h(
    "li",
    { class: "card" },
    h(
      "div",
      { class: "about" },
      ...cover(item),
      h("h3", {}, titled(item, item.title), h("span", { class: "year" }, year)),
      h("p", { class: "genres" }, aboutOf(item)),
      ...(item.description ? [h("p", { class: "description" }, item.description)] : []),
    ),
    control.node,
  );
  return { node, update: control.update };
}

/** @type {ReturnType<typeof ratingOfItem> & {id: string}|null} */
let suggestion = null;

/** The item that tells most about the visitor's taste. It stays while it has the focus. */
function drawNext() {
  const box = byId("next");
  const item = state.suggested.find(
    (item) => ratingOf(item.id) === null && !state.skipped.has(item.id),
  );
  const isBusy =
    box.contains(document.activeElement) && document.activeElement?.matches(":focus-visible");
  if (suggestion && (isBusy || item?.id === suggestion.id)) return suggestion.update();
  box.hidden = !item;
  suggestion = null;
  if (!item) return box.replaceChildren();
  suggestion = { ...ratingOfItem(item), id: item.id };
  suggestion.update();
  return box.replaceChildren(
    h("p", { class: "label" }, "Do you know this one? Your rating of it says most about your taste"),
    h(
      "h3",
      {},
      item.title,
      h("span", { class: "year" }, item.year === null ? "" : ` ${item.year}`),
    ),
    h(
      "div",
      { class: "answer" },
      suggestion.node,
      h(
        "button",
        { type: "button", class: "quiet", click: () => onSkip(item.id) },
        "I don't know it",
      ),
    ),
  );
}

/** @param {string} id */
function onSkip(id) {
  const had = byId("next").contains(document.activeElement);
  suggestion = null;
  skip(id);
  if (had)
    setTimeout(() => byId("next").querySelector("button.quiet")?.focus({ preventScroll: true }));
}

/** @param {{total: number, page: number, pages: number}} items */
function inWords({ total }) {
  if (total === 0) return `No ${noun} found: try fewer or other words.`;
  return counted(total);
}

function draw() {
  drawNext();
  const { page } = state;
  if (!page) return;
  write(byId("found"), inWords(page));
  keyed(byId("cards"), page.items, (item) => item.id, card);
  byId("pager").hidden = page.pages < 2;
  write(byId("page"), `Page ${page.page} of ${page.pages}`);
  set(byId("back"), { "aria-disabled": String(page.page <= 1) });
  set(byId("forward"), { "aria-disabled": String(page.page >= page.pages) });
  const select = byId("genre");
  if (select.length === 1)
    select.append(...page.genres.map((genre) => h("option", { value: genre }, genre)));
}

/** @param {number} by */
function turn(by) {
  const page = state.query.page + by;
  if (!state.page || page < 1 || page > state.page.pages) return;
  void look({ page });
  byId("search").scrollIntoView({ block: "start" });
}

export function startItems() {
  let timer = 0;
  const ask = () => {
    clearTimeout(timer);
    void look({ search: byId("text").value.trim(), genre: byId("genre").value });
  };
  byId("text").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, TYPING);
  });
  byId("genre").addEventListener("change", ask);
  byId("search").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    ask();
  });
  byId("back").addEventListener("click", () => turn(-1));
  byId("forward").addEventListener("click", () => turn(1));
  return draw;
}
