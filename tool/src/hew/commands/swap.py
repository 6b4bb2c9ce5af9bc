# SPDX-License-Identifier: MIT
"""`hew swap`: changes the allocator of a running process."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import click

from hew.commands.options import ProcessId, told
from hew.model.quantity import size
from hew.model.swap import Drained, Swapped


@click.command("swap")
@click.option("--back", is_flag=True, help="Send new requests to the old allocator again.")
@click.option("--trim", is_flag=True, help="Return what is free in the old heap; may be repeated while it drains.")
@click.option("--settings", metavar="NAME:VALUE,...", default="", help="Settings for hew, as in MALLOC_CONF.")
@click.option("--lib", type=click.Path(path_type=Path), help="The libhew.so to load.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("pid", type=ProcessId())
def command(back: bool, trim: bool, settings: str, lib: Path | None, as_json: bool, pid: int) -> None:
    """Change the allocator of a running process to hew, without a restart.

    From then on requests are served by hew. Objects of the old allocator stay valid, and go back to it when they are
    freed. Forked children are on hew, too; after an exec it is gone (hew run, or LD_PRELOAD in the service's settings,
    make it last). For glibc, jemalloc, mimalloc and tcmalloc, on x86-64.
    """
    from hew.sources.library import find_hew  # noqa: PLC0415
    from hew.sources.swap.swapping import drain, swap, swap_back  # noqa: PLC0415 - numpy and an ELF reader

    if back and (trim or settings):
        raise click.UsageError("--back goes alone")
    with told("hew swap"):
        done: list[Swapped | Drained] = []
        if back:
            done.append(swap_back(pid))
        elif not trim or settings:
            done.append(swap(pid, find_hew(lib, os.environ), settings))
        if trim:
            done.append(drain(pid))
    if as_json:
        click.echo(json.dumps([asdict(one) for one in done]))
        return
    for one in done:
        click.echo(_text(one, back))


def _text(one: Swapped | Drained, back: bool) -> str:
    if isinstance(one, Drained):
        return (
            f"process {one.pid}: {size(max(one.before - one.after, 0))} of the old heap returned, resident "
            f"{size(one.after)}; {one.frees} old objects freed since the swap, {one.resizes} of them moved to hew"
        )
    where = f"back on {one.old}" if back else f"on hew, before {one.old}"
    return (
        f"process {one.pid} is {where}: {one.functions} functions changed, all threads stood still for "
        f"{one.stop * 1000:.1f} ms"
    )
