/* What was found, and how it is worded. Everything is put on the page as text, never as HTML. */
const data = JSON.parse(document.getElementById("data").textContent);
const heads = data.heads;
const tokens = data.tokens;
const map = { rows: data.cells, columns: data.cells };

function readBytes(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
const cells = data.maps.map(readBytes); /* of each head, 255 * sqrt(weight) */

/* The head that --head asked for is there token by token. */
const whole = data.chosen_map === undefined ? null : readBytes(data.chosen_map);
const isWhole = (h) => whole !== null && h === data.chosen;
const sideOf = (h) => (isWhole(h) ? data.n_tokens : data.cells);
const sizeOf = (h) => (isWhole(h) ? 1 : data.cell_tokens);
const levelsOf = (h) => (isWhole(h) ? whole : cells[h]);
const square = (level) => (level / 255) ** 2;
const weightAt = (h, row, column) => square(levelsOf(h)[row * sideOf(h) + column]);

const byId = (id) => document.getElementById(id);

/* An element with these properties, attributes (in attributes) and children (nodes or texts). */
function make(tag, properties = {}, ...children) {
  const { attributes = {}, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/* A token as a person can tell it from others. */
function visible(text) {
  if (text === null) return "?";
  const inner = text.trim();
  if (inner) return inner.replace(/[\u0000-\u001f\u007f]/g, "·");
  return text.replace(/\n/g, "⏎").replace(/ /g, "␣").replace(/[\u0000-\u001f\u007f]/g, "·") || "∅";
}
function shorten(text, most) {
  const letters = Array.from(text);
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
}
const tokenName = (i) => shorten(visible(tokens[i].text), 24);
const headName = (h) => `Head ${heads[h].layer}.${heads[h].head}`;

/* The name of the tokens first ... behind - 1. */
function rangeName(first, behind) {
  return behind - first === 1 ? tokenName(first) : `${first}–${behind - 1} ${shorten(visible(tokens[first].text), 10)} …`;
}
function cellName(h, cell) {
  const size = sizeOf(h);
  return rangeName(cell * size, Math.min((cell + 1) * size, data.n_tokens));
}

const fixed = (x, digits) => (x === null ? "–" : x.toFixed(digits));
const percent = (x) => (x === null ? "–" : `${fixed(100 * x, 1)} %`);
function weightText(w) {
  if (w === 0) return "0";
  return w < 0.001 ? "<.001" : w.toFixed(w < 0.0995 ? 3 : 2);
}

/* What is looked at, and who wants to know when it changes. */
const state = { head: 0, row: 0, column: 0 };
const listeners = [];
function select(change) {
  Object.assign(state, change);
  const clamp = (x, n) => Math.max(0, Math.min(n - 1, x));
  state.head = clamp(state.head, heads.length);
  state.row = clamp(state.row, sideOf(state.head));
  state.column = clamp(state.column, sideOf(state.head));
  for (const listener of listeners) listener();
}
