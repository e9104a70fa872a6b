/* Lines from words to the words that they look at. */
const LINE = 20; /* pixels of a word */
let groups = []; /* [first, behind] in cells of the head's map */
let marked = -1; /* the word that is pointed at */

/* Words, where cells are tokens and words are wanted; else cells. */
function makeGroups(h) {
  const n = sideOf(h), joins = byId("joined").checked && sizeOf(h) === 1;
  const made = [];
  for (let i = 0; i < n; i++) {
    if (joins && i > 0 && tokens[i].word === tokens[i - 1].word) made[made.length - 1][1] = i + 1;
    else made.push([i, i + 1]);
  }
  return made;
}

/* The weight a word gives another: a sum over the other's tokens, a mean over its own. */
function groupWeight(h, from, to) {
  let sum = 0;
  for (let i = from[0]; i < from[1]; i++)
    for (let j = to[0]; j < to[1]; j++) sum += weightAt(h, i, j);
  return sum / (from[1] - from[0]);
}

function groupName(h, group) {
  if (group[1] - group[0] === 1) return cellName(h, group[0]);
  return shorten(tokens.slice(group[0], group[1]).map((t) => visible(t.text)).join(""), 24);
}

function buildLines() {
  byId("joined").addEventListener("input", drawLines);
  listeners.push(drawLines);
}

function drawLines() {
  const h = state.head;
  groups = makeGroups(h);
  marked = -1;
  byId("lines-name").textContent = headName(h);
  byId("joined-label").hidden = sizeOf(h) > 1;
  const left = make("div"), right = make("div");
  groups.forEach((group, g) => {
    const word = make("div", { className: "word left", tabIndex: 0 }, groupName(h, group));
    for (const type of ["pointerenter", "focus"]) word.addEventListener(type, () => mark(g));
    word.addEventListener("pointerleave", () => mark(-1));
    left.append(word);
    right.append(make("div", { className: "word right" }, make("span", {}, groupName(h, group)), make("b")));
  });
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 100 ${LINE * groups.length}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  byId("lines").replaceChildren(left, svg, right);
  fillLines();
}

/* At most the strongest 600 lines, and none below 1 %. */
function fillLines() {
  const [, svg, right] = byId("lines").children;
  const found = [];
  groups.forEach((from, f) => {
    if (marked >= 0 && f !== marked) return;
    groups.forEach((to, t) => {
      const w = groupWeight(state.head, from, to);
      if (marked >= 0) right.children[t].lastChild.textContent = w < 0.005 ? "" : weightText(w);
      if (w >= 0.01) found.push([w, f, t]);
    });
  });
  if (marked < 0) for (const word of right.children) word.lastChild.textContent = "";
  found.sort((a, b) => b[0] - a[0]);
  svg.replaceChildren(...found.slice(0, 600).map(([w, f, t]) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const y = LINE * (f + 0.5), z = LINE * (t + 0.5);
    path.setAttribute("d", `M0 ${y}C40 ${y} 60 ${z} 100 ${z}`);
    path.setAttribute("stroke-opacity", String(Math.min(1, 0.05 + w)));
    path.setAttribute("vector-effect", "non-scaling-stroke");
    return path;
  }));
}

function mark(g) {
  const left = byId("lines").firstChild;
  marked = g;
  [...left.children].forEach((word, i) => word.classList.toggle("now", i === g));
  fillLines();
}
