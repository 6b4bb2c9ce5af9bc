# SPDX-License-Identifier: MIT
"""Files that may be packed by zstd or gzip, read as a stream."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from hew.sources.extras import need

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
MOST_WINDOW = 1 << 27  # bytes: what the strongest levels of zstd want
DAMAGED = (OSError, EOFError, zlib.error)
BUFFER = 1 << 18


class _Zstd(io.RawIOBase):
    """What is packed by zstd, as it is read. Damage is an OSError. The file below stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard  # noqa: PLC0415 - the extra `heaptrack`

        self._error = zstandard.ZstdError
        unpacker = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
        self._inner = unpacker.stream_reader(file, closefd=False, read_across_frames=True)

    def readable(self) -> bool:
        """For io.BufferedReader."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """For io.RawIOBase."""
        try:
            return int(self._inner.readinto(buffer))
        except self._error as error:
            raise OSError(str(error)) from error


def zstd_stream(file: IO[bytes]) -> BinaryIO:
    """What a file packed by zstd has in it. HewError where zstandard is not installed."""
    need("zstandard")
    return cast(BinaryIO, _Zstd(file))


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """What is in it. Reading raises one of DAMAGED where it ends too soon."""
    with path.open("rb") as file:
        begins = file.read(4)
        file.seek(0)
        inner: BinaryIO = file
        if begins == ZSTD:
            inner = zstd_stream(file)
        elif begins.startswith(GZIP):
            inner = cast(BinaryIO, gzip.GzipFile(fileobj=file))
        with io.BufferedReader(cast(io.RawIOBase, inner), BUFFER) as stream:
            yield cast(BinaryIO, stream)
