# SPDX-License-Identifier: MIT
"""The heap profiles of processes, as they are pushed: what is live, with the names of symbol tables."""

import time
from dataclasses import replace

from hew.model.profile import Kind, Profile
from hew.sources.control import connect
from hew.sources.processes import name_of
from hew.sources.profile.read import read_bytes
from hew.sources.symbols.live import live_finder
from hew.sources.symbols.symbolise import symbolise


def live_profile(pid: int) -> Profile:
    """The live memory of a process that samples. Lines and inlined functions are left out: resolving them costs seconds
    of CPU time. Accumulated allocations are left out too: stores add up profiles, and would count them again each
    time. Raises HewError."""
    with connect(pid) as control:
        _, body = control.heap()
    taken = replace(read_bytes(body, f"{name_of(pid)} ({pid})"), pid=pid)
    named = symbolise(taken, live_finder(pid, lines=False))
    live = tuple(one for one in named.samples if one.values[Kind.INUSE_OBJECTS] or one.values[Kind.INUSE_SPACE])
    return replace(named, samples=live, accumulated=False, nanoseconds=named.nanoseconds or time.time_ns())
