// SPDX-License-Identifier: MIT
// Which stacks keep slabs that are hardly used. Loaded only on request, since naming stacks is expensive.

import { ask } from "./actions.js";
import { at, count, fill, size, time } from "./dom.js";

const CALLERS = 8;
const STEPS = [[86400, "days"], [3600, "h"], [60, "min"]];

let process = null, begun = 0;

function age(seconds) {
  const step = STEPS.find(([scale]) => seconds >= scale);
  return step ? `${(seconds / step[0]).toFixed(1)} ${step[1]}` : time(seconds);
}

// Another process is shown.
export function forgetPins(pid) {
  process = pid;
  begun += 1;
  at("pins").replaceChildren();
  at("pins-state").textContent = "";
  at("find-pins").disabled = false;
}

export function readyPins(look) {
  at("s-pins").hidden = look.profiles.prof !== true;
}

export async function findPins() {
  const mine = (begun += 1);
  at("find-pins").disabled = true;
  at("pins-state").textContent = "naming what was sampled …";
  try {
    const found = await ask(`/api/process/${process}/pins?sparse=${at("sparse").value}`);
    if (mine !== begun) return;
    at("pins-state").textContent = [`By their samples such slabs have ${size(found.slab_bytes)}, ${size(found.unused_bytes)} of it without an object.`, ...found.notes].join(" ");
    fill(at("pins"), [
      ["unused", (one) => size(one.unused_bytes)],
      ["in slabs", (one) => size(one.slab_bytes)],
      ["objects", (one) => count(one.objects)],
      ["of", (one) => size(one.size)],
      ["age: least", (one) => age(one.age_seconds.least)],
      ["middle", (one) => age(one.age_seconds.middle)],
      ["most", (one) => age(one.age_seconds.most)],
      ["stack, innermost first", (one) => ({ text: stack(one.stack) })],
    ], found.stacks);
  } catch (error) {
    if (mine === begun) { at("pins").replaceChildren(); at("pins-state").textContent = error.message; }
  } finally {
    if (mine === begun) at("find-pins").disabled = false;
  }
}

function stack(names) {
  const rest = names.length - CALLERS;
  return `${names.slice(0, CALLERS).join(" < ")}${rest > 0 ? ` < ${rest} more` : ""}`;
}
