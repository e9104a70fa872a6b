/* The selected token and the selected head. */
const MOST_KEYS = 8;

function buildPanels() {
  const input = byId("token-number");
  input.max = String(layer.tokens - 1);
  input.addEventListener("input", () => {
    if (input.value !== "" && input.validity.valid) select({ query: Number(input.value) });
  });
  byId("token-heads").append(...heads.map((head, h) => {
    const button = make("button", { type: "button" }, make("span", {}, headName(h)),
      make("span", { className: "label" }), make("span", { className: "number" }));
    button.addEventListener("click", () => {
      const key = head.strongest[state.query];
      select(key < 0 ? { head: h } : { head: h, key });
    });
    return make("li", {}, button);
  }));
  listeners.push(() => {
    showToken();
    showHead();
  });
}

function showToken() {
  const input = byId("token-number");
  byId("token-name").textContent = `Token ${tokenName(state.query)}`;
  if (input.value !== String(state.query)) input.value = String(state.query);
  showKeys();
  const list = byId("token-heads").children;
  heads.forEach((head, h) => {
    const button = list[h].firstChild;
    const key = head.strongest[state.query];
    button.children[1].textContent = key < 0 ? "no key" : keyName(key);
    button.children[2].textContent = key < 0 ? "" : weightText(head.strongest_weight[state.query] ?? NaN);
    if (h === state.head) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
}

function showKeys() {
  const row = selectedRow();
  const found = [];
  for (let column = 0; column < map.columns; column++) {
    const weight = weightAt(state.head, row, column);
    if (weight > 0) found.push({ column, weight });
  }
  found.sort((a, b) => b.weight - a.weight);
  byId("keys-name").textContent = map.row_size > 1
    ? `Where tokens ${rowName(row)} look in ${headName(state.head).toLowerCase()}`
    : `Where it looks in ${headName(state.head).toLowerCase()}`;
  byId("token-keys").replaceChildren(...found.slice(0, MOST_KEYS).map(({ column, weight }) => {
    const bar = make("i");
    bar.style.width = `${100 * weight}%`;
    return make("li", {}, make("span", { className: "label", title: columnName(column) }, columnName(column)),
      make("span", { className: "bar" }, bar), make("span", { className: "number" }, weightText(weight)));
  }));
}

/* Of a head: what it is called in the table, and its text. */
const figures = [
  ["Entropy", "nats", (h) => fixed(h.entropy, 3), "entropy"],
  ["Largest weight", "mean", (h) => fixed(h.largest, 3), "largest"],
  ["… how far away", "tokens", (h) => fixed(h.largest_distance, 1), "largest_distance"],
  ["On itself", "", (h) => fixed(h.self, 3), "self"],
  ["On the first key", "", (h) => fixed(h.first, 3), "first"],
  ["On the one before", "", (h) => fixed(h.previous, 3), "previous"],
  ["On the one after", "", (h) => fixed(h.next, 3), "next"],
  ["Mean distance", "tokens", (h) => fixed(h.mean_distance, 1), "mean_distance"],
  ["Norm", "", (h) => fixed(h.norm, 3), "norm"],
  ["Share of output", "", (h) => percent(h.share), "share"],
  ["Output without it", "", (h) => percent(h.alone_off), "alone_off"],
  ["Cost", "", (h) => percent(h.cost), "cost"],
  ["Rank of logits", "", (h) => rankText(h.logit_rank, h.most_logit_rank), "logit_rank"],
  ["Rank of outputs", "", (h) => rankText(h.output_rank, h.most_output_rank), "output_rank"],
];

function showHead() {
  const head = heads[state.head];
  byId("head-name").textContent = `${headName(state.head)} in numbers`;
  byId("head-facts").replaceChildren(...figures.flatMap(([name, unit, text]) =>
    [make("dt", {}, unit ? `${name}, ${unit}` : name), make("dd", {}, text(head))]));
  showProfile(head);
  byId("pairs-name").hidden = head.pairs.length === 0;
  byId("pairs").replaceChildren(...head.pairs.map((pair) => {
    const button = make("button", { type: "button" },
      make("span", {}, `${tokenName(pair.query)} → ${keyName(pair.key)}`),
      make("span", { className: "number" }, weightText(pair.weight ?? NaN)));
    button.addEventListener("click", () => select({ query: pair.query, key: pair.key }));
    return make("li", {}, button);
  }));
}

function binName([low, high]) {
  const [near, far] = low < 0 ? [-high, -low] : [low, high];
  return `${low < 0 ? "+" : ""}${near === far ? near : `${near}–${far}`}`;
}

function showProfile(head) {
  const most = Math.max(...head.profile, 1e-9);
  const isCrowded = data.bins.length > 9;
  const words = data.bins.map((bin, i) =>
    `${bin[0] < 0 ? `${binName(bin).slice(1)} ahead` : binName(bin)}: ${percent(head.profile[i])}`);
  byId("profile").setAttribute("aria-label", `Weight by distance of the key. ${words.join(", ")}`);
  byId("profile").replaceChildren(...data.bins.map((bin, i) => {
    const bar = make("i");
    bar.style.height = `${Math.max(0, (74 * (head.profile[i] ?? 0)) / most)}px`;
    const name = isCrowded ? binName(bin).split("–")[0] : binName(bin);
    return make("div", { title: words[i] }, bar,
      make("span", {}, isCrowded && i % 2 && bin[0] ? "" : name));
  }));
}
