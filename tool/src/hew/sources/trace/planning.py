# SPDX-License-Identifier: MIT
"""A trace made ready for hew-replay, in a folder for as long as it is run."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from hew.model.errors import HewError
from hew.model.trace import TracePlan
from hew.sources.library import find_part
from hew.sources.trace.blocks import is_packed, unpack
from hew.sources.trace.recorder import PROGRAM


@contextmanager
def planned(trace: Path) -> Iterator[tuple[Path, TracePlan]]:
    """The plan's file and what it has. Needs about 8 bytes an operation in the folder for temporary files."""
    if not trace.is_file():
        raise HewError(f"{trace}: no such file" if not trace.exists() else f"{trace}: no file, as a trace is")
    with tempfile.TemporaryDirectory(prefix="hew-replay-") as name:
        folder = Path(name)
        read = trace
        if is_packed(trace):
            read = folder / "trace"
            with read.open("wb") as to:
                unpack(trace, to)
        plan = folder / "plan"
        counted = _make(read, plan, trace)
        if read != trace:
            read.unlink()
        yield plan, counted


def _make(read: Path, plan: Path, named: Path) -> TracePlan:
    words: list[Path | str] = [find_part(PROGRAM), "plan", read, plan]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix(f"{read}: ")
        raise HewError(f"{named}: {said or f'{PROGRAM} ended with status {done.returncode}'}")
    found = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    return TracePlan(**{field.name: int(found[field.name]) for field in fields(TracePlan)})
