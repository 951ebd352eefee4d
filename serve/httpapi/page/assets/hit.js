// One hit, and what opens below it.

import { el } from "./dom.js";
import { wanted, places, excerpt, marked, byteMap } from "./words.js";
import { explanation } from "./explain.js";
import { thumbnail } from "./images.js";
import * as api from "./api.js";

// of files, shown in the hit's place: all in the field _file, or as earlier builds have stored them
const fileFields = new Set(["path", "root", "time", "kind", "line", "line_end"]);
let serial = 0;

// hit makes the item of one hit. ask is the search that found it, searched what it looked for; before is its rank in the
// first way, undefined where this is the first way, 0 where that has not found it.
export function hit(h, ask, searched, before) {
  const words = wanted(searched);
  const id = `hit-${++serial}`;
  const found = places(h.text, words);
  const [from, to] = excerpt(h.text, spanOf(h), 360);
  const image = Boolean(h.media); // whose text are its visual words
  const passage = image ? el("p", { class: "passage" }, thumbnail(h.id, h.title || h.id)) : el("p", { class: "passage" }, marked(h.text, found, from, to));
  const fill = (...parts) => image || passage.replaceChildren(...marked(h.text, ...parts));
  const name = h.title || h.path || h.id;
  const why = el("div", { class: "why", id, role: "region", "aria-label": `Why ${name}`, hidden: true });
  const button = el("button", { type: "button", class: "name", "aria-expanded": "false", "aria-controls": id }, marked(name, places(name, words)));
  const item = el("li", { class: "hit" },
    el("div", { class: "rank", "aria-label": `Rank ${h.rank}` }, String(h.rank), move(h.rank, before)),
    el("div", { class: "body" },
      el("div", { class: "line" }, button, el("span", { class: "score", title: scoreTitle(h) }, h.score.toFixed(3))),
      place(h), passage, fields(h), why));

  let loading = null;
  async function open() {
    button.setAttribute("aria-expanded", "true");
    item.classList.add("open");
    why.hidden = false;
    fill(found);
    if (why.dataset.done) return;
    why.replaceChildren(el("p", { class: "quiet" }, "Looking into it …"));
    why.setAttribute("aria-busy", "true");
    loading = new AbortController();
    try {
      const x = await api.explain({ ...ask, id: h.id, picture: image }, loading.signal);
      why.replaceChildren(...explanation(x));
      why.dataset.done = "yes";
      if (x.chunk === h.chunk) fill(exact(h, x));
    } catch (e) {
      if (e.name !== "AbortError") why.replaceChildren(el("p", { class: "wrong", role: "alert" }, e.message));
    }
    why.removeAttribute("aria-busy");
  }
  function close() {
    loading?.abort();
    button.setAttribute("aria-expanded", "false");
    item.classList.remove("open");
    why.hidden = true;
    fill(found, from, to);
  }
  button.addEventListener("click", () => (why.hidden ? open() : close()));
  item.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || why.hidden) return;
    e.stopPropagation();
    close();
    button.focus();
  });
  return item;
}

// spanOf is the part of a hit's text that answers, as offsets of the string; its beginning where none is known.
function spanOf(h) {
  const at = byteMap(h.text);
  return h.span ? [at(h.span.start - h.start), at(h.span.end - h.start)] : [0, 0];
}

// lines is where a hit stands in its file: its span, else all of it.
function lines(h) {
  const [from, to] = h.span?.first_line ? [h.span.first_line, h.span.last_line] : h.lines;
  return from === to ? `${from}` : `${from}-${to}`;
}

// exact is the places that the server names, which knows stems and compounds; those of the
// page where it names none.
function exact(h, x) {
  const at = byteMap(h.text);
  const out = (x.matches ?? []).filter((m) => m.field === "text" && m.start >= h.start && m.end <= h.end)
    .map((m) => [at(m.start - h.start), at(m.end - h.start)]);
  return out.length ? out : places(h.text, wanted(x.for || x.query));
}

function move(rank, before) {
  if (before === undefined || before === rank) return null;
  if (before === 0) return el("span", { class: "move new", title: "not among the hits of the first way" }, "new");
  const up = before > rank;
  return el("span", { class: up ? "move up" : "move down", title: `rank ${before} in the first way` }, `${up ? "↑" : "↓"}${Math.abs(before - rank)}`);
}

function scoreTitle(h) {
  const likely = h.probability === undefined ? "" : `relevant with a probability of about ${Math.round(100 * h.probability)} %, `;
  return `${likely}cosine ${h.cosine.toFixed(3)}, words found ${Math.round(100 * h.presence)} %, adjacent pairs ${Math.round(100 * h.pair)} %, coverage ${h.coverage.toFixed(3)}`;
}

// place is where the hit stands: its file and lines, and the page or the headings there, else the document's id, if the name
// above it does not say that already.
function place(h) {
  const parts = [];
  if (h.path) parts.push(h.lines ? `${h.path}:${lines(h)}` : h.path);
  else if (h.title && h.title !== h.id) parts.push(h.id);
  if (h.symbol) parts.push(h.symbol);
  if (h.chunks > 1) parts.push(`passage ${h.chunk + 1} of ${h.chunks}`);
  if (h.duplicates?.length) parts.push(`and nearly the same: ${h.duplicates.join(", ")}`);
  return parts.length ? el("p", { class: "place" }, parts.join(" · ")) : null;
}

function fields(h) {
  const metadata = h.metadata ?? {};
  const own = (name) => !h.path || (metadata._file?.path ? name !== "_file" : !fileFields.has(name));
  const shown = Object.entries(metadata).filter(([name]) => own(name)).slice(0, 8);
  if (!shown.length) return null;
  return el("dl", { class: "fields" }, shown.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return el("div", {}, el("dt", {}, name), el("dd", {}, text.length > 80 ? text.slice(0, 80) + "…" : text));
  }));
}
