// The page: what is asked, where it is kept, and the keyboard.

import { $, el, count } from "./dom.js";
import * as api from "./api.js";
import * as ways from "./ways.js";
import * as upload from "./upload.js";
import * as images from "./images.js";

const query = $("query"), filter = $("filter"), filterError = $("filter-error"), idle = $("idle");

// What is asked stands in the address, so that it can be kept, and gone back to.
function read() {
  const p = new URLSearchParams(location.search);
  query.value = p.get("q") ?? "";
  filter.value = p.get("f") ?? "";
  return p.getAll("way").slice(0, 3).map((w) => w.split(":"));
}

function write(push) {
  const p = new URLSearchParams();
  if (query.value.trim()) p.set("q", query.value);
  if (filter.value.trim()) p.set("f", filter.value);
  const all = ways.described();
  if (all.length > 1 || all[0] !== "auto:") for (const w of all) p.append("way", w);
  const to = p.size ? `?${p}` : location.pathname;
  if (to === (location.search || location.pathname)) return;
  history[push ? "pushState" : "replaceState"](null, "", to);
}

async function ask() {
  filterError.hidden = true;
  filter.removeAttribute("aria-invalid");
  const text = query.value, image = images.asked();
  document.title = text.trim() ? `${text.trim().slice(0, 60)} · lexsem` : "lexsem";
  idle.hidden = Boolean(text.trim() || image);
  document.body.classList.toggle("asked", idle.hidden);
  await ways.search(text, filter.value.trim(), image);
}

// refused shows an error where it belongs, and says whether it has one.
function refused(e) {
  if (e.status === 401) {
    needKey(api.key.get() ? "The server does not take this key." : "The server asks for a key.");
    return false;
  }
  if (e.code !== "invalid_filter" && e.param !== "filter") return false;
  filterError.textContent = e.message;
  filterError.hidden = false;
  filter.setAttribute("aria-invalid", "true");
  const at = /character (\d+)/.exec(e.message);
  if (at && document.activeElement !== query) {
    filter.focus();
    filter.setSelectionRange(Number(at[1]) - 1, Number(at[1]));
  }
  return true;
}

async function facts() {
  try {
    const s = await api.stats();
    $("facts").textContent = [count(s.documents, "document", "documents"), s.model].filter(Boolean).join(" · ");
    images.offer(s.media === "image/");
    rest(s.documents);
  } catch (e) {
    $("facts").textContent = "";
    if (e.status === 401) refused(e);
    rest(-1, e.message);
  }
}

// rest is what stands where no query is asked.
function rest(documents, wrong) {
  if (documents === 0) {
    idle.replaceChildren(el("p", { class: "large" }, "Nothing is stored yet."),
      el("p", {}, el("button", { type: "button", onclick: () => $("upload").showModal() }, "Add documents"), " or run ", el("code", {}, "lexsem index --db DIR PATH"), " while no server holds the database."));
  } else if (wrong) {
    idle.replaceChildren(el("p", { class: "wrong", role: "alert" }, wrong));
  } else {
    idle.replaceChildren(el("p", { class: "large" }, "Find passages by what they mean, and by the words they use."),
      el("p", {}, "Open a hit to see what its score is made of. Compare ways of searching side by side. Press ? for the keyboard."));
  }
}

const collection = $("collection");

// collections fills the list of them; the chosen one stays so, if it is still there.
async function collections() {
  try {
    const { collections: all } = await api.collections();
    const chosen = collection.value;
    collection.replaceChildren(el("option", { value: "" }, "main database"), ...all.map((c) => el("option", { value: c.name }, c.name)));
    collection.hidden = !all.length;
    collection.value = all.some((c) => c.name === chosen) ? chosen : "";
    if (collection.value !== chosen) choose();
  } catch {
    // a server without collections, or one that asks for a key, which facts tells
  }
}

function choose() {
  images.forget();
  api.use(collection.value);
  facts();
  ask();
}

function needKey(why) {
  $("key-why").textContent = why + " It stays in this tab, and is forgotten when the tab is closed.";
  if (!$("key").open) $("key").showModal();
}

function keys() {
  const value = $("key-value"), dialog = $("key");
  const set = (k) => {
    api.key.set(k);
    value.value = "";
    start();
  };
  $("open-key").addEventListener("click", () => {
    $("key-why").textContent = (api.key.get() ? "A key is in use." : "A server with keys asks for one.") + " It stays in this tab, and is forgotten when the tab is closed.";
    dialog.showModal();
  });
  $("key-form").addEventListener("submit", () => set(value.value.trim()));
  $("key-forget").addEventListener("click", () => {
    dialog.close();
    set("");
  });
  $("key-close").addEventListener("click", () => dialog.close());
}

function keyboard() {
  $("open-help").addEventListener("click", () => $("help").showModal());
  $("help-close").addEventListener("click", () => $("help").close());
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    const typing = e.target.matches("input, select, textarea");
    if (e.key === "Escape") {
      if (e.target === query) query.blur();
      else query.focus();
      e.preventDefault(); // a search field would be emptied
      return;
    }
    if (e.key === "ArrowDown" && e.target === query) return go(e, 0, 0);
    if (typing) return;
    switch (e.key) {
      case "/":
        e.preventDefault();
        query.focus();
        query.select();
        break;
      case "j": go(e, 1, 0); break;
      case "k": go(e, -1, 0); break;
      case "h": go(e, 0, -1); break;
      case "l": go(e, 0, 1); break;
      case "?": $("help").showModal(); break;
    }
  });
}

function go(e, rows, columns) {
  e.preventDefault();
  ways.step(rows, columns);
}

function start() {
  facts();
  collections();
  ask();
}

for (const [mode, variant = ""] of read()) {
  if (ways.modes.some(([m]) => m === mode) && ways.variants.some(([v]) => v === variant)) ways.add(mode, variant);
}
if (!ways.described().length) ways.add("auto", "");
ways.onFailure(refused);
ways.onChange(() => write(false));
$("compare").addEventListener("click", () => {
  ways.add();
  write(false);
});
$("form").addEventListener("submit", (e) => {
  e.preventDefault();
  write(true);
  ask();
});
collection.addEventListener("change", choose);
filter.addEventListener("change", () => (query.value.trim() || images.asked()) && $("form").requestSubmit());
addEventListener("popstate", () => {
  read();
  ask();
});
upload.prepare(() => {
  facts();
  if (query.value.trim()) ask();
});
images.prepare(() => {
  write(true);
  ask();
}, (wrong) => rest(-1, wrong));
keys();
keyboard();
start();
