/**
 * What the page knows, and the only place that talks with the server.
 *
 * What the visitor says is shown at once, put into the queue, and sent from there in order. After it
 * was heard, the lists are fetched anew. If the server is away, the queue waits and is tried again.
 */

import { ApiError, ask, get, renewed } from "./api.js";
import * as queue from "./queue.js";

/** @typedef {import("./api.js").Item} Item */

const SHORTEST = 1_000; // milliseconds between attempts, doubled each time
const LONGEST = 30_000;

export const state = {
  isReady: false,
  /** @type {import("./api.js").Scale} */
  scale: { low: 0.5, high: 5, step: 0.5 },
  /** @type {import("./api.js").Method[]} */
  methods: [],
  /** @type {string} the method of the lists, or the one that Learn will use */
  method: "",
  isLearned: false,
  /** @type {Map<string, {item: Item, rating: number}>} what the server has */
  heard: new Map(),
  /** @type {Map<string, {item: Item, rating: number, isSent: boolean}>} with what waits */
  ratings: new Map(),
  /** @type {import("./queue.js").Said[]} */
  waiting: [],
  query: { search: "", genre: "", page: 1 },
  /** @type {{items: Item[], page: number, pages: number, total: number, genres: string[]}|null} */
  page: null,
  isFlipped: false,
  shown: 10,
  /** @type {Record<"rated"|"unseen", import("./api.js").Ranking|null>} */
  lists: { rated: null, unseen: null },
  /** @type {{rounds: import("./api.js").Round[], loss: number[]}} */
  progress: { rounds: [], loss: [] },
  /** @type {Item[]} */
  suggested: [],
  /** @type {Set<string>} */
  skipped: new Set(),
  isAway: false,
  /** Why the server cannot answer. */
  reason: "",
  message: "",
  /** What a screen reader should say. */
  said: "",
  /** Whether forgotten rows are gone from the database's files, too. */
  erased: true,
};

/** @type {(() => void)[]} */
const views = [];

/** @param {() => void} view called after each change */
export const subscribe = (view) => views.push(view);

let isPlanned = false;

/** Draw all views, once for all changes of this moment. */
function changed() {
  overlay();
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    for (const view of views) view();
  });
}

/** Put what waits on top of what the server has. */
function overlay() {
  state.waiting = queue.waiting();
  const ratings = new Map(
    [...state.heard].map(([id, { item, rating }]) => [id, { item, rating, isSent: true }]),
  );
  for (const said of state.waiting) {
    if (said.kind !== "rate") continue;
    if (said.rating === null || said.rating === undefined) ratings.delete(said.item.id);
    else ratings.set(said.item.id, { item: said.item, rating: said.rating, isSent: false });
  }
  state.ratings = ratings;
}

/** @param {string} id @returns {number|null} */
export const ratingOf = (id) => state.ratings.get(id)?.rating ?? null;

/** @param {string} id */
export const isSent = (id) =>
  !state.waiting.some((said) => said.kind === "rate" && said.item.id === id);

// What the visitor does

/** @param {Omit<import("./queue.js").Said, "at">} said */
function say(said) {
  state.message = "";
  queue.say(said);
  changed();
  void send();
}

/** @param {Item} item @param {number|null} rating */
export const rate = (item, rating) => say({ key: `rate:${item.id}`, kind: "rate", item, rating });

/** @param {Item} item @param {number|null|undefined} rating being chosen; undefined when that is over */
export function draft(item, rating) {
  const key = `rate:${item.id}`;
  if (rating === undefined) queue.dropDraft(key);
  else queue.keepDraft({ key, kind: "rate", item, rating });
}

/** Say what pages that are gone were choosing, now and as long as there are drafts. */
function adoptDrafts() {
  const wait = queue.adoptDrafts();
  if (wait) setTimeout(adoptDrafts, wait);
  changed();
  if (queue.waiting().length) void send();
}

/** @param {string} better @param {string} worse */
export const compare = (better, worse) =>
  say({ key: `compare:${[better, worse].sort().join(":")}`, kind: "compare", better, worse });

/** Learn by the chosen method. */
export const learn = () => say({ key: "learn", kind: "learn", method: state.method });

/** @param {string} name */
export function chooseMethod(name) {
  state.method = name;
  if (state.isLearned) learn();
  else changed();
}

/** Learn by PRank with the settings of the paper; without ratings it is only chosen. */
export function learnAsInThePaper() {
  state.method = "prank_paper";
  if (state.ratings.size) learn();
  else tell("PRank, as in the paper, is chosen: rate something, then press Learn.");
}

export function flip() {
  state.isFlipped = !state.isFlipped;
  state.message = "";
  state.said = state.isFlipped ? "Flipped: the worst come first." : "The best come first.";
  state.lists.rated = turned(state.lists.rated);
  changed();
  void refresh();
}

/** @param {import("./api.js").Ranking|null} list all rated items are here, so it is turned at once */
const turned = (list) =>
  list && { ...list, entries: list.entries.toReversed(), flip: state.isFlipped, cut: null };

/** @param {Partial<typeof state.query>} query */
export function look(query) {
  state.query = { ...state.query, page: 1, ...query };
  changed();
  return attempt(
    "items",
    () => get("items", state.query),
    (items) => {
      state.page = items;
    },
  );
}

/** @param {string} id a item that the visitor cannot rate */
export function skip(id) {
  state.skipped.add(id);
  changed();
  if (state.suggested.every((item) => state.skipped.has(item.id))) void refresh();
}

export function showMore() {
  state.shown = 50;
  changed();
}

/** Delete everything, here and there. Not queued: it is done now, or the visitor is told. */
export async function forget() {
  try {
    const answer = await ask("DELETE", "me");
    state.erased = answer.erased;
  } catch (error) {
    tell(`You were not forgotten: ${/** @type {Error} */ (error).message} Please try again.`);
    return;
  }
  queue.clear();
  queue.tellTabs();
  state.isFlipped = false;
  state.shown = 10;
  state.skipped.clear();
  state.message = "";
  state.said = "All your ratings are deleted.";
  if (!state.erased) tell("You are forgotten. Traces may stay in the files of the database until they are overwritten.");
  await reload();
}

/** @param {string} message shown until the next one */
export function tell(message) {
  state.message = message;
  changed();
}

// The server

let attempts = 0; // in a row, without an answer
let timer = 0; // of the next attempt; 0 if none is planned

/** @param {ApiError} error */
function isAway(error) {
  state.isAway = true;
  state.reason = error.message;
  changed();
  if (timer) return;
  const wait = Math.min(LONGEST, SHORTEST * 2 ** attempts) * (0.75 + Math.random() / 2);
  timer = setTimeout(
    () => {
      timer = 0;
      attempts += 1;
      void sync();
    },
    Math.max(wait, error.wait),
  );
}

function stopWaiting() {
  attempts = 0;
  clearTimeout(timer);
  timer = 0;
}

function isBack() {
  stopWaiting();
  if (!state.isAway) return;
  state.isAway = false;
  state.said = "The server is back.";
  changed();
}

/** Send what waits and fetch everything. */
async function sync() {
  if (queue.waiting().length) await send();
  await reload();
}

/** Try again now: somebody asks for it, or the network is back. */
export function retry() {
  stopWaiting();
  return sync();
}

/** @type {Record<string, number>} the number of the newest question of each kind */
const newest = {};

/**
 * Ask, and take the answer unless a newer question of its kind was asked meanwhile.
 * @param {string} kind
 * @param {() => Promise<any>} question
 * @param {(answer: any) => void} take
 * @param {() => void} refused what to do if there is no answer to this question
 * @returns {Promise<boolean>} whether the server answered
 */
async function attempt(kind, question, take, refused = () => {}) {
  const turn = (newest[kind] ?? 0) + 1;
  newest[kind] = turn;
  try {
    const answer = await question();
    if (turn === newest[kind]) take(answer);
    // A server that can be read may still refuse to write: what waits will tell.
    if (!queue.waiting().length) isBack();
    changed();
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.away) isAway(error);
    else if (turn === newest[kind]) {
      refused();
      tell(error.message);
    }
    return false;
  }
}

let isSending = false;
let writes = 0; // how often the server has heard something

/** Send all that waits, in order, and then fetch the lists anew. */
async function send() {
  if (isSending) return;
  isSending = true;
  try {
    do {
      await queue.alone(sendAll);
      if (state.isAway) break;
      await refresh();
    } while (!state.isAway && queue.waiting().length);
  } finally {
    isSending = false;
  }
}

async function sendAll() {
  for (let said = queue.waiting()[0]; said; said = queue.waiting()[0]) {
    try {
      await sendOne(said);
      writes += 1;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.away) return isAway(error);
      state.message = error.message;
      if (said.kind === "learn") await loadMe();
    }
    queue.heard(said);
    isBack();
    queue.tellTabs();
    changed();
  }
}

/** @param {import("./queue.js").Said} said */
async function sendOne(said) {
  if (said.kind === "compare") {
    await ask("POST", "compare", { better: said.better, worse: said.worse });
    state.said = "Noted.";
  } else if (said.kind === "learn") {
    const answer = await ask("POST", "learn", { method: said.method });
    state.isLearned = answer.learned;
    state.method = answer.method;
    state.said = "Learned.";
  } else {
    const path = `ratings/${encodeURIComponent(said.item.id)}`;
    if (said.rating === null || said.rating === undefined) {
      await ask("DELETE", path).catch((error) => {
        if (error.status !== 404) throw error; // another tab removed it
      });
      state.heard.delete(said.item.id);
      state.said = `${said.item.title}: rating removed.`;
    } else {
      const answer = await ask("PUT", path, { rating: said.rating });
      state.heard.set(said.item.id, { item: said.item, rating: said.rating });
      const guess =
        answer.predicted === null ? "" : ` The guess was ${answer.predicted.toFixed(1)}.`;
      state.said = `${said.item.title}: ${said.rating}, saved.${guess}`;
    }
  }
}

/** Fetch what follows from the ratings. */
async function refresh() {
  const flip = Number(state.isFlipped);
  const skip = [...state.skipped].slice(-100);
  const asked = [
    attempt(
      "progress",
      () => get("progress"),
      (answer) => {
        state.progress = answer;
      },
    ),
    attempt(
      "suggest",
      () => get("suggest", { n: 5, skip }),
      (answer) => {
        state.suggested = answer.items;
      },
    ),
  ];
  if (state.isLearned) {
    for (const set of /** @type {const} */ (["rated", "unseen"])) {
      asked.push(
        attempt(
          set,
          () => get("ranking", { set, flip, k: set === "rated" ? 1000 : 50 }),
          (answer) => {
            state.lists[set] = answer;
          },
          () => {
            state.lists[set] = null;
          },
        ),
      );
    }
  } else state.lists = { rated: null, unseen: null };
  await Promise.all(asked);
}

/** Ask for the ratings; if something was heard meanwhile, the answer may lack it: ask again. */
async function askMe() {
  for (;;) {
    const before = writes;
    const me = await get("me");
    if (writes === before) return me;
  }
}

const loadMe = () =>
  attempt("me", askMe, (me) => {
    state.scale = me.scale;
    state.methods = me.methods;
    state.method = (me.learned && me.method) || state.method || me.method || me.methods[0]?.name;
    state.isLearned = me.learned;
    state.heard = new Map(me.ratings.map((/** @type {any} */ given) => [given.item.id, given]));
    state.isReady = true;
  });

/** Fetch everything. */
export async function reload() {
  if (!(await loadMe())) return;
  await Promise.all([look({ page: state.query.page }), refresh()]);
}

/** Start, and keep in step with other tabs. */
export async function start() {
  queue.listenToTabs(changed, () => void reload());
  renewed.addEventListener("renewed", () => {
    tell("The server no longer knows your earlier ratings. You start from the beginning.");
    void reload();
  });
  addEventListener("online", () => void retry());
  addEventListener("offline", () => isAway(new ApiError("The server cannot be reached.", 0)));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void retry();
  });
  changed();
  await sync();
  adoptDrafts();
}
