# SPDX-License-Identifier: MIT
"""Reads a heap profile in whichever format it is."""

import gzip
import io
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from shutil import copyfileobj
from typing import IO, BinaryIO, cast

from hew.model.errors import HewError
from hew.model.profile import Profile
from hew.sources.packed import DAMAGED, zstd_stream
from hew.sources.profile.heap_v2 import read_heap_v2
from hew.sources.profile.heaptrack import read_heaptrack
from hew.sources.profile.memray import FIRST, own_recording, read_memray
from hew.sources.profile.pprof import read_pprof

GZIP = b"\x1f\x8b"
TEXT = b"heap_v2/"
MESSAGE = b"\x0a\x12\x1a\x22\x2a\x32"  # what a profile.proto may begin with: tags of its messages
ZSTD = b"\x28\xb5\x2f\xfd"
HEAPTRACK = b"v "
BUFFER = 1 << 18
RECORDING_HEAD = 64  # bytes in which a recording says what it is
NAMED = re.compile(r"\.(\d+)\.\d+\.[fimu]\d*\.(?:heap|pb\.gz)$")


def read_profile(path: Path) -> Profile:
    """The profile in a file, or in a pipe. Raises HewError, in one line, for what cannot be one."""
    with path.open("rb") as opened, tempfile.TemporaryFile() as copy:
        if not opened.seekable():
            copyfileobj(opened, copy)
        profile = read_opened(opened if opened.seekable() else copy, str(path))
    named = NAMED.search(path.name)
    return replace(profile, pid=int(named[1])) if named else profile


def read_bytes(data: bytes, source: str) -> Profile:
    """The profile in some bytes."""
    return read_opened(io.BytesIO(data), source)


def read_opened(file: IO[bytes], source: str) -> Profile:
    """The profile in a file that is open."""
    file.seek(0)
    begins = file.read(4)

    def from_start() -> BinaryIO:
        file.seek(0)
        if begins == ZSTD:
            return zstd_stream(file)
        return cast(BinaryIO, gzip.GzipFile(fileobj=file) if begins.startswith(GZIP) else _Kept(file))

    try:
        with from_start() as stream:
            head = stream.read(len(TEXT))
    except DAMAGED as error:
        raise HewError(f"{source}: it is damaged: {error}") from error
    if not head:
        raise HewError(f"{source} is empty: no heap profile")
    tables = {TEXT: read_heap_v2, HEAPTRACK: read_heaptrack, FIRST[: len(TEXT)]: read_memray}
    read = next((read for begin, read in tables.items() if head.startswith(begin)), None)
    if read is not None:
        try:
            with io.BufferedReader(cast(io.RawIOBase, from_start()), BUFFER) as stream:
                return read(stream, source)
        except DAMAGED as error:
            raise HewError(f"{source}: it is damaged: {error}") from error
    file.seek(0)
    if own_recording(file.read(RECORDING_HEAD)):
        raise HewError(
            f"{source}: a recording of memray, whose form is its own: memray transform csv writes what is read here "
            "(with --leaks what was never freed)"
        )
    if head[0] in MESSAGE:
        return read_pprof(lambda: io.BufferedReader(cast(io.RawIOBase, from_start()), BUFFER), source)
    raise HewError(
        f"{source}: no heap profile: neither heap_v2, nor pprof's format (profile.proto), nor a recording of heaptrack,"
        " nor what memray transform csv writes"
    )


class _Kept(io.RawIOBase):
    """A file from its start, which stays open when this is closed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        """For io.BufferedReader."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """For io.RawIOBase."""
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
