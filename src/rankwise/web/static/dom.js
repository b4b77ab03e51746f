/** Elements, made and kept in order. Text is always set as text, never as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Set attributes; a function is a listener, null and false leave the attribute out.
 * @param {Element} node
 * @param {Record<string, any>} attributes
 */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return node;
}

/**
 * Make an HTML element.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node|string)} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const node = set(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

/**
 * Make an SVG element.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node|string)} children
 * @returns {any}
 */
export function s(tag, attributes = {}, ...children) {
  const node = set(document.createElementNS(SVG, tag), attributes);
  node.append(...children);
  return node;
}

/** What one item of the page is called, and several. */
export const noun = document.documentElement.dataset.noun ?? "item";
export const nouns = document.documentElement.dataset.nouns ?? "items";
export const Nouns = nouns.charAt(0).toUpperCase() + nouns.slice(1);

/** @param {number} count */
export const counted = (count) => `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/**
 * Set the text of a node if it is another one: a live region speaks only when its text changes.
 * @param {Element} node
 * @param {string} text
 */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @type {WeakMap<Element, Map<string, any>>} */
const views = new WeakMap();

/**
 * Show `entries` as the children of `parent`, in order. A child is made once for each key and moved
 * afterwards, so that focus and what is being typed or dragged stay. A child that has the keyboard's
 * focus never moves; if its entry is gone, it stays until the focus leaves it.
 * @template T
 * @param {Element} parent
 * @param {T[]} entries
 * @param {(entry: T) => string} keyOf
 * @param {(entry: T) => {node: HTMLElement, update: (entry: T, place: number) => void}} make
 */
export function keyed(parent, entries, keyOf, make) {
  const old = views.get(parent) ?? new Map();
  const kept = new Map();
  const active = document.activeElement;
  const held = [...parent.children].find((child) => child.contains(active)) ?? null;
  const heldAt = held ? [...parent.children].indexOf(held) : -1;
  const tops = new Map();
  if (!calm())
    for (const child of parent.children) tops.set(child, child.getBoundingClientRect().top);

  const wanted = entries.map((entry, place) => {
    const key = keyOf(entry);
    const view = old.get(key) ?? make(entry);
    kept.set(key, view);
    view.node.classList.remove("leaving");
    view.update(entry, place);
    return view.node;
  });
  const heldKey = held && [...old].find(([, view]) => view.node === held)?.[0];
  if (held && heldKey && !kept.has(heldKey)) {
    if (active?.matches(":focus-visible")) {
      held.classList.add("leaving");
      kept.set(heldKey, old.get(heldKey));
      wanted.splice(heldAt, 0, held);
      held.addEventListener("focusout", () => leave(parent, heldKey), { once: true });
    }
  }
  for (const [key, view] of old) if (!kept.has(key)) view.node.remove();
  place(parent, wanted, held);
  views.set(parent, kept);
  for (const [child, top] of tops) slide(child, top);
}

/** @param {Element} parent @param {string} key */
function leave(parent, key) {
  const view = views.get(parent)?.get(key);
  if (!view?.node.classList.contains("leaving")) return;
  views.get(parent)?.delete(key);
  // The focus is still on its way: a node that is removed now would take it along.
  setTimeout(() => view.node.remove());
}

/**
 * Put the nodes in order with as few moves as is simple, and never move `held`.
 * @param {Element} parent
 * @param {Element[]} wanted
 * @param {Element|null} held
 */
function place(parent, wanted, held) {
  let cursor = parent.firstElementChild;
  for (const node of wanted) {
    if (node === held) {
      while (cursor && cursor !== held) {
        const next = cursor.nextElementSibling;
        parent.append(cursor);
        cursor = next;
      }
    }
    if (cursor === node) cursor = node.nextElementSibling;
    else parent.insertBefore(node, cursor);
  }
}

/** @param {Element} node @param {number} top */
function slide(node, top) {
  if (!node.isConnected) return;
  const by = top - node.getBoundingClientRect().top;
  if (Math.abs(by) < 1 || Math.abs(by) > 2000) return;
  node.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], {
    duration: 350,
    easing: "ease-out",
  });
}
