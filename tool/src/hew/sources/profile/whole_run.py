# SPDX-License-Identifier: MIT
"""Reads a trace of `hew record --stacks` by stack: hew-replay writes a document, which is read here."""

import json
import subprocess
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.figures import Unit
from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Frame, Mapping
from hew.model.quantity import quantity
from hew.model.trace import FULL
from hew.model.whole_run import Moment, Part, Sum, Totals, WholeRun
from hew.sources.library import find_part
from hew.sources.profile.heap_v2 import read_maps
from hew.sources.readable import readable
from hew.sources.trace.blocks import (
    INFO,
    MODULES,
    NAMES,
    OPERATIONS,
    THREADS,
    decoded,
    info,
    read_blocks,
    read_header,
)
from hew.sources.trace.plain import plain_trace
from hew.sources.trace.recorder import PROGRAM

NAMED, THREAD = 1 << 63, 3 << 62
WITHOUT_STACKS = (
    "{path}: a trace without stacks, so it does not show which stacks allocated: hew record --stacks all -o FILE "
    "-- COMMAND writes them"
)


@dataclass(frozen=True)
class Selection:
    """What is wanted of a run. An object is temporary if its thread frees it within so many operations. `at` has
    moments in seconds, rising."""

    within: int = 1
    at: Sequence[float] = ()
    over_time: bool = False
    by_thread: bool = False

    @property
    def words(self) -> list[str]:
        """For hew-replay."""
        flags = [word for word, given in (("over-time", self.over_time), ("by-thread", self.by_thread)) if given]
        return [f"within={self.within}", *(f"at={round(1e6 * one)}" for one in self.at), *flags]


def read_whole_run(path: Path, asked: Selection) -> WholeRun:
    """The run in a trace: its peak, its end, and the other requested parts. Raises HewError for a file that is no trace
    with stacks."""
    about, mappings, names, left = _blocks(path)
    lines = _asked(path, asked.words)
    head = next(one for one in lines if one["kind"] == "trace")
    nodes = next(one for one in lines if one["kind"] == "nodes")["nodes"]
    if not nodes:
        raise HewError(WITHOUT_STACKS.format(path=path))
    whole = next(one for one in lines if one["kind"] == "whole")
    return WholeRun(
        source=str(path),
        program=Path(about.get("program", "")).name,
        command=about.get("command", ""),
        pid=head["pid"],
        started=head["started"] / 1e9,
        seconds=head["microseconds"] / 1e6,
        threads=head["threads"],
        operations=head["operations"],
        within=asked.within,
        stack_sampling=head["stacks"],
        sample=head["sample_bytes"] if head["sample_bytes"] > 1 else 0,
        part_seconds=head["part_length"] / 1e6,
        part_count=head["parts"] + asked.over_time,
        addresses=array("Q", [0, *nodes[0::2]]),
        parents=array("I", [0, *nodes[1::2]]),
        mappings=mappings,
        names=names | _threads(nodes, _thread_names(lines, left)),
        moments=_moments(lines),
        parts=tuple(Part(one["part"], _moment(one), _sums(one["born"])) for one in lines if one["kind"] == "part"),
        made_by_size=_sums(whole["sizes"]),
        ended_by_age=_sums(whole["ages"]),
        lost=_lost(lines),
        notes=tuple(_notes(head)),
    )


def _blocks(path: Path) -> tuple[dict[str, str], tuple[Mapping, ...], dict[int, Frame], dict[int, str]]:
    """The trace's data on its program, the mappings of code, the names of frames that are not machine code, and of the
    threads that were there at the end."""
    threads: dict[int, str] = {}
    names: dict[int, Frame] = {}
    about: dict[str, str] = {}
    found: dict[Mapping, None] = {}
    with path.open("rb") as file:
        for block, payload in read_blocks(file, read_header(file, path), unread=(OPERATIONS,)):
            if block.kind == INFO and not about:
                about = info(decoded(block, payload))
            elif block.kind == MODULES:
                found.update(dict.fromkeys(read_maps(decoded(block, payload).splitlines())))
            elif block.kind == NAMES:
                names.update(_names(decoded(block, payload).decode(errors="replace")))
            elif block.kind == THREADS:
                threads.update(_names_by_tid(decoded(block, payload).decode(errors="replace")))
    return about, tuple(found), names, threads


def _threads(nodes: Sequence[int], titles: dict[int, str]) -> dict[int, Frame]:
    """Nodes that stand for a thread."""
    numbers = {address: address - THREAD for address in nodes[0::2] if address >= THREAD}
    return {
        address: Frame(f"{titles[number]} (thread {number})" if number in titles else f"thread {number}")
        for address, number in numbers.items()
    }


def _thread_names(lines: Iterable[dict[str, Any]], left: dict[int, str]) -> dict[int, str]:
    """By number. A thread that lived to the end has the name that it had then."""
    found = next((one["threads"] for one in lines if one["kind"] == "threads"), ())
    names = {
        number: bytes.fromhex(name).decode(errors="replace") if ended else left.get(tid, "")
        for number, tid, ended, name in found
    }
    last = {number: bytes.fromhex(name).decode(errors="replace") for number, _, _, name in found}
    return {number: readable(names[number] or last[number]) for number in names}


def _names_by_tid(text: str) -> Iterable[tuple[int, str]]:
    for row in text.split("\n"):
        tid, tab, name = row.partition("\t")
        if tab and tid.isdecimal():
            yield int(tid), name


def _names(text: str) -> Iterable[tuple[int, Frame]]:
    """Python's frames, as FILE:FUNCTION:LINE. The numbers stand in nodes in place of addresses."""
    for row in text.split("\n"):
        words = row.split("\t")
        if len(words) == 4 and words[0].isdecimal() and words[1].isdecimal():
            line, function, file = int(words[1]), readable(words[2]), readable(words[3])
            yield NAMED | int(words[0]), Frame(f"{file.rpartition('/')[2]}:{function}:{line}")


def _asked(path: Path, words: Sequence[str]) -> list[dict[str, Any]]:
    with plain_trace(path) as plain:
        done = subprocess.run(
            [find_part(PROGRAM), "profile", plain, *words], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix(f"{plain}: ")
        raise HewError(f"{path}: {said or f'{PROGRAM} ended with status {done.returncode}'}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _moments(lines: Iterable[dict[str, Any]]) -> dict[str, Moment]:
    found: dict[str, Moment] = {}
    for one in lines:
        if one["kind"] in ("peak", "end"):
            found[one["kind"]] = _moment(one)
        elif one["kind"] == "at":
            found[f"at {len([name for name in found if name.startswith('at ')])}"] = _moment(one)
    found.setdefault("peak", found["end"])  # nothing was allocated
    return found


def _moment(document: dict[str, Any]) -> Moment:
    made, live, temporary = _sums(document["totals"])
    return Moment(
        document["time"] / 1e6,
        document["operation"],
        Totals(made, live, temporary),
        _sums(document["sizes"]),
        array("Q", document["stacks"]),
    )


def _lost(lines: Iterable[dict[str, Any]]) -> dict[int, Sum] | None:
    """What nothing pointed to at the end; None if the recorder has not scanned for it."""
    for one in lines:
        if one["kind"] == "lost":
            flat = one["stacks"]
            return {node: Sum(*pair) for node, *pair in zip(flat[0::3], flat[1::3], flat[2::3], strict=True)}
    return None


def _sums(flat: Sequence[int]) -> tuple[Sum, ...]:
    return tuple(Sum(*pair) for pair in zip(flat[0::2], flat[1::2], strict=True))


def _notes(head: dict[str, Any]) -> Iterable[str]:
    if head["flags"] & FULL:
        yield "the recording stopped before the program did: --max, or a full disk"
    if head["damaged"] or head["missing"]:
        yield f"damaged: {head['damaged']:,} blocks unreadable, {head['missing']:,} missing"
    if head["sample_bytes"] > 1:
        every, most = (quantity(times * head["sample_bytes"], Unit.BYTES) for times in (1, 3))
        yield (
            f"a sample, one byte in {every}: amounts are estimates, right to ± in 95 of 100 cases. "
            f"What holds less than {most} may be missing"
        )
    if head["stacks"] > 1:
        yield f"one allocation of {head['stacks']:,} has a stack; the others are under [no stack]"
    if head["thread_sampling"] > 1:
        yield f"one thread of {head['thread_sampling']:,} was recorded"
