// What is asked of the server. Paths are relative: the page may stand below a prefix.

const keyName = "lexsem-key";
let collection = "";

export const key = {
  get: () => sessionStorage.getItem(keyName) ?? "",
  set: (value) => (value ? sessionStorage.setItem(keyName, value) : sessionStorage.removeItem(keyName)),
};

export function use(name) {
  collection = name;
}

export class Refusal extends Error {
  constructor(status, code, message, param) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

// text is the body of a request. JSON.stringify would lose digits of numbers that
// JSON.parse has read, but for those that upload.js keeps as they were written.
export async function ask(method, path, body, signal) {
  const headers = { Accept: "application/json" };
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store", credentials: "same-origin", redirect: "error", referrerPolicy: "no-referrer",
    });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Refusal(0, "unreachable", "The server does not answer. Is it still running?");
  }
  let answer = null;
  try {
    answer = await response.json();
  } catch (e) {
    if (e.name === "AbortError") throw e;
  }
  if (!response.ok) {
    const error = answer?.error ?? {};
    throw new Refusal(response.status, error.code ?? "", error.message ?? `The server answers with status ${response.status}.`, error.param ?? "");
  }
  if (answer === null) throw new Refusal(response.status, "", "The server's answer is no JSON.");
  return answer;
}

const at = (path) => (collection ? `v1/collections/${encodeURIComponent(collection)}/${path}` : `v1/${path}`);

export const search = (query, signal) => ask("POST", at("search"), query, signal);
export const explain = (query, signal) => ask("POST", at("explain"), query, signal);
export const document = (id, side, signal) => ask("GET", `${at("documents")}/${encodeURIComponent(id)}?picture=${side}`, undefined, signal);
export const stats = (signal) => ask("GET", at("stats"), undefined, signal);
export const store = (documents, signal) => ask("POST", at("documents"), { documents }, signal);
export const collections = (signal) => ask("GET", "v1/collections", undefined, signal);
