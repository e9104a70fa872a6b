/* Pairs of heads, and the table of all numbers. */
const MOST_ALIKE = 8;
const matrices = ["correlation", "cosine"];

function buildAlike() {
  if (heads.length < 2) {
    byId("alike-name").parentElement.hidden = true;
    return;
  }
  drawMatrices();
  themeListeners.push(drawMatrices);
  listeners.push(markMatrices);
  const pairs = [];
  for (let g = 0; g < heads.length; g++)
    for (let h = g + 1; h < heads.length; h++) pairs.push([g, h]);
  const strength = ([g, h]) => Math.max(data.correlation[g][h] ?? -2, Math.abs(data.cosine[g][h] ?? 0));
  pairs.sort((a, b) => strength(b) - strength(a));
  byId("alike").append(...pairs.slice(0, MOST_ALIKE).map(([g, h]) => {
    const button = make("button", { type: "button" },
      make("span", {}, `Heads ${heads[g].head} and ${heads[h].head}`),
      make("span", { className: "number" },
        `maps ${fixed(data.correlation[g][h], 2)}, contributions ${fixed(data.cosine[g][h], 2)}`));
    button.addEventListener("click", () => select({ head: state.head === g ? h : g }));
    return make("li", {}, button);
  }));
}

function drawMatrices() {
  for (const name of matrices) byId(name).replaceChildren(matrixTable(name));
  markMatrices();
}

/* ".57", "-.04", "0" */
function matrixText(value) {
  const text = fixed(value, 2);
  return Number(text) === 0 ? "0" : text.replace(/^(-?)0\./, "$1.");
}

function matrixTable(name) {
  const isDense = heads.length > 16;
  const header = (h, scope) => make("th", { attributes: { scope, "data-head": h } },
    isDense && h % 4 ? make("span", { className: "unseen" }, String(heads[h].head)) : String(heads[h].head));
  const table = make("table", { className: isDense ? "matrix dense" : "matrix",
    attributes: { "aria-label": name === "cosine" ? "Cosine of contributions" : "Correlation of maps" } },
    make("thead", {}, make("tr", {}, make("td"), ...heads.map((_, h) => header(h, "col")))));
  const body = make("tbody");
  heads.forEach((_, g) => {
    const row = make("tr", {}, header(g, "row"));
    heads.forEach((__, h) => {
      const value = data[name][g][h];
      const cell = make("td", { title: `Heads ${heads[g].head} and ${heads[h].head}: ${fixed(value, 2)}` },
        g === h ? "" : matrixText(value));
      if (g !== h && value !== null) {
        const color = divergingColor(value);
        cell.style.background = color.background;
        cell.style.color = color.text;
      }
      cell.addEventListener("click", () => select({ head: state.head === g ? h : g }));
      row.append(cell);
    });
    body.append(row);
  });
  table.append(body);
  return table;
}

function markMatrices() {
  for (const name of matrices)
    for (const header of byId(name).querySelectorAll("th"))
      header.classList.toggle("now", Number(header.dataset.head) === state.head);
}

/* The table: a click on a column's name sorts by it, and a second one the other way. */
let sorting = { field: "head", isRising: true };

function buildTable() {
  const columns = [["Head", "", null, "head"], ...figures];
  const buttons = columns.map(([name, unit, , field]) => {
    const button = make("button", { type: "button" }, unit === "nats" ? `${name}, nats` : name);
    button.addEventListener("click", () => {
      sorting = { field, isRising: sorting.field === field ? !sorting.isRising : field === "head" };
      fillTable(columns);
    });
    return make("th", { attributes: { scope: "col", "data-field": field } }, button);
  });
  byId("table").append(make("thead", {}, make("tr", {}, ...buttons)), make("tbody"));
  fillTable(columns);
  listeners.push(markRow);
}

function fillTable(columns) {
  const { field, isRising } = sorting;
  const order = heads.map((_, h) => h);
  order.sort((a, b) => ((heads[a][field] ?? -Infinity) - (heads[b][field] ?? -Infinity)) * (isRising ? 1 : -1));
  for (const header of byId("table").querySelectorAll("thead th"))
    if (header.dataset.field === field) header.setAttribute("aria-sort", isRising ? "ascending" : "descending");
    else header.removeAttribute("aria-sort");
  byId("table").lastChild.replaceChildren(...order.map((h) => {
    const row = make("tr", { attributes: { "data-head": h } }, make("th", { attributes: { scope: "row" } }, String(heads[h].head)),
      ...columns.slice(1).map(([, , text]) => make("td", {}, text(heads[h]))));
    row.addEventListener("click", () => select({ head: h }));
    return row;
  }));
  markRow();
}

function markRow() {
  for (const row of byId("table").querySelectorAll("tbody tr"))
    if (Number(row.dataset.head) === state.head) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
}
