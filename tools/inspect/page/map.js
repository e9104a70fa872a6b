/* One head large: cells, names of rows and columns, the selected link and the one under the pointer. */
const frame = { left: 0, top: 0, width: 0, height: 0, total: 0 };
const picture = document.createElement("canvas"); /* a pixel for each cell */
let hovered = null; /* {row, column} */

const selectedRow = () => Math.floor(state.query / map.row_size);
const selectedColumn = () => Math.floor(state.key / map.column_size);

function buildMap() {
  const box = byId("map");
  byId("map-keys").textContent =
    "Arrows move the link, Home and End go to the first and last key, Page up and down ten rows, [ and ] to the previous and next head.";
  box.addEventListener("keydown", moveInMap);
  box.addEventListener("pointermove", (event) => hover(cellAt(event), event));
  box.addEventListener("pointerleave", () => hover(null));
  box.addEventListener("pointerdown", (event) => {
    const cell = cellAt(event);
    if (cell) selectCell(cell.row, cell.column);
    box.focus();
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select")) return;
    if (event.key === "[") select({ head: state.head - 1 });
    if (event.key === "]") select({ head: state.head + 1 });
  });
  new ResizeObserver(drawMap).observe(box);
  themeListeners.push(drawMap);
  listeners.push(() => {
    byId("map-name").textContent = headName(state.head);
    byId("map-facts").textContent = mapFacts();
    byId("status").textContent = linkText(selectedRow(), selectedColumn());
    drawMap();
  });
}

function mapFacts() {
  const head = heads[state.head];
  const parts = [];
  if (layer.kv_heads !== layer.heads) parts.push(`reads kv head ${head.kv_head}`);
  parts.push(`${percent(head.share)} of the output`);
  if (isDownsampled)
    parts.push(`downsampled: a cell is ${map.row_size} queries by ${map.column_size} keys`);
  return parts.join(" · ");
}

function linkText(row, column) {
  const w = weightText(weightAt(state.head, row, column));
  return isDownsampled
    ? `Queries ${rowName(row)} give keys ${columnName(column)} ${w} of their attention`
    : `Query ${rowName(row)} gives key ${columnName(column)} ${w} of its attention`;
}

/* Cells that are moved to keep the exact token where it already lies in them. */
function selectCell(row, column) {
  const change = {};
  if (row !== selectedRow()) change.query = row * map.row_size;
  if (column !== selectedColumn()) change.key = column * map.column_size;
  select(change);
}

function moveInMap(event) {
  const rows = map.rows - 1, columns = map.columns - 1;
  const row = selectedRow(), column = selectedColumn();
  const target = {
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: [row, 0],
    End: [row, columns],
    PageUp: [row - 10, column],
    PageDown: [row + 10, column],
  }[event.key];
  if (!target) return;
  event.preventDefault();
  selectCell(Math.max(0, Math.min(rows, target[0])), Math.max(0, Math.min(columns, target[1])));
}

function cellAt(event) {
  const box = byId("map-canvas").getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left - frame.left) / frame.width) * map.columns);
  const row = Math.floor(((event.clientY - box.top - frame.top) / frame.height) * map.rows);
  return row >= 0 && row < map.rows && column >= 0 && column < map.columns ? { row, column } : null;
}

function hover(cell, event) {
  const tip = byId("tip");
  hovered = cell;
  tip.hidden = !cell;
  if (cell) {
    const box = byId("map").getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    tip.replaceChildren(`${rowName(cell.row)} → ${columnName(cell.column)} `,
      make("b", {}, weightText(weightAt(state.head, cell.row, cell.column))));
    tip.style.left = x > box.width / 2 ? "" : `${x + 14}px`;
    tip.style.right = x > box.width / 2 ? `${box.width - x + 14}px` : "";
    tip.style.top = `${y + 16}px`;
  }
  drawMap();
}

/* Every n-th row or column that gets a name, and how much room names need. */
function nameStep(n, pixels) {
  let step = 1;
  const sizes = [1, 2, 5];
  const room = n * 11 > pixels ? 18 : 11; /* numbers alone need air */
  for (let i = 0; (pixels / n) * step < room; i++) step = sizes[i % 3] * 10 ** Math.floor(i / 3);
  return step;
}

/* Names of tokens where every cell has one, else numbers of tokens. */
function cellLabels(n, size, list, step) {
  return Array.from({ length: n }, (_, i) =>
    list && size === 1 && step === 1 ? shorten(visible(list[i]), 10)
      : i % step === 0 ? String(i * size) : "");
}

function layOut(context, width) {
  let step = 1;
  let rows, columns;
  for (let pass = 0; pass < 2; pass++) {
    const side = pass === 0 ? width - 60 : frame.width;
    step = nameStep(Math.max(map.rows, map.columns), side);
    rows = cellLabels(map.rows, map.row_size, tokens, step);
    columns = cellLabels(map.columns, map.column_size, keyTokens, step);
    const room = (labels) => Math.ceil(Math.max(...labels.map((t) => context.measureText(t).width)));
    frame.left = room(rows) + 10;
    frame.top = room(columns) + 10;
    frame.width = Math.max(60, width - frame.left - 8);
    frame.height = (frame.width / map.columns) * map.rows;
    if (frame.height > 1.4 * frame.width || frame.height < frame.width / 3)
      frame.height = Math.max(frame.width / 3, Math.min(frame.height, 1.4 * frame.width));
  }
  frame.total = frame.top + frame.height + 4;
  return { rows, columns };
}

function drawNames(context, labels, colors) {
  context.textBaseline = "middle";
  context.textAlign = "right";
  const row = hovered ? hovered.row : selectedRow();
  const column = hovered ? hovered.column : selectedColumn();
  const choose = (isNow) => {
    context.fillStyle = isNow ? colors.accent : colors.soft;
    context.font = isNow ? colors.bold : colors.font;
  };
  labels.rows.forEach((text, i) => {
    choose(i === row);
    context.fillText(text, frame.left - 6, frame.top + ((i + 0.5) * frame.height) / map.rows);
  });
  context.textAlign = "left";
  labels.columns.forEach((text, i) => {
    choose(i === column);
    context.save();
    context.translate(frame.left + ((i + 0.5) * frame.width) / map.columns, frame.top - 6);
    context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  });
}

/* A cross through a cell, and a box around it that is seen also where cells are small. */
function drawMark(context, row, column, color, isStrong) {
  const w = frame.width / map.columns, h = frame.height / map.rows;
  const x = frame.left + column * w, y = frame.top + row * h;
  context.strokeStyle = color;
  context.globalAlpha = isStrong ? 0.55 : 0.35;
  context.lineWidth = 1;
  context.strokeRect(frame.left, y, frame.width, h);
  context.strokeRect(x, frame.top, w, frame.height);
  context.globalAlpha = 1;
  context.lineWidth = isStrong ? 2.5 : 1.5;
  const grow = Math.max(0, (7 - Math.min(w, h)) / 2) + 1;
  context.strokeRect(x - grow, y - grow, w + 2 * grow, h + 2 * grow);
}

function drawMap() {
  const canvas = byId("map-canvas");
  const width = byId("map").clientWidth;
  if (!width) return;
  const style = getComputedStyle(document.documentElement);
  const colors = {
    soft: style.getPropertyValue("--soft").trim(),
    accent: style.getPropertyValue("--accent").trim(),
    line: style.getPropertyValue("--line").trim(),
    font: "11px system-ui, 'DejaVu Sans', sans-serif",
    bold: "bold 11px system-ui, 'DejaVu Sans', sans-serif",
  };
  const context = canvas.getContext("2d");
  context.font = colors.bold;
  const labels = layOut(context, width);
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(frame.total * scale);
  canvas.style.height = `${frame.total}px`;
  context.scale(scale, scale);
  drawCells(picture, state.head);
  context.imageSmoothingEnabled = isDownsampled && frame.width < map.columns;
  context.drawImage(picture, frame.left, frame.top, frame.width, frame.height);
  context.strokeStyle = colors.line;
  context.strokeRect(frame.left - 0.5, frame.top - 0.5, frame.width + 1, frame.height + 1);
  drawNames(context, labels, colors);
  drawMark(context, selectedRow(), selectedColumn(), colors.accent, true);
  if (hovered) drawMark(context, hovered.row, hovered.column, colors.accent, false);
}
