// Images: the one that is looked for, and those that are found.

import { $, el } from "./dom.js";
import * as api from "./api.js";

const largest = 8 << 20, side = 320;
let chosen = ""; // the file in base64

export const asked = () => chosen;
// taken says whether the database holds images.
export const taken = () => !$("pick").hidden;

// base64 is the content of a file.
export function base64(file) {
  if (file.size > largest) throw new Error(`${file.name}: larger than 8 MiB`);
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => failed(new Error(`${file.name} cannot be read`)));
    reader.readAsDataURL(file);
  });
}

// show makes an element show a PNG in base64.
function show(img, data) {
  const url = URL.createObjectURL(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], { type: "image/png" }));
  img.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
  img.src = url;
  return img;
}

export const picture = (data, text) => show(el("img", { alt: text }), data);

// thumbnail is the image of a document, asked for when it comes into sight.
export function thumbnail(id, name) {
  const img = el("img", { alt: name, class: "thumbnail" });
  const sight = new IntersectionObserver(async (seen) => {
    if (!seen.some((s) => s.isIntersecting)) return;
    sight.disconnect();
    try {
      show(img, (await api.document(id, side)).picture);
    } catch (e) {
      img.replaceWith(el("p", { class: "quiet" }, e.message));
    }
  });
  sight.observe(img);
  return img;
}

// offer shows what asks with an image where the database holds some.
export function offer(images) {
  $("pick").hidden = !images;
  $("files").accept = images ? "image/*,.jsonl,.ndjson" : ".txt,.text,.md,.markdown,.jsonl,.ndjson";
  $("query").placeholder = images ? "What the images show, or words of their titles" : "A question, or the very words";
  if (!images) forget();
}

export function forget() {
  chosen = "";
  $("image").value = "";
  $("asked-image").hidden = true;
  $("asked-image").removeAttribute("src");
}

// prepare calls ask when an image was chosen or pasted, wrong with what kept one from it.
export function prepare(ask, wrong) {
  const take = async (file) => {
    if (!file || !taken()) return;
    try {
      chosen = await base64(file);
    } catch (e) {
      return wrong(e.message);
    }
    const url = URL.createObjectURL(file), img = $("asked-image");
    img.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
    img.alt = file.name;
    img.src = url;
    img.hidden = false;
    $("query").value = "";
    ask();
  };
  $("image").addEventListener("change", () => take($("image").files[0]));
  $("query").addEventListener("input", forget);
  addEventListener("paste", (e) => take([...(e.clipboardData?.files ?? [])].find((f) => f.type.startsWith("image/"))));
}
