/** Learn, flip, the choice of method, and the two ranked lists. */

import { Nouns, byId, counted, h, keyed, nouns, set, write } from "./dom.js";
import { aboutOf, cover, named, ratingOfItem, titled } from "./items.js";
import { chooseMethod, flip, learn, learnAsInThePaper, showMore, state } from "./store.js";
import { explain } from "./why.js";

/** @typedef {import("./api.js").Entry} Entry */

let isWanted = false; // Learn was pressed, and its lists are to be shown when they come

/** @param {Entry} entry */
function row(entry) {
  const { item } = entry;
  const control = ratingOfItem(item);
  const place = h("span", { class: "place", "aria-hidden": "true" });
  const guess = h("span", { class: "guess" });
  const gap = h("p", { class: "gap", hidden: true });
  const node = h(
    "li",
    {},
    h(
      "div",
      { class: "row" },
      place,
      h(
        "div",
        { class: "item" },
        ...cover(item),
        h("p", { class: "name" }, titled(item, named(item))),
        h("p", { class: "genres" }, aboutOf(item)),
      ),
      h("div", { class: "verdict" }, control.node, guess),
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `Why is ${item.title} here?`,
          click: () => explain(item),
        },
        "Why?",
      ),
    ),
    gap,
  );
  return {
    node,
    /** @param {Entry & {gap: string}} now @param {number} at */
    update(now, at) {
      control.update();
      write(place, state.isLearned ? String(at + 1) : "");
      write(guess, inWords(now));
      gap.hidden = !now.gap;
      write(gap, now.gap);
    },
  };
}

/** @param {Entry} entry the rating to expect, and how sure it is; Why? has the same number */
function inWords({ expected, sd }) {
  if (expected === null || expected === undefined) return "";
  const most = `we expect ${expected.toFixed(1)}`;
  return sd === null || sd === undefined ? most : `${most} ± ${sd.toFixed(1)}`;
}

/**
 * The list of a ranking, with a word where the scores leave a gap.
 * @param {import("./api.js").Ranking} ranking
 */
function withGap(ranking) {
  const { entries, cut } = ranking;
  return entries.map((entry, at) => ({
    ...entry,
    gap: cut && at + 1 === cut && cut < entries.length ? `A clear gap: ${counted(cut)} above it` : "",
  }));
}

function drawLists() {
  const { rated, unseen } = state.lists;
  byId("unseen").hidden = !unseen;
  if (unseen) {
    write(byId("unseen-title"), unseen.flip ? `${Nouns} not for you` : `${Nouns} for you`);
    const left = withGap(unseen).filter(({ item }) => !state.ratings.has(item.id));
    keyed(byId("unseen-list"), left.slice(0, state.shown), (entry) => entry.item.id, row);
    byId("more").hidden = unseen.entries.length <= state.shown;
  }
  const given = [...state.ratings.values()].sort((a, b) => b.rating - a.rating);
  byId("rated").hidden = !given.length;
  const list = rated ? withGap(rated) : given.map(({ item }) => ({ item, expected: null, gap: "" }));
  const known = new Set(list.map(({ item }) => item.id));
  const fresh = given
    .filter(({ item }) => !known.has(item.id))
    .map(({ item }) => ({ item, expected: null, gap: "" }));
  const all = [...list.filter(({ item }) => state.ratings.has(item.id)), ...fresh];
  keyed(byId("rated-list"), /** @type {any[]} */ (all), (entry) => entry.item.id, row);
  write(
    byId("rated-title"),
    rated
      ? `Your ${nouns}, ranked by your taste${state.isFlipped ? ", worst first" : ""}`
      : `${Nouns} you rated`,
  );
}

function drawMethods() {
  const chosen = state.methods.find(({ name }) => name === state.method);
  write(byId("method"), chosen ? `How it learns: ${chosen.title}` : "How it learns");
  write(byId("sentence"), chosen?.sentence ?? "");
  write(byId("source"), chosen ? `(${chosen.source})` : "");
  const box = byId("choices");
  if (box.querySelectorAll("input").length !== state.methods.length) {
    box.replaceChildren(
      box.firstElementChild,
      ...state.methods.map(({ name, title }) =>
        h(
          "label",
          {},
          h("input", {
            type: "radio",
            name: "method",
            value: name,
            change: () => chooseMethod(name),
          }),
          h("span", {}, title),
        ),
      ),
    );
  }
  for (const input of box.querySelectorAll("input")) input.checked = input.value === state.method;
}

function hint() {
  const count = state.ratings.size;
  if (!state.isReady) return "";
  if (state.isLearned)
    return state.isAway
      ? "The server does not answer: this is the order from before."
      : "Each new rating changes the lists at once.";
  if (!count) return `Rate some ${nouns}, and they appear here.`;
  return count < 5
    ? `${counted(count)} rated. Five are a good start; then press Learn.`
    : `${counted(count)} rated. Press Learn to see all others ranked.`;
}

function draw() {
  const count = state.ratings.size;
  const isLearning = state.waiting.some(({ kind }) => kind === "learn");
  const button = byId("learn");
  button.disabled = count === 0;
  set(button, { "aria-busy": String(isLearning) });
  write(button, isLearning ? "Learning …" : "Learn");
  write(byId("count"), count ? `${counted(count)} rated` : `Rate some ${nouns} to begin`);
  byId("flip").hidden = !state.isLearned;
  set(byId("flip"), { "aria-pressed": String(state.isFlipped) });
  write(byId("hint"), hint());
  document.body.classList.toggle("learned", state.isLearned);
  document.body.classList.toggle("flipped", state.isFlipped);
  drawMethods();
  drawLists();
  if (!isWanted || isLearning) return;
  if (state.message) isWanted = false;
  else if (state.lists.unseen && state.lists.rated) {
    isWanted = false;
    byId("ranking").focus({ preventScroll: true });
    const first = matchMedia("(max-width: 980px)").matches ? "ranking" : "picture";
    setTimeout(() => byId(first).scrollIntoView()); // when all parts are drawn
  }
}

export function startRanking() {
  byId("learn").addEventListener("click", () => {
    isWanted = true;
    learn();
  });
  byId("paper").addEventListener("click", (event) => {
    event.preventDefault();
    isWanted = state.ratings.size > 0;
    learnAsInThePaper();
  });
  byId("flip").addEventListener("click", flip);
  byId("more").addEventListener("click", () => {
    showMore();
    const next = state.shown > 10 ? 10 : 0;
    setTimeout(() => byId("unseen-list").children[next]?.querySelector("[role=slider]")?.focus());
  });
  return draw;
}
