// SPDX-License-Identifier: MIT
// What one look at a process says, section by section.

import { rateText, partColour } from "./charts.js";
import { at, count, counted, element, fill, share, size, time } from "./dom.js";

export function tiles(look) {
  const rows = [["resident", size(look.outside.resident)]];
  for (const rate of look.rates) rows.push([rate.label === "CPUs" || rate.share ? rate.label : `${rate.label} /s`, rateText(rate.label, rate.value)]);
  for (const [label, value] of [["huge pages", look.outside.huge], ["swapped", look.outside.swapped]]) if (value) rows.push([label, size(value)]);
  if (look.limit) rows.push([`limit (${look.limit.source})`, size(look.limit.bytes)]);
  at("tiles").replaceChildren(...rows.map(([label, value]) => element("div", {}, element("dt", {}, label), element("dd", {}, value))));
}

export function waterfall(look) {
  const whole = Math.max(look.outside.resident, look.parts.reduce((sum, part) => sum + (part.bytes ?? 0), 0), 1);
  let begin = 0;
  const rows = [];
  for (const part of look.parts) {
    const bytes = part.bytes ?? 0;
    if (!bytes && part.label === "internal fragmentation") continue; // without heap profiles it is unknown
    const bar = element("i");
    bar.style.left = `${(begin / whole) * 100}%`;
    bar.style.width = bytes ? `${(bytes / whole) * 100}%` : "0";
    bar.style.background = partColour(part.label);
    rows.push(element("div", { title: part.where }, element("span", {}, part.label), element("span", { class: "number" }, size(bytes)),
      element("span", { class: "number" }, share(bytes / whole)), element("span", { class: "track" }, bytes ? bar : null)));
    begin += bytes;
  }
  at("waterfall").replaceChildren(...rows);
}

const HEAT = { wait_ns: (value) => time(value / 1e9), now: (value) => (value === null ? "—" : share(value)), waits: count, taken: count };

export function locks(look, what) {
  const { columns, rows, left_out } = look.locks;
  const kept = columns.map((_, index) => index).filter((index) => rows.some((row) => row.cells[index]?.taken));
  const most = Math.max(...rows.flatMap((row) => row.cells.map((cell) => cell?.[what] ?? 0)), 0);
  const table = at("locks");
  const head = element("tr", {}, element("th", { scope: "col" }, "arena"), ...kept.map((index) => element("th", { scope: "col" }, columns[index].replaceAll("_", " "))));
  const body = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.name && !row.name.startsWith("auto") ? `${row.arena} ${row.name}` : row.arena), ...kept.map((index) => {
    const cell = row.cells[index];
    const found = element("td", {}, cell ? HEAT[what](cell[what]) : "—");
    if (cell && most) {
      // The root makes small waits visible beside the largest.
      found.style.background = `rgb(var(--heat) / ${(0.85 * Math.sqrt((cell[what] ?? 0) / most)).toFixed(3)})`;
      found.title = `${columns[index]} of arena ${row.arena}: taken ${count(cell.taken)} times, waited for ${count(cell.waits)} times, ${time(cell.wait_ns / 1e9)} together`;
    }
    return found;
  })));
  table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  const waited = rows.some((row) => row.cells.some((cell) => cell?.waits));
  at("locks-note").textContent = (rows.length && !waited ? "No thread has waited for any of these. " : "") + (left_out ? `${left_out} arenas whose locks were not taken are left out.` : "");
}

let told = null;

export function histogram(look, what) {
  const rows = look.sizes.filter((row) => row.objects || row[what]);
  const most = Math.max(...rows.map((row) => row[what] ?? 0), 1);
  const said = element("p", { class: "said" }, told ?? "Each bar is a size class; violet ones are large.");
  const box = at("histogram"), had = document.activeElement?.dataset?.size;
  const every = Math.max(1, Math.ceil(rows.length / Math.max(2, Math.floor(box.clientWidth / 70))));
  const labelled = (index) => index === rows.length - 1 || (index % every === 0 && index + every * 0.9 < rows.length);
  box.replaceChildren(...rows.map((row, index) => {
    const text = `${size(row.size)}: ${count(row.objects)} objects, ${size(row.bytes)}${row.fill === null ? "" : `, slabs ${share(row.fill)} full, ${size(row.waste)} without an object`}${row.requests === null ? "" : `, ${count(row.requests)} requests`}`;
    const bar = element("i");
    bar.style.height = `${((row[what] ?? 0) / most) * 100}%`;
    const button = element("button", { class: row.small ? "" : "large", title: text, "aria-label": text }, bar, labelled(index) ? element("small", {}, size(row.size)) : null);
    button.dataset.size = row.size;
    button.onfocus = button.onmouseenter = () => { told = text; box.nextElementSibling.textContent = text; };
    return button;
  }));
  if (box.nextElementSibling) box.nextElementSibling.replaceWith(said); else box.after(said);
  if (had) box.querySelector(`[data-size="${CSS.escape(had)}"]`)?.focus();
}

function gauge(value) {
  if (value === null) return "—";
  const bar = element("i");
  bar.style.width = `${value * 100}%`;
  return element("span", {}, element("span", { class: "gauge" }, bar), share(value));
}

export function bins(look) {
  const rows = look.sizes.filter((row) => row.small && row.slabs).sort((one, two) => two.slab_bytes - one.slab_bytes);
  fill(at("bins"), [["size", (row) => size(row.size)], ["objects", (row) => count(row.objects)], ["in slabs", (row) => size(row.slab_bytes)],
    ["full", (row) => gauge(row.fill)], ["waste", (row) => size(row.waste)], ["requests", (row) => count(row.requests)],
    ["fills", (row) => count(row.fills)], ["flushes", (row) => count(row.flushes)], ["waits", (row) => count(row.waits)]], rows);
}

export function arenas(look) {
  const bytes = (name) => (row) => size(row[name]);
  fill(at("arenas"), [["arena", (row) => row.arena], ["threads", (row) => count(row.count)], ["used by", (row) => ({ text: counted(row.threads) || "—" })],
    ["active", bytes("active")], ["dirty", bytes("dirty")], ["muzzy", bytes("muzzy")], ["holes", bytes("holes")], ["caches", bytes("cached")], ["retained", bytes("retained")]], look.arenas);
  const one = look.depot;
  at("depot").textContent = one ? `Depots, between threads and arenas: ${count(one.depots)} hold ${size(one.bytes)} of ${size(one.limit)}; ${count(one.takes)} taken, ${count(one.gives)} given, ${count(one.misses)} times nothing was there, ${count(one.refusals)} times no room.` : "";
}

export function threads(look) {
  const rows = [...look.threads].sort((one, two) => (two.rate ?? 0) - (one.rate ?? 0) || two.requests - one.requests).slice(0, 200);
  const names = Object.entries(look.thread_names).map(([name, many]) => ({ name, many }));
  if (rows.length) {
    fill(at("threads"), [["thread", (row) => String(row.number)], ["name", (row) => ({ text: row.name })], ["arena", (row) => row.arena],
      ["requests /s", (row) => count(row.rate)], ["requests", (row) => count(row.requests)], ["at hand", (row) => size(row.cached)]], rows);
  } else fill(at("threads"), [["name", (row) => ({ text: row.name })], ["threads", (row) => count(row.many)]], names);
}

export function profile(look) {
  const { prof, prof_accum: accum } = look.profiles;
  const link = (path) => element("a", { href: `/debug/pprof/${path}?pid=${look.pid}` }, `/debug/pprof/${path}?pid=${look.pid}`);
  if (prof !== true) at("profile").replaceChildren("This process takes no samples of its heap. Start it with ", element("code", {}, "hew run --conf prof:true,prof_accum:true -- COMMAND"), " to see who allocated what.");
  else at("profile").replaceChildren("For pprof, live objects: ", link("heap"), accum === true ? ", all that were made: " : "", accum === true ? link("allocs") : "", ".");
}
