// Words of a query in a text: what to mark. And which part of a text to show.

import { el } from "./dom.js";

const wordPattern = /[\p{L}\p{N}_]+/gu;

const plain = new Set(("a an and are as at be been but by can did do does for from had has have he her his how i if in into is it its " +
  "me my no not of on or our she should so some than that the their them then there these they this to was we were what when where which " +
  "who why will with would you your der die das und ist ein eine zu den dem des mit von im le la les de du des et un une est en el los las y que").split(" "));

// wanted is the words of a query that mean something; all of them, if none does.
export function wanted(query) {
  const all = [...query.toLowerCase().matchAll(wordPattern)].map((m) => m[0]);
  const some = all.filter((w) => !plain.has(w));
  return some.length ? some : all;
}

// alike says that two words are one, or forms of one.
function alike(a, b) {
  if (a === b) return true;
  const short = Math.min(a.length, b.length);
  if (short < 4 || Math.abs(a.length - b.length) > 4 || /\d/.test(a + b)) return false;
  let same = 0;
  while (same < short && a[same] === b[same]) same++;
  return same >= Math.max(4, short - (short < 7 ? 1 : 2));
}

// places is where words of the query stand in a text: [from, to, index of the word].
export function places(text, words) {
  const out = [];
  for (const m of text.matchAll(wordPattern)) {
    const w = m[0].toLowerCase();
    const i = words.findIndex((x) => alike(w, x));
    if (i >= 0) out.push([m.index, m.index + m[0].length, i]);
  }
  return out;
}

// excerpt is the part of a text, of about size characters, in which its span is seen: its beginning where that holds it.
export function excerpt(text, [start, end], size) {
  if (text.length <= size * 1.2) return [0, text.length];
  let from = 0;
  if (end > size) {
    from = Math.max(0, Math.min(start - 60, text.length - size));
    const space = text.slice(from, start).search(/\s\S/);
    if (space >= 0) from += space + 1;
    else if (from > 0) from = start;
  }
  let to = Math.min(text.length, Math.max(from + size, end));
  const rest = text.slice(to).search(/\s/);
  if (rest >= 0 && rest < 30) to += rest;
  else if (rest < 0 && text.length - to < 30) to = text.length;
  return [from, to];
}

// marked is the part of a text from a to b as nodes, with what found names in marks.
export function marked(text, found, a = 0, b = text.length) {
  const nodes = [];
  let done = a;
  for (const [from, to] of found) {
    if (from < done || to > b) continue;
    nodes.push(text.slice(done, from), el("mark", {}, text.slice(from, to)));
    done = to;
  }
  nodes.push(text.slice(done, b));
  if (a > 0) nodes.unshift("… ");
  if (b < text.length) nodes.push(" …");
  return nodes;
}

// byteMap turns byte offsets of a text in UTF-8 into offsets of the string.
export function byteMap(text) {
  let at = 0, bytes = 0;
  return (wantedByte) => {
    if (wantedByte < bytes) at = bytes = 0;
    while (at < text.length && bytes < wantedByte) {
      const c = text.codePointAt(at);
      bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
      at += c < 0x10000 ? 1 : 2;
    }
    return at;
  };
}
