# SPDX-License-Identifier: MIT
"""The live samples of a running process on hew, through its control socket (docs/control.md: samples)."""

import re
from dataclasses import replace

from hew.model.errors import HewError
from hew.model.live_samples import LiveSample, LiveSamples
from hew.model.profile import Location, Profile
from hew.sources.control import connect
from hew.sources.processes import name_of
from hew.sources.profile.read import read_bytes
from hew.sources.readable import readable
from hew.sources.symbols.symbolise import Finder, symbolise

STACK = re.compile(r"@(?: 0x[0-9a-f]{1,16})*")
ROW = re.compile(r" (\d{1,20}) (\d{1,20}) (\d{1,20}) (\d{1,20}) (\d{1,20}) (\d{1,20}) (\d{1,20}) (\d{1,20}) (.*)")
WEIGHT, NANOSECONDS = 1 << 16, 1e9


def take_samples(pid: int) -> LiveSamples:
    """What is live now, without names. Raises HewError."""
    with connect(pid) as control:
        if control.get("opt.prof") is not True:
            raise HewError(
                f"process {pid} was started without heap profiling, which cannot be switched on later: start it with "
                "hew run --conf prof:true,prof_slabs:true -- COMMAND"
            )
        if "opt.prof_slabs" not in {one.name for one in control.names()}:
            raise HewError(f"process {pid} has an older hew, which tells nothing of single samples")
        placed = control.get("opt.prof_slabs") is True
        active = control.get("prof.active") is True
        text = control.samples()
        _, profile = control.heap()
    source = f"{name_of(pid)} ({pid})"
    found = read_samples(text, source, read_bytes(profile, source), placed)
    note = "It takes no samples at the moment (prof.active is off): this is what is left of earlier ones."
    return found if active else replace(found, notes=(*found.notes, note))


def read_samples(text: str, source: str, profile: Profile, placed: bool) -> LiveSamples:
    """An answer as it came; the mappings are those of a heap profile of the same process."""
    numbers: dict[int, int] = {}
    samples: list[LiveSample] = []
    stack: list[int] = []
    for line in text.removesuffix("\n").split("\n"):  # splitlines() would end lines within names, at U+2028
        if STACK.fullmatch(line):
            calls = [max(int(word, 16) - 1, 0) for word in line[1:].split()]  # they are return addresses
            stack = [numbers.setdefault(call, len(numbers)) for call in calls]
        elif row := ROW.fullmatch(line):
            size, usable, weight, age, thread, regions, free, slab = map(int, row.groups()[:8])
            name = readable(row[9])
            objects, seconds = weight / WEIGHT, age / NANOSECONDS
            samples.append(LiveSample(stack, size, usable, objects, seconds, thread, name, regions, free, slab))
        else:
            raise HewError(f"{source}: {line[:60]!r} is no sample")
    places = tuple(Location(address) for address in numbers)
    return LiveSamples(source, tuple(samples), places, profile.mappings, profile.period, placed, profile.notes)


def placed(taken: LiveSamples, pid: int) -> LiveSamples:
    """Them, where their slabs are known; HewError otherwise."""
    if not taken.placed:
        raise HewError(
            f"process {pid} does not know the slabs of its samples: start it with hew run --conf "
            "prof:true,prof_slabs:true -- COMMAND"
        )
    return taken


def named_samples(taken: LiveSamples, pid: int, finder: Finder) -> LiveSamples:
    """The same with names."""
    bare = Profile(taken.source, (), taken.locations, taken.mappings, False, taken.period, pid=pid)
    named = symbolise(bare, finder)
    return replace(taken, locations=named.locations, mappings=named.mappings, notes=(*taken.notes, *named.notes))
