// SPDX-License-Identifier: MIT
// The page of `hew serve`: which process is shown, when it is asked for, keys and themes.

import { ask, compare, keep, mayChange, showAdvice, showKept, takeToken } from "./actions.js";
import { clear, drawHistory, drawRates, resize } from "./charts.js";
import { at, element, size } from "./dom.js";
import { compareRollout, refreshFleet, stepService } from "./fleet.js";
import { forget, keepProfile, ready, take } from "./flames.js";
import { findPins, forgetPins, readyPins } from "./pins.js";
import * as panels from "./panels.js";

const POINTS = 1800;
let shown = null, look = null, points = null, paused = false, rows = [];

function merge(more) {
  if (points === null) { points = more; return; }
  const had = points.at.length, added = more.at.length;
  points.at.push(...more.at);
  points.resident.push(...more.resident);
  for (const kind of ["parts", "rates"]) {
    for (const name of Object.keys(more[kind])) points[kind][name] ??= Array(had).fill(null);
    for (const [name, values] of Object.entries(points[kind])) values.push(...(more[kind][name] ?? Array(added).fill(null)));
  }
  const over = points.at.length - POINTS;
  if (over > 0) for (const values of [points.at, points.resident, ...Object.values(points.parts), ...Object.values(points.rates)]) values.splice(0, over);
}

function show() {
  at("empty").hidden = true;
  at("process").hidden = false;
  at("name").textContent = `${look.name} (${look.pid})`;
  at("words").textContent = `${look.allocator} · ${look.words || look.name}`;
  document.title = `${look.name} ${size(look.outside.resident)} · hew serve`;
  const inside = look.locks.rows.length > 0 || look.sizes.length > 0;
  at("notice").hidden = !(look.ended || look.why);
  at("notice").textContent = look.ended ? `${look.ended}; this is how it was last seen.` : `What the kernel knows is shown: ${look.why}`;
  document.querySelectorAll(".inside section").forEach((one) => { one.hidden = !inside && one !== at("threads").closest("section"); });
  panels.tiles(look); panels.waterfall(look); panels.locks(look, at("heat").value); panels.histogram(look, at("measure").value);
  panels.bins(look); panels.arenas(look); panels.threads(look); panels.profile(look); ready(look); readyPins(look);
  const labels = look.rates.map((rate) => rate.label), box = at("rate");
  if (box.options.length !== labels.length) {
    const had = box.value;
    box.replaceChildren(...labels.map((label) => element("option", { value: label }, label)));
    box.value = labels.includes(had) ? had : labels.includes("requests") ? "requests" : labels[0];
  }
  drawHistory(points); drawRates(points, box.value);
  at("keep").disabled = !mayChange();
}

async function refresh() {
  const pid = shown;
  if (pid === null || paused || document.hidden || fleetShown()) return;
  try {
    const found = await ask(`/api/process/${pid}?since=${points?.at.at(-1) ?? 0}`);
    if (pid !== shown) return;
    look = found;
    merge(found.history);
    show();
    state(look.ended ? "ended" : `watching, each second`);
  } catch (error) {
    if (pid === shown) state(error instanceof TypeError ? "hew serve does not answer: has it ended?" : error.message);
  }
}

function state(text) { at("state").textContent = text; }

const fleetShown = () => !at("fleet").hidden;

function fleet(on) {
  at("fleet").hidden = !on;
  at("single").hidden = on;
  at("fleet-open").setAttribute("aria-pressed", String(on));
  if (on) {
    history.replaceState(null, "", "?fleet");
    document.title = "Fleet · hew serve";
    state("");
    refreshFleet();
    if (matchMedia("(max-width: 760px)").matches) at("list-box").open = false;
  } else {
    history.replaceState(null, "", shown === null ? "/" : `?pid=${shown}`);
    refresh();
  }
}

function choose(pid) {
  if (fleetShown()) fleet(false);
  shown = pid; look = null; points = null;
  clear();
  forget(pid); forgetPins(pid);
  history.replaceState(null, "", `?pid=${pid}`);
  at("advice").replaceChildren();
  state("looking …");
  list();
  if (matchMedia("(max-width: 760px)").matches) at("list-box").open = false;
  refresh();
}

async function refreshList() {
  if (document.hidden) return;
  try {
    const found = await ask("/api/processes");
    rows = found.processes;
    const before = new URLSearchParams(location.search);
    if (at("fleet-open").hidden && found.fleet) {
      at("fleet-open").hidden = at("fleet-key").hidden = false;
      if (before.has("fleet") || !(before.has("pid") || found.named.length)) fleet(true);
    }
    if (shown === null && !fleetShown()) {
      const wanted = Number(before.get("pid"));
      const first = wanted || found.named[0] || rows.find((row) => row.asks)?.pid;
      if (!rows.some((row) => row.asks)) at("asks-only").checked = false;
      if (first) { choose(first); return; }
    }
    list();
  } catch (error) {
    state(error instanceof TypeError ? "hew serve does not answer: has it ended?" : error.message);
  }
}

const listed = () => {
  const words = at("filter").value.toLowerCase();
  return rows.filter((row) => (row.asks || !at("asks-only").checked || row.pid === shown) && `${row.pid} ${row.name} ${row.allocator} ${row.user}`.toLowerCase().includes(words)).slice(0, 300);
};

function list() {
  const had = document.activeElement?.dataset?.pid;
  at("list").replaceChildren(...listed().map((row) => {
    const one = element("button", { "aria-current": String(row.pid === shown), onclick: () => choose(row.pid) },
      element("span", { class: "who" }, row.name), element("span", { class: "number" }, size(row.resident)), element("span", { class: "what" }, `${row.pid} · ${row.allocator} · ${row.user}`));
    one.dataset.pid = row.pid;
    return element("li", {}, one);
  }));
  if (had) at("list").querySelector(`[data-pid="${CSS.escape(had)}"]`)?.focus();
}

function pause() {
  paused = !paused;
  at("pause").setAttribute("aria-pressed", String(paused));
  at("pause").textContent = paused ? "go on" : "pause";
  state(paused ? "paused" : "");
  refresh();
}

function step(by) {
  const all = listed(), place = all.findIndex((row) => row.pid === shown);
  const next = all[Math.min(Math.max(place + by, 0), all.length - 1)];
  if (next && next.pid !== shown) choose(next.pid);
}

function section(number) {
  const all = [...document.querySelectorAll("main section")].filter((one) => one.offsetParent !== null);
  const one = all[number - 1];
  if (one) { one.tabIndex = -1; one.focus({ preventScroll: true }); one.scrollIntoView(); }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, button, textarea, a, summary");
  if (event.key === "Escape" && event.target === at("filter")) event.target.blur();
  else if (event.target.matches("input:not([type=checkbox]), select")) return;
  else if (event.key === "/") { event.preventDefault(); at("list-box").open = true; at("filter").focus(); }
  else if (event.key === "f" && !at("fleet-open").hidden) fleet(!fleetShown());
  else if (event.key === "j") (fleetShown() ? stepService : step)(1);
  else if (event.key === "k") (fleetShown() ? stepService : step)(-1);
  else if (event.key === " " && !typing) { event.preventDefault(); pause(); }
  else if (/^[1-9]$/.test(event.key)) section(Number(event.key));
});

function theme(next) {
  const root = document.documentElement;
  if (next) { root.dataset.theme = next; localStorage.setItem("hew theme", next); }
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.shown = dark ? "dark" : "light";
  at("theme").textContent = dark ? "light" : "dark";
  if (look && !fleetShown()) show();
}

takeToken();
if (["dark", "light"].includes(localStorage.getItem("hew theme"))) document.documentElement.dataset.theme = localStorage.getItem("hew theme");
theme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme());
at("theme").onclick = () => theme(document.documentElement.dataset.shown === "dark" ? "light" : "dark");
at("pause").onclick = pause;
at("filter").oninput = at("asks-only").onchange = list;
at("heat").onchange = at("measure").onchange = at("rate").onchange = () => look && show();
at("ask").onclick = () => shown !== null && showAdvice(shown);
at("keep").onclick = () => keep(shown).catch((error) => state(error.message));
at("take").onclick = at("flame-by").onchange = at("flame-of").onchange = at("flame-base").onchange = () => take();
at("find-pins").onclick = at("sparse").onchange = () => findPins();
at("fleet-open").onclick = () => fleet(!fleetShown());
at("rollout-go").onclick = () => compareRollout();
at("keep-profile").onclick = () => keepProfile();
at("before").onchange = at("after").onchange = () => compare().catch((error) => state(error.message));
window.addEventListener("resize", resize);
document.addEventListener("visibilitychange", () => { refreshList(); refresh(); refreshFleet(); });
setInterval(refresh, 1000);
setInterval(refreshList, 4000);
refreshList();
showKept().catch((error) => state(error.message));
