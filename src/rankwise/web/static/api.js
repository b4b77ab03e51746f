/**
 * The server, by relative addresses, so that the page works below any root path.
 *
 * @typedef {{id: string, title: string, author: string|null, year: number|null, genres: string[], rating: number|null,
 *   description: string|null, image: string|null, url: string|null}} Item
 * @typedef {{position: number, item: Item, score: number, rank: number, expected: number, sd: number|null}} Entry
 * @typedef {{low: number, high: number, step: number}} Scale
 * @typedef {{name: string, title: string, sentence: string, source: string}} Method
 * @typedef {{set: string, flip: boolean, method: string, version: number, entries: Entry[],
 *   cut: number|null, thresholds: number[], levels: number[],
 *   direction: number[], total: number}} Ranking
 * @typedef {{item: Item, rating: number, predicted: number|null, error: number|null}} Round
 */

const PATIENCE = 15_000; // milliseconds

/** An answer that is not a result. `away` says that asking again later may help. */
export class ApiError extends Error {
  /** @param {string} message @param {number} status @param {number} wait */
  constructor(message, status, wait = 0) {
    super(message);
    this.status = status;
    // 401 comes here only if it came twice: another service may void the cookie each time
    this.away = [0, 401, 408, 429].includes(status) || status >= 500;
    this.wait = wait;
  }
}

/** Tells (event "renewed") that the server did not know the visitor and began again. */
export const renewed = new EventTarget();

const APART = 10_000; // milliseconds between two such events, since several requests may tell so
let last = -APART;

/**
 * Ask once more if the cookie was refused: the answer removed it.
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
export async function ask(method, path, body) {
  try {
    return await askOnce(method, path, body);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    const answer = await askOnce(method, path, body);
    if (performance.now() - last > APART) {
      last = performance.now();
      renewed.dispatchEvent(new Event("renewed"));
    }
    return answer;
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function askOnce(method, path, body) {
  let response;
  let data;
  try {
    response = await fetch(`api/${path}`, {
      method,
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body && JSON.stringify(body),
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
    });
    // An answer that was cut off is none; an error need not be JSON.
    data = response.ok ? await response.json() : await response.json().catch(() => ({}));
  } catch {
    throw new ApiError("The server cannot be reached.", 0);
  }
  if (response.ok) return data;
  const wait = 1000 * Number(response.headers.get("Retry-After")) || 0;
  const detail =
    typeof data.detail === "string" ? data.detail : `the server answered ${response.status}`;
  throw new ApiError(sentence(detail), response.status, wait);
}

/** @param {string} text */
const sentence = (text) =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/**
 * @param {string} path
 * @param {Record<string, string|number|string[]>} [query] a list is a name given several times
 */
export function get(path, query = {}) {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, String(one)]),
  );
  return ask("GET", pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path);
}
