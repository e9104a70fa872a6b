/* Colours come from the style sheet, so that there is one place for light and dark. */
let ramp = [];

function readColor(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

function mix(a, b, t) {
  return a.map((x, i) => Math.round(x + (b[i] - x) * t));
}

/* A colour for each byte of a map. */
function readRamp() {
  const stops = [0, 1, 2, 3, 4].map((i) => readColor(`--map-${i}`));
  ramp = Array.from({ length: 256 }, (_, level) => {
    const at = (level / 255) * 4;
    const stop = Math.min(3, Math.floor(at));
    return mix(stops[stop], stops[stop + 1], at - stop);
  });
}

const css = (color) => `rgb(${color.join(" ")})`;
const luminance = (c) => (0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2]) / 255;

/* For -1 ... 1, and the colour of text on it. */
function divergingColor(x) {
  const t = Math.min(1, Math.abs(x));
  const color = mix(readColor("--faint"), readColor(x < 0 ? "--less" : "--more"), t);
  const dark = [20, 22, 26];
  const light = [255, 255, 255];
  return { background: css(color), text: css(luminance(color) > 0.55 ? dark : light) };
}

/* A head's cells as a picture, a pixel each. */
function drawCells(canvas, head) {
  canvas.width = map.columns;
  canvas.height = map.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(map.columns, map.rows);
  const bytes = cells[head];
  for (let i = 0; i < bytes.length; i++) {
    const color = ramp[bytes[i]];
    image.data[4 * i] = color[0];
    image.data[4 * i + 1] = color[1];
    image.data[4 * i + 2] = color[2];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

function buildLegend() {
  const stops = [0, 64, 128, 192, 255].map((level) => css(ramp[level]));
  const ticks = [0, 0.05, 0.25, 0.5, 1].map((w) => {
    const tick = make("span", {}, String(w).replace(/^0\./, "."));
    tick.style.left = `${100 * Math.sqrt(w)}%`;
    return tick;
  });
  const bar = make("div", { className: "ramp" });
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  byId("legend").replaceChildren(bar, make("div", { className: "ticks" }, ...ticks));
}

/* Light, dark, or as the system has it. */
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let themeChoice = "auto";
const themeListeners = [];

function applyTheme() {
  const isDark = themeChoice === "dark" || (themeChoice === "auto" && systemDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  readRamp();
  buildLegend();
  for (const listener of themeListeners) listener();
}

function buildTheme() {
  const group = byId("theme");
  const buttons = ["auto", "light", "dark"].map((name) =>
    make("button", { type: "button", attributes: { role: "radio", "data-theme-choice": name } },
      name[0].toUpperCase() + name.slice(1)));
  const choose = (i, moveFocus) => {
    themeChoice = buttons[i].dataset.themeChoice;
    buttons.forEach((button, j) => {
      button.setAttribute("aria-checked", String(i === j));
      button.tabIndex = i === j ? 0 : -1;
    });
    if (moveFocus) buttons[i].focus();
    applyTheme();
  };
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => choose(i, false));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose((i + step + 3) % 3, true);
    });
  });
  group.append(...buttons);
  systemDark.addEventListener("change", applyTheme);
  choose(0, false);
}
