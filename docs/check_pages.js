// What check_pages.py asks of a page that is open in a browser. Each function returns its faults.

const look = (window.look = {});

// Ready when formulas are drawn and images are there. Colours then change at once.
look.prepare = async () => {
  const style = document.createElement("style");
  style.textContent = "* { transition: none !important; animation: none !important; }";
  document.head.append(style);
  if (window.MathJax?.startup) await MathJax.startup.promise;
  const images = [...document.images];
  for (const image of images) image.loading = "eager";
  await Promise.allSettled(images.map((image) => image.decode()));
  const missing = images.filter((image) => !image.naturalWidth);
  return missing.map((image) => `no image at ${image.getAttribute("src")}`);
};

look.turn = (theme) => Object.assign(document.documentElement.dataset, { theme, mode: theme });

// What reaches beyond the screen or the column of the text, and can't be scrolled to.
look.outside = () => {
  const root = document.documentElement;
  const found = [];
  if (root.scrollWidth > root.clientWidth)
    found.push(`the page is ${root.scrollWidth} wide on a screen of ${root.clientWidth}`);
  const column = document.querySelector(".bd-article-container") ?? document.body;
  const limit = Math.min(root.clientWidth, column.getBoundingClientRect().right) + 1;
  const held = new Set(); // inside something that scrolls, or that was named already
  for (const element of column.querySelectorAll("*")) {
    if (held.has(element.parentElement)) {
      held.add(element);
      continue;
    }
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (/auto|scroll|hidden|clip/.test(style.overflowX)) held.add(element);
    if (style.visibility === "hidden" || style.position === "absolute" || !box.height) continue;
    // text that is wider than its block has no box of its own
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const spills = text && element.clientWidth && style.overflowX === "visible";
    const right = Math.max(box.right, spills ? box.left + element.scrollWidth : 0);
    if (right > limit) {
      held.add(element);
      const words = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
      const name = [element.tagName.toLowerCase(), ...element.classList].join(".");
      found.push(`${name} "${words}" reaches ${Math.round(right - limit)} too far`);
    }
  }
  return found;
};

const numbers = (text) => {
  const [r, g, b, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
  const scale = text.startsWith("color(srgb") ? 255 : 1;
  return [r * scale, g * scale, b * scale, alpha];
};

const over = ([...front], back) =>
  [0, 1, 2].map((k) => front[k] * front[3] + back[k] * (1 - front[3])).concat(1);

const behind = (element) => {
  if (!element) return [255, 255, 255, 1];
  const colour = numbers(getComputedStyle(element).backgroundColor);
  return colour[3] === 1 ? colour : over(colour, behind(element.parentElement));
};

const luminance = (colour) => {
  const [r, g, b] = colour
    .map((value) => value / 255)
    .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

// Text whose contrast with its background is under that of WCAG 2, level AA.
look.pale = () => {
  const found = new Map();
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim().slice(0, 40);
    const element = walker.currentNode.parentElement;
    if (!text || seen.has(element)) continue;
    seen.add(element);
    if (element.closest("script, style, noscript, mjx-container, :disabled")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const [low, high] = [luminance(over(numbers(colour), back)), luminance(back)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const name = [element.tagName.toLowerCase(), ...element.classList].join(".");
    const key = `${name}: ${colour} on ${back.slice(0, 3).map(Math.round)}`;
    if (ratio < (large ? 3 : 4.5) && !found.has(key))
      found.set(key, `contrast ${ratio.toFixed(1)} of ${key}, "${text}"`);
  }
  return [...found.values()];
};
