# SPDX-License-Identifier: MIT
"""Groups live samples, and finds which stacks keep slabs that are hardly used.

Each sampled object holds a region in the slab that it would otherwise be in. Each of n regions in use keeps an n-th of
its slab. A sample's part counts as often as the objects that it stands for, so sums are right on average.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from hew.analysis.profile.names import ENTRY
from hew.model.live_samples import LiveSample, LiveSamples, Pin, Pins
from hew.model.profile import Frame, Location, Profile, Sample
from hew.model.quantity import size

AGES = (1.0, 10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, 86400.0, 7 * 86400.0)
AGE_NAMES = ("1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 day", "7 days")


def age_name(seconds: float) -> str:
    """The span of time that an age is in."""
    place = sum(seconds >= one for one in AGES)
    if place == 0:
        return f"younger than {AGE_NAMES[0]}"
    return f"{AGE_NAMES[place - 1]} to {AGE_NAMES[place]}" if place < len(AGES) else f"older than {AGE_NAMES[-1]}"


GROUPS: Mapping[str, Callable[[LiveSample], str]] = {
    "size": lambda one: f"objects of {size(one.usable)}",
    "thread": lambda one: f"thread {one.thread} {one.thread_name}".rstrip(),
    "age": lambda one: age_name(one.age),
}


def grouped(taken: LiveSamples, by: str) -> Profile:
    """A profile whose outermost frames are groups: by size class, thread or age."""
    name_of = GROUPS[by]
    groups: dict[str, int] = {}
    found = []
    for one in taken.samples:
        group = groups.setdefault(name_of(one), len(taken.locations) + len(groups))
        values = (0, 0, round(one.objects), round(one.objects * one.usable))
        found.append(Sample([*one.stack, group], values))
    outer = tuple(Location(0, None, (Frame(name),)) for name in groups)
    return Profile(
        taken.source, tuple(found), (*taken.locations, *outer), taken.mappings, False, taken.period, notes=taken.notes
    )


def pins(taken: LiveSamples, sparse: float) -> Pins:
    """Which stacks keep slabs of which at most that part is in use."""
    texts = [tuple(frame.name for frame in place.frames) for place in taken.locations]
    stacks: dict[tuple[str, ...], list[LiveSample]] = defaultdict(list)
    for one in taken.samples:
        if one.regions > one.free and one.regions - one.free <= sparse * one.regions:
            stacks[_callers([name for place in one.stack for name in texts[place]])].append(one)
    found = sorted((_pin(stack, rows) for stack, rows in stacks.items()), key=lambda one: (-one.unused, one.stack))
    return Pins(
        taken.source,
        sparse,
        sum(one.unused for one in found),
        sum(one.slabs for one in found),
        tuple(found),
        taken.notes,
    )


def _callers(names: Sequence[str]) -> tuple[str, ...]:
    """Without the allocator's own frames."""
    last = max((place for place, name in enumerate(names[:24]) if ENTRY.fullmatch(name)), default=-1)
    return tuple(names[last + 1 :] or names)


def _kept(one: LiveSample) -> float:
    """Bytes of its slab that its objects keep."""
    return one.objects * one.slab / (one.regions - one.free)


def _pin(stack: tuple[str, ...], rows: Sequence[LiveSample]) -> Pin:
    sizes: dict[int, float] = defaultdict(float)
    for one in rows:
        sizes[one.usable] += _kept(one)
    ages = sorted(one.age for one in rows)
    return Pin(
        stack,
        unused=sum(_kept(one) * one.free / one.regions for one in rows),
        slabs=sum(map(_kept, rows)),
        objects=sum(one.objects for one in rows),
        size=max(sizes, key=lambda one: sizes[one]),
        samples=len(rows),
        youngest=ages[0],
        middle=ages[len(ages) // 2],
        oldest=ages[-1],
    )
