# SPDX-License-Identifier: MIT
"""What a file of code contains, as far as calls into a process need it. A file that has not changed is read once."""

import mmap
import os
from dataclasses import field
from functools import cached_property
from pathlib import Path

from elftools.elf.elffile import ELFFile

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.sources.code import MALFORMED, Symbols, open_code, read_symbols

RESTORERS = (b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", b"\xb8\x0f\x00\x00\x00\x0f\x05")  # rt_sigreturn
SANITIZERS = (b"__asan_init", b"__tsan_init", b"__msan_init", b"__hwasan_init", b"__lsan_init")
EXECUTABLE = 1  # PF_X
MOST_KEPT = 512  # files


@dataclass
class Contents:
    """Of one file, by its own addresses."""

    file: Path
    shown: Path
    _known: dict[bytes, tuple[int, int] | None] = field(default_factory=dict)
    _bytes: dict[tuple[int, int], bytes] = field(default_factory=dict)

    @cached_property
    def tables(self) -> list[Symbols]:
        """Its symbols: all of them first, if it has kept them, then those that it exports."""
        try:
            with open_code(self.file) as opened:
                elf = ELFFile(opened)
                if elf.elfclass != 64 or elf["e_machine"] != "EM_X86_64":
                    raise HewError("it is no program of x86-64")
                kinds = ("SHT_SYMTAB", "SHT_DYNSYM")
                return [found for kind in kinds if (found := read_symbols(elf, kind)) is not None]
        except MALFORMED as error:
            raise HewError(f"{self.shown} cannot be read: {error}") from error

    @cached_property
    def restorers(self) -> list[int]:
        """Where handlers of signals return to."""
        found = []
        with self._mapped() as data:
            for offset, address, size, flags in self._segments:
                for code in RESTORERS if flags & EXECUTABLE else ():
                    at = data.find(code, offset, offset + size)
                    while at >= 0:
                        found.append(address + at - offset)
                        at = data.find(code, at + 1, offset + size)
        return found

    def defined(self, name: bytes) -> tuple[int, int] | None:
        """The address and the size of what the file itself defines under a name."""
        if name not in self._known:
            rows = (table.rows[number] for table in self.tables for number in table.numbers(name))
            own = ((int(row["value"]), int(row["size"])) for row in rows if row["section"] != 0)
            self._known[name] = next(own, None)
        return self._known[name]

    def read(self, address: int, size: int) -> bytes:
        """Bytes by their address."""
        if (address, size) not in self._bytes:
            with self._mapped() as data:
                places = (
                    offset + address - at for offset, at, length, _ in self._segments if at <= address < at + length
                )
                place = next(places, None)
                self._bytes[address, size] = b"" if place is None else data[place : place + size]
        return self._bytes[address, size]

    @cached_property
    def has_sanitizer(self) -> bool:
        """Whether one is linked into it."""
        with self._mapped() as data:
            return any(data.find(b"\0" + name + b"\0") >= 0 for name in SANITIZERS)

    @cached_property
    def _segments(self) -> list[tuple[int, int, int, int]]:
        """Where in the file, at which address, how long, and with which rights each part is that a process maps."""
        with open_code(self.file) as opened:
            parts = ELFFile(opened).iter_segments("PT_LOAD")
            return [(one["p_offset"], one["p_vaddr"], one["p_filesz"], one["p_flags"]) for one in parts]

    def _mapped(self) -> mmap.mmap:
        with open_code(self.file) as opened:
            return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)


_kept: dict[tuple[int, ...], Contents] = {}


def contents(file: Path, shown: Path) -> Contents:
    """What is in the file of this path now."""
    about = os.stat(file)  # noqa: PTH116 - for each file of a process
    which = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    if which not in _kept:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[which] = Contents(file, shown)
    _kept[which].file = file
    return _kept[which]
