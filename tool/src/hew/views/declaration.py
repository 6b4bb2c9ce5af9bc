# SPDX-License-Identifier: MIT
"""A proposed declaration of pools: for C, for MALLOC_CONF, and why; and as JSON."""

import json

from rich.console import Console
from rich.markup import escape

from hew.model.declaration import Declaration
from hew.model.figures import Unit
from hew.model.quantity import quantity
from hew.views.table import plain_table, show_note

FORMAT = "hew-pools/1"


def declaration_to_json(declaration: Declaration) -> str:
    """The document, indented; sizes in bytes."""
    document = {
        "format": FORMAT,
        "source": declaration.source,
        "counted": declaration.counted.value,
        "setting": declaration.setting,
        "bytes": declaration.bytes,
        "requests": declaration.requests,
        "served": declaration.served,
        "sizes": [
            {"size": one.size, "count": one.count, "live": one.live, "requests": one.requests, "bytes": one.bytes}
            for one in declaration.sizes
        ],
        "notes": list(declaration.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def array(declaration: Declaration) -> str:
    """The declaration in C."""
    rows = "".join(f"    {{{one.size}, {one.count}}},\n" for one in declaration.sizes)
    return f"static const struct hew_pool_size sizes[] = {{\n{rows}}};"


def show_declaration(declaration: Declaration, console: Console) -> None:
    """Print the evidence, both forms, and what is to be said about them."""
    table = plain_table("size", "requests", "share", "in use", "pool of", "memory", names=0)
    for one in declaration.sizes:
        share = f"{one.requests / declaration.requests:.1%}"
        memory = quantity(one.bytes, Unit.BYTES)
        table.add_row(str(one.size), f"{one.requests:,}", share, f"{one.live:,}", f"{one.count:,}", memory)
    console.print(table)
    console.print(
        f"{declaration.served / declaration.requests:.1%} of {declaration.requests:,} requests, "
        f"{quantity(declaration.bytes, Unit.BYTES)} reserved",
        style="dim",
        soft_wrap=True,
    )
    console.print()
    console.print(escape(array(declaration)), soft_wrap=True)
    console.print()
    console.print(escape(declaration.setting), soft_wrap=True)
    console.print("(the array is for hew_pool_create; the setting for MALLOC_CONF)", style="dim")
    for note in declaration.notes:
        show_note(note, console)
