# SPDX-License-Identifier: MIT
"""What an ELF file knows of addresses: its segments, its functions, its build id, whether it has DWARF."""

import io
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from hew.model.lazy_dataclass import dataclass
from hew.sources.code import MALFORMED, Symbols, open_code, read_symbols
from hew.sources.extras import need
from hew.sources.readable import readable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

EXECUTABLE = 1  # PF_X
FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
PAGE = 4096
UNSIZED_REACH = 4096  # bytes that a function without a size, as assembler has them, is taken to have
MOST_UNPACKED = 256 << 20


@dataclass(frozen=True)
class Segment:
    """A part of the file that the loader maps."""

    offset: int
    address: int
    size: int
    executable: bool


@dataclass(frozen=True)
class ElfFile:
    """A file of code, or one with the debug information of another."""

    path: Path
    build_id: str
    segments: tuple[Segment, ...]
    starts: "npt.NDArray[np.uint64]"
    ends: "npt.NDArray[np.uint64]"
    names: "npt.NDArray[np.uint32]"
    tables: "npt.NDArray[np.uint8]"
    texts: tuple[bytes, ...]
    has_lines: bool
    stripped: bool
    link: str  # the name of the file with its debug information, as .gnu_debuglink has it

    def address_of(self, offset: int) -> int | None:
        """The address, as this file counts them, of what lies at an offset in it."""
        for one in self.segments:
            if one.executable and one.offset - one.offset % PAGE <= offset < one.offset + one.size:
                return one.address + offset - one.offset
        return None

    def function_at(self, address: int) -> str:
        """The name of the function there, as linkers know it; or nothing."""
        place = int(self.starts.searchsorted(self.starts.dtype.type(address), side="right")) - 1
        if place < 0 or address >= int(self.ends[place]):
            return ""
        text, start = self.texts[self.tables[place]], int(self.names[place])
        return readable(text[start : text.find(b"\0", start)].decode(errors="replace"))


def read_elf_file(path: Path) -> ElfFile | None:
    """The file; None where there is none, or it is no such file, or is damaged."""
    need("numpy")
    try:
        with open_code(path) as opened:
            return _read(ELFFile(opened), path)
    except MALFORMED:
        return None


def _read(elf: ELFFile, path: Path) -> ElfFile:
    whole = read_symbols(elf, "SHT_SYMTAB")
    found = [one for one in (whole, *_hidden_symbols(elf), read_symbols(elf, "SHT_DYNSYM")) if one is not None]
    starts, ends, names, tables = _functions(found)
    info = elf.get_section_by_name(".debug_info")
    return ElfFile(
        path=path,
        build_id=_build_id(elf),
        segments=tuple(
            Segment(one["p_offset"], one["p_vaddr"], one["p_memsz"], bool(one["p_flags"] & EXECUTABLE))
            for one in elf.iter_segments("PT_LOAD")
        ),
        starts=starts,
        ends=ends,
        names=names,
        tables=tables,
        texts=tuple(one.texts for one in found),
        has_lines=(info is not None and info["sh_type"] != "SHT_NOBITS")
        or elf.get_section_by_name(".zdebug_info") is not None,
        stripped=whole is None,
        link=_link(elf),
    )


def _functions(
    found: list[Symbols],
) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]":
    """All functions by address, each address once: the one of the first table, and of those the one that others see."""
    import numpy as np  # noqa: PLC0415 - the extra `inspect`

    parts = []
    for number, table in enumerate(found):
        rows = table.rows[np.isin(table.rows["info"] & 15, FUNCTIONS) & (table.rows["section"] != 0)]
        inside = rows["name"] < len(table.texts)
        parts.append((rows[inside], np.full(int(inside.sum()), number, np.uint8)))
    empty = np.zeros(0, np.uint64)
    if not parts:
        return empty, empty, np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    starts = np.concatenate([rows["value"].astype(np.uint64) for rows, _ in parts])
    sizes = np.concatenate([rows["size"].astype(np.uint64) for rows, _ in parts])
    names = np.concatenate([rows["name"] for rows, _ in parts]).astype(np.uint32)
    hidden = np.concatenate([rows["info"] >> 4 == 0 for rows, _ in parts])
    tables = np.concatenate([numbers for _, numbers in parts])
    order = np.lexsort((hidden, tables, sizes == 0, starts))
    starts, sizes, names, tables = starts[order], sizes[order], names[order], tables[order]
    first = np.ones(len(starts), bool)
    first[1:] = starts[1:] != starts[:-1]
    starts, sizes = starts[first], sizes[first]
    following = np.append(starts[1:], np.uint64(2**64 - 1))
    unsized = np.minimum(following, starts + np.uint64(UNSIZED_REACH))
    return starts, np.where(sizes == 0, unsized, starts + sizes), names[first], tables[first]


def _hidden_symbols(elf: ELFFile) -> Iterator[Symbols | None]:
    """The functions in .gnu_debugdata, which some distributions leave in files that are stripped otherwise."""
    section = elf.get_section_by_name(".gnu_debugdata")
    if section is not None:
        try:
            unpacked = lzma.LZMADecompressor().decompress(section.data(), MOST_UNPACKED)
        except lzma.LZMAError:
            return
        yield read_symbols(ELFFile(io.BytesIO(unpacked)), "SHT_SYMTAB")


def _build_id(elf: ELFFile) -> str:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection) and section.name == ".note.gnu.build-id":
            return next((str(note["n_desc"]) for note in section.iter_notes()), "")
    return ""


def _link(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".gnu_debuglink")
    name = section.data().partition(b"\0")[0].decode(errors="replace") if section is not None else ""
    return name if "/" not in name else ""
