// SPDX-License-Identifier: MIT
// Memory over time, as layers, on which a moment or a range is chosen.
"use strict";

window.hewWords = {
  bytes(size) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (Math.abs(size) >= 1024 && unit < units.length - 1) { size /= 1024; unit++; }
    return `${unit === 0 ? size : size.toPrecision(Math.abs(size) >= 1000 ? 4 : 3)} ${units[unit]}`;
  },
  count: (value) => Math.round(value).toLocaleString("en"),
  seconds(value) {
    if (value >= 100) return `${Math.round(value).toLocaleString("en")} s`;
    if (value >= 0.1) return `${value.toPrecision(3)} s`;
    return `${(1000 * value).toPrecision(3)} ms`;
  },
};

// `run` as of hewRun(); `chosen(part, before)` is called with what the user chooses, `before` null for a moment.
window.hewRunChart = (root, legend, run, found) => {
  const SPACE = "http://www.w3.org/2000/svg", TOP = 18, BOTTOM = 24, SCALE = 80; // pixels; SCALE: width of the scale's numbers
  const layers = run.layers(8);
  let part = run.peak, anchor = null, dragging = null, chosen = () => {};

  function make(kind, attributes, text) {
    const made = document.createElementNS(SPACE, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const whole = (at) => run.totals(at)[3];
  const off = (bytes) => run.sample ? ` ± ${hewWords.bytes(1.96 * Math.sqrt(run.sample * bytes))}` : ""; // of an estimate, in 95 of 100 cases
  let most = 1;
  for (let at = 0; at < run.count; at++) most = Math.max(most, whole(at));
  const svg = make("svg", {"aria-hidden": "true"});
  root.append(svg);
  const width = () => root.clientWidth, height = () => svg.clientHeight;
  const x = (at) => width() * (at + 0.5) / run.count, y = (bytes) => TOP + (height() - TOP - BOTTOM) * (1 - bytes / most);
  const colour = (number) => layers[number].rest ? "var(--place-8)" : `var(--place-${number})`;
  const marks = make("g", {});

  function draw() {
    svg.setAttribute("viewBox", `0 0 ${width()} ${height()}`);
    const drawn = [], low = new Float64Array(run.count);
    layers.forEach((layer, number) => {
      const upper = [], lower = [];
      for (let at = 0; at < run.count; at++) {
        const place = run.placeOf[at], bytes = place < 0 ? 0 : layer.bytes[place];
        const [left, right] = [width() * at / run.count, width() * (at + 1) / run.count];
        lower.push(`${left.toFixed(1)},${y(low[at]).toFixed(1)}`, `${right.toFixed(1)},${y(low[at]).toFixed(1)}`);
        low[at] += bytes;
        upper.push(`${left.toFixed(1)},${y(low[at]).toFixed(1)}`, `${right.toFixed(1)},${y(low[at]).toFixed(1)}`);
      }
      const shape = make("polygon", {points: [...upper, ...lower.reverse()].join(" ")});
      shape.style.fill = colour(number);
      drawn.push(shape);
    });
    const scaleRight = x(run.peak) < SCALE; // the scale stands where the peak's label does not
    for (const share of [0, 0.5, 1]) {
      drawn.push(make("line", {class: "grid", x1: 0, x2: width(), y1: y(share * most), y2: y(share * most)}));
      if (share) drawn.push(make("text", {x: scaleRight ? width() - 6 : 6, y: y(share * most) - 4, "text-anchor": scaleRight ? "end" : "start"}, hewWords.bytes(share * most)));
    }
    const end = run.count * run.partSeconds, steps = width() < 700 ? 4 : 8;
    for (let step = 1; step < steps; step++)
      drawn.push(make("text", {x: width() * step / steps, y: height() - 7, "text-anchor": "middle"}, hewWords.seconds(end * step / steps)));
    svg.replaceChildren(...drawn, marks);
    mark();
  }

  function mark() {
    const made = [];
    if (anchor !== null) {
      const [from, to] = [Math.min(anchor, part), Math.max(anchor, part)];
      made.push(make("rect", {class: "range", x: x(from), y: TOP, width: Math.max(1, x(to) - x(from)), height: height() - TOP - BOTTOM}));
    }
    made.push(make("line", {class: "chosen", x1: x(part), x2: x(part), y1: TOP - 6, y2: height() - BOTTOM}));
    made.push(make("circle", {class: "peak", cx: x(run.peak), cy: y(whole(run.peak)), r: 4}));
    const right = x(run.peak) > width() - 60;
    made.push(make("text", {x: x(run.peak) + (right ? -8 : 8), y: Math.max(12, y(whole(run.peak)) - 5), "text-anchor": right ? "end" : "start"}, "peak"));
    marks.replaceChildren(...made);
    root.setAttribute("aria-valuemax", String(run.count - 1));
    root.setAttribute("aria-valuenow", String(part));
    root.setAttribute("aria-valuetext", words());
  }

  function words() {
    const totals = run.totals(part), at = `${hewWords.seconds(run.seconds(part))}`;
    if (anchor !== null && anchor !== part) {
      const [from, to] = [Math.min(anchor, part), Math.max(anchor, part)], old = run.totals(from), now = run.totals(to);
      const grown = now[3] - old[3];
      return `${hewWords.seconds(run.seconds(from))} to ${hewWords.seconds(run.seconds(to))}: ${grown < 0 ? "−" : "+"}${hewWords.bytes(Math.abs(grown))}${off(old[3] + now[3])} live, ` +
        `${hewWords.count(now[0] - old[0])} allocations of ${hewWords.bytes(now[1] - old[1])}${off(now[1] - old[1])}, ${hewWords.count(now[4] - old[4])} temporary`;
    }
    return `${at}${part === run.peak ? ", the peak" : part === run.count - 1 ? ", the end" : ""}: ${hewWords.bytes(totals[3])}${off(totals[3])} live in ${hewWords.count(totals[2])} objects; ` +
      `${hewWords.count(totals[0])} allocations so far, ${hewWords.count(totals[4])} temporary`;
  }

  function labels() {
    legend.replaceChildren(...layers.map((layer, number) => {
      const item = document.createElement("li"), button = document.createElement("button");
      const [swatch, name, held] = ["swatch", "place", "held"].map((kind) => { const made = document.createElement("span"); made.className = kind; return made; });
      button.type = "button";
      swatch.style.background = colour(number);
      name.textContent = layer.name;
      name.title = layer.name;
      held.textContent = hewWords.bytes(run.placeOf[part] < 0 ? 0 : layer.bytes[run.placeOf[part]]);
      button.append(swatch, name, held);
      button.addEventListener("click", () => found(layer.rest ? "" : layer.name));
      item.append(button);
      return item;
    }));
  }

  function choose(to, keeps) {
    const next = Math.max(0, Math.min(run.count - 1, to));
    if (keeps && anchor === null) anchor = part;
    if (!keeps) anchor = null;
    part = next;
    tell();
  }

  function tell() {
    const range = anchor !== null && anchor !== part;
    mark();
    labels();
    chosen(range ? Math.max(anchor, part) : part, range ? Math.min(anchor, part) : null, words());
  }

  const at = (event) => Math.floor(run.count * (event.clientX - root.getBoundingClientRect().left) / width());
  root.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    root.setPointerCapture(event.pointerId);
    dragging = at(event);
    choose(dragging, event.shiftKey);
  });
  root.addEventListener("pointermove", (event) => {
    if (dragging === null) return;
    const to = Math.max(0, Math.min(run.count - 1, at(event)));
    if (anchor === null && Math.abs(to - dragging) * width() / run.count < 4) return;
    anchor = anchor ?? dragging;
    part = to;
    tell();
  });
  for (const name of ["pointerup", "pointercancel"]) root.addEventListener(name, () => { dragging = null; });
  const moves = {ArrowLeft: () => part - 1, ArrowRight: () => part + 1, PageUp: () => part - 10, PageDown: () => part + 10, Home: () => 0, End: () => run.count - 1, p: () => run.peak, P: () => run.peak};
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(moves[event.key] || event.key === "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    choose(event.key === "Escape" ? part : moves[event.key](), event.shiftKey && event.key.length > 1);
  });
  new ResizeObserver(draw).observe(root);
  draw();
  return {onChoice(callback) { chosen = callback; tell(); }, choose};
};
