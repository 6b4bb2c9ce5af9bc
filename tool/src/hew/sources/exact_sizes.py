# SPDX-License-Identifier: MIT
"""Exact sizes from a file of recent allocations, in place of a trace."""

from pathlib import Path

from hew.model.errors import HewError
from hew.model.simulation import Sizes, SizeUse
from hew.sources.seen import read_seen
from hew.sources.simulation import tables

TRACE_MAGIC = b"hewtrace"


def is_report(place: Path) -> bool:
    """Whether a file is something else than a trace."""
    with place.open("rb") as file:
        return file.read(len(TRACE_MAGIC)) != TRACE_MAGIC


def sizes_of_report(place: Path) -> Sizes:
    """What the samples tell: objects by size. HewError when the file has size classes alone."""
    seen = read_seen(str(place))
    if not seen.exact:
        raise HewError(
            f"{place} knows size classes, not sizes: record a trace, or recent allocations (prof_recent_alloc_max)"
        )
    uses = tuple(
        SizeUse(
            -(-one.size // 8) * 8, 16, one.requests, float(one.live or one.requests), float(one.live or one.requests)
        )
        for one in seen.sizes
    )
    return Sizes(str(place), uses, 1, tables(), seen.notes)
