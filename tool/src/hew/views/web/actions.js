// SPDX-License-Identifier: MIT
// Requests to the server; advice and what can be applied of it; two reports compared.

import { at, count, digits, element, fill, share, size, time } from "./dom.js";

const KEY = "hew token";

// The token stands behind the # of the link: browsers do not send that part, nor does it stay in the address.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
}

export const mayChange = () => sessionStorage.getItem(KEY) !== null;

export async function ask(path, given) {
  const headers = {};
  if (mayChange()) headers.Authorization = `Bearer ${sessionStorage.getItem(KEY)}`;
  if (given) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, given ? { method: "POST", headers, body: JSON.stringify(given) } : { headers });
  const text = await answer.text();
  let found = {};
  try { found = JSON.parse(text); } catch { found = { error: text.trim() }; }
  if (!answer.ok) throw Object.assign(new Error(found.error || `status ${answer.status}`), { status: answer.status });
  return found;
}

const WRITE = { cores: (value) => (value >= 0.1 || !value ? digits(value) : value.toPrecision(2)), bytes: size, seconds: time, share, count: (value) => (Number.isInteger(value) ? count(value) : value.toFixed(2)), per_second: (value) => `${count(value)}/s`, byte_seconds: (value) => `${size(value)}·s` };

export const written = (unit, value) => (WRITE[unit] ?? WRITE.count)(value);

export async function showAdvice(pid) {
  const box = at("advice");
  box.replaceChildren(element("p", { class: "hint" }, "looking …"));
  try {
    const found = await ask(`/api/process/${pid}/advice`);
    const pieces = found.advice.map((one) => adviceBox(one, pid, found.live[one.rule]));
    const seen = found.looked_at;
    const words = `${count(seen.rules)} rules looked at ${seen.read.join(" and ") || "nothing"}; ${found.outcome === "not seen" ? "too little was seen to say that all is well" : pieces.length ? `${pieces.length} spoke` : "all is well"}.`;
    const unseen = seen.unseen.map((one) => element("p", { class: "hint" }, `Not seen: ${one.what}: ${one.why}. ${one.next}`));
    box.replaceChildren(element("p", { class: "hint" }, words), ...found.notes.map((note) => element("p", { class: "hint" }, note)), ...unseen, ...pieces);
  } catch (error) {
    box.replaceChildren(element("p", { class: "notice" }, error.message));
  }
}

// What to set and why. With a process, what of it can be set there now.
export function adviceBox(one, pid = null, live = null) {
  const evidence = element("table");
  fill(evidence, [["evidence", (row) => ({ text: row.label })], ["", (row) => written(row.unit, row.value)], ["where", (row) => ({ text: row.where })]], one.evidence);
  const piece = element("div", { class: "piece" }, element("h3", {}, one.title, one.certainty === "likely" ? " (likely)" : ""), element("div", { class: "scroll" }, evidence));
  const settings = one.settings.map((setting) => setting.text).join(",");
  const rows = [["Try", settings], ["Change", one.change], ["If not", one.otherwise], ["CPU", one.cpu], ["Memory", one.memory], ["Risk", one.risk], ["Verify", one.verify]];
  for (const [label, text] of rows) if (text) piece.append(element("p", {}, element("strong", {}, `${label}: `), label === "Try" ? element("code", {}, text) : text));
  if (live) piece.append(button(pid, one.rule, live));
  else if (settings && pid !== null) piece.append(element("p", { class: "hint" }, "This is set at the start of a process."));
  return piece;
}

function button(pid, rule, live) {
  const said = element("span", { "aria-live": "polite" });
  const found = element("button", { class: "go", disabled: !mayChange() }, `apply live: ${live}`);
  if (!mayChange()) said.textContent = " To change a process, open the link that hew serve printed.";
  found.onclick = async () => {
    found.disabled = true;
    try {
      const done = await ask(`/api/process/${pid}/apply`, { rule });
      said.textContent = ` ${done.results.map((one) => `${one.name}:${one.value} ${one.outcome}${one.remark ? ` (${one.remark})` : ""}`).join("; ")}`;
    } catch (error) {
      said.textContent = ` ${error.message}`;
      found.disabled = false;
    }
  };
  return element("p", {}, found, said);
}

export async function showKept(chosen = null) {
  const { kept } = await ask("/api/kept");
  const last = [kept.at(-2)?.number, kept.at(-1)?.number];
  ["before", "after"].forEach((id, place) => {
    const box = at(id), had = chosen === null ? Number(box.value) || last[place] : last[place];
    box.replaceChildren(...kept.map((one) => element("option", { value: one.number }, `${one.number}: ${one.title}, ${new Date(one.at * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "medium", hour12: false })}`)));
    box.value = had;
  });
  await compare(kept.length);
}

export async function compare(many = 2) {
  const table = at("compare");
  if (many < 2 || !at("before").value || !at("after").value) {
    table.replaceChildren(element("caption", { class: "hint" }, mayChange() ? "Keep two reports, now and later." : "With the link that hew serve printed, reports can be kept here."));
    return;
  }
  const found = await ask(`/api/compare?before=${encodeURIComponent(at("before").value)}&after=${encodeURIComponent(at("after").value)}`);
  const rows = found.groups.flatMap((group) => group.changes.map((one) => ({ ...one, group: group.title })));
  const change = (row) => element("span", { class: row.after > row.before ? "more" : "less" }, row.after === row.before ? "" : `${row.after > row.before ? "+" : ""}${size(row.after - row.before)}`);
  fill(table, [["what", (row) => ({ text: row.label.trim() })], ["before", (row) => size(row.before)], ["after", (row) => size(row.after)], ["change", change], ["by", (row) => ({ text: row.group })]], rows);
}

export async function keep(pid) {
  await ask(`/api/process/${pid}/keep`, {});
  await showKept(true);
}
