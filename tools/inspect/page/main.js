/* Puts the page together. */
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

function showFacts() {
  const parts = [
    plural(layer.heads, "head") + (layer.kv_heads !== layer.heads ? ` on ${plural(layer.kv_heads, "kv head")}` : "") +
      ` of ${layer.head_dim}`,
    `width ${layer.width}`,
    plural(layer.tokens, "token") + (layer.memory ? ` on ${layer.keys} of memory` : ""),
  ];
  if (layer.batch > 1) parts.push(`means over ${layer.batch} batch entries, maps of entry ${layer.entry}`);
  if (layer.causal !== "none") parts.push("causal");
  document.title = `${data.title} – Headwise`;
  byId("title").textContent = data.title;
  byId("facts").textContent = parts.join(" · ");
  byId("footer").textContent =
    `Made by headwise inspect ${data.headwise} on tier ${layer.isa}. This page is one file and loads nothing.`;
}

const readings = [
  ["Map", "A row for each query, a column for each key. The darker (on dark: the brighter) a cell, the more of its attention the query gives that key. The scale is drawn so that small weights are seen."],
  ["Entropy", "How widely a head looks, in nats: 0 is one key, ln(n) is n keys alike. A mean over all tokens, as are the weights below."],
  ["Largest weight", "What the strongest key of a token gets, and how far away that key is."],
  ["On itself, the first key, the one before, the one after", "What these keys get. Much on the first key often means that the head found nothing to look at."],
  ["Norm, share of output", "The size of what the head adds to the output, and its part of the output’s squared norm; all shares add up to 100 %. Below 0: the head works against the others."],
  ["Output without it", "The norm of the output’s change when this head alone is off, as a part of the norm of the output (without its bias)."],
  ["Cost", "The head’s part of the layer’s multiply-adds. Heads of one layer cost the same unless they share kv heads unevenly."],
  ["Rank", "How many directions the head’s logits and outputs span numerically, of those its sizes allow."],
  ["How alike", "Correlation of two heads’ maps: they look at the same keys. Cosine of contributions: they add the same. Heads with a cosine near 1 can often be merged."],
];

function showReadings() {
  const extra = isDownsampled
    ? [["Downsampled", `These maps have ${layer.tokens} by ${layer.keys} weights. A cell stands for ${map.row_size} queries by ${map.column_size} keys and shows what those queries give those keys together, on average, so that every row still adds up to 1. Strongest keys, pairs and all numbers come from the whole maps.`]]
    : [];
  byId("reading").append(...[...extra, ...readings].flatMap(([name, text]) =>
    [make("dt", {}, name), make("dd", {}, text)]));
}

showFacts();
buildTheme();
buildGallery();
buildMap();
buildPanels();
buildGates();
buildAlike();
buildTable();
showReadings();
/* Begin with the strongest link of the head that matters most. */
const matters = heads.reduce((best, head, h) => (head.share > heads[best].share ? h : best), 0);
const link = heads[matters].pairs[0] ??
  { query: layer.tokens - 1, key: Math.max(0, heads[matters].strongest[layer.tokens - 1]) };
select({ head: matters, query: link.query, key: link.key });
