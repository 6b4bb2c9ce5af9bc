// SPDX-License-Identifier: MIT
// The two charts over time, by uPlot: parts of resident memory on top of each other, and one rate.

import { at, colour, count, digits, element, share, size } from "./dom.js";

const COLOURS = {
  "live objects": "live", "internal fragmentation": "internal", "external fragmentation": "external",
  "thread caches": "cached", "dirty pages": "dirty", "muzzy pages": "muzzy", "metadata": "meta", "not the heap": "rest",
  "main heap": "live", "other private memory": "rest", "files": "meta", "shared memory": "muzzy",
};
const GAP = 5; // seconds without a look: the line breaks

export const partColour = (label) => colour(COLOURS[label] ?? "internal");

let history = null, rates = null;

function axis(values, side) {
  return { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") }, ...(values ? { values: (_, ticks) => ticks.map(values) } : {}), ...(side ?? {}) };
}

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800];
const POWERS = Array.from({ length: 40 }, (_, power) => 2 ** (power + 10));
const clock = (moment) => new Date(moment * 1000).toLocaleTimeString([], { hour12: false });

function options(box, height, series, write, more) {
  return {
    width: Math.max(box.clientWidth, 200), height, legend: { show: false }, series: [{}, ...series],
    axes: [axis(clock, { space: 80, incrs: SECONDS }), axis(write, { size: 74, ...(write === size ? { incrs: POWERS } : {}) })], cursor: { drag: { x: true, y: false } }, ...more,
  };
}

// A null where there was no sample for a while, so that no line is drawn across.
function broken(times) {
  const places = [];
  times.forEach((moment, index) => {
    if (index && moment - times[index - 1] > GAP) places.push(null);
    places.push(index);
  });
  return places;
}

const picked = (places, values) => places.map((place) => (place === null ? null : values[place]));
const moments = (places, times) => places.map((place, index) => (place === null ? times[places[index - 1]] + 0.5 : times[place]));

export function clear() {
  history?.chart.destroy(); rates?.chart.destroy();
  history = rates = null;
}

function draw(old, key, box, make, data) {
  if (old && old.key === key) { old.chart.setData(data); return old; }
  old?.chart.destroy();
  box.replaceChildren();
  return { key, chart: new window.uPlot(make(), data, box) };
}

export function drawHistory(points) {
  const box = at("history"), labels = Object.keys(points.parts).filter((label) => points.parts[label].some((value) => value));
  const places = broken(points.at);
  const sums = [];
  labels.forEach((label, index) => {
    const own = points.parts[label];
    sums.push(points.at.map((_, place) => (own[place] ?? 0) + (index ? sums[index - 1][place] : 0)));
  });
  // The highest first: each is drawn over the ones above it, down to 0.
  const order = labels.map((_, index) => index).reverse();
  const series = order.map((index) => ({ label: labels[index], stroke: partColour(labels[index]), fill: partColour(labels[index]), width: 1, points: { show: false } }));
  const show = (place) => key(points, labels, place);
  const make = () => options(box, 260, series, size, {
    scales: { y: { range: (_, _least, most) => [0, Math.max(most * 1.05, 1)] } },
    hooks: { setCursor: [(chart) => history && history.show(history.places[chart.cursor.idx ?? -1] ?? null)] },
  });
  const data = [moments(places, points.at), ...order.map((index) => picked(places, sums[index]))];
  history = draw(history, labels.join("|") + document.documentElement.dataset.shown, box, make, data);
  history.places = places; history.show = show;
  show(null);
}

function key(points, labels, place) {
  const last = place ?? points.at.length - 1;
  const when = clock(points.at[last]);
  const rows = labels.map((label) => {
    const mark = element("i");
    mark.style.background = partColour(label);
    return element("li", {}, mark, `${label} ${size(points.parts[label][last])}`);
  });
  at("key").replaceChildren(element("li", {}, element("strong", {}, `${when}  ${size(points.resident[last])}`)), ...rows.reverse());
}

export function rateText(label, value) {
  if (value === null || value === undefined) return "—";
  if (label === "waiting") return share(value);
  return label === "CPUs" ? digits(value) : count(value);
}

export function drawRates(points, label) {
  const box = at("rates"), places = broken(points.at), values = points.rates[label] ?? [];
  const series = [{ label, stroke: colour("accent"), width: 2, points: { show: false } }];
  const make = () => options(box, 150, series, (value) => rateText(label, value), {
    scales: { y: { range: (_, _least, most) => [0, Math.max(most * 1.1, label === "waiting" || label === "CPUs" ? 0.01 : 1)] } },
  });
  rates = draw(rates, label + document.documentElement.dataset.shown, box, make, [moments(places, points.at), picked(places, values)]);
}

export function resize() {
  for (const [one, box, height] of [[history, at("history"), 260], [rates, at("rates"), 150]]) {
    one?.chart.setSize({ width: Math.max(box.clientWidth, 200), height });
  }
}
