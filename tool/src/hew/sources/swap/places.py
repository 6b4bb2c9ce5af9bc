# SPDX-License-Identifier: MIT
"""Addresses in a process that a swap needs: of functions in its files, and of free address space near one."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.process import Area
from hew.model.swap import FREES, NEEDED, QUERIES, REALLOC, REQUESTS
from hew.sources.attach.contents import contents
from hew.sources.attach.target import C_LIBRARY, LOADER, Mapped, calls_of, mapped_code, restorers_of
from hew.sources.process_memory import parse_areas
from hew.sources.processes import PROC, read_text
from hew.sources.swap.instructions import ADD_BYTES, ADD_ONE, JUMP, Unknown, moved, place_of_jump, reaches, returns_into

LIBRARY = "libhew.so"
READ = 192  # bytes of each function that are looked at
# A thread in one of these may hold a lock that the loader wants. What exit() calls may end the process.
BUSY = (
    b"exit quick_exit dlopen dlclose dlsym dlvsym dladdr dlerror dl_iterate_phdr dlmopen "
    b"_dl_find_object pthread_create pthread_join pthread_exit pthread_atfork pthread_getattr_np __register_atfork "
    b"pthread_key_create __cxa_atexit"
).split()
FORKS = b"fork vfork _Fork __libc_fork".split()
GAP = 64 << 10  # bytes of code around the allocator's functions in which its static ones lie
HOLE = 1 << 20
PAGE = 4096


@dataclass(frozen=True)
class Site:
    """A function of the old allocator: where its jump goes, what stands there in the file."""

    name: str
    entry: int
    place: int
    code: bytes  # from `place` on


@dataclass(frozen=True)
class Places:
    """Of one process."""

    pid: int
    areas: list[Area]
    files: list[Mapped]
    libc: Mapped

    def function(self, file: Mapped, name: str) -> int | None:
        """The address of a function that a file defines."""
        return address_of(file, name)

    @property
    def loader(self) -> list[tuple[int, int]]:
        """The loader's code."""
        return [(a.start, a.end) for one in self.files if LOADER.search(str(one.shown)) for a in one.areas]

    @property
    def restorers(self) -> list[int]:
        """Where signal handlers return to: the C library's first."""
        ordered = [self.libc, *(one for one in self.files if one is not self.libc)]
        return [address for one in ordered for address in restorers_of(one)]

    @property
    def busy(self) -> list[tuple[int, int]]:
        """Functions in which a thread is not taken."""
        return [*calls_of(self.libc, BUSY)]

    @property
    def forks(self) -> list[tuple[int, int]]:
        """Functions that hold locks and call handlers without them."""
        return [*calls_of(self.libc, FORKS)]

    def around(self, old: Mapped, sites: Sequence[Site]) -> list[tuple[int, int]]:
        """The old allocator's code, generously: all of its library, unless much else is in the same file."""
        if old is not self.libc and old is not self.files[0]:
            return [(one.start, one.end) for one in old.areas]
        start, end = min(one.entry for one in sites) - GAP // 2, max(one.entry for one in sites) + GAP // 2
        return [(start, end)]

    def hole(self, near: int) -> int:
        """Free address space that a jump reaches from there and the other way round."""
        best = None
        for before, after in zip(self.areas, self.areas[1:], strict=False):
            start = before.end + HOLE // 2
            if before.path == "[heap]" or after.start - before.end < HOLE or not reaches(near, start):
                continue
            if best is None or abs(start - near) < abs(best - near):
                best = start
        if best is None:
            raise HewError(f"process {self.pid} has no address space left near its malloc")
        return best


def files_in(pid: int) -> tuple[list[Area], list[Mapped]]:
    """What a process has mapped, and the files of code in it. As long as the map is the same, it is read once."""
    text = read_text(f"{PROC}/{pid}/maps")
    if _last[:2] != [pid, text]:
        areas = parse_areas(text)
        _last[:] = pid, text, areas, list(mapped_code(pid, areas))
    return _last[2], _last[3]


_last: list[Any] = []


def places_in(pid: int) -> Places:
    """Read them."""
    areas, files = files_in(pid)
    libc = next((one for one in files if C_LIBRARY.search(str(one.shown)) and address_of(one, "dlopen")), None)
    if libc is None:
        raise HewError(f"process {pid} has no glibc of 2.34 or newer, whose loader can be called")
    return Places(pid, areas, files, libc)


def address_of(file: Mapped, name: str) -> int | None:
    """Of a function that the file defines."""
    found = contents(file.file, file.shown).defined(name.encode())
    return None if found is None else file.bias + found[0]


def _defined(file: Mapped, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    known = contents(file.file, file.shown)
    return {name: found for name in names if (found := known.defined(name.encode())) is not None}


def sites_of(file: Mapped, memory: int) -> list[Site]:
    """The functions that change, in the order in which they may. HewError when one of them cannot."""
    names = [*FREES, *QUERIES, REALLOC, *REQUESTS]
    if C_LIBRARY.search(str(file.shown)):  # its other functions call these
        names = [name for name in names if not name.startswith("_Z") and not name.endswith("allocx")]
    found = _defined(file, names)
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise HewError(f"{file.shown} has no symbol for {missing[0]}: its malloc cannot be replaced as a whole")
    sites: list[Site] = []
    for name in names:
        value, size = found.get(name, (0, 0))
        if value and all(one.entry != file.bias + value for one in sites):
            sites.append(_site(file, name, value, size))
    for one in sites:
        there = os.pread(memory, JUMP, one.place)
        if there != one.code[:JUMP] and there[:1] != b"\xe9":
            raise HewError(f"{one.name} of {file.shown} has been changed in memory (by a probe?)")
    return sites


def sites_named(file: Mapped, prefix: str, names: Iterable[str]) -> list[Site]:
    """Functions that a copy of an allocator has under a prefix, as far as they have room for a jump."""
    found: list[Site] = []
    for name, (value, size) in _defined(file, [f"{prefix}{name}" for name in names]).items():
        if all(one.entry != file.bias + value for one in found):
            with suppress(HewError):
                found.append(_site(file, name, value, size))
    return found


def is_counted(site: Site, there: bytes, memory: int) -> bool:
    """Whether the changed bytes at a function are a jump of counting.py."""
    code = site.place + JUMP + int.from_bytes(there[1:], "little", signed=True)
    try:
        text = os.pread(memory, PAGE // 64, code)
        return text.startswith(ADD_ONE) and text[ADD_BYTES:].startswith(moved(site.code, site.place, code + ADD_BYTES))
    except (OSError, Unknown):
        return False


def _site(file: Mapped, name: str, value: int, size: int) -> Site:
    code = contents(file.file, file.shown).read(value, min(READ, size))
    skipped = place_of_jump(code)
    if len(code) < skipped + JUMP or returns_into(code, skipped):
        raise HewError(f"{name} of {file.shown} has no room for a jump at its start")
    return Site(name, file.bias + value, file.bias + value + skipped, code[skipped:])


def errno_offset(libc: Mapped, memory: int) -> int:
    """Where errno is from a thread's fs_base on, by the code of __errno_location."""
    entry = address_of(libc, "__errno_location")
    code = os.pread(memory, 32, entry) if entry else b""
    at = place_of_jump(code)
    distance = int.from_bytes(code[at + 3 : at + 7], "little", signed=True)
    if entry is None or code[at : at + 3] != b"\x48\x8b\x05" or code[at + 7 : at + 12] != b"\x64\x48\x03\x04\x25":
        raise HewError(f"{libc.shown} keeps errno in a way that is not known here")
    return int.from_bytes(os.pread(memory, 8, entry + at + 7 + distance), "little", signed=True)


def library_in(pid: int) -> Mapped | None:
    """The libhew.so that a process has loaded."""
    _, files = files_in(pid)
    return next((one for one in files if Path(one.shown).name.startswith(LIBRARY)), None)


def functions_of(file: Mapped, names: Iterable[str], memory: int) -> dict[str, int]:
    """Addresses by name, of those that the file defines. HewError when the process has mapped another file."""
    found = _defined(file, names)
    for value, size in found.values():
        code = contents(file.file, file.shown).read(value, min(size, READ))
        if os.pread(memory, len(code), file.bias + value) != code:
            raise HewError(f"{file.shown} is not the file that the process has loaded")
    return {name: file.bias + value for name, (value, _) in found.items()}


def overlap(sites: Iterable[Site]) -> Iterator[tuple[int, int]]:
    """The bytes that change, for chooser.py."""
    return ((one.place, one.place + JUMP) for one in sites)
