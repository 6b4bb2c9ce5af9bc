# SPDX-License-Identifier: MIT
"""`hew swap`: changes the allocator of a running process."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import click

from hew.commands.options import ProcessId, told
from hew.model.errors import HewError
from hew.model.quantity import size
from hew.model.swap import Counted, Drained, Swapped

Done = Swapped | Drained | Counted
COUNTED = 1.0  # seconds
LASTS = "after an exec or a restart hew is gone; to keep it: hew run, or --service NAME --keep"


@click.command("swap")
@click.option("--back", is_flag=True, help="Send new requests to the old allocator again.")
@click.option("--trim", is_flag=True, help="Also return what is free in the old heap; may be repeated while it drains.")
@click.option(
    "--share", is_flag=True, help="Change nothing: count for a second which share of its requests hew would serve."
)
@click.option("--conf", "settings", metavar="NAME:VALUE,...", default="", help="Settings for hew, as in MALLOC_CONF.")
@click.option("--children", is_flag=True, help="Also all descendants of the process.")
@click.option("--service", metavar="UNIT", help="All processes of a systemd service, in place of PID.")
@click.option(
    "--keep", is_flag=True, help="With --service: also write a drop-in, for later starts. With --back: remove it."
)
@click.option("--timeout", default=5.0, show_default=True, help="Seconds to look for a moment of 20 ms or less.")
@click.option("--lib", type=click.Path(path_type=Path), help="The libhew.so to load.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("pid", type=ProcessId(), required=False)
def command(
    back: bool,
    trim: bool,
    share: bool,
    settings: str,
    children: bool,
    service: str | None,
    keep: bool,
    timeout: float,
    lib: Path | None,
    as_json: bool,
    pid: int | None,
) -> None:
    """Change the allocator of a running process to hew, without a restart.

    From then on hew serves all requests. Objects of the old allocator stay valid, and return to it when they are freed.
    Forked children are on hew too. A program that the process executes is not: to make the change last, use hew run, or
    --keep for a service. For glibc, jemalloc, mimalloc and tcmalloc, on x86-64.
    """
    _check(back and (trim or bool(settings)), "--back takes neither --trim nor --conf")
    _check(share and (back or trim or bool(settings)), "--share takes neither --back, --trim nor --conf")
    _check(keep and (service is None or share), "--keep is for a --service that is swapped")
    _check((pid is None) == (service is None), "name a process, or a --service")
    with told("hew swap"):
        wanted = _processes(pid, service, children)
        done: list[Done] = []
        for one in wanted:
            try:
                done += _counted(one, timeout) if share else _change(one, back, trim, settings, lib, timeout)
            except HewError as error:
                if len(wanted) == 1:
                    raise
                click.echo(f"hew swap: {error}", err=True)
        kept = _keep(service or "", back, settings, lib) if keep else ""
        refused = len({one.pid for one in done}) < len(wanted)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in done]))
    else:
        for result in done:
            click.echo(_text(result, back))
        if kept or any(isinstance(result, Swapped) and not back for result in done):
            click.echo(kept or LASTS)
    sys.exit(refused)


def _check(wrong: bool, message: str) -> None:
    if wrong:
        raise click.UsageError(message)


def _processes(pid: int | None, service: str | None, children: bool) -> list[int]:
    from hew.sources.processes import tree  # noqa: PLC0415
    from hew.sources.swap.service import processes_of  # noqa: PLC0415

    if pid is None:
        return processes_of(service or "")
    return tree(pid) if children else [pid]


def _change(pid: int, back: bool, trim: bool, settings: str, lib: Path | None, timeout: float) -> list[Done]:
    from hew.sources.library import find_hew  # noqa: PLC0415
    from hew.sources.swap.swapping import drain, has_both, swap, swap_back  # noqa: PLC0415 - numpy and an ELF reader

    done: list[Done] = []
    if back:
        done.append(swap_back(pid, timeout))
    elif not trim or settings or not has_both(pid):
        done.append(swap(pid, find_hew(lib, os.environ), settings, timeout))
    if trim:
        done.append(drain(pid, timeout))
    return done


def _keep(service: str, back: bool, settings: str, lib: Path | None) -> str:
    from hew.sources.library import find_hew  # noqa: PLC0415
    from hew.sources.swap.service import forget, keep  # noqa: PLC0415

    if back:
        gone = forget(service)
        return f"{gone} is removed" if gone else f"{service} has no drop-in of hew swap"
    return f"{keep(service, find_hew(lib, os.environ), settings)} is written: {service} starts on hew from now on"


def _counted(pid: int, timeout: float) -> list[Done]:
    from hew.sources.swap.counting import count  # noqa: PLC0415

    return [count(pid, COUNTED, timeout)]


def _text(one: Done, back: bool) -> str:
    if isinstance(one, Counted):
        return _share(one)
    if isinstance(one, Drained):
        return (
            f"process {one.pid}: {size(max(one.before - one.after, 0))} of the old heap returned, resident "
            f"{size(one.after)}\n  {one.frees} objects of it freed since the swap, {one.resizes} of them moved to hew"
        )
    where = f"back on {one.old}" if back else f"on hew (before: {one.old})"
    kept = "".join(f"\n  not changed: {copy}, which its callers go on using" for copy in one.kept)
    load = f"\n  the thread that loaded hew was held for {one.load * 1000:.1f} ms" if one.loaded else ""
    return f"process {one.pid} is {where}; its threads stood still for {one.stop * 1000:.1f} ms{load}{kept}"


def _share(one: Counted) -> str:
    (old, ours), *copies = one.requests
    known = [count for _, count in one.requests if count is not None]
    share = f"; hew would serve {(ours or 0) / sum(known):.0%}" if sum(known) else ""
    lines = [f"process {one.pid}: {sum(known):,} requests in {one.seconds:g} s{share}"]
    lines.append(f"  {ours or 0:,} to {old}")
    for name, count in copies:
        lines.append(f"  {'an unknown number' if count is None else f'{count:,}'} to {name}, which stays")
    return "\n".join(lines)
