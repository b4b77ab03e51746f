/** A rating control: a slider for mouse, touch and keyboard, drawn as stars where the scale allows. */

import { h, set } from "./dom.js";

const THINKING = 700; // milliseconds without a key until a rating given by keys counts

/** @param {number} value */
export const number = (value) => String(Math.round(100 * value) / 100);

/** @param {import("./api.js").Scale} scale */
const inStars = ({ low, high }) => low >= 0 && Number.isInteger(high) && high <= 10;

/**
 * @param {number|null} value
 * @param {import("./api.js").Scale} scale
 */
export function inWords(value, scale) {
  if (value === null) return "not rated";
  return inStars(scale) ? `${number(value)} of ${scale.high} stars` : `${number(value)}`;
}

/**
 * @param {import("./api.js").Item} item
 * @param {import("./api.js").Scale} scale
 * @param {(item: import("./api.js").Item, rating: number|null) => void} onRate
 * @param {(item: import("./api.js").Item, rating: number|null|undefined) => void} onDraft what is being
 *   chosen by keys and does not count yet; undefined when that is over
 * @returns {{node: HTMLElement, update: (rating: number|null, isSent: boolean) => void}}
 */
export function ratingControl(item, scale, onRate, onDraft) {
  const { low, high } = scale;
  const step = scale.step || (high - low) / 20;
  const stars = inStars(scale);
  /** @type {number|null} */
  let rating = null; // what counts
  /** @type {number|null|undefined} */
  let draft; // what is being chosen
  let timer = 0;

  const slider = h("div", {
    class: stars ? "stars" : "meter",
    role: "slider",
    tabindex: 0,
    "aria-label": `Your rating of ${item.title}`,
    "aria-valuemin": low,
    "aria-valuemax": high,
    keydown: onKey,
    blur: commit,
    pointerdown: onPointer,
    pointermove: onPointer,
    pointerup: onPointer,
    pointerleave: () => draft === undefined && paint(rating),
    pointercancel: () => settle(rating),
  });
  slider.style.setProperty("--count", String(stars ? high : 5));
  const value = h("span", { class: "value", "aria-hidden": "true" });
  const remove = h(
    "button",
    {
      type: "button",
      class: "remove",
      "aria-label": `Remove your rating of ${item.title}`,
      title: "Remove rating",
      click: () => {
        slider.focus({ preventScroll: true });
        give(null);
      },
    },
    "×",
  );
  const node = h("div", { class: "rating" }, slider, value, remove);

  /** @param {number} chosen */
  const onScale = (chosen) =>
    Math.min(high, Math.max(low, Math.round((chosen - low) / step) * step + low));

  /** @param {number|null} shown */
  function paint(shown) {
    const from = stars ? 0 : low;
    const part = shown === null ? 0 : (shown - from) / (high - from);
    slider.style.setProperty("--part", `${100 * part}%`);
    value.textContent = shown === null ? "" : number(shown);
  }

  /** @param {number|null} shown */
  function show(shown, isSent = true) {
    paint(shown);
    const text = `${inWords(shown, scale)}${isSent ? "" : ", not sent yet"}`;
    set(slider, { "aria-valuenow": shown ?? low, "aria-valuetext": text });
    node.classList.toggle("given", shown !== null);
    remove.disabled = shown === null;
  }

  /** @param {number|null} shown */
  function settle(shown) {
    clearTimeout(timer);
    if (draft !== undefined) onDraft(item, undefined);
    draft = undefined;
    show(shown);
  }

  /** @param {number|null} chosen */
  function give(chosen) {
    const isNew = chosen !== rating;
    rating = chosen;
    settle(chosen);
    if (isNew) onRate(item, chosen);
  }

  function commit() {
    if (draft !== undefined) give(draft);
  }

  /** @param {number|null} chosen */
  function choose(chosen) {
    draft = chosen;
    onDraft(item, chosen);
    show(chosen);
    clearTimeout(timer);
    timer = setTimeout(commit, THINKING);
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const now = draft === undefined ? rating : draft;
    const middle = onScale((low + high) / 2);
    const big = Math.max(step, (high - low) / 5);
    /** @param {number} by */
    const move = (by) => choose(now === null ? middle : onScale(now + by));
    const digit = /^[0-9]$/.test(event.key) ? Number(event.key) : null;
    if (["ArrowRight", "ArrowUp"].includes(event.key)) move(step);
    else if (["ArrowLeft", "ArrowDown"].includes(event.key)) move(-step);
    else if (event.key === "PageUp") move(big);
    else if (event.key === "PageDown") move(-big);
    else if (event.key === "Home") choose(low);
    else if (event.key === "End") choose(high);
    else if (["Delete", "Backspace"].includes(event.key)) give(null);
    else if (event.key === "Escape" && draft !== undefined) settle(rating);
    else if (event.key === "Enter") commit();
    else if (digit !== null && digit >= low && digit <= high) choose(onScale(digit));
    else return;
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  function onPointer(event) {
    const box = slider.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    const chosen = stars
      ? onScale(Math.ceil((part * high) / step - 1e-9) * step)
      : onScale(low + part * (high - low));
    if (event.type === "pointerdown") {
      if (event.button !== 0) return;
      slider.setPointerCapture(event.pointerId);
      clearTimeout(timer);
      draft = chosen;
    } else if (event.type === "pointerup") {
      if (draft !== undefined) give(chosen);
      return;
    } else if (slider.hasPointerCapture(event.pointerId)) draft = chosen;
    else if (event.pointerType !== "mouse" || draft !== undefined) return;
    paint(chosen);
  }

  show(null);
  return {
    node,
    update(now, isSent) {
      rating = now;
      if (draft === undefined) show(now, isSent);
      node.classList.toggle("waiting", !isSent);
    },
  };
}
