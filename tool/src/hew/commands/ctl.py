# SPDX-License-Identifier: MIT
"""`hew ctl`: reads and changes the allocator of a running process."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from hew.commands.options import ProcessId, told, writable
from hew.model.control import Applied, Outcome, Purged, Value, failures
from hew.model.quantity import size
from hew.sources.control import Control, apply_conf, connect, purge_all, remove_stale_sockets, set_or_do


@click.command("ctl")
@click.option("--conf", metavar="NAME:VALUE,...", help="Apply what of these settings can change live.")
@click.option("--list", "as_list", is_flag=True, help="Every name, with its type and what may be done with it.")
@click.option(
    "--heap",
    "heap_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    help="Write a heap profile to this file.",
)
@click.option("--purge", is_flag=True, help="Return all free memory to the system, and say how much it was.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("pid", type=ProcessId())
@click.argument("name", required=False)
@click.argument("value", required=False)
def command(
    conf: str | None,
    as_list: bool,
    heap_file: Path | None,
    purge: bool,
    as_json: bool,
    pid: int,
    name: str | None,
    value: str | None,
) -> None:
    """Read NAME of a process on hew; with VALUE, set it. NAME is one of mallctl's, as `--list` shows them.

    The process must have a control socket: `hew run` gives it one, and HEW_CONF=control:auto does.
    """
    if sum((conf is not None, as_list, heap_file is not None, purge, name is not None)) != 1:
        raise click.UsageError("give one of: NAME [VALUE], --conf, --list, --heap, --purge")
    remove_stale_sockets()
    with told("hew ctl"), connect(pid) as control:
        if conf is not None:
            results = apply_conf(control, conf)
            _show_results(results, as_json)
            sys.exit(1 if failures(results) else 0)
        if as_list:
            _show_names(control, as_json)
        elif heap_file is not None:
            _write_heap(control, heap_file, as_json)
        elif purge:
            _show_purged(purge_all(control), as_json)
        else:
            assert name is not None  # noqa: S101 - counted above
            _show_value(name, set_or_do(control, name, value), as_json)


def _show_value(name: str, value: Value, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"name": name, "value": value}))
    elif value is not None:
        click.echo(str(value).lower() if isinstance(value, bool) else value)


def _show_names(control: Control, as_json: bool) -> None:
    names = control.names()
    if as_json:
        rows = [{"name": one.name, "type": one.type, "access": sorted(one.access)} for one in names]
        click.echo(json.dumps(rows, indent=1))
        return
    widest = max(len(one.name) for one in names)
    for one in names:
        click.echo(f"{one.name:{widest}}  {one.type:8}  {', '.join(sorted(one.access))}")


def _write_heap(control: Control, path: Path, as_json: bool) -> None:
    form, profile = control.heap()
    path.write_bytes(profile)
    about = {"file": str(path), "format": form, "bytes": len(profile)}
    click.echo(json.dumps(about) if as_json else f"{path}: {len(profile)} bytes, {form}")


def _show_purged(purged: Purged, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(purged)))
        return
    click.echo(
        f"{size(purged.returned)} returned; "
        f"resident {size(purged.resident_before)} before, {size(purged.resident_after)} after"
    )


def _show_results(results: list[Applied], as_json: bool) -> None:
    if as_json:
        rows = [
            {"name": one.name, "value": one.value, "outcome": one.outcome.name.lower(), "remark": one.remark}
            for one in results
        ]
        click.echo(json.dumps(rows, indent=1))
        return
    for one in results:
        remark = f" ({one.remark})" if one.remark else ""
        mark = "" if one.outcome is Outcome.APPLIED else "not set, "
        click.echo(f"{one.name}:{one.value}  {mark}{one.outcome.value}{remark}")
