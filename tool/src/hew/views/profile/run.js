// SPDX-License-Identifier: MIT
// Puts the parts of the page of a recorded run together.
"use strict";

{
  const byId = (id) => document.getElementById(id);
  const processes = JSON.parse(byId("processes").textContent);
  const show = hewFlame(byId("flame"), document);
  const search = byId("flame").querySelector('[data-at="search"]');
  let run = null, chart = null, inverted = false, now = [0, null];

  function rows(body, found) { // of a title, objects and bytes each
    const whole = found.reduce((sum, [, , bytes]) => sum + bytes, 0);
    body.replaceChildren(...found.map(([title, objects, bytes]) => {
      const row = document.createElement("tr");
      for (const text of [title, hewWords.count(objects), hewWords.bytes(bytes)]) {
        const cell = document.createElement("td");
        cell.className = "number";
        cell.textContent = text;
        row.append(cell);
      }
      const cell = document.createElement("td"), bar = document.createElement("span");
      bar.className = "share";
      bar.style.width = `${whole ? 100 * bytes / whole : 0}%`;
      cell.setAttribute("aria-label", `${whole ? (100 * bytes / whole).toFixed(1) : 0} %`);
      cell.append(bar);
      row.append(cell);
      return row;
    }));
  }

  function sizes(part) {
    const flat = run.sizes(part), found = [];
    for (let power = 0; 2 * power < flat.length; power++) {
      if (!flat[2 * power]) continue;
      const title = power === 0 ? "0" : power === 1 ? "1" : `${hewWords.count(2 ** (power - 1))} to ${hewWords.count(2 ** power - 1)}`;
      found.push([title, flat[2 * power], flat[2 * power + 1]]);
    }
    return found;
  }

  function ages(part) { // by how many parts ago they were made, each row twice as far back
    const flat = run.born(part), found = [];
    for (let from = 0, length = 1; from <= part; from += length, length = from) {
      let objects = 0, bytes = 0;
      for (let ago = from; ago < from + length && ago <= part; ago++) {
        objects += flat[2 * (part - ago)] ?? 0;
        bytes += flat[2 * (part - ago) + 1] ?? 0;
      }
      if (objects) found.push([hewWords.seconds((from + length) * run.partSeconds), objects, bytes]);
    }
    return found;
  }

  function all() {
    const [part, before] = now;
    show(run.flame(part, before, inverted));
    rows(byId("sizes"), sizes(part));
    rows(byId("ages"), ages(part));
  }

  function open(number) { // the process of that number, at its peak
    const fresh = byId("chart").cloneNode(false); // without the listeners of the process before
    byId("chart").replaceWith(fresh);
    run = hewRun(JSON.parse(byId(`data-${number}`).textContent));
    chart = hewRunChart(fresh, byId("legend"), run, (name) => {
      search.value = name;
      search.dispatchEvent(new Event("input"));
    });
    byId("summary").textContent = processes[number].summary;
    byId("notes").replaceChildren(...processes[number].notes.map((note) => {
      const item = document.createElement("li");
      item.textContent = note;
      return item;
    }));
    chart.onChoice((part, before, words) => {
      now = [part, before];
      byId("moment").textContent = words;
      all();
    });
  }

  byId("process").replaceChildren(...processes.map(({title}, number) => new Option(title, String(number))));
  byId("choice").hidden = processes.length === 1;
  byId("process").addEventListener("change", (event) => open(Number(event.currentTarget.value)));
  byId("to-peak").addEventListener("click", () => chart.choose(run.peak, false));
  byId("to-end").addEventListener("click", () => chart.choose(run.count - 1, false));
  byId("invert").addEventListener("click", (event) => {
    inverted = !inverted;
    event.currentTarget.setAttribute("aria-pressed", String(inverted));
    all();
  });
  open(0);
}
