// SPDX-License-Identifier: MIT
// Elements and words. Whatever a process has chosen (its name, its threads' names) gets into the page as text only.

export const at = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") found.className = value;
    else if (name.startsWith("aria-") || name === "scope" || name === "colspan") found.setAttribute(name, value);
    else found[name] = value;
  }
  found.append(...children.filter((one) => one !== null && one !== undefined));
  return found;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function digits(value) {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

export function size(value) {
  if (value === null || value === undefined) return "—";
  let amount = Math.abs(value), step = 0;
  while (amount >= 1024 && step < UNITS.length - 1) { amount /= 1024; step += 1; }
  return `${value < 0 ? "−" : ""}${step ? digits(amount) : amount} ${UNITS[step]}`;
}

export function count(value) {
  return value === null || value === undefined ? "—" : Math.round(value).toLocaleString("en");
}

export function time(seconds) {
  if (seconds === null || seconds === undefined) return "—";
  if (seconds === 0) return "0";
  for (const [scale, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (seconds >= scale) return `${digits(seconds / scale)} ${name}`;
  }
  return `${Math.round(seconds * 1e9)} ns`;
}

export const share = (value) => (value === null || value === undefined ? "—" : `${(value * 100).toFixed(value < 0.0995 ? 1 : 0)}%`);

export function counted(names) {
  return Object.entries(names).map(([name, many]) => (many > 1 ? `${name} ×${many}` : name)).join(", ");
}

const isWide = (shown) => shown !== null && typeof shown === "object" && !(shown instanceof Node);

// Columns are [title, cell]; a cell is text, an element, or {text: ...} for a wide one on the left.
export function fill(table, columns, rows) {
  const head = element("tr", {}, ...columns.map(([title, cell]) => element("th", { scope: "col", class: rows.length && isWide(cell(rows[0])) ? "text" : "" }, title)));
  const body = rows.map((row) => element("tr", {}, ...columns.map(([, cell], place) => {
    const shown = cell(row);
    const wide = isWide(shown);
    const tag = place === 0 ? "th" : "td";
    const found = element(tag, wide ? { class: "text" } : {}, wide ? shown.text : shown);
    if (tag === "th") found.setAttribute("scope", "row");
    return found;
  })));
  table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
