// Why a document scores what it scores, drawn.

import { el, number, count } from "./dom.js";
import { picture } from "./images.js";

const termNames = { cosine: "meaning", dot: "dot product", l2: "−squared distance", coverage: "coverage by BM25", pair: "adjacent pairs", bm25: "BM25", tokens: "tokens answered", sparse: "weighed words", "near^1.25": "words near each other", "title^1.25": "words in the title" };
const termName = (name) => termNames[name] ?? (name.startsWith("presence") ? "words found" : name);
const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);

export function explanation(x) {
  return [sum(x), x.picture ? patches(x) : words(x), ties(x), tokens(x)].filter(Boolean);
}

// patches is what of an image was found, in place of its visual words.
function patches(x) {
  return el("section", {},
    el("h3", {}, "Patches"),
    el("figure", {}, picture(x.picture, "The image that was looked for, if it was one, and the one that was found"),
      el("figcaption", { class: "quiet" }, "The brighter a patch, the more it gave to the score by words.")));
}

// sum is the score as a bar of its summands.
function sum(x) {
  const parts = (x.terms ?? []).map((t) => ({ name: termName(t.name), adds: t.weight * t.value, kind: t.name.split("^")[0] }));
  const most = parts.reduce((s, p) => s + Math.max(0, p.adds), 0);
  const bar = el("div", { class: "sum", "aria-hidden": "true" });
  for (const p of parts) {
    if (p.adds <= 0) continue;
    const piece = el("span", { class: `part ${p.kind}` });
    piece.style.flexGrow = String(p.adds / most);
    bar.append(piece);
  }
  return el("section", {},
    el("h3", {}, x.rank > 0 ? `Score ${x.score.toFixed(3)}, rank ${x.rank}` : `Score ${x.score.toFixed(3)}, not among the candidates`),
    most > 0 && bar,
    parts.length > 0 && el("ul", { class: "legend" }, parts.map((p) =>
      el("li", {}, el("span", { class: `swatch ${p.kind}`, "aria-hidden": "true" }), `${p.name} `, el("b", {}, signed(p.adds))))),
    parts.length === 0 && el("p", { class: "quiet" }, "This score is by ranks, and no sum."),
    x.probability !== undefined && el("p", { class: "quiet" }, `Relevant with a probability of about ${Math.round(100 * x.probability)} %.`),
    x.mode !== "lexical" && el("p", { class: "quiet" },
      `Cosine ${x.cosine.toFixed(3)} of the query as the model reads it` + (x.variant === "none" ? "." : `, ${x.modulated.toFixed(3)} as its words turn it (${x.variant}).`)));
}

// words is which words of the query the passage has.
function words(x) {
  if (!x.words?.length) return null;
  const most = Math.max(...x.words.map((w) => w.most), 1e-9);
  const pairs = (x.pairs ?? []).filter((p) => p.found).map((p) => `${p.first} ${p.second}`);
  return el("section", {},
    el("h3", {}, "Words"),
    el("table", { class: "words" },
      el("thead", {}, el("tr", {}, ["word", "weight in the query", "here", "passages with it"].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", {}, x.words.map((w) => el("tr", { class: w.count ? "" : "missing" },
        el("th", { scope: "row" }, w.term),
        el("td", {}, meter(w.most / most), el("span", { class: "figure" }, `${Math.round(100 * w.most)} %`)),
        el("td", { class: "figure" }, w.count ? `${w.count} ×` : "missing"),
        el("td", { class: "figure" }, number.format(w.documents)))))),
    pairs.length > 0 && el("p", { class: "quiet" }, "Adjacent as in the query: ", pairs.join(", ")));
}

function meter(share) {
  const fill = el("span", {});
  fill.style.inlineSize = `${100 * share}%`;
  return el("span", { class: "meter", "aria-hidden": "true" }, fill);
}

// ties is which word of the passage answers each word of the query, by token states.
function ties(x) {
  if (!x.ties?.length) return null;
  return el("section", {},
    el("h3", {}, "What answers each word"),
    el("table", { class: "words ties" },
      el("thead", {}, el("tr", {}, ["word", "answered by", "how near", "weight in the query"].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", {}, x.ties.map((t) => el("tr", {},
        el("th", { scope: "row" }, t.word),
        el("td", {}, t.match),
        el("td", {}, meter(Math.max(0, Math.min(1, t.cosine))), el("span", { class: "figure" }, t.cosine.toFixed(2))),
        el("td", { class: "figure" }, `${Math.round(100 * t.weight)} %`))))),
    el("p", { class: "quiet" }, `Together ${x.token_score.toFixed(3)}, at least what the words found are worth.`));
}

// tokens is what modulation added for each token, left and right of nought.
function tokens(x) {
  if (!x.attributed || !x.tokens?.length) return null;
  const all = x.tokens.map((t) => ({ token: t.token || `token ${t.id}`, adds: t.shift + t.scale }))
    .sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds));
  const shown = all.filter((t) => Math.abs(t.adds) >= 5e-4).slice(0, 16);
  if (!shown.length) return null;
  const most = Math.abs(shown[0].adds);
  const rest = all.slice(shown.length).reduce((s, t) => s + t.adds, 0);
  return el("section", {},
    el("h3", {}, "What each token adds to the cosine"),
    el("ul", { class: "shares" }, shown.map((t) => {
      const bar = el("span", { class: t.adds < 0 ? "down" : "up" });
      bar.style.inlineSize = `${(50 * Math.abs(t.adds)) / most}%`;
      return el("li", {}, el("span", { class: "token" }, t.token), el("span", { class: "axis", "aria-hidden": "true" }, bar), el("span", { class: "figure" }, signed(t.adds)));
    })),
    el("p", { class: "quiet" }, `The plain vector gives ${(x.plain + x.bias).toFixed(3)}` + (Math.abs(rest) >= 5e-4 ? `, ${count(all.length - shown.length, "other token", "other tokens")} ${signed(rest)}.` : ".")));
}
