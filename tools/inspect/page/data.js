/* The findings, and how they are worded. Everything is put on the page as text, never as HTML. */
const data = JSON.parse(document.getElementById("data").textContent);
const layer = data.layer;
const heads = data.heads;
const map = data.map;
const tokens = data.tokens;
const keyTokens = layer.memory ? data.keys : data.tokens;
const isDownsampled = map.row_size > 1 || map.column_size > 1;

/* Bytes of a head's cells: 255 * sqrt(weight). */
const cells = map.cells.map((text) => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
});

function weightAt(head, row, column) {
  const level = cells[head][row * map.columns + column] / 255;
  return level * level;
}

const byId = (id) => document.getElementById(id);

/* An element with these properties, attributes (in attributes) and children (nodes or texts). */
function make(tag, properties = {}, ...children) {
  const { attributes = {}, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/* A token as a person can tell it from others: spaces and line ends that are all of it are shown. */
function visible(text) {
  const inner = text.trim();
  if (inner) return inner.replace(/[\u0000-\u001f\u007f]/g, "·");
  return text.replace(/\n/g, "⏎").replace(/ /g, "␣").replace(/[\u0000-\u001f\u007f]/g, "·") || "∅";
}

function shorten(text, most) {
  const letters = Array.from(text);
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
}

const headName = (h) => `Head ${heads[h].head}`;
const quoted = (list, i) => (list ? ` ‘${shorten(visible(list[i]), 24)}’` : "");
const tokenName = (i) => `${i}${quoted(tokens, i)}`;
const keyName = (i) => `${i}${quoted(keyTokens, i)}`;

function rangeName(cell, size, n, list) {
  const first = cell * size;
  const last = Math.min(first + size, n) - 1;
  return first === last ? `${first}${quoted(list, first)}` : `${first}–${last}`;
}
const rowName = (row) => rangeName(row, map.row_size, layer.tokens, tokens);
const columnName = (column) => rangeName(column, map.column_size, layer.keys, keyTokens);

function weightText(w) {
  if (w === 0) return "0";
  if (w < 0.001) return "<.001";
  return w.toFixed(w < 0.0995 ? 3 : 2);
}

/* Numbers that were not finite are null. */
function fixed(x, digits) {
  if (x === null) return "–";
  const text = x.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text; /* no -0.00 */
}
const percent = (x) => (x === null ? "–" : `${fixed(100 * x, 1)} %`);
const rankText = (rank, most) => (rank === null ? "–" : `${rank} of ${most}`);

/* What is looked at, and who wants to know when it changes. */
const state = { head: 0, query: 0, key: 0 };
const listeners = [];
function select(change) {
  const before = { ...state };
  Object.assign(state, change);
  const clamp = (x, n) => Math.max(0, Math.min(n - 1, x));
  state.head = clamp(state.head, heads.length);
  state.query = clamp(state.query, layer.tokens);
  state.key = clamp(state.key, layer.keys);
  for (const listener of listeners) listener(before);
}
