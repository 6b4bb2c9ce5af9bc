# SPDX-License-Identifier: MIT
"""A trace as programs in C read it: not packed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hew.sources.trace.blocks import is_packed, unpack


@contextmanager
def plain_trace(trace: Path) -> Iterator[Path]:
    """The file itself; or an unpacked copy of a packed one, in the folder for temporary files while it is read."""
    if not is_packed(trace):
        yield trace.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="hew-trace-") as folder:
        copy = Path(folder) / "trace"
        with copy.open("wb") as to:
            unpack(trace, to)
        yield copy
