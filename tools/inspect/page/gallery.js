/* All heads as thumbnails: a list in which arrows move. */
let thumbs = [];

function buildGallery() {
  const gallery = byId("gallery");
  if (heads.length <= 12) gallery.classList.add("few");
  byId("gallery-name").textContent = heads.length === 1 ? "The head" : `${heads.length} heads`;
  thumbs = heads.map((head, h) => {
    const canvas = make("canvas", { attributes: { "aria-hidden": "true" } });
    if (!isDownsampled) canvas.classList.add("crisp");
    const thumb = make("div", {
      className: "thumb",
      title: `${headName(h)}: ${percent(head.share)} of the output`,
      attributes: { role: "option", "aria-selected": "false",
        "aria-label": `${headName(h)}, ${percent(head.share)} of the output` },
    }, canvas, make("div", { className: "line" },
      make("span", {}, heads.length <= 12 ? headName(h) : String(head.head)),
      make("span", {}, head.share === null ? "–" : `${Math.round(100 * head.share)} %`)));
    thumb.addEventListener("click", () => {
      select({ head: h });
      thumb.focus();
    });
    return thumb;
  });
  gallery.append(...thumbs);
  gallery.addEventListener("keydown", moveInGallery);
  drawGallery();
  themeListeners.push(drawGallery);
  listeners.push(markThumb);
}

function drawGallery() {
  thumbs.forEach((thumb, h) => drawCells(thumb.firstChild, h));
}

/* Thumbnails in a row, as they are laid out now. */
function galleryColumns() {
  const top = thumbs[0].offsetTop;
  const next = thumbs.findIndex((thumb) => thumb.offsetTop !== top);
  return next < 0 ? thumbs.length : next;
}

function moveInGallery(event) {
  const columns = galleryColumns();
  const target = {
    ArrowRight: state.head + 1,
    ArrowLeft: state.head - 1,
    ArrowDown: state.head + columns,
    ArrowUp: state.head - columns,
    Home: 0,
    End: heads.length - 1,
  }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  if (target < 0 || target >= heads.length) return;
  select({ head: target });
  thumbs[target].focus();
}

function markThumb(before) {
  thumbs.forEach((thumb, h) => {
    thumb.setAttribute("aria-selected", String(h === state.head));
    thumb.tabIndex = h === state.head ? 0 : -1;
  });
  if (before.head !== state.head) thumbs[state.head].scrollIntoView({ block: "nearest" });
}
