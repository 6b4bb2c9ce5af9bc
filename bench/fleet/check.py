# SPDX-License-Identifier: MIT
"""What `hew fleet` says of a played fleet, against what was planted."""

from collections.abc import Iterator
from itertools import pairwise

from play import DAY, LESS, ROLLED_OUT, Fleet, scores

from hew.commands.fleet_rollout import rollout_of
from hew.commands.fleet_query import Wanted, fleet_of
from hew.model.fleet import FleetState, Source

CLOSE = 0.03  # an engine reckons rates from samples, and sizes from four moments of an hour
KEPT_SETTING = "dirty_decay_ms:1000"


def problems(fleet: Fleet, source: Source) -> tuple[list[str], FleetState]:
    """What does not hold, and the ranking."""
    wanted = Wanted(end=float(fleet.times[-1]))
    state = fleet_of(source, wanted)
    found = [*_costs(fleet, state), *_beside(fleet, state), *_rollout(fleet, source, wanted)]
    return found, state


def _costs(fleet: Fleet, state: FleetState) -> Iterator[str]:
    """Each planted cost is found, and nothing else, in the order of what it costs."""
    found = {(one.name, cost.kind.value): cost.cores or cost.bytes for one in state.services for cost in one.costs}
    for key, cost in fleet.truth.costs.items():
        if key not in found:
            yield f"{key}: planted, and not found"
        elif abs(found[key] / cost - 1) > CLOSE:
            yield f"{key}: costs {cost:.4g}, and {found[key]:.4g} was found"
    yield from (f"{key}: found, and not planted" for key in found if key not in fleet.truth.costs)
    ranked = [one.name for one in state.services if one.costs]
    planted = scores(fleet.truth, state.gib_per_core)
    for first, then in pairwise(ranked):  # two that cost the same within what was measured may stand either way
        dear, cheap = planted.get(first, 0.0), planted.get(then, 0.0)
        if dear < cheap * (1 - 2 * CLOSE):
            yield f"{first} is ranked before {then}, and costs {dear:.3g}, not {cheap:.3g}"
    for one in state.services:
        hosts = next(len(service.hosts) for service in fleet.services if service.name == one.name)
        if one.hosts != hosts or round(one.processes) != hosts:
            yield f"{one.name}: {one.hosts} hosts and {one.processes} processes, not {hosts}"


def _beside(fleet: Fleet, state: FleetState) -> Iterator[str]:
    """Settings that differ, and limits; advice where the rules can speak."""
    told = {one.name: {host for mixed in one.mixed for host, _ in mixed.others} for one in state.services if one.mixed}
    planted = {name: hosts for name, hosts in fleet.truth.mixed.items() if hosts}
    if told != planted:
        yield f"settings differ on {told}, not on {planted}"
    limits = {one.name: one.limit for one in state.services if one.limit}
    if set(limits) != set(fleet.truth.limits):
        yield f"limits are met by {sorted(limits)}, not by {sorted(fleet.truth.limits)}"
    for name in set(limits) & set(fleet.truth.limits):
        day, true = limits[name], fleet.truth.limits[name]
        if not day.earliest <= true <= (day.latest or true) and abs(day.at - true) > 0.02 * (true - state.end):
            yield f"{name}: meets its limit at {true:.0f}, told {day.earliest:.0f} to {day.latest}"
    speaks = {"idle pages": "decay-too-long", "thread caches": "thread-caches", "page faults": "decay-too-short"}
    for one in state.services:
        rules = {advice.rule for advice in one.advice}
        due = {speaks[cost.kind.value] for cost in one.costs if cost.kind.value in speaks}
        if any(cost.kind.value == "lock waits" for cost in one.costs):
            due.add("arenas-too-few")
        if rules != due:
            yield f"{one.name}: rules {sorted(rules)} speak, not {sorted(due)}"


def _rollout(fleet: Fleet, source: Source, wanted: Wanted) -> Iterator[str]:
    """The hosts that kept their setting, and what the others gained."""
    if not fleet.truth.kept:
        return
    at = float(fleet.times[0] + ROLLED_OUT * DAY)
    asked = Wanted(wanted.window, wanted.end, fleet.truth.rollout)
    found = rollout_of(source, asked, at - fleet.every / 2, max(600.0, fleet.every), KEPT_SETTING)
    missing = {host for host, _ in found.missing}
    if missing != fleet.truth.kept:
        yield f"{sorted(missing)} have not picked up the setting, not {sorted(fleet.truth.kept)}"
    ratios = [group.ratios["resident_bytes"] for group in found.groups]
    # The load has a rhythm: what the others did in the same time is what the setting did not do.
    change = ratios[0].value / ratios[1].value if len(ratios) > 1 else ratios[0].value
    if abs(change - LESS) > CLOSE:
        yield f"memory after the rollout is {change:.3f} of before, beside the others; it is {LESS}"
