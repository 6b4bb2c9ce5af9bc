// SPDX-License-Identifier: MIT
// What the page of a recorded run reckons of its data: the amounts of each stack at each part, and a flame graph of them.
"use strict";

// A stack's amounts are six numbers: objects and bytes of what was made, of what lives, of what was temporary.
window.hewRun = (data) => {
  const SUMS = 6, MADE = 0, LIVE = 2, TEMPORARY = 4;
  const SMALLEST = 1 / 5000; // of all: a fifth of a pixel
  const OTHERS = "[smaller stacks]";
  const others = data.leaves.length; // the number of the stack that stands for those that are not told apart
  const count = others + 1;

  // Of each part the place in data.parts that it is as: where nothing happened, as the one before.
  const placeOf = new Int32Array(data.partCount).fill(-1);
  data.parts.forEach((part, place) => { placeOf[part[0]] = place; });
  for (let part = 1; part < placeOf.length; part++) if (placeOf[part] < 0) placeOf[part] = placeOf[part - 1];

  // All amounts of every stack after the part at a place, part after part: kept every so often, and from there on reckoned.
  const EVERY = 16, kept = [];
  function advance(amounts, place) {
    const changed = data.parts[place][5], totals = data.parts[place][2];
    for (let at = 0; at < changed.length; at += SUMS + 1)
      for (let sum = 0; sum < SUMS; sum++) amounts[changed[at] * SUMS + sum] = changed[at + 1 + sum];
    for (let sum = 0; sum < SUMS; sum++) {
      let told = 0;
      for (let stack = 0; stack < others; stack++) told += amounts[stack * SUMS + sum];
      amounts[others * SUMS + sum] = totals[sum] - told;
    }
  }
  function amountsAt(part) {
    const place = part < 0 ? -1 : placeOf[part];
    if (place < 0) return new Float64Array(count * SUMS);
    const from = Math.min(Math.floor((place + 1) / EVERY), kept.length - 1);
    const amounts = kept[from].slice();
    for (let at = from * EVERY; at <= place; at++) advance(amounts, at);
    return amounts;
  }
  {
    const amounts = new Float64Array(count * SUMS);
    data.parts.forEach((_, place) => {
      if (place % EVERY === 0) kept.push(amounts.slice());
      advance(amounts, place);
    });
    if (!kept.length) kept.push(amounts);
  }

  const ways = data.leaves.map((leaf) => { // numbers of names, the outermost first
    const way = [];
    for (let node = leaf; node >= 0; node = data.parent[node]) way.push(data.name[node]);
    return way.reverse();
  });
  const names = [...data.names, OTHERS, "all"];
  ways.push([names.length - 2]);
  const place = (stack) => ways[stack].length ? ways[stack][ways[stack].length - 1] : names.length - 2;

  // The functions that hold most at the part where that is most of them, and what they hold at each part; the rest last.
  function layers(most) {
    const held = new Map(), largest = new Map();
    for (let at = 0; at < data.parts.length; at++) {
      const part = data.parts[at][0], amounts = amountsAt(part);
      for (let stack = 0; stack < count; stack++) {
        const bytes = amounts[stack * SUMS + LIVE + 1];
        if (!bytes) continue;
        const name = place(stack);
        if (!held.has(name)) held.set(name, new Float64Array(data.parts.length));
        const row = held.get(name);
        row[at] += bytes;
        if (row[at] > (largest.get(name) ?? 0)) largest.set(name, row[at]);
      }
    }
    const ranked = [...largest.keys()].filter((name) => name !== names.length - 2).sort((a, b) => largest.get(b) - largest.get(a));
    const found = ranked.slice(0, most).map((name) => ({name: names[name], bytes: held.get(name)}));
    const rest = new Float64Array(data.parts.length);
    for (const [name, row] of held) if (!ranked.slice(0, most).includes(name)) row.forEach((bytes, at) => { rest[at] += bytes; });
    if (rest.some((bytes) => bytes > 0)) found.push({name: "others", bytes: rest, rest: true});
    return found;
  }

  const KINDS = [ // what is shown of a moment: its title, whether it is bytes, and which of the amounts
    ["live bytes", true, LIVE + 1], ["live objects", false, LIVE], ["allocated bytes", true, MADE + 1],
    ["allocations", false, MADE], ["temporary allocations", false, TEMPORARY],
  ];

  // The moment of a part; or, with a part before it, what came between: what lives less than then is 0.
  function moment(part, before) {
    const now = amountsAt(part), old = before === null ? null : amountsAt(before);
    const value = (stack, sum) => now[stack * SUMS + sum] - (old ? old[stack * SUMS + sum] : 0);
    const growth = [];
    if (old) {
      for (let stack = 0; stack < count; stack++) {
        if (!value(stack, LIVE + 1) && !value(stack, LIVE)) continue;
        const texts = ways[stack].map((name) => names[name]).reverse();
        growth.push([texts, KINDS.map(([, , sum]) => old[stack * SUMS + sum]), KINDS.map(([, , sum]) => now[stack * SUMS + sum])]);
      }
      growth.sort((a, b) => Math.abs(b[2][0] - b[1][0]) - Math.abs(a[2][0] - a[1][0]));
      growth.length = Math.min(growth.length, 100);
    }
    return {values: KINDS.map(([, , sum]) => Float64Array.from({length: count}, (_, stack) => Math.max(0, value(stack, sum)))), growth};
  }

  // The data of flame.js.
  function flame(part, before, inverted) {
    const {values, growth} = moment(part, before);
    const totals = values.map((row) => row.reduce((sum, value) => sum + value, 0));
    const root = {name: names.length - 1, children: new Map(), values: totals};
    const flat = new Map(), cum = new Map();
    const add = (to, name, stack) => {
      if (!to.has(name)) to.set(name, new Array(KINDS.length).fill(0));
      to.get(name).forEach((sum, kind) => { to.get(name)[kind] = sum + values[kind][stack]; });
    };
    for (let stack = 0; stack < count; stack++) {
      if (!values.some((row) => row[stack])) continue;
      const way = inverted ? ways[stack].slice().reverse() : ways[stack];
      let node = root;
      for (const name of way) {
        let child = node.children.get(name);
        if (!child) node.children.set(name, child = {name, children: new Map(), values: new Array(KINDS.length).fill(0)});
        child.values.forEach((sum, kind) => { child.values[kind] = sum + values[kind][stack]; });
        node = child;
      }
      add(flat, place(stack), stack);
      new Set(ways[stack]).forEach((name) => add(cum, name, stack));
    }
    const rows = [...cum].map(([name, sums]) => [names[name], flat.get(name) ?? new Array(KINDS.length).fill(0), sums]);
    const titles = before === null ? KINDS.map(([title]) => title) : ["bytes that grew", "objects that grew", ...KINDS.slice(2).map(([title]) => title)];
    return {kinds: KINDS.map(([, bytes], kind) => ({title: titles[kind], bytes})), first: 0, base: "", sample: data.sample, names, ...flattened(root, totals), before: null, rows, growth};
  }

  // Nodes as columns, parents before children; what is too small to be seen is left out.
  function flattened(root, totals) {
    const name = [], parent = [], values = KINDS.map(() => []);
    let leftOut = 0;
    const waiting = [[root, -1]];
    while (waiting.length) {
      const [node, above] = waiting.pop();
      if (above >= 0 && !node.values.some((value, kind) => totals[kind] && value >= totals[kind] * SMALLEST)) { leftOut++; continue; }
      const here = name.push(node.name) - 1;
      parent.push(above);
      node.values.forEach((value, kind) => values[kind].push(value));
      const children = [...node.children.values()].sort((a, b) => names[a.name] < names[b.name] ? 1 : -1);
      for (const child of children) waiting.push([child, here]);
    }
    return {name, parent, values, leftOut};
  }

  const partAt = (part) => data.parts[Math.max(0, placeOf[part])];
  let peak = 0;
  data.parts.forEach((part) => { if (part[2][LIVE + 1] > partAt(peak)[2][LIVE + 1]) peak = part[0]; });
  return {
    count: data.partCount, peak, layers, flame, placeOf,
    seconds: (part) => placeOf[part] < 0 ? part * data.partSeconds : Math.max(partAt(part)[1], part * data.partSeconds),
    totals: (part) => placeOf[part] < 0 ? new Array(SUMS).fill(0) : partAt(part)[2],
    sizes: (part) => placeOf[part] < 0 ? [] : partAt(part)[3],
    born: (part) => placeOf[part] < 0 ? [] : partAt(part)[4],
    partSeconds: data.partSeconds, sample: data.sample,
  };
};
