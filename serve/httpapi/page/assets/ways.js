// Ways of searching, side by side: a column each.

import { $, el, say, count } from "./dom.js";
import { hit } from "./hit.js";
import * as api from "./api.js";

export const modes = [["auto", "Meaning and words"], ["dense", "Meaning alone"], ["lexical", "Words alone"]];
export const variants = [["", "best variant"], ["none", "plain vector"], ["rlr", "rlr"], ["rlr-local", "rlr-local"], ["slr", "slr"], ["rlr+slr", "rlr+slr"], ["rlr+whiten", "rlr+whiten"]];
const most = 3, page = 10, lastPage = 100; // of a hybrid search
// what a new column shows, so that there is something to compare
const next = [{ mode: "auto", variant: "" }, { mode: "dense", variant: "none" }, { mode: "lexical", variant: "" }];

const ways = [];
let current = null; // { query, filter, image }
let onRefusal = () => {};

export function onFailure(f) {
  onRefusal = f;
}

export const described = () => ways.map((w) => `${w.mode}:${w.variant}`);

export function add(mode, variant) {
  if (ways.length >= most) return;
  const fallback = next.find((n) => !ways.some((w) => w.mode === n.mode && w.variant === n.variant)) ?? next[0];
  const w = { mode: mode ?? fallback.mode, variant: variant ?? fallback.variant, hits: [], asked: null };
  const select = (label, choices, value, set) => {
    const s = el("select", { "aria-label": label, onchange: () => { set(s.value); again(w); } }, choices.map(([v, text]) => el("option", { value: v }, text)));
    s.value = value;
    return s;
  };
  w.variantSelect = select("Variant", variants, w.variant, (v) => (w.variant = v));
  w.info = el("p", { class: "info" });
  w.for = el("p", { class: "for", hidden: true });
  w.list = el("ol", { class: "hits" });
  w.foot = el("div", { class: "foot" });
  w.remove = el("button", { type: "button", class: "remove", "aria-label": "Remove this way", title: "Remove", onclick: () => remove(w) }, "×");
  w.column = el("section", { class: "way", "aria-label": "Hits" },
    el("div", { class: "head" }, el("div", { class: "chosen" }, select("Mode", modes, w.mode, (v) => { w.mode = v; lexicalHasNoVector(w); }), w.variantSelect, w.remove), w.info, w.for),
    w.list, w.foot);
  ways.push(w);
  lexicalHasNoVector(w);
  $("results").append(w.column);
  arrange();
  if (current) again(w);
}

function lexicalHasNoVector(w) {
  w.variantSelect.disabled = w.mode === "lexical";
}

function remove(w) {
  w.asked?.abort();
  ways.splice(ways.indexOf(w), 1);
  w.column.remove();
  arrange();
  ways.forEach(draw);
  changed();
}

function arrange() {
  document.body.dataset.ways = $("results").dataset.ways = String(ways.length);
  $("compare").disabled = ways.length >= most;
  for (const w of ways) w.remove.hidden = ways.length === 1;
}

let changed = () => {};
export function onChange(f) {
  changed = f;
}

function again(w) {
  changed();
  if (current) run(w);
}

// search asks all ways; an empty query clears them.
export async function search(query, filter, image) {
  current = query.trim() || image ? { query, filter, image } : null;
  $("results").hidden = !current;
  if (!current) return;
  await Promise.all(ways.map((w) => run(w)));
}

async function run(w, offset = 0, exact = offset > 0 && Boolean(w.ask?.exact)) {
  w.asked?.abort();
  const asked = (w.asked = new AbortController());
  const ask = { query: current.query, filter: current.filter, image: current.image || undefined, mode: w.mode, variant: w.mode === "lexical" ? "" : w.variant, exact: exact || undefined };
  w.column.classList.add("busy");
  w.column.setAttribute("aria-busy", "true");
  w.foot.replaceChildren();
  try {
    const found = await api.search({ ...ask, spans: true, k: page, offset }, asked.signal);
    w.hits = offset ? w.hits.concat(found.hits) : found.hits;
    w.ask = ask;
    w.searched = found.for || ask.query;
    w.full = found.hits.length === page && (found.mode !== "hybrid" || w.hits.length < lastPage);
    w.failed = null;
    repaired(w, found.for);
    w.info.textContent = `${found.mode === "lexical" ? "BM25" : found.variant === "none" ? "plain vector" : found.variant} · ${found.took_ms.toFixed(1)} ms`;
    const read = [["only with", found.required], ["without", found.excluded], ["no document has", found.unmet]].filter(([, words]) => words);
    w.info.textContent += read.map(([what, words]) => ` · ${what} ${words.join(", ")}`).join("");
    const unlikely = offset === 0 && w.hits.length && w.hits.every((h) => h.probability < 0.1);
    if (unlikely) w.info.textContent += " · probably not here: no hit is likely to be relevant";
  } catch (e) {
    if (e.name === "AbortError") return;
    w.hits = [];
    w.info.textContent = "";
    repaired(w);
    w.failed = onRefusal(e) ? null : e.message;
    w.full = false;
    w.ask = null;
  }
  w.column.classList.remove("busy");
  w.column.removeAttribute("aria-busy");
  if (offset) more(w, offset);
  else draw(w);
  if (w === ways[0]) ways.slice(1).forEach(draw);
  say(w.failed ?? count(w.hits.length, "hit", "hits"));
}

// repaired shows what was searched for besides what was typed, and offers to search for that alone.
function repaired(w, text) {
  w.for.hidden = !text;
  w.for.replaceChildren(...(text ? ["for: ", el("b", {}, text), " ", el("button", { type: "button", onclick: () => run(w, 0, true) }, "only as typed")] : []));
}

// draw shows the hits of a way; beside the first one, how they moved.
function draw(w) {
  w.list.replaceChildren(...w.hits.map((h) => item(w, h)));
  foot(w);
}

// more shows those that came to the hits that are there.
function more(w, from) {
  w.list.append(...w.hits.slice(from).map((h) => item(w, h)));
  foot(w);
  w.list.children[from]?.querySelector(".name").focus();
}

function item(w, h) {
  const first = ways[0];
  const before = w === first || !first.hits.length ? undefined : (first.hits.find((x) => x.id === h.id)?.rank ?? 0);
  return hit(h, w.ask, w.searched, before);
}

function foot(w) {
  w.foot.replaceChildren();
  if (w.failed) w.foot.append(el("p", { class: "wrong", role: "alert" }, w.failed));
  else if (w.ask && !w.hits.length) w.foot.append(el("p", { class: "quiet" }, none(w)));
  else if (w.full) w.foot.append(el("button", { type: "button", class: "more", onclick: () => run(w, w.hits.length) }, "More hits"));
}

function none(w) {
  if (w.ask.filter) return "No hits. Perhaps no document meets the filter.";
  return w.mode === "lexical" ? "No hits: no document has a word of the query." : "No hits.";
}

// step moves the focus by rows and columns among the hits.
export function step(rows, columns) {
  const names = ways.map((w) => [...w.list.querySelectorAll(".name")]);
  let c = names.findIndex((n) => n.includes(document.activeElement));
  let r = c >= 0 ? names[c].indexOf(document.activeElement) + rows : 0;
  if (c < 0) {
    const inside = document.activeElement?.closest(".hit")?.querySelector(".name");
    c = Math.max(0, names.findIndex((n) => n.includes(inside)));
    if (inside) r = names[c].indexOf(inside) + rows;
  }
  if (columns) {
    let to = c + columns;
    while (names[to] && !names[to].length) to += columns;
    if (names[to]) c = to;
  }
  const to = names[c]?.[Math.max(0, Math.min(r, names[c].length - 1))];
  to?.focus();
  to?.closest(".hit").scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}
