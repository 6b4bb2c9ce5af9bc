# SPDX-License-Identifier: MIT
"""A moment of a recorded run as a heap profile, and what grew from one moment to another."""

from collections.abc import Iterable
from dataclasses import replace

from hew.model.profile import NOTHING, Frame, Location, Profile, Sample, Values
from hew.model.quantity import three_digits
from hew.model.whole_run import Moment, Sum, View, WholeRun, paths, rows_of

LOST, REACHABLE = "[lost]", "[still reachable]"
NO_STACK = Location(0, None, (Frame("[no stack]"),))
END_WORDS = {View.LEAKS: "never freed", View.COUNT: "the whole run", View.TEMPORARY: "temporary"}


def places(run: WholeRun) -> Profile:
    """The run's code as a profile without samples, whose locations are the nodes'. A node's address is where its call
    returns to; the call lies before it. Nodes of one address are named once."""
    numbers: dict[int, int] = {}
    for address in run.addresses:
        numbers.setdefault(address, len(numbers))
    locations = tuple(_place(run, address) for address in numbers)
    return Profile(run.source, (), locations, run.mappings, True, 1, round(1e9 * run.started), run.notes, run.pid)


def _place(run: WholeRun, address: int) -> Location:
    if address in run.names:
        return Location(0, None, (run.names[address],))
    return Location(address - 1) if address else NO_STACK


def with_names(run: WholeRun, named: Profile) -> WholeRun:
    """The run whose places have their names."""
    numbers: dict[int, int] = {}
    for address in run.addresses:
        numbers.setdefault(address, len(numbers))
    located = tuple(named.locations[numbers[address]] for address in run.addresses)
    return replace(run, locations=located, notes=named.notes)


def profile_at(run: WholeRun, view: View, moment: Moment) -> Profile:
    """One moment. What is temporary has counts of that alone."""
    rows = rows_of(moment.stacks)
    stacks = paths(run.parents, [row[0] for row in rows])
    samples = [Sample(stacks[row[0]] or [0], _values(row, view)) for row in rows]
    if view is View.LEAKS and run.lost is not None:
        samples = [part for row, one in zip(rows, samples, strict=True) for part in _told_apart(run, row[0], one)]
    return Profile(
        source=f"{run.source}, {_words(view, moment)}",
        samples=tuple(one for one in samples if one.values != NOTHING),
        locations=(*run.locations, *(Location(0, None, (Frame(name),)) for name in (LOST, REACHABLE))),
        mappings=run.mappings,
        accumulated=True,
        period=run.sample or 1,
        nanoseconds=round(1e9 * (run.started + moment.seconds)),
        notes=run.notes,
        pid=run.pid,
        temporary=view is View.TEMPORARY,
    )


def _told_apart(run: WholeRun, node: int, sample: Sample) -> Iterable[Sample]:
    """What was never freed of a stack: below [lost] if nothing points to it, else below [still reachable]. What was
    allocated counts once."""
    lost = (run.lost or {}).get(node, Sum(0, 0))
    made, made_bytes, live, live_bytes = sample.values
    if lost.count:
        yield Sample([*sample.stack, len(run.locations)], (made, made_bytes, lost.count, lost.bytes))
        made, made_bytes = 0, 0
    if live > lost.count:
        values = (made, made_bytes, live - lost.count, live_bytes - lost.bytes)
        yield Sample([*sample.stack, len(run.locations) + 1], values)


def _words(view: View, moment: Moment) -> str:
    if view is View.PEAK:
        return f"peak at {three_digits(moment.seconds)} s"
    return END_WORDS.get(view, f"at {three_digits(moment.seconds)} s")


def _values(row: Iterable[int], view: View) -> Values:
    _, made, made_bytes, live, live_bytes, temporary, temporary_bytes = row
    if view is View.TEMPORARY:
        return (temporary, temporary_bytes, 0, 0)
    return (made, made_bytes, live, live_bytes)
