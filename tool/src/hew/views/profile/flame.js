// SPDX-License-Identifier: MIT
// The flame graph and its tables, for the page of hew profile and for that of hew serve. Names are put in as text, never
// as markup.
"use strict";

// `root` holds the elements of flame.html; keys are listened for in `keys`. What is returned shows the data of a profile:
// kinds, names, nodes by columns, rows of functions, stacks that grew.
window.hewFlame = (root, keys) => {
  const at = (name) => root.querySelector(`[data-at="${name}"]`);
  const graph = at("graph"), told = at("told"), search = at("search"), reset = at("reset");
  const ROW = 21, LEAST = 0.6; // pixels: a frame's height, and the narrowest one that is drawn
  const EMPTY = {kinds: [{title: "", bytes: false}], first: 0, base: "", sample: 0, names: ["all"], name: [0], parent: [-1], values: [[0]], before: null, leftOut: 0, rows: [], growth: []};
  let data = EMPTY, children = [[]], depth = [0], switches = [];
  let kind = 0, top = 0, chosen = 0, needle = "", byCum = false;
  let drawn = new Map();

  const nameOf = (node) => data.names[data.name[node]];
  const after = (node) => data.values[kind][node];
  const before = (node) => data.before ? data.before[kind][node] : 0;
  const width = (node) => Math.max(0, after(node)); // of two profiles the newer one's
  // By how much an estimate in bytes may be off in 95 of 100 cases, as hew.model.profile.by_chance says.
  const off = (value) => data.sample && data.kinds[kind].bytes && !data.before ? ` ± ${amount(1.96 * Math.sqrt(data.sample * Math.abs(value)))}` : "";
  const share = (part, whole) => whole ? `${(100 * part / whole).toFixed(part / whole < 0.1 ? 2 : 1)} %` : "–";

  function bytes(size) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit++; }
    return `${unit === 0 ? Math.round(size) : size.toPrecision(size >= 1000 ? 4 : 3)} ${units[unit]}`;
  }

  function amount(value, signed) {
    const sign = value < 0 ? "−" : signed && value > 0 ? "+" : "";
    return sign + (data.kinds[kind].bytes ? bytes(Math.abs(value)) : Math.round(Math.abs(value)).toLocaleString("en"));
  }

  function make(kindOf, className, text) {
    const made = document.createElement(kindOf);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function hue(text) { // of a name: the same on every page
    let hash = 2166136261;
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
    return 10 + (hash >>> 0) % 50;
  }

  const matches = (name) => needle !== "" && name.toLowerCase().includes(needle);

  function describe(node) {
    told.replaceChildren(make("b", "", nameOf(node)), make("br"));
    const whole = after(0);
    let text = `${amount(after(node))}${off(after(node))} ${data.kinds[kind].title}, ${share(after(node), whole)} of all`;
    if (node !== top && top !== 0) text += `, ${share(after(node), after(top))} of ${nameOf(top)}`;
    if (data.before) text += `; ${amount(after(node) - before(node), true)} since ${data.base}`;
    told.append(text);
  }

  function change(element, node) {
    const grown = after(node) - before(node);
    const much = Math.min(1, Math.abs(grown) / Math.max(1, Math.max(after(node), before(node))));
    element.classList.add(grown > 0 ? "grown" : grown < 0 ? "shrunk" : "same");
    element.style.setProperty("--much", `${Math.round(15 + 85 * much)}%`);
    return grown > 0 ? "▲ " : grown < 0 ? "▼ " : "";
  }

  function frame(node, left, wide, above) {
    const element = make("div", "frame");
    const name = nameOf(node);
    let mark = "";
    if (node === 0) element.classList.add("root");
    else if (data.before) mark = change(element, node);
    else element.style.setProperty("--hue", hue(name));
    if (matches(name)) element.classList.add("found");
    if (above) element.classList.add("above");
    if (node === chosen) element.classList.add("chosen");
    element.style.left = `${left}px`;
    element.style.width = `${wide}px`;
    element.style.top = `${depth[node] * ROW}px`;
    if (wide > 24) element.textContent = mark + name;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-label", `${name}, ${amount(after(node))}`);
    element.id = `frame-${node}`;
    drawn.set(node, element);
    element.addEventListener("pointerenter", () => describe(node));
    element.addEventListener("click", () => zoom(node));
    return element;
  }

  function draw() {
    const whole = graph.clientWidth, found = [];
    drawn = new Map();
    let deepest = 0;
    for (let node = data.parent[top]; node >= 0; node = data.parent[node]) found.push(frame(node, 0, whole, true));
    const waiting = [[top, 0, whole]];
    while (waiting.length) {
      const [node, left, wide] = waiting.pop();
      found.push(frame(node, left, wide, false));
      deepest = Math.max(deepest, depth[node]);
      let at = left;
      for (const child of children[node]) {
        const part = width(node) ? wide * width(child) / width(node) : 0;
        if (part >= LEAST) waiting.push([child, at, part]);
        at += part;
      }
    }
    graph.replaceChildren(...found);
    graph.style.height = `${(deepest + 1) * ROW + 2}px`;
    reset.hidden = top === 0;
    if (drawn.has(chosen)) graph.setAttribute("aria-activedescendant", `frame-${chosen}`);
  }

  function zoom(node) {
    top = chosen = node;
    draw();
    describe(node);
  }

  function choose(node) {
    if (node === undefined || node < 0) return;
    chosen = node;
    if (!drawn.has(node)) top = node;
    draw();
    describe(node);
    drawn.get(node).scrollIntoView({block: "nearest"});
  }

  function beside(step) {
    if (chosen === 0) return chosen;
    const row = children[data.parent[chosen]].filter((node) => drawn.has(node));
    return row[row.indexOf(chosen) + step] ?? chosen;
  }

  const largest = (nodes) => nodes.reduce((best, node) => best < 0 || width(node) > width(best) ? node : best, -1);
  const moves = {
    ArrowUp: () => choose(data.parent[chosen]),
    ArrowDown: () => choose(largest(children[chosen])),
    ArrowLeft: () => choose(beside(-1)),
    ArrowRight: () => choose(beside(1)),
    Home: () => choose(0),
    Enter: () => zoom(chosen),
    " ": () => zoom(chosen),
  };

  function matched() { // what passes frames that match: of one above another only the upper one counts
    let sum = 0;
    const waiting = [0];
    while (waiting.length) {
      const node = waiting.pop();
      if (matches(nameOf(node))) sum += after(node);
      else waiting.push(...children[node]);
    }
    return sum;
  }

  function legend() {
    const notes = [];
    if (needle) notes.push(`Functions with “${search.value}”: ${amount(matched())}, ${share(matched(), after(0))}.`);
    if (data.before) notes.push("Width is what there is now; red (▲) grew, blue (▼) shrank, grey stayed.");
    if (data.sample) notes.push(`Estimates: one byte in ${bytes(data.sample)} was sampled. In 95 of 100 cases the truth lies within ±.`);
    if (data.leftOut) notes.push(`${data.leftOut.toLocaleString("en")} frames are too small to be drawn.`);
    at("legend").textContent = notes.join(" ");
  }

  function cells(row, texts) {
    for (const text of texts) row.append(make("td", "number", text));
    return row;
  }

  function functions() {
    const which = byCum ? 2 : 1, whole = after(0);
    const rows = data.rows.filter((row) => row[2][kind] && (!needle || matches(row[0])));
    rows.sort((a, b) => Math.abs(b[which][kind]) - Math.abs(a[which][kind]) || Math.abs(b[2][kind]) - Math.abs(a[2][kind]));
    const signed = Boolean(data.before);
    at("functions").replaceChildren(...rows.slice(0, 100).map((row) => {
      const made = cells(make("tr"), [1, 2].flatMap((at) => [amount(row[at][kind], signed) + (row[at][kind] ? off(row[at][kind]) : ""), share(row[at][kind], whole)]));
      const name = make("button", "", row[0]), cell = make("td");
      name.type = "button";
      name.addEventListener("click", () => { search.value = row[0]; find(); });
      cell.append(name);
      made.append(cell);
      return made;
    }));
    at("by-flat").setAttribute("aria-pressed", String(!byCum));
    at("by-cum").setAttribute("aria-pressed", String(byCum));
  }

  function growth() {
    at("growth").hidden = !data.growth.length;
    const rows = data.growth.map((row) => [row, row[2][kind] - row[1][kind]]).filter(([row, grown]) =>
      grown && (!needle || row[0].some(matches)));
    rows.sort((a, b) => b[1] - a[1]);
    at("grown").replaceChildren(...rows.map(([row, grown]) => {
      const made = cells(make("tr"), [amount(grown, true), amount(row[1][kind]), amount(row[2][kind])]);
      made.append(make("td", "", row[0].slice(0, 12).join(" < ")));
      return made;
    }));
  }

  function find() {
    needle = search.value.trim().toLowerCase();
    all();
  }

  function all() {
    draw();
    legend();
    functions();
    growth();
  }

  function show(number) {
    kind = number;
    switches.forEach((one, place) => one.setAttribute("aria-checked", String(place === kind)));
    all();
    describe(chosen);
  }

  function offer() { // a button for each kind
    switches = data.kinds.map((one, number) => {
      const button = make("button", "", one.title);
      button.type = "button";
      button.setAttribute("role", "radio");
      button.addEventListener("click", () => show(number));
      return button;
    });
    at("kinds").replaceChildren(...switches);
  }

  function showProfile(found) { // the kind that was looked at stays, where the profile has it
    const title = data.kinds[kind].title;
    data = found;
    children = data.name.map(() => []);
    depth = new Array(data.name.length).fill(0);
    data.parent.forEach((parent, node) => {
      if (parent >= 0) { children[parent].push(node); depth[node] = depth[parent] + 1; }
    });
    top = chosen = 0;
    const same = data.kinds.findIndex((one) => one.title === title);
    offer();
    show(same >= 0 ? same : data.first);
  }

  function done(event) { event.preventDefault(); event.stopPropagation(); }

  search.addEventListener("input", find);
  reset.addEventListener("click", () => zoom(0));
  at("by-flat").addEventListener("click", () => { byCum = false; functions(); });
  at("by-cum").addEventListener("click", () => { byCum = true; functions(); });
  graph.addEventListener("keydown", (event) => {
    if (moves[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) { done(event); moves[event.key](); }
  });
  keys.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== search) { done(event); search.focus(); }
    else if (event.key === "Escape" && search.value) { done(event); search.value = ""; find(); }
    else if (event.key === "Escape") { done(event); zoom(0); }
  });
  new ResizeObserver(() => draw()).observe(graph);
  return showProfile;
};
