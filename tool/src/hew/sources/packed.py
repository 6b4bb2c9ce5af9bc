# SPDX-License-Identifier: MIT
"""Files that may be packed by zstd or gzip, read as a stream."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
MOST_WINDOW = 1 << 27  # bytes: what the strongest levels of zstd want
DAMAGED = (OSError, EOFError, zlib.error, zstandard.ZstdError)
BUFFER = 1 << 18


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """What is in it. Reading raises one of DAMAGED where it ends too soon."""
    with path.open("rb") as file:
        begins = file.read(4)
        file.seek(0)
        inner: BinaryIO = file
        if begins == ZSTD:
            unpacker = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
            inner = cast(BinaryIO, unpacker.stream_reader(file, closefd=False, read_across_frames=True))
        elif begins.startswith(GZIP):
            inner = cast(BinaryIO, gzip.GzipFile(fileobj=file))
        with io.BufferedReader(cast(io.RawIOBase, inner), BUFFER) as stream:
            yield cast(BinaryIO, stream)
