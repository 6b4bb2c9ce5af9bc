# SPDX-License-Identifier: MIT
"""Finds the allocator in a program or library: reads its ELF file, without running it.

Function names are the main evidence. A program without a symbol table still contains its allocator's messages. A file
that is not ELF, truncated or malformed reads as None.
"""

import mmap
import os
import re
import stat
import struct
from array import array
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from hew.model.known_allocators import BY_NAME, CONF, GLIBC, HEW, KNOWN, MUSL, Known
from hew.model.lazy_dataclass import dataclass
from hew.model.process import Code

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Rows of symbols by the width of addresses: numpy's fields, the bytes of a row, where in it the section's number is.
SYMBOL_64 = [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
SYMBOL_32 = [("name", "<u4"), ("value", "<u4"), ("size", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2")]
ROW_64, SECTION_64 = 24, 6
ROW_32, SECTION_32 = 16, 14
RELOCATION = 24  # bytes: place, info, addend
MALLOC = b"malloc"
GO_MAGIC = b"\xff Go buildinf:"
GO_VERSION = re.compile(rb"go1\.\d+(?:\.\d+)?")
CONF_NAME = re.compile(rb"\0([A-Z0-9_]*)" + CONF.encode() + rb"\0")
NAMED_VERSION = re.compile(r"\.so\.(\d+(?:\.\d+)+)$|-(\d+(?:\.\d+)+)\.so")
DF_1_PIE = 0x08000000
LARGEST = 4 << 30
# What malformed files make of the parser, which trusts their offsets and sizes.
MALFORMED: tuple[type[Exception], ...] = (
    ELFError,
    ConstructError,
    OSError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)
Bytes = mmap.mmap


@dataclass(frozen=True)
class Symbols:
    """One table of symbols: the bytes of its rows, and the texts of their names."""

    data: bytes
    wide: bool  # addresses have 64 bits
    texts: bytes

    @cached_property
    def rows(self) -> "npt.NDArray[np.void]":
        """The rows as columns, for callers that read all of them. Needs numpy (the extra `inspect`)."""
        import numpy as np  # noqa: PLC0415 - 70 MB that most commands do without

        shape = np.dtype(SYMBOL_64 if self.wide else SYMBOL_32)
        return np.frombuffer(self.data, shape, count=len(self.data) // shape.itemsize)

    @cached_property
    def _names(self) -> "array[int]":
        """Where in the texts each row's name begins."""
        row = ROW_64 if self.wide else ROW_32
        words = array("I", self.data[: len(self.data) // row * row])
        return words[:: row // 4]

    def numbers(self, name: bytes) -> list[int]:
        """The rows of this very name; the text of one may be the tail of another's."""
        found = []
        for match in re.finditer(re.escape(name) + rb"\0", self.texts):
            start = 0
            while True:
                try:
                    start = self._names.index(match.start(), start) + 1
                except ValueError:
                    break
                found.append(start - 1)
        return sorted(found)

    def defines(self, name: bytes) -> bool:
        """Whether the file itself has a function of this name."""
        row, section = (ROW_64, SECTION_64) if self.wide else (ROW_32, SECTION_32)
        places = (number * row + section for number in self.numbers(name))
        return any(struct.unpack_from("<H", self.data, place)[0] for place in places)

    def prefixes(self, entry: bytes) -> list[str]:
        """What stands before `entry` in the names of functions that end in it."""
        ends = [found.start() for found in re.finditer(re.escape(entry) + rb"\0", self.texts)]
        wholes = {self.texts[self.texts.rfind(b"\0", 0, end) + 1 : end] for end in ends}
        return [prefix.decode() for prefix in sorted(wholes) if self.defines(prefix + entry)]


# What files brought, by which file it was and how it is called: the C library of 120 processes is read once.
_kept: dict[tuple[object, ...], Code | None] = {}
MOST_KEPT = 2048


def read_code(file: Path, shown: Path | None = None) -> Code | None:
    """What one file brings; `shown` is its name for people, where that is another. One that has not changed since is
    not read again."""
    try:
        with open_code(file) as opened:
            about = os.fstat(opened.fileno())
            which = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns, shown or file)
            if which not in _kept:
                if len(_kept) >= MOST_KEPT:
                    _kept.clear()
                _kept[which] = _parsed(opened, shown or file)
            return _kept[which]
    except (OSError, ValueError):
        return None


def _parsed(opened: BinaryIO, shown: Path) -> Code | None:
    """What an open file brings; None when it is no file of code."""
    try:
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(ELFFile(opened), data, shown)
    except MALFORMED:
        return None


def open_code(file: Path) -> BinaryIO:
    """Open a file of a process of any user. What is at the path now may be a pipe or a device."""
    number = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    facts = os.fstat(number)
    if not stat.S_ISREG(facts.st_mode) or not 0 < facts.st_size <= LARGEST:
        os.close(number)
        raise ValueError(f"{file} is no file that a program is in")
    return os.fdopen(number, "rb")


def knows_setting(file: Path, name: str) -> bool:
    """Whether a file has the name of a setting in it; True when it cannot be read."""
    try:
        with open_code(file) as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(name.encode() + b"\0") >= 0
    except (OSError, ValueError):
        return True


def _read(elf: ELFFile, data: Bytes, shown: Path) -> Code:
    tables = [read_symbols(elf, kind) for kind in ("SHT_DYNSYM", "SHT_SYMTAB")]
    exported, whole = tables
    interpreter = next(
        (str(one.get_interp_name()) for one in elf.iter_segments() if isinstance(one, InterpSegment)), None
    )
    needed = tuple(tag.needed for tag in _tags(elf, "DT_NEEDED"))
    static = (elf["e_type"] == "ET_EXEC" and not needed) or (interpreter is None and _is_program(elf))
    kind, prefix = _kind(data, [one for one in tables if one], static)
    exports = exported is not None and exported.defines(MALLOC)
    has = exports or (whole is not None and whole.defines(MALLOC))
    conf = CONF_NAME.search(data) if kind and kind.reads_conf else None
    if kind and kind.reads_conf and prefix is None and conf:
        prefix = "" if not conf[1] else conf[1].decode().lower()
    serves = exports or (static and (has or (whole is None and kind is not None and prefix in {"", None})))
    return Code(
        path=shown,
        kind=kind.name if kind else None,
        version=_version(kind, data, shown),
        prefix=prefix,
        variable=f"{conf[1].decode()}{CONF}" if conf else None,
        serves=serves,
        hidden=has and not serves,
        interpreter=interpreter,
        needed=needed,
        slots=_slots(elf, exported) if exported is not None else (),
        runtime=_runtime(data, tables),
        also=_also(data, kind),
        base=min((one["p_vaddr"] & -4096 for one in elf.iter_segments("PT_LOAD")), default=0),
    )


def _tags(elf: ELFFile, name: str) -> Iterator[Any]:
    """The rows of a kind in the table that the loader reads."""
    for segment in elf.iter_segments():
        if isinstance(segment, DynamicSegment):
            yield from segment.iter_tags(name)


def _is_program(elf: ELFFile) -> bool:
    """Whether a file without an interpreter is a program (a static one that may lie anywhere), not a library."""
    return elf["e_type"] == "ET_EXEC" or any(tag["d_val"] & DF_1_PIE for tag in _tags(elf, "DT_FLAGS_1"))


def read_symbols(elf: ELFFile, kind: str) -> Symbols | None:
    section = next(elf.iter_sections(kind), None)
    if section is None:
        return None
    return Symbols(section.data(), elf.elfclass == 64, elf.get_section(section["sh_link"]).data())


def _kind(data: Bytes, tables: list[Symbols], static: bool) -> tuple[Known | None, str | None]:
    """Which allocator the file contains, and the prefix of its functions where that is known."""
    for known in KNOWN:
        prefixes = [prefix for table in tables for prefix in table.prefixes(known.entry)]
        marked = any(data.find(marker) >= 0 for marker in known.markers)
        if known.name in {GLIBC, MUSL}:
            if marked or (known.name == MUSL and prefixes and static):
                return known, ""
        elif known.reads_conf:
            if marked:
                return known, min(prefixes, key=len) if prefixes else None
        elif marked or prefixes:
            plain = any(table.defines(MALLOC) for table in tables)
            return known, "" if plain else (None if not prefixes else known.entry.decode().removesuffix("malloc"))
    return None, None


def _also(data: Bytes, kind: Known | None) -> tuple[str, ...]:
    """Other allocators in the same file: pyarrow's library brings jemalloc and mimalloc."""
    if kind is None or kind.name in {GLIBC, MUSL, HEW}:
        return ()
    others = (one for one in KNOWN if one.name not in {kind.name, GLIBC, MUSL, HEW})
    return tuple(one.name for one in others if any(data.find(marker) >= 0 for marker in one.markers))


def _version(kind: Known | None, data: Bytes, shown: Path) -> str:
    """The version that the file has in it, else the one of its name (libmimalloc.so.2.0, librpmalloc-1.4.so)."""
    found = kind.version.search(data) if kind else None
    if found:
        return found[1].decode()
    named = NAMED_VERSION.search(shown.name) if kind else None
    return (named[1] or named[2]) if named else ""


def _slots(elf: ELFFile, exported: Symbols) -> tuple[int, ...]:
    """Where the loader writes malloc's address, as the file counts addresses; only where pointers have 64 bits."""
    wanted = set(exported.numbers(MALLOC))  # the C library has a slot for its own, so that others can take its place
    if not wanted or elf.elfclass != 64:
        return ()
    return tuple(place for section in elf.iter_sections("SHT_RELA") for place in _places(section.data(), wanted))


def _places(data: bytes, wanted: set[int]) -> Iterator[int]:
    words = array("Q", data[: len(data) // RELOCATION * RELOCATION])
    for place, info in zip(words[::3], words[1::3], strict=True):
        if info >> 32 in wanted:
            yield place


def _runtime(data: Bytes, tables: list[Symbols | None]) -> str | None:
    """A language's run time that has memory of its own besides malloc's."""
    go = data.find(GO_MAGIC)
    if go >= 0:
        version = GO_VERSION.search(data, go)
        return f"Go {version[0].decode().removeprefix('go')}" if version else "Go"
    names = {
        "JVM": b"JNI_CreateJavaVM",
        "Python": b"PyObject_Malloc",
        "Node": b"napi_create_function",
        "Ruby": b"ruby_init",
        "PHP": b"php_request_startup",
    }
    return next((name for name, entry in names.items() if any(one and one.defines(entry) for one in tables)), None)


def conf_owner(code: Code) -> bool:
    """Whether this file's allocator takes jemalloc's settings."""
    return code.kind is not None and BY_NAME[code.kind].reads_conf
