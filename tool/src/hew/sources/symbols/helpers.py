# SPDX-License-Identifier: MIT
"""The programs of LLVM or of binutils that name lines and inlined functions, and make C++'s and Rust's names readable.

Without any of them there are the names of linkers, and notes say so.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Frame
from hew.sources.readable import readable

NEWEST, OLDEST = 30, 11  # versions that Debian puts behind the names of LLVM's programs
PATIENCE = 300.0  # seconds for the places of one file: gigabytes of DWARF take a minute
STRING = re.compile(r"std::(?:__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>")
MANGLED = re.compile(r"_(?:Z|R)[\w.$@]+")
PLACE = re.compile(r"(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?")
VERSIONED = re.compile(r"@{1,2}[A-Z]+[A-Za-z]*_[\w.]+$")  # the version of a symbol, as glibc has them
UNKNOWN = "??"
Frames = tuple[Frame, ...]


def find_program(name: str) -> str | None:
    """A program, or the newest of several versions of it."""
    versions = (f"{name}-{number}" for number in range(NEWEST, OLDEST - 1, -1))
    return next(filter(None, (shutil.which(one) for one in (name, *versions))), None)


@dataclass
class Helpers:
    """Those that are here; `notes` are what their absence or failure means for the reader."""

    symbolizer: str | None = field(default_factory=lambda: find_program("llvm-symbolizer"))
    addr2line: str | None = field(default_factory=lambda: find_program("addr2line"))
    filters: tuple[str, ...] = field(
        default_factory=lambda: tuple(filter(None, (find_program("c++filt"), find_program("llvm-cxxfilt"))))
    )
    notes: list[str] = field(default_factory=list)

    def lines(self, file: Path, addresses: Sequence[int]) -> Mapping[int, Frames]:
        """Frames with lines, the innermost first, of addresses in a file with DWARF."""
        if self.symbolizer is not None:
            options = ["--inlines", "--functions=linkage", "--no-demangle", "--output-style=LLVM", f"--obj={file}"]
            text = self._ask([self.symbolizer, *options], "".join(f"0x{one:x}\n" for one in addresses))
            return dict(zip(addresses, map(_frames, _blocks(text)), strict=False))
        if self.addr2line is not None:
            text = self._ask(
                [self.addr2line, "-a", "-f", "-i", "-e", str(file)], "".join(f"{one:x}\n" for one in addresses)
            )
            return dict(zip(addresses, map(_frames, _marked(text)), strict=False))
        self._note("no line numbers and no inlined functions: neither llvm-symbolizer nor addr2line is here")
        return {}

    def readable_names(self, names: Sequence[str]) -> Mapping[str, str]:
        """What people write for the names of C++ and Rust among some."""
        wanted = sorted({name for name in names if MANGLED.fullmatch(name)})
        found: dict[str, str] = {}
        for program in self.filters if wanted else ():
            left = [name for name in wanted if name not in found]
            lines = self._ask([program], "".join(f"{name}\n" for name in left)).splitlines() if left else []
            if len(lines) == len(left):
                found.update(
                    (name, short(readable(line))) for name, line in zip(left, lines, strict=True) if line != name
                )
        if wanted and not self.filters:
            self._note("names of C++ and Rust are as linkers know them: neither c++filt nor llvm-cxxfilt is here")
        return found

    def _ask(self, words: Sequence[str], text: str) -> str:
        try:
            done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            self._note(f"{Path(words[0]).name} did not do its work: {readable(str(error))[:200]}")
            return ""
        if done.returncode != 0:
            self._note(f"{Path(words[0]).name} ended with status {done.returncode}")
        return done.stdout.decode(errors="replace")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def short(name: str) -> str:
    """A name of C++ with std::string for what that stands for."""
    return STRING.sub("std::string", name)


def plain(name: str) -> str:
    """A linker's name without the version behind it."""
    return VERSIONED.sub("", readable(name))


def _blocks(text: str) -> Iterator[list[str]]:
    """llvm-symbolizer's answers: each ends with an empty line."""
    yield from (block.splitlines() for block in text.split("\n\n") if block.strip())


def _marked(text: str) -> Iterator[list[str]]:
    """addr2line's answers: each begins with its address."""
    yield from (block.splitlines()[1:] for block in re.split(r"^(?=0x[0-9a-f]+$)", text, flags=re.MULTILINE) if block)


def _frames(lines: list[str]) -> Frames:
    """Pairs of lines: a function, and its place."""
    found = []
    for name, place in zip(lines[::2], lines[1::2], strict=False):
        match = PLACE.fullmatch(place)
        file = match[1] if match and match[1] != UNKNOWN else ""
        line = int(match[2]) if match and file and match[2].isdigit() else 0
        found.append(Frame("" if name == UNKNOWN else plain(name), readable(file), line, inlined=True))
    if not found or not found[-1].name:
        return ()
    last = found[-1]
    return (*found[:-1], Frame(last.name, last.file, last.line))
