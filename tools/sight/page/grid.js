/* All heads as small maps: layers below one another, or sorted by a number, or those of a kind. */
const orders = {
  "layer and head": null,
  "change without it": (h) => [h.change, percent(h.change)],
  "norm": (h) => [h.norm, fixed(h.norm, 3)],
  "entropy": (h) => [h.entropy, fixed(h.entropy, 2)],
  "distance": (h) => [h.distance, fixed(h.distance, 1)],
  "weight on itself": (h) => [h.self, weightText(h.self)],
  "weight on previous": (h) => [h.previous, weightText(h.previous)],
  "weight on next": (h) => [h.next, weightText(h.next)],
  "weight on first": (h) => [h.first, weightText(h.first)],
  "weight on separators": (h) => [h.separator, weightText(h.separator)],
  "likeness of its twin": (h) => [h.correlation, fixed(h.correlation, 2)],
};
const kindNames = Object.keys(heads[0].kinds);
const kindOf = (h, kind) => (heads[h].kinds_mean || heads[h].kinds)[kind];
let shown = []; /* heads, in their order */
let thumbs = [];

function buildGrid() {
  thumbs = heads.map((head, h) => {
    const canvas = make("canvas", { attributes: { "aria-hidden": "true" } });
    const button = make("button", { type: "button", attributes: { role: "option", "data-head": h } },
      canvas, make("span", {}, `${head.layer}.${head.head}`));
    button.addEventListener("click", () => select({ head: h }));
    button.addEventListener("keydown", moveInGrid);
    return button;
  });
  byId("sort").append(...Object.keys(orders).map((name) => make("option", {}, name)));
  byId("kind").append(make("option", {}, "all"), ...kindNames.map((name) => make("option", {}, name)));
  for (const id of ["sort", "kind", "least"]) byId(id).addEventListener("input", arrange);
  themeListeners.push(drawThumbs);
  drawThumbs();
  listeners.push(() => {
    thumbs.forEach((thumb, h) => {
      thumb.setAttribute("aria-selected", String(h === state.head));
      thumb.tabIndex = h === state.head || (h === shown[0] && !shown.includes(state.head)) ? 0 : -1;
    });
  });
  arrange();
}

function drawThumbs() {
  thumbs.forEach((thumb, h) => drawCells(thumb.firstChild, h));
}

function columnsOfGrid() {
  if (byId("sort").selectedIndex === 0 && byId("kind").selectedIndex === 0)
    return Math.max(...heads.map((h) => h.head)) + 1;
  return Math.max(1, Math.floor(byId("grid").clientWidth / 78));
}

function arrange() {
  const order = orders[byId("sort").value];
  const kind = byId("kind").selectedIndex > 0 ? byId("kind").value : null;
  const least = Number(byId("least").value);
  byId("least-label").hidden = !kind;
  shown = heads.map((_, h) => h).filter((h) => !kind || (kindOf(h, kind) ?? -1) >= least);
  if (order) shown.sort((a, b) => (order(heads[b])[0] ?? -1) - (order(heads[a])[0] ?? -1) || a - b);
  thumbs.forEach((thumb, h) => {
    const head = heads[h];
    const value = order ? order(head)[1] : kind ? weightText(kindOf(h, kind) ?? 0) : "";
    thumb.lastChild.textContent = `${head.layer}.${head.head}${value ? ` · ${value}` : ""}`;
    thumb.setAttribute("aria-label", `${headName(h)} ${value}`);
    thumb.style.gridColumn = order || kind ? "" : String(head.head + 1);
    thumb.style.gridRow = order || kind ? "" : String(head.layer + 1);
  });
  const grid = byId("grid");
  grid.classList.toggle("ordered", !order && !kind);
  grid.style.maxWidth = order || kind ? "" : `${68 * columnsOfGrid()}px`;
  grid.style.gridTemplateColumns = `repeat(${columnsOfGrid()}, minmax(0, 1fr))`;
  grid.replaceChildren(...shown.map((h) => thumbs[h]));
  byId("grid-facts").textContent = order || kind ? `${shown.length} of ${heads.length} heads`
    : `A row for each of ${data.layers} layers, first layer first; arrows go to other heads`;
  select({});
}

function moveInGrid(event) {
  const columns = columnsOfGrid();
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  const at = shown.indexOf(state.head);
  if (!step || at < 0) return;
  event.preventDefault();
  const to = at + step;
  if (to < 0 || to >= shown.length) return;
  select({ head: shown[to] });
  thumbs[shown[to]].focus();
}
