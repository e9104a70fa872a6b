/* Puts the page together, and keeps its address: #layer-head. */
function readAddress() {
  const found = /^#(\d+)-(\d+)$/.exec(location.hash);
  const h = found ? heads.findIndex((x) => x.layer === Number(found[1]) && x.head === Number(found[2])) : -1;
  return h >= 0 ? h : null;
}

document.title = `${data.model} – Headwise`;
byId("title").textContent = data.model;
byId("facts").textContent = `${data.family}, ${data.layers} layers, ${heads.length} heads · ${data.n_tokens} tokens` +
  `${data.n_cut ? `, ${data.n_cut} cut off` : ""} · ${data.result} of ${data.result_size}`;
byId("text").textContent = [data.text, data.pair].filter((text) => text !== null).join(" — ");

buildTheme();
buildLines();
buildHead();
buildGrid();
listeners.push(() => history.replaceState(null, "", `#${heads[state.head].layer}-${heads[state.head].head}`));
addEventListener("hashchange", () => {
  const h = readAddress();
  if (h !== null && h !== state.head) select({ head: h });
});
addEventListener("resize", () => {
  byId("grid").style.gridTemplateColumns = `repeat(${columnsOfGrid()}, minmax(0, 1fr))`;
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select")) return;
  if (event.key === "[") select({ head: state.head - 1 });
  if (event.key === "]") select({ head: state.head + 1 });
});
const strongest = heads.reduce((best, head, h) => ((head.change ?? -1) > (heads[best].change ?? -1) ? h : best), 0);
select({ head: readAddress() ?? data.chosen ?? strongest });
