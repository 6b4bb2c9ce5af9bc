# SPDX-License-Identifier: MIT
"""Which stacks keep slabs that are hardly used, as a table and as JSON."""

import json
from collections.abc import Iterator
from typing import Any

from hew.model.live_samples import Pin, Pins
from hew.model.quantity import size
from hew.views.profile.text import CALLERS

FORMAT = "hew-pins/1"
WIDTHS = (9, 9, 9, 8, 10, 8, 8)
STEPS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def age(seconds: float) -> str:
    """As people say it."""
    for scale, name in STEPS:
        if seconds >= scale:
            return f"{seconds / scale:.1f} {name}"
    return f"{seconds:.1f} s"


def pins_table(found: Pins, rows: int) -> Iterator[str]:
    """The stacks that keep most."""
    yield (
        f"{found.source}: slabs of which {found.sparse:.0%} or less is used have {size(found.slabs)} by their samples, "
        f"{size(found.unused)} of it without an object"
    )
    if not found.found:
        return
    yield ""
    heads = ("unused", "in slabs", "objects", "of", "age: least", "middle", "most")
    yield "  ".join(f"{head:>{width}}" for head, width in zip(heads, WIDTHS, strict=True)) + "  stack"
    for one in found.found[:rows]:
        cells = (size(one.unused), size(one.slabs), f"{one.objects:,.0f}", size(one.size))
        ages = (age(one.youngest), age(one.middle), age(one.oldest))
        row = "  ".join(f"{cell:>{width}}" for cell, width in zip((*cells, *ages), WIDTHS, strict=True))
        rest = len(one.stack) - CALLERS
        yield f"{row}  {' < '.join(one.stack[:CALLERS])}{f' < {rest} more' if rest > 0 else ''}"
    left = len(found.found) - rows
    if left > 0:
        yield f"{left} more stacks (--rows)"


def pins_json(found: Pins, rows: int) -> str:
    """As one document: pins.schema.json describes it."""
    return json.dumps(pins_document(found, rows), indent=1, ensure_ascii=False)


def pins_document(found: Pins, rows: int) -> dict[str, Any]:
    """The same as plain lists and dictionaries."""
    return {
        "format": FORMAT,
        "source": found.source,
        "sparse": found.sparse,
        "unused_bytes": round(found.unused),
        "slab_bytes": round(found.slabs),
        "stacks": [_row(one) for one in found.found[:rows]],
        "notes": list(found.notes),
    }


def _row(one: Pin) -> dict[str, object]:
    return {
        "stack": list(one.stack),
        "unused_bytes": round(one.unused),
        "slab_bytes": round(one.slabs),
        "objects": round(one.objects),
        "size": one.size,
        "samples": one.samples,
        "age_seconds": {"least": one.youngest, "middle": one.middle, "most": one.oldest},
    }
