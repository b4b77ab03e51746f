/** The page: its parts, the status line, and the visitor's data. */

import { startCompare } from "./compare.js";
import { startCurve } from "./curve.js";
import { byId, h, write } from "./dom.js";
import { startItems } from "./items.js";
import { startPicture } from "./picture.js";
import { isKept } from "./queue.js";
import { startRanking } from "./ranking.js";
import { forget, retry, start, state, subscribe, tell } from "./store.js";

let drawn = "";

/** @param {number} count */
const things = (count) => (count === 1 ? "1 change waits" : `${count} changes wait`);

function statusText() {
  if (!state.isAway) return state.message;
  const count = state.waiting.length;
  if (!count) return `${state.reason} Trying again.`;
  const where = isKept() ? "in this browser and will be sent" : "only while this page is open";
  return `${state.reason} ${things(count)} ${where}.`;
}

function drawStatus() {
  const text = statusText();
  write(byId("said"), state.said);
  if (text + state.isAway === drawn) return;
  drawn = text + state.isAway;
  const button = state.isAway
    ? h("button", { type: "button", click: () => void retry() }, "Try now")
    : h("button", { type: "button", click: () => tell("") }, "Close");
  byId("status").replaceChildren(...(text ? [h("span", {}, text), button] : []));
  byId("status").classList.toggle("away", state.isAway);
}

async function onForget() {
  const dialog = byId("sure");
  dialog.returnValue = "no";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  if (dialog.returnValue === "yes") await forget();
}

for (const part of [startItems, startRanking, startPicture, startCurve, startCompare])
  subscribe(part());
subscribe(drawStatus);
byId("forget").addEventListener("click", () => void onForget());
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
void start();
