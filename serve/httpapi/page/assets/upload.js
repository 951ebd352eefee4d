// Documents from files.

import { $, el, count } from "./dom.js";
import { base64, taken } from "./images.js";
import * as api from "./api.js";

const batchDocuments = 200, batchBytes = 2 << 20, largest = 12 << 20, errorsTold = 20;

// keepDigits keeps numbers that JavaScript would round as they were written, where the
// browser can.
const keepDigits = (name, value, context) =>
  typeof value === "number" && JSON.rawJSON && context?.source !== undefined && !Number.isSafeInteger(value) && String(value) !== context.source ? JSON.rawJSON(context.source) : value;

// ofLine is the document of a line of JSON.
export function ofLine(line) {
  const fields = JSON.parse(line, keepDigits);
  if (fields === null || typeof fields !== "object" || Array.isArray(fields)) throw new Error("no JSON object");
  const { _id, id, title, text, metadata, vector, ...rest } = fields;
  const name = _id ?? id;
  if (typeof name !== "string" && typeof name !== "number") throw new Error("no id; give it one as \"id\" or \"_id\"");
  for (const [what, value] of [["title", title], ["text", text]]) {
    if (value !== undefined && value !== null && typeof value !== "string") throw new Error(`${what} is no text`);
  }
  const nested = metadata !== null && typeof metadata === "object" && !Array.isArray(metadata);
  const all = nested ? { ...metadata, ...rest } : metadata === undefined ? rest : { ...rest, metadata };
  const d = { id: String(name), title: title ?? "", text: text ?? "" };
  if (Object.keys(all).length) d.metadata = all;
  if (Array.isArray(vector)) d.vector = vector;
  return d;
}

// ofText is the document of a file of text. A heading that Markdown begins with is its title.
export function ofText(name, text) {
  const d = { id: name, title: "", text: text.replace(/^\ufeff/, "") };
  const heading = /\.(md|markdown)$/i.test(name) && /^\s*# +(.+?) *#*\r?\n/.exec(d.text);
  if (heading) {
    d.title = heading[1];
    d.text = d.text.slice(heading[0].length).trimStart();
  }
  return d;
}

async function* lines(file) {
  const reader = file.stream().pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  let rest = "", n = 0;
  for (;;) {
    const { value, done } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = done ? "" : parts.pop();
    for (const line of parts) yield [++n, line];
    if (rest.length > largest) throw new Error(`line ${n + 1} is longer than 12 MiB`);
    if (done) return;
  }
}

// documents yields what the files hold, and calls wrong for what cannot be read.
async function* documents(files, wrong) {
  for (const file of files) {
    const name = file.webkitRelativePath || file.name;
    try {
      if (/\.(jsonl|ndjson)$/i.test(name)) {
        for await (const [n, line] of lines(file)) {
          if (!line.trim()) continue;
          try {
            yield [ofLine(line), `${name}:${n}`, line.length];
          } catch (e) {
            wrong(`${name}:${n}: ${e.message}`);
          }
        }
      } else if (taken() && file.type.startsWith("image/")) {
        const data = await base64(file);
        yield [{ id: name, title: name.replace(/^.*\/|\.[^.]*$/g, ""), data }, name, data.length];
      } else if (!/\.(txt|text|md|markdown)$/i.test(name)) {
        wrong(`${name}: not text, Markdown or lines of JSON; lexsem index reads more kinds`);
      } else if (file.size > largest) {
        wrong(`${name}: larger than 12 MiB; lexsem index takes it`);
      } else {
        const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
        if (text.trim()) yield [ofText(name, text), name, text.length];
        else wrong(`${name}: empty`);
      }
    } catch (e) {
      wrong(`${name}: ${e instanceof TypeError ? "no text in UTF-8" : e.message}`);
    }
  }
}

let running = null;

async function send(files, done) {
  running?.abort();
  const turn = (running = new AbortController());
  const bytes = [...files].reduce((s, f) => s + f.size, 0) || 1;
  let sent = 0, added = 0, replaced = 0, unchanged = 0, errors = 0;
  const list = $("upload-errors"), bar = $("progress"), status = $("upload-status");
  list.replaceChildren();
  status.textContent = "";
  bar.value = 0;
  bar.hidden = false;
  const wrong = (message) => {
    errors++;
    if (errors <= errorsTold) list.append(el("li", {}, message));
    else if (errors === errorsTold + 1) list.append(el("li", {}, "… and more"));
  };
  const tell = (end) => {
    const kept = unchanged ? `, ${count(unchanged, "unchanged", "unchanged")}` : "";
    status.textContent = `${end}${count(added, "document", "documents")} added, ${replaced} replaced${kept}${errors ? `, ${errors} refused` : ""}.`;
  };
  // put stores a batch; where one document is refused, the others go on by themselves.
  const put = async (batch) => {
    if (!batch.length) return;
    try {
      const r = await api.store(batch.map((b) => b[0]), turn.signal);
      added += r.added;
      replaced += r.replaced;
      unchanged += r.unchanged ?? 0;
    } catch (e) {
      if (e.name === "AbortError" || ![400, 413, 422].includes(e.status)) throw e;
      if (batch.length === 1) return wrong(`${batch[0][1]}: ${e.message}`);
      const half = batch.length >> 1;
      await put(batch.slice(0, half));
      await put(batch.slice(half));
    }
  };
  try {
    let batch = [], size = 0;
    for await (const d of documents(files, wrong)) {
      batch.push(d);
      size += d[2];
      if (batch.length < batchDocuments && size < batchBytes) continue;
      await put(batch);
      sent += size;
      bar.value = Math.min(1, sent / bytes);
      tell("");
      [batch, size] = [[], 0];
    }
    await put(batch);
    bar.value = 1;
    tell("Done: ");
  } catch (e) {
    if (e.name !== "AbortError") list.append(el("li", {}, e.message));
    tell("Stopped: ");
  }
  if (turn === running) {
    bar.hidden = true;
    running = null;
  }
  done();
}

export function prepare(done) {
  const dialog = $("upload"), drop = $("drop"), input = $("files");
  const take = (files) => {
    if (!files.length) return;
    if (!dialog.open) dialog.showModal();
    send([...files], done);
  };
  $("open-upload").addEventListener("click", () => dialog.showModal());
  $("upload-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => running?.abort());
  input.addEventListener("change", () => {
    take(input.files);
    input.value = "";
  });
  const hasFiles = (e) => e.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (e) => {
    if (!hasFiles(e)) return;
    e.preventDefault();
    drop.classList.add("over");
    if (!dialog.open) dialog.showModal();
  });
  addEventListener("dragleave", (e) => e.relatedTarget ?? drop.classList.remove("over"));
  addEventListener("drop", (e) => {
    if (!hasFiles(e)) return;
    e.preventDefault();
    drop.classList.remove("over");
    take(e.dataTransfer.files);
  });
}
