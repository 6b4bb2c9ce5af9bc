# SPDX-License-Identifier: MIT
"""What advice rests on, in words for the terminal and as a part of the JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from hew.model.coverage import Coverage
from hew.model.figures import Unit
from hew.model.glibc_heap import GlibcHeap
from hew.model.quantity import quantity, size

SPOKE = {0: "none spoke", 1: "one spoke"}
SMALL = 0.1  # of resident memory: less than this outside needs no explanation


def show_coverage(seen: Coverage, console: Console) -> None:
    """One sentence, then a line for each thing that it stands on or that is missing."""
    if seen.spoke:
        console.print()
    for line in lines(seen):
        console.print(escape(line), soft_wrap=True, highlight=False)


def lines(seen: Coverage) -> Iterator[str]:
    """All of it."""
    looked = f"{seen.rules} rule{'' if seen.rules == 1 else 's'} looked at {' and '.join(seen.read)}"
    if not seen.read:
        looked = "neither a report nor a heap could be read"
    parts = [f"{looked}, {SPOKE.get(seen.spoke, f'{seen.spoke} spoke')}" if seen.rules else looked]
    if seen.share is not None and seen.resident is not None:
        parts.append(f"{quantity(seen.share, Unit.SHARE)} of RSS ({size(seen.resident)}) is seen")
    elif seen.read:
        parts.append("how much of the process that is, a report does not tell (--process PID)")
    yield "; ".join(parts)
    if seen.heap is not None:
        yield _heap(seen.heap)
    for slack in seen.slack:
        share = f" ({quantity(slack.unused / slack.known, Unit.SHARE)})" if slack.known else ""
        known = f"{size(slack.known)} in objects whose size is known{share}"
        yield f"internal fragmentation: {size(slack.unused)} of {known}"
    for one in seen.blind:
        yield f"not looked at: {one.what}: {one.why}"
        yield f"    → {one.next}"
    if seen.read and seen.share is not None and seen.share > 1 - SMALL:
        return
    if seen.outside:
        rest = "it may be in:" if seen.unseen else "stacks, or mappings that the program made itself"
        yield f"not seen: {size(seen.outside)} of private memory; {rest}"
    for one in seen.unseen:
        yield f"  {one.what}: {one.why}"
        yield f"    → {one.next}"


def _heap(heap: GlibcHeap) -> str:
    least = "" if heap.complete else "at least "
    moving = ", while it allocated" if heap.moving else ""
    caches = f"; {size(heap.cached)} in {heap.caches} thread cache{'s' * (heap.caches > 1)}" if heap.caches else ""
    return (
        f"as of {heap.taken}{moving}: {size(heap.system)} in {len(heap.arenas)} arena{'s' * (len(heap.arenas) > 1)}, "
        f"{least}{size(heap.free)} of it free; malloc_trim would return {size(heap.trimmable)}; "
        f"{size(heap.scattered)} free lie beside objects{caches}"
    )


def coverage_json(seen: Coverage) -> dict[str, Any]:
    """In base units."""
    return {
        "rules": seen.rules,
        "spoke": seen.spoke,
        "read": list(seen.read),
        "resident": seen.resident,
        "outside": seen.outside,
        "unseen": [asdict(one) for one in seen.unseen],
        "not_looked_at": [asdict(one) for one in seen.blind],
        "internal_fragmentation": [asdict(one) for one in seen.slack],
        "glibc_heap": _heap_json(seen.heap) if seen.heap else None,
    }


def _heap_json(heap: GlibcHeap) -> dict[str, Any]:
    arenas = [
        {
            "main": one.main,
            "system": one.system,
            "threads": one.threads,
            "free": one.unused.free,
            "top": one.unused.top,
            "fast": one.unused.fast,
            "trimmable": one.unused.resident,
            "scattered": one.scattered,
            "chunks": one.unused.chunks,
            "complete": one.unused.complete,
        }
        for one in heap.arenas
    ]
    return {
        "version": heap.version,
        "taken": heap.taken,
        "moving": heap.moving,
        "mapped": heap.mapped,
        "cached": heap.cached,
        "caches": heap.caches,
        "arenas": arenas,
    }
