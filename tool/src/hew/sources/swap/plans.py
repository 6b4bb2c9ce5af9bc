# SPDX-License-Identifier: MIT
"""A process as a swap finds it, and the plans for the process that attaches to it (holder.py)."""

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.process import ProcessFacts
from hew.model.swap import REALLOC, REQUESTS
from hew.sources.attach.reading import forbidden
from hew.sources.attach.target import Mapped
from hew.sources.extras import need
from hew.sources.processes import PROC
from hew.sources.swap import held
from hew.sources.swap.checks import checked
from hew.sources.swap.instructions import JUMP, jump
from hew.sources.swap.places import (
    PAGE,
    Places,
    Site,
    address_of,
    errno_offset,
    is_counted,
    library_in,
    overlap,
    places_in,
    sites_of,
)

TIMEOUT = 5.0  # seconds in which a moment is looked for
LONGEST_STOP = 0.02  # seconds in which all threads must have stopped
# The mapping near the old allocator: slots of 64 bytes, and the settings.
SLOT, SLOTS_BYTES, BYTES = 64, PAGE, 2 * PAGE
OLD_FREE, OLD_USABLE, OLD_REALLOC, BACK_REALLOC, FIRST_FAR = range(5)
READ_EXECUTE, PRIVATE_ANONYMOUS, NO_REPLACE = 5, 0x22, 0x100000
NONE = 2**64 - 1
WORDS = struct.Struct("<8Q")  # struct hew_swapped of src/alloc/foreign.h


@dataclass(frozen=True)
class State:
    """A process as it stands: its old allocator, and what an earlier swap has left."""

    facts: ProcessFacts
    places: Places
    old: Mapped
    sites: list[Site]
    library: Mapped | None
    words: tuple[int, ...]  # of struct hew_swapped; all 0 before the first swap
    on_hew: frozenset[str]  # the functions that allocate, as far as they lead to hew
    memory: int  # a descriptor of /proc/PID/mem
    timeout: float

    @property
    def title(self) -> str:
        """The old allocator."""
        assert self.facts.provider is not None  # noqa: S101 - checked
        return self.facts.provider.code.title

    @property
    def whole(self) -> bool:
        """Whether all requests go to hew. After a swap that was cut short only some do."""
        return self.on_hew >= {one.name for one in self.sites if one.name == REALLOC or one.name in REQUESTS}

    @property
    def kind(self) -> str:
        """The old allocator's."""
        assert self.facts.provider is not None  # noqa: S101 - checked
        return self.facts.provider.code.kind or ""


@contextmanager
def opened(pid: int) -> Iterator[int]:
    """A descriptor of its memory."""
    need("numpy")
    if not Path(f"{PROC}/{pid}").exists():
        raise HewError(f"there is no process {pid}")
    try:
        memory = os.open(f"{PROC}/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError as error:
        raise HewError(f"process {pid} may not be changed: {forbidden(pid, filtered=False)}") from error
    held.HOLDER.start()
    try:
        yield memory
    finally:
        os.close(memory)


def state_of(pid: int, memory: int, timeout: float) -> State:
    """What there is. HewError says why it cannot be swapped."""
    facts = checked(pid)
    assert facts.provider is not None  # noqa: S101 - checked
    places = places_in(pid)
    path = facts.provider.code.path
    old = next((one for one in places.files if one.shown == path), None)
    if old is None:
        raise HewError(f"{path}, the malloc of process {pid}, cannot be read")
    sites = sites_of(old, memory)
    ours = library_in(pid)
    changed = {one.name: there for one in sites if (there := os.pread(memory, JUMP, one.place)) != one.code[:JUMP]}
    for one in sites:
        if one.name in changed and is_counted(one, changed[one.name], memory):  # a count that was cut short
            del changed[one.name]
    words = words_of(ours, memory)
    if changed and not words[0]:
        raise HewError(f"{min(changed)} of process {pid} has been changed in memory (by a probe?)")
    place = next(one.place for one in sites if one.name == REALLOC)
    if REALLOC in changed and changed[REALLOC] == jump(place, words[5] + BACK_REALLOC * SLOT):
        del changed[REALLOC]
    on_hew = frozenset(changed) & {REALLOC, *REQUESTS}
    return State(facts, places, old, sites, ours, words, on_hew, memory, timeout)


def words_of(ours: Mapped | None, memory: int) -> tuple[int, ...]:
    """Of struct hew_swapped."""
    address = address_of(ours, "hew_swapped") if ours is not None else None
    return WORDS.unpack(os.pread(memory, WORDS.size, address)) if address else (0,) * 8


def switching(
    state: State, writes: Sequence[tuple[int, bytes]], places: Sequence[tuple[int, int]] | None = None
) -> dict[str, Any]:
    """Write these bytes while all threads are stopped, and none stands in these places."""
    return {
        "step": "switch",
        "pid": state.facts.pid,
        "timeout": state.timeout,
        "longest": LONGEST_STOP,
        "places": list(overlap(state.sites)) if places is None else places,
        "restorers": state.places.restorers,
        "writes": [(address, data.hex()) for address, data in writes],
    }


def calling(
    state: State,
    text: bytes,
    functions: Sequence[Sequence[Any]],
    writes: Sequence[tuple[int, bytes]] = (),
) -> dict[str, Any]:
    """Write these bytes, and have one thread call these functions."""
    if any(one[0] is None for one in functions):
        raise HewError(f"{state.title} lacks a function that this needs")
    return {
        "step": "call",
        "pid": state.facts.pid,
        "timeout": state.timeout,
        "longest": LONGEST_STOP,
        "code": state.places.around(state.old, state.sites),
        "calls": state.places.busy,
        "forks": state.places.forks,
        "loader": state.places.loader,
        "restorers": state.places.restorers,
        "errno": errno_offset(state.places.libc, state.memory),
        "text": (text + b"\0").hex(),
        "functions": functions,
        "writes": [(address, data.hex()) for address, data in writes],
    }


def held_for(pid: int, plan: dict[str, Any]) -> dict[str, Any]:
    """The holder's answer."""
    answer = held.HOLDER.carry_out(plan)
    if answer is None:
        raise HewError(
            f"the swap of process {pid} was cut short: what attached to it has been killed. Process {pid} runs on, and "
            "the swap may be repeated"
        )
    if answer["refusal"]:
        reason = forbidden(pid, filtered=False) if answer["forbidden"] else answer["refusal"]
        raise HewError(f"process {pid} was not changed: {reason}")
    return answer
