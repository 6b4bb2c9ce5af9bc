# SPDX-License-Identifier: MIT
"""Reads ELF files of little-endian machines: sections, segments, the loader's table.

The format is fixed for good, and we need little of it. A damaged file raises one of MALFORMED, and never makes the
reader read beyond the file.
"""

import struct
from collections.abc import Iterator
from functools import cached_property
from mmap import mmap

from hew.model.lazy_dataclass import dataclass

MAGIC = b"\x7fELF"
LITTLE = 1  # EI_DATA
FIXED, MOVABLE = 2, 3  # ET_EXEC, ET_DYN
X86_64 = 62  # EM_X86_64
LOADED, DYNAMIC, INTERPRETER = 1, 2, 3  # PT_LOAD, PT_DYNAMIC, PT_INTERP
EXECUTABLE = 1  # PF_X
SYMBOLS, RELOCATIONS, NO_BITS, DYNAMIC_SYMBOLS = 2, 4, 8, 11  # SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_DYNSYM
NEEDED, TEXTS, FLAGS_1 = 1, 5, 0x6FFFFFFB  # DT_NEEDED, DT_STRTAB, DT_FLAGS_1
MANY_SEGMENTS, MANY_SECTIONS = 0xFFFF, 0xFFFF  # the true number is in the first section
# What a damaged file raises.
MALFORMED: tuple[type[Exception], ...] = (struct.error, OSError, ArithmeticError, LookupError, MemoryError, ValueError)


@dataclass(frozen=True)
class Section:
    """A part of the file by its name, which a linker and a debugger use."""

    name: str
    kind: int
    offset: int
    size: int
    link: int  # the number of the section that this one belongs with
    info: int


@dataclass(frozen=True)
class Segment:
    """A part of the file that the loader uses."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


class Elf:
    """An ELF file, by its bytes."""

    def __init__(self, data: bytes | mmap) -> None:
        self._data = data
        if data[:4] != MAGIC or data[4] not in {1, 2} or data[5] != LITTLE:
            raise ValueError("no ELF file of a little-endian machine")
        self.wide = data[4] == 2  # addresses have 64 bits
        head = struct.unpack_from("<HHIQQQIHHHHHH" if self.wide else "<HHIIIIIHHHHHH", data, 16)
        self.kind, self.machine = head[:2]
        self._segments_at, self._sections_at = head[4:6]
        self._segment_size, self._segments, self._section_size, self._sections, self._names = head[8:]

    @cached_property
    def sections(self) -> list[Section]:
        """All of them. What would be needed to name them may be missing: then none has a name."""
        if self._sections_at == 0:
            return []
        first = self._section(0)
        numbers = range(self._sections or first[5])
        rows = [first, *(self._section(number) for number in numbers[1:])] if numbers else []
        strings = first[6] if self._names == MANY_SECTIONS else self._names
        names = self._bytes(rows[strings][4], rows[strings][5]) if 0 < strings < len(rows) else b""
        return [Section(text(names, row[0]), row[1], row[4], row[5], row[6], row[7]) for row in rows]

    def _section(self, number: int) -> tuple[int, ...]:
        """A row: name, kind, flags, address, offset, size, link, info."""
        layout = "<IIQQQQIIQQ" if self.wide else "<10I"
        if self._section_size != struct.calcsize(layout):
            raise ValueError("sections of another size")
        return struct.unpack_from(layout, self._data, self._sections_at + number * self._section_size)

    @cached_property
    def segments(self) -> list[Segment]:
        count = self._section(0)[7] if self._segments == MANY_SEGMENTS and self._sections_at else self._segments
        return [self._segment(self._segments_at + number * self._segment_size) for number in range(count)]

    def _segment(self, at: int) -> Segment:
        layout = "<IIQQQQQQ" if self.wide else "<8I"
        if self._segment_size != struct.calcsize(layout):
            raise ValueError("segments of another size")
        row = struct.unpack_from(layout, self._data, at)
        if self.wide:
            return Segment(row[0], row[1], row[2], row[3], row[5], row[6])
        return Segment(row[0], row[6], row[1], row[2], row[4], row[5])

    def named(self, name: str) -> Section | None:
        """The first section of this name."""
        return next((one for one in self.sections if one.name == name), None)

    def of_kind(self, kind: int) -> Iterator[Section]:
        return (one for one in self.sections if one.kind == kind)

    def content(self, section: Section) -> bytes:
        """Its bytes; none where they are in another file (of debug information, or beside it)."""
        return b"" if section.kind == NO_BITS else self._bytes(section.offset, section.size)

    def interpreter(self) -> str | None:
        """The loader that the program asks for."""
        found = next((one for one in self.segments if one.kind == INTERPRETER), None)
        return text(self._bytes(found.offset, found.file_size), 0) if found else None

    @cached_property
    def tags(self) -> list[tuple[int, int]]:
        """The table that the loader reads: kinds and values."""
        found: list[tuple[int, int]] = []
        for segment in self.segments:
            if segment.kind == DYNAMIC:
                table = self._bytes(segment.offset, segment.file_size)
                row = struct.Struct("<qQ" if self.wide else "<iI")
                for pair in row.iter_unpack(table[: len(table) // row.size * row.size]):
                    if pair[0] == 0:
                        break
                    found.append(pair)
        return found

    def needed(self) -> Iterator[str]:
        """The libraries that the loader loads with this file."""
        texts = next((value for kind, value in self.tags if kind == TEXTS), 0)
        loaded = (one for one in self.segments if one.kind == LOADED)
        held = next((one for one in loaded if one.address <= texts < one.address + one.file_size), None)
        if held is not None:
            names = self._bytes(held.offset + texts - held.address, held.file_size - (texts - held.address))
            yield from (text(names, value) for kind, value in self.tags if kind == NEEDED)

    def _bytes(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]


def text(strings: bytes, start: int) -> str:
    """What begins there and ends with a zero."""
    end = strings.find(b"\0", start)
    return strings[start : end if end >= 0 else len(strings)].decode(errors="replace")
