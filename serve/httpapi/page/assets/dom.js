// Elements are made here, and texts go in as text: nothing that a server says becomes markup.

export const $ = (id) => document.getElementById(id);

// el makes an element. Properties are set as such; class, role, aria-… and data-… are attributes.
export function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class" || name === "role" || name.includes("-")) e.setAttribute(name, value === true ? "" : value);
    else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e[name] = value;
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export const number = new Intl.NumberFormat("en");

export function count(n, one, many) {
  return `${number.format(n)} ${n === 1 ? one : many}`;
}

// say tells those who do not see the page what has changed on it.
export function say(text) {
  $("status").textContent = text;
}
