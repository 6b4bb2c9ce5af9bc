# SPDX-License-Identifier: MIT
"""What `hew record` says at the end: which traces there are, and what is in them."""

from collections.abc import Collection
from pathlib import Path

import click

from hew.model.errors import HewError
from hew.sources.trace.converting import convert
from hew.sources.trace.recorder import arranged, files_of, finish, others_of
from hew.sources.trace.running import writer_of
from hew.views.trace_text import count, recorded, still_written, what_to_replay

SHOWN = 5  # smaller traces that have a line


def tell_converted(source: Path, output: Path) -> None:
    """Makes the trace of another recorder's file and says what is in it."""
    summary, unknown = convert(source, output)
    click.echo(f"hew record: {recorded(summary)}", err=True)
    if unknown:
        click.echo(f"hew record: {count(unknown, 'free')} of objects that are not in it: left out", err=True)
    click.echo(f"hew record: to run it again: {what_to_replay(summary)}", err=True)


def tell_files(output: Path, former: Collection[Path]) -> None:
    """Packs each new file and says what is in it; one that cannot be packed is left as it is."""
    found, failed, running = [], False, []
    for path in files_of(output):
        if path in former:
            continue
        try:
            if (pid := writer_of(path)) is not None:
                running.append((path, pid))
            else:
                found.append(finish(path))
        except (HewError, OSError) as error:
            failed = True
            click.echo(f"hew record: {error}", err=True)
    worth = [one for one in arranged(found, output) if one.operations]
    for one in worth[:SHOWN]:
        click.echo(f"hew record: {recorded(one)}", err=True)
    if len(worth) > SHOWN:
        click.echo(f"hew record: {count(len(worth) - SHOWN, 'smaller trace')} in {others_of(output)}", err=True)
    for path, pid in running:
        click.echo(f"hew record: {still_written(path, pid)}", err=True)
    if not worth and not failed and not running:
        click.echo(
            "hew record: nothing was recorded: the program allocates nothing, is static, has a malloc of its own, or "
            "forbids preloading",
            err=True,
        )
    if worth:
        click.echo(f"hew record: to run it again under other allocators: {what_to_replay(worth[0])}", err=True)
