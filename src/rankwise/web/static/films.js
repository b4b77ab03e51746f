/** The films to rate: search, cards, pages, and which one to rate next. */

import { byId, h, keyed, set, write } from "./dom.js";
import { ratingControl } from "./stars.js";
import { draft, isSent, look, rate, ratingOf, skip, state } from "./store.js";

/** @typedef {import("./api.js").Item} Item */

const TYPING = 150; // milliseconds without a key until a search is asked

/** @param {Item} item */
export const named = (item) => (item.year === null ? item.title : `${item.title} (${item.year})`);

/** @param {Item} item */
export const genresOf = (item) => item.genres.join(", ");

/**
 * A rating control that follows the store.
 * @param {Item} item
 */
export function ratingOfFilm(item) {
  const control = ratingControl(item, state.scale, rate, draft);
  return {
    node: control.node,
    update: () => control.update(ratingOf(item.id), isSent(item.id)),
  };
}

/** @param {Item} item */
function card(item) {
  const control = ratingOfFilm(item);
  const year = item.year === null ? "" : ` ${item.year}`;
  const node = h(
    "li",
    { class: "card" },
    h("h3", {}, item.title, h("span", { class: "year" }, year)),
    h("p", { class: "genres" }, genresOf(item)),
    control.node,
  );
  return { node, update: control.update };
}

/** @type {ReturnType<typeof ratingOfFilm> & {id: string}|null} */
let suggestion = null;

/** The film that tells most about the visitor's taste. It stays while it has the focus. */
function drawNext() {
  const box = byId("next");
  const film = state.suggested.find(
    (item) => ratingOf(item.id) === null && !state.skipped.has(item.id),
  );
  const isBusy =
    box.contains(document.activeElement) && document.activeElement?.matches(":focus-visible");
  if (suggestion && (isBusy || film?.id === suggestion.id)) return suggestion.update();
  box.hidden = !film;
  suggestion = null;
  if (!film) return box.replaceChildren();
  suggestion = { ...ratingOfFilm(film), id: film.id };
  suggestion.update();
  return box.replaceChildren(
    h("p", { class: "label" }, "Rate this next: it tells most about your taste"),
    h(
      "h3",
      {},
      film.title,
      h("span", { class: "year" }, film.year === null ? "" : ` ${film.year}`),
    ),
    suggestion.node,
    h(
      "button",
      { type: "button", class: "quiet", click: () => onSkip(film.id) },
      "I don't know it",
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

/** @param {{total: number, page: number, pages: number}} films */
function inWords({ total }) {
  if (total === 0) return "No film has this in its title.";
  return total === 1 ? "1 film" : `${total.toLocaleString("en")} films`;
}

function draw() {
  drawNext();
  const { films } = state;
  if (!films) return;
  write(byId("found"), inWords(films));
  keyed(byId("cards"), films.items, (item) => item.id, card);
  byId("pager").hidden = films.pages < 2;
  write(byId("page"), `Page ${films.page} of ${films.pages}`);
  set(byId("back"), { "aria-disabled": String(films.page <= 1) });
  set(byId("forward"), { "aria-disabled": String(films.page >= films.pages) });
  const select = byId("genre");
  if (select.length === 1)
    select.append(...films.genres.map((genre) => h("option", { value: genre }, genre)));
}

/** @param {number} by */
function turn(by) {
  const page = state.query.page + by;
  if (!state.films || page < 1 || page > state.films.pages) return;
  void look({ page });
  byId("search").scrollIntoView({ block: "start" });
}

export function startFilms() {
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
