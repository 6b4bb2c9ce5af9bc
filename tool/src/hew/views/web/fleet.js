// SPDX-License-Identifier: MIT
// The ranking of a fleet: services, what each can get back and how, when limits will be met, and rollouts compared.

import { adviceBox, ask, written } from "./actions.js";
import { at, count, element, fill, share, size } from "./dom.js";

const EVERY = 20000; // ms; hew serve itself asks the engine no more than once a minute
const LAST = 253402300799; // seconds: the end of the year 9999
const SURE = 3; // days from which on growth is told from a rhythm and a step

let found = null, chosen = null, timer = null, compared = 0;

const moment = (seconds) => new Date(Math.min(Math.max(seconds, 0), LAST) * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const cores = (value) => written("cores", value);
const named = (name) => name || "(no name)";
const setting = (value) => String(value); // as it is written in MALLOC_CONF
const services = () => found?.ranking.services ?? [];

export async function refreshFleet() {
  clearTimeout(timer);
  if (at("fleet").hidden) return;
  timer = setTimeout(refreshFleet, EVERY);
  if (document.hidden) return;
  try {
    found = await ask("/api/fleet");
    show();
  } catch (error) {
    notice(error instanceof TypeError ? "hew serve does not answer: has it ended?" : error.message);
  }
}

function notice(text) {
  at("fleet-notice").hidden = !text;
  at("fleet-notice").textContent = text;
}

function show() {
  const { ranking } = found;
  at("fleet-words").textContent = `${count(found.services)} services by ${ranking.source}, ${moment(ranking.begin)} to ${moment(ranking.end)}; asked in ${ranking.seconds.toFixed(1)} s`;
  notice(found.error ? `This is not newer: ${found.error}` : "");
  at("fleet-notes").replaceChildren(...ranking.notes.map((note) => element("p", { class: "hint" }, note)));
  const most = Math.max(...services().map((one) => one.score), 0);
  const had = document.activeElement?.dataset?.service;
  const number = (value, write) => (value ? write(value) : "—");
  fill(at("services"), [
    ["service", (one) => ({ text: choice(one) })],
    ["hosts", (one) => count(one.hosts)],
    ["processes", (one) => count(one.processes)],
    ["CPU", (one) => number(one.cpu_cores, cores)],
    ["RSS", (one) => number(one.resident_bytes, size)],
    ["cores back", (one) => number(one.cores_back, cores)],
    ["memory back", (one) => number(one.bytes_back, size)],
    ["in cores", (one) => element("span", {}, one.score ? gauge(one.score / most) : null, number(one.score, cores))],
    ["limit", (one) => ({ text: one.limit ? (one.limit.a_day ? moment(one.limit.at) : "near") : "" })],
  ], services());
  const more = found.services - services().length;
  at("services-note").textContent = `${more > 0 ? `${count(more)} more have less to get back. ` : ""}In cores: ${ranking.gib_per_core} GiB count as one.`;
  if (had !== undefined) at("services").querySelector(`[data-service="${CSS.escape(had)}"]`)?.focus();
  if (!services().some((one) => one.name === chosen)) chosen = services()[0]?.name ?? null;
  mark();
  showService();
}

function gauge(part) {
  const bar = element("i");
  bar.style.width = `${part * 100}%`;
  return element("span", { class: "gauge" }, bar);
}

function choice(one) {
  const button = element("button", { class: "plain", onclick: () => choose(one.name) }, named(one.name));
  button.dataset.service = one.name;
  return button;
}

function mark() {
  for (const one of at("services").querySelectorAll("button")) one.setAttribute("aria-current", String(one.dataset.service === chosen));
}

function choose(name) {
  if (name !== chosen) { at("rollout").replaceChildren(); compared += 1; at("rollout-state").textContent = ""; }
  chosen = name;
  mark();
  showService();
}

export function stepService(by) {
  const all = services(), place = all.findIndex((one) => one.name === chosen);
  const next = all[Math.min(Math.max(place + by, 0), all.length - 1)];
  if (!next) return;
  choose(next.name);
  at("services").querySelector('[aria-current="true"]')?.focus();
}

let drawn = "";

function showService() {
  const one = services().find((service) => service.name === chosen);
  at("service").hidden = !one;
  const now = JSON.stringify(one ?? null);
  if (now === drawn) return; // what is being read does not move
  drawn = now;
  if (!one) return;
  at("service-name").textContent = named(one.name);
  const lines = one.costs.map((cost) => [cost.kind, cost.bytes ? size(cost.bytes) : `${cores(cost.cores)} cores`, cost.about, place(cost)]);
  fill(at("costs"), [["what", (row) => ({ text: row[0] })], ["costs", (row) => row[1]], ["from", (row) => ({ text: row[2] })], ["look closer", (row) => ({ text: row[3] })]], lines);
  at("costs").hidden = !lines.length;
  const beside = [...one.mixed.map(differs), ...(one.limit ? [limit(one.limit)] : [])];
  if (!lines.length && !beside.length && !one.advice.length) beside.push("Nothing to get back that is worth a change.");
  at("beside").replaceChildren(...beside.map((text) => element("p", {}, text)));
  at("service-advice").replaceChildren(...one.advice.map((advice) => adviceBox(advice)));
}

function place(cost) {
  const { host, pid } = cost.worst;
  if (!host || !/^[0-9]+$/.test(pid)) return "";
  return element("span", {}, `${host}, ${cost.kind === "fragmentation" ? "which uses most pages" : "where it is most"}: `, element("code", {}, `hew advise ${pid}`));
}

function differs(mixed) {
  const more = mixed.others.length === found.most_hosts ? " (and maybe more)" : "";
  const hosts = mixed.others.map(({ host, value }) => `${host} (${setting(value)})`).join(", ");
  return `${mixed.setting} is ${setting(mixed.usual)}, but not on ${count(mixed.others.length)} host${mixed.others.length > 1 ? "s" : ""}: ${hosts}${more}`;
}

function limit(day) {
  const used = `${day.host} uses ${size(day.used)} of its limit of ${size(day.limit)}`;
  if (!day.a_day) return `Near its limit: ${used}.`;
  const short = day.days < SURE ? ` Told from ${day.days.toFixed(1)} days: a rhythm of days, or a step, may look like it.` : "";
  return `Meets its limit on ${moment(day.at)} (95 %: ${moment(day.earliest)} to ${day.latest === null ? "never, maybe" : moment(day.latest)}): ${used} and grows by ${size(day.a_day)} a day.${short}`;
}

export async function compareRollout() {
  const when = new Date(at("rollout-at").value).getTime() / 1000, mine = (compared += 1);
  if (!Number.isFinite(when)) { at("rollout-state").textContent = "Say when the rollout was."; return; }
  at("rollout-state").textContent = "comparing …";
  at("rollout").replaceChildren();
  try {
    const words = new URLSearchParams({ service: chosen ?? "", at: when, setting: at("rollout-setting").value.trim() });
    const told = await ask(`/api/fleet/rollout?${words}`);
    if (mine === compared) showRollout(told);
  } catch (error) {
    if (mine === compared) at("rollout-state").textContent = error.message;
  }
}

function showRollout({ rollout, missing }) {
  const spans = [rollout.before, rollout.after].map((span) => `${moment(span.begin)} to ${moment(span.end)}`);
  at("rollout-state").textContent = [`Before: ${spans[0]}. After: ${spans[1]}.`, ...rollout.notes].join(" ");
  const pieces = rollout.groups.map((group) => {
    const table = element("table");
    const rows = rollout.figures.filter((figure) => figure.key in group.before);
    fill(table, [
      [`${group.title} (${count(group.hosts)})`, (figure) => ({ text: figure.label })],
      ["before", (figure) => written(figure.unit, group.before[figure.key])],
      ["after", (figure) => written(figure.unit, group.after[figure.key])],
      ["ratio", (figure) => (group.ratios[figure.key] ? group.ratios[figure.key].value.toFixed(3) : "")],
      ["interval", (figure) => (group.ratios[figure.key] ? group.ratios[figure.key].interval.map((one) => one.toFixed(3)).join(" – ") : "")],
      ["", (figure) => ({ text: said(group.ratios[figure.key]) })],
    ], rows);
    return element("div", { class: "scroll" }, table);
  });
  if (rollout.setting) {
    const hosts = rollout.missing.map(({ host, value }) => `${host} (${value})`).join(", ");
    const more = missing > rollout.missing.length ? ` and ${count(missing - rollout.missing.length)} more` : "";
    pieces.push(element("p", {}, missing ? `${count(missing)} host${missing > 1 ? "s have" : " has"} not picked up ${rollout.setting}: ${hosts}${more}` : `Every host has ${rollout.setting}.`));
  }
  at("rollout").replaceChildren(...pieces);
}

function said(ratio) {
  if (!ratio) return "";
  if (ratio.verdict === "no difference" || ratio.verdict === "too few runs") return ratio.verdict.replace("runs", "hosts to tell");
  return element("span", { class: ratio.verdict === "better" ? "less" : "more" }, `${share(Math.abs(ratio.value - 1))} ${ratio.value > 1 ? "more" : "less"}`);
}
