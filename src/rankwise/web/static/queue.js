/**
 * What was said but not yet heard by the server. It is kept in localStorage, one key for each thing
 * said, so that two tabs never write the same key for different reasons, and a closed tab loses
 * nothing. Where storage is refused, memory has to do.
 *
 * @typedef {{key: string, at: number, kind: "rate"|"compare"|"learn", item?: any,
 *   rating?: number|null, better?: string, worse?: string, method?: string}} Said
 */

const BASE = `rankwise:${new URL(".", document.baseURI).pathname}:`;
const PREFIX = `${BASE}said:`;
const DRAFT = `${BASE}draft:`;
const ABANDONED = 1_500; // milliseconds after which the page that was choosing must be gone
const CHANGED = `${BASE}changed`;

/** @type {Map<string, string>} */
const memory = new Map();
let last = 0;

/** @returns {boolean} whether what is said survives closing the page */
export const isKept = () => memory.size === 0;

/** @returns {Said[]} oldest first */
export function waiting() {
  const texts = stored(PREFIX);
  for (const [key, text] of memory) texts.set(key, text);
  const said = [...texts].flatMap(([key, text]) => parse(PREFIX, key, text));
  return said.sort((a, b) => a.at - b.at);
}

/** @param {string} prefix @returns {Map<string, string>} what is stored under keys that begin so */
function stored(prefix) {
  const texts = new Map();
  try {
    for (let i = 0; i < localStorage.length; i++) {
      const key = localStorage.key(i) ?? "";
      if (key.startsWith(prefix)) texts.set(key, localStorage.getItem(key));
    }
  } catch {
    // storage is refused: only memory has something
  }
  return texts;
}

/** @param {string} prefix @param {string} key @param {string} text @returns {Said[]} */
function parse(prefix, key, text) {
  try {
    const said = JSON.parse(text);
    const isWhole = said.kind !== "rate" || typeof said.item.id === "string";
    if (key === prefix + said.key && Number.isFinite(said.at) && isWhole) return [said];
  } catch {
    // not ours
  }
  return [];
}

/**
 * Add to what waits, in place of what had the same key.
 * @param {Omit<Said, "at">} said
 */
export function say(said) {
  last = Math.max(Date.now(), last + 1);
  const text = JSON.stringify({ ...said, at: last });
  try {
    localStorage.setItem(PREFIX + said.key, text);
    memory.delete(PREFIX + said.key);
  } catch {
    memory.set(PREFIX + said.key, text);
  }
}

/**
 * Remove it, unless something newer was said under its key meanwhile.
 * @param {Said} said
 */
export function heard(said) {
  if (waiting().find((other) => other.key === said.key)?.at !== said.at) return;
  memory.delete(PREFIX + said.key);
  try {
    localStorage.removeItem(PREFIX + said.key);
  } catch {
    // it was in memory
  }
}

/** Forget all that waits. */
export function clear() {
  for (const said of waiting()) heard(said);
}

/**
 * Keep what is being chosen, in case the page is closed before it counts.
 * @param {Omit<Said, "at">} said
 */
export function keepDraft(said) {
  try {
    localStorage.setItem(DRAFT + said.key, JSON.stringify({ ...said, at: Date.now() }));
  } catch {
    // it will count in a moment
  }
}

/** @param {string} key of what was chosen, or given up */
export function dropDraft(key) {
  try {
    localStorage.removeItem(DRAFT + key);
  } catch {
    // nothing is stored
  }
}

/**
 * Say what pages that are gone were choosing.
 * @returns {number} milliseconds until there may be more, 0 if no draft is left
 */
export function adoptDrafts() {
  let wait = 0;
  for (const [key, text] of stored(DRAFT)) {
    const [said] = parse(DRAFT, key, text);
    const left = said ? said.at + ABANDONED - Date.now() : 0;
    if (left > 0) wait = Math.max(wait, Math.min(left, ABANDONED));
    else {
      if (said) say(said);
      dropDraft(key.slice(DRAFT.length));
    }
  }
  return wait;
}

/** Tell the other tabs that the server knows something new. */
export function tellTabs() {
  try {
    localStorage.setItem(CHANGED, `${Date.now()} ${Math.random()}`);
  } catch {
    // they will look when they get the focus
  }
}

/**
 * @param {() => void} onSaid another tab said something, or sent it
 * @param {() => void} onChanged the server knows something new
 */
export function listenToTabs(onSaid, onChanged) {
  addEventListener("storage", (event) => {
    if (event.key === CHANGED) onChanged();
    else if (event.key === null || event.key.startsWith(PREFIX)) onSaid();
  });
}

/**
 * Run `send` in one tab at a time, where the browser can do so. Elsewhere two tabs may send the same
 * rating twice, which changes nothing.
 * @param {() => Promise<void>} send
 */
export const alone = (send) =>
  navigator.locks ? navigator.locks.request(`${BASE}send`, send) : send();
