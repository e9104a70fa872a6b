/* One head: its map large, its numbers, its likes and its kinds. */
function buildHead() {
  const box = byId("map"), canvas = byId("map-canvas");
  const at = (event) => {
    const rect = canvas.getBoundingClientRect(), side = sideOf(state.head);
    return [Math.floor(((event.clientY - rect.top) / rect.height) * side),
      Math.floor(((event.clientX - rect.left) / rect.width) * side)];
  };
  canvas.addEventListener("pointermove", (event) => read(...at(event)));
  canvas.addEventListener("pointerleave", () => read(state.row, state.column));
  canvas.addEventListener("pointerdown", (event) => {
    const [row, column] = at(event);
    Object.assign(state, { row, column });
    drawHeadMap();
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const side = sideOf(state.head);
    state.row = Math.max(0, Math.min(side - 1, state.row + step[0]));
    state.column = Math.max(0, Math.min(side - 1, state.column + step[1]));
    drawHeadMap();
  });
  themeListeners.push(drawHeadMap);
  listeners.push(() => {
    drawHeadMap();
    fillNumbers();
    fillTwins();
    fillKinds();
  });
}

function read(row, column) {
  const h = state.head, side = sideOf(h);
  if (row < 0 || column < 0 || row >= side || column >= side) return;
  byId("reading").textContent =
    `${cellName(h, row)} → ${cellName(h, column)}: ${weightText(weightAt(h, row, column))}`;
}

function drawHeadMap() {
  const canvas = byId("map-canvas"), h = state.head, side = sideOf(h), levels = levelsOf(h);
  const scale = Math.max(1, Math.floor(640 / side)); /* so that a cell can have a frame */
  canvas.width = canvas.height = side * scale;
  const context = canvas.getContext("2d");
  for (let i = 0; i < side * side; i++) {
    context.fillStyle = css(ramp[levels[i]]);
    context.fillRect((i % side) * scale, Math.floor(i / side) * scale, scale, scale);
  }
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  context.lineWidth = Math.max(2, scale / 8);
  context.strokeRect(state.column * scale, state.row * scale, scale, scale);
  const size = sizeOf(h);
  byId("map-facts").textContent = size > 1 ? `a cell is ${size} by ${size} tokens; headwise inspect --head ${heads[h].layer}.${heads[h].head} shows each`
    : `${data.n_tokens} tokens; rows look at columns`;
  read(state.row, state.column);
}

function fillNumbers() {
  const head = heads[state.head];
  byId("head-name").textContent = `${headName(state.head)} in numbers`;
  const lost = data.result === "vector" ? "the vector changes without it" : "the logits change without it";
  const rows = [
    [lost, percent(head.change)],
    ["cosine with the whole result", fixed(head.cosine, 5)],
    ...(data.result === "vector" ? [] : [["the largest logit moves by", fixed(head.delta, 4)]]),
    ["norm of what it writes", fixed(head.norm, 3)],
    ["that of the states", percent(head.residual)],
    ["share of its layer’s writing", percent(head.share)],
    ["entropy (nats)", fixed(head.entropy, 3)],
    ["mean distance (tokens)", fixed(head.distance, 2)],
    ["largest weight", weightText(head.largest)],
    ["weight on itself", weightText(head.self)],
    ["on the previous token", weightText(head.previous)],
    ["on the next", weightText(head.next)],
    ["on the first", weightText(head.first)],
    ["on separators", weightText(head.separator)],
  ];
  byId("numbers").replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function fillTwins() {
  const head = heads[state.head];
  const of = (twin) => heads.findIndex((h) => h.layer === twin[0] && h.head === twin[1]);
  const others = heads.map((h, i) => [i, h]).filter(([, h]) => h.twin && of(h.twin) === state.head);
  const found = head.twin ? [[of(head.twin), head.correlation]] : [];
  for (const [i, h] of others) if (!found.some(([j]) => j === i)) found.push([i, h.correlation]);
  byId("twins").replaceChildren(...found.slice(0, 6).map(([i, r]) => {
    const button = make("button", { type: "button" }, make("span", {}, headName(i)), make("span", {}, fixed(r, 3)));
    button.addEventListener("click", () => select({ head: i }));
    return make("li", {}, button);
  }));
}

function fillKinds() {
  const head = heads[state.head];
  byId("kinds-name").textContent = data.n_texts > 0 ? `Kinds, over ${data.n_texts} texts` : "Kinds, in this text";
  byId("kinds").replaceChildren(...kindNames.map((kind) => {
    const value = kindOf(state.head, kind);
    const bar = make("i");
    bar.style.width = `${100 * (value ?? 0)}%`;
    const spread = data.n_texts > 0 && head.kinds_spread[kind] !== null ? `mean ${fixed(value, 3)}, spread ${fixed(head.kinds_spread[kind], 3)}` : "";
    return make("li", { title: spread }, make("span", { className: "label" }, kind),
      make("span", { className: "bar" }, bar), make("span", { className: "number" }, value === null ? "–" : weightText(value)));
  }));
}
