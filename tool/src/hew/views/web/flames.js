// SPDX-License-Identifier: MIT
// The heap profile of the process as a flame graph: taken when asked for, never by itself, since it costs the process work.

import { ask, mayChange } from "./actions.js";
import { at, element, size } from "./dom.js";

let draw = null, process = null, begun = 0;

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });

// Another process is shown: what was drawn is not its.
export function forget(pid) {
  process = pid;
  begun += 1;
  at("flame").hidden = true;
  at("flame-state").textContent = "";
  at("take").disabled = false;
  offer([]);
}

export function ready(look) {
  at("flames").hidden = look.profiles.prof !== true && at("flame").hidden;
  at("keep-profile").disabled = !mayChange();
}

function offer(kept) {
  for (const [id, first] of [["flame-of", "now"], ["flame-base", "nothing"]]) {
    const box = at(id), had = box.value;
    const options = kept.map((one) => element("option", { value: one.number }, `${one.number}: ${clock(one.at)}, ${size(one.bytes)}`));
    box.replaceChildren(element("option", { value: 0 }, first), ...options);
    box.value = [...box.options].some((one) => one.value === had) ? had : "0";
  }
}

export async function take() {
  const pid = process, mine = (begun += 1);
  at("take").disabled = true;
  at("flame-state").textContent = "naming what was sampled …";
  const by = at("flame-by").value;
  if (!["", "line"].includes(by)) at("flame-of").value = at("flame-base").value = "0"; // kept ones know stacks alone
  try {
    const found = await ask(`/api/process/${pid}/profile?of=${at("flame-of").value}&base=${at("flame-base").value}&by=${by}`);
    if (mine !== begun) return;
    offer(found.kept);
    at("flame").hidden = false;
    draw ??= window.hewFlame(at("flame"), at("flame"));
    draw(found.graph);
    at("flame-state").replaceChildren(`${clock(found.profile.at)}: ${found.summary}`, ...found.notes.flatMap((note) => [element("br"), note]));
  } catch (error) {
    if (mine === begun) at("flame-state").textContent = error.message;
  } finally {
    if (mine === begun) at("take").disabled = false;
  }
}

export async function keepProfile() {
  const pid = process;
  at("flame-state").textContent = "keeping …";
  at("keep-profile").disabled = true;
  try {
    const kept = await ask(`/api/process/${pid}/profile/keep`, {});
    if (pid !== process) return;
    if (!["", "line"].includes(at("flame-by").value)) at("flame-by").value = "";
    const box = at("flame-base");
    box.append(element("option", { value: kept.number }, `${kept.number}`));
    box.value = kept.number;
    await take();
  } catch (error) {
    if (pid === process) at("flame-state").textContent = error.message;
  } finally {
    at("keep-profile").disabled = !mayChange();
  }
}
