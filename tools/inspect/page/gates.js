/* Gates: with c_h what a head adds to the output, gates g change it by |sum (1 - g_h) c_h|, which
 * the stored inner products c_g . c_h tell. */
const gates = heads.map(() => 1);
let sliders = [];

function outputChange() {
  let sum = 0;
  for (let g = 0; g < heads.length; g++)
    for (let h = 0; h < heads.length; h++) sum += (1 - gates[g]) * (1 - gates[h]) * data.gram[g][h];
  return data.output_norm > 0 ? Math.sqrt(Math.max(0, sum)) / data.output_norm : 0;
}

function buildGates() {
  if (!data.order) {
    byId("change").textContent = "The output is not finite, so no head can be weighed.";
    for (const id of ["order", "all-on", "all-off"]) byId(id).disabled = true;
    return;
  }
  sliders = heads.map((head, h) => {
    const input = make("input", { type: "range", min: "0", max: "1", step: "0.05", value: "1",
      attributes: { "aria-label": `Gate of head ${head.head}`, "aria-describedby": `alone-${h}` } });
    const value = make("span", { className: "number" }, "1");
    input.addEventListener("input", () => {
      gates[h] = Number(input.value);
      showGates();
    });
    const row = make("div", { className: "gate" }, make("span", {}, headName(h)), input, value,
      make("small", { id: `alone-${h}` }, `off alone: output changes by ${percent(head.alone_off)}`));
    byId("gates").append(row);
    return { input, value };
  });
  byId("order").max = String(heads.length);
  byId("order").addEventListener("input", () => switchOff(Number(byId("order").value)));
  byId("all-on").addEventListener("click", () => switchOff(0));
  byId("all-off").addEventListener("click", () => switchOff(heads.length));
  themeListeners.push(showCurve);
  showGates();
}

/* The first n heads of the proposed order. */
function switchOff(n) {
  const off = new Set(data.order.slice(0, n).map((step) => step.head));
  heads.forEach((head, h) => (gates[h] = off.has(head.head) ? 0 : 1));
  showGates();
}

/* How many heads of the order are off where exactly the first ones are; -1 for any other mix. */
function placeInOrder() {
  let n = gates.filter((gate) => gate === 0).length;
  const off = new Set(data.order.slice(0, n).map((step) => step.head));
  return heads.every((head, h) => gates[h] === (off.has(head.head) ? 0 : 1)) ? n : -1;
}

function showGates() {
  const change = outputChange();
  const off = gates.filter((gate) => gate === 0).length;
  const place = placeInOrder();
  sliders.forEach(({ input, value }, h) => {
    input.value = String(gates[h]);
    value.textContent = String(gates[h]);
    thumbs[h].classList.toggle("off", gates[h] === 0);
  });
  if (place >= 0) byId("order").value = String(place);
  const last = place > 0 ? data.order[place - 1] : null;
  const like = last && last.like !== null ? ` Head ${last.head} resembles head ${last.like}.` : "";
  byId("order").setAttribute("aria-valuetext", place >= 0 ? `${place} heads off` : "another mix");
  byId("change").replaceChildren(make("strong", {}, percent(change)),
    `change of the output, ${off} of ${heads.length} heads off.${like}`);
  showCurve();
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/* The change against the number of heads that are off; the range input above is its axis. */
function showCurve() {
  const width = 320, height = 100, inset = 8, bottom = 78;
  const changes = [0, ...data.order.map((step) => step.change)];
  const most = Math.max(1, ...changes);
  const x = (n) => inset + (n * (width - 2 * inset)) / heads.length;
  const y = (change) => bottom - ((bottom - 8) * change) / most;
  const line = changes.map((change, n) => `${n ? "L" : "M"}${x(n).toFixed(1)} ${y(change).toFixed(1)}`);
  const place = placeInOrder();
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Change of the output with 0 to ${heads.length} heads off: ${changes.map(percent).join(", ")}` },
    svg("line", { class: "grid", x1: inset, x2: width - inset, y1: bottom, y2: bottom }),
    svg("line", { class: "grid", x1: inset, x2: width - inset, y1: y(1), y2: y(1) }),
    svg("text", { x: width - inset, y: y(1) - 3, "text-anchor": "end" }, "100 %"),
    svg("text", { x: inset, y: height - 3 }, "0 heads off"),
    svg("text", { x: width - inset, y: height - 3, "text-anchor": "end" }, `${heads.length}`),
    svg("path", { class: "line", d: line.join("") }));
  if (place >= 0)
    picture.append(svg("circle", { class: "here", cx: x(place), cy: y(changes[place]), r: 5 }));
  byId("curve").replaceChildren(picture);
}
