# SPDX-License-Identifier: MIT
"""Where a process has its jemalloc: its functions' addresses, and which code is inside when a thread is there.

In a library all of its code counts, unless its table of symbols tells which part is jemalloc's. In a program the table
has to.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from hew.model.errors import HewError
from hew.model.known_allocators import JEMALLOC
from hew.model.lazy_dataclass import dataclass
from hew.model.process import Area, Code
from hew.sources.attach.contents import contents
from hew.sources.attach.machine_code import Functions
from hew.sources.code import Symbols, read_code
from hew.sources.mapped_files import file_of
from hew.sources.process_memory import parse_areas
from hew.sources.processes import PROC, read_text

PRINT, CONTROL = b"malloc_stats_print", b"mallctl"  # others may be left out of a program that does not call them
PRIVATE = b"arena_boot"  # a function of its own in every release, behind what private names begin with
PUBLIC = tuple(
    b"malloc calloc realloc free posix_memalign aligned_alloc memalign valloc pvalloc mallocx rallocx xallocx sallocx "
    b"dallocx sdallocx nallocx mallctl mallctlnametomib mallctlbymib malloc_stats_print "
    b"malloc_usable_size malloc_size".split()
)
# fork() runs handlers that hold the allocator's locks, exit() what may end the allocator.
CALLS = (b"fork", b"vfork", b"_Fork", b"__libc_fork", b"exit", b"quick_exit")
GAP = 64 << 10  # bytes between two functions of one allocator: static functions without its names lie between them
FUNCTION = 2  # STT_FUNC
LOADER = re.compile(r"ld-linux[^/]*$|ld-2\.[^/]*$")
C_LIBRARY = re.compile(r"(?:libc|libpthread)[.-][^/]*$|ld-musl[^/]*$")
SYSCALL = b"\x0f\x05"
Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class Target:
    """Addresses in one process."""

    title: str
    variable: str | None  # of its settings
    functions: Functions
    code: Ranges
    calls: Ranges
    loader: Ranges
    restorers: list[int]


@dataclass(frozen=True)
class Mapped:
    """A file of which a process has mapped code: by which path it can be opened here, and where its address 0 is."""

    file: Path
    shown: Path
    bias: int
    areas: tuple[Area, ...]


def find_target(pid: int) -> Target:
    """The jemalloc that serves malloc, else another one. HewError says why it cannot be called."""
    areas = parse_areas(read_text(f"{PROC}/{pid}/maps"))
    files = list(mapped_code(pid, areas))
    reasons = []
    for one, code in sorted(_with_jemalloc(files), key=lambda pair: not pair[1].serves):
        try:
            functions, inside = _functions(one, code, _gadget(pid, areas))
        except HewError as error:
            reasons.append(str(error))
            continue
        calls = [
            span
            for other in files
            if C_LIBRARY.search(str(other.shown)) or other is files[0]
            for span in calls_of(other)
        ]
        loader = [(area.start, area.end) for other in files if LOADER.search(str(other.shown)) for area in other.areas]
        restorers = [address for other in files for address in restorers_of(other)]
        return Target(code.title, code.variable, functions, inside, calls, loader, restorers)
    raise HewError(reasons[0] if reasons else "it has no jemalloc")


def has_jemalloc(pid: int) -> bool:
    """Whether some file of its code has one."""
    return bool(_with_jemalloc(list(mapped_code(pid, parse_areas(read_text(f"{PROC}/{pid}/maps"))))))


def _with_jemalloc(files: Iterable[Mapped]) -> list[tuple[Mapped, Code]]:
    pairs = ((one, read_code(one.file, one.shown)) for one in files)
    return [(one, code) for one, code in pairs if code is not None and JEMALLOC in {code.kind, *code.also}]


def mapped_code(pid: int, areas: list[Area]) -> Iterator[Mapped]:
    """The program first."""
    by_path: dict[str, list[Area]] = {}
    for area in areas:
        if area.path.startswith("/"):
            by_path.setdefault(area.path, []).append(area)
    program = _target_of(f"{PROC}/{pid}/exe")
    for path in sorted(by_path, key=lambda path: path != program):
        found = by_path[path]
        code = tuple(area for area in found if "x" in area.rights)
        if not code:
            continue
        first = found[0]
        file = Path(f"{PROC}/{pid}/exe") if path == program else file_of(pid, first)
        known = read_code(file, Path(path))
        if known is not None:
            yield Mapped(file, Path(path), first.start - known.base, code)


def _target_of(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 - of a file that may be gone
    except OSError:
        return ""


def tables_of(one: Mapped) -> list[Symbols]:
    return contents(one.file, one.shown).tables


def _functions(one: Mapped, code: Code, gadget: int) -> tuple[Functions, Ranges]:
    """What is to be called, and all of jemalloc's code."""
    tables = tables_of(one)
    for table in tables:
        for prefix in sorted(table.prefixes(PRINT), key=len):
            start = prefix.encode()
            if table.defines(start + CONTROL):
                inside = _inside(tables[0], start, one) or _whole(one, code)
                called = (one.bias + _value(table, start + name) for name in (PRINT, CONTROL))
                return Functions(gadget, *called), inside
    raise HewError(f"{one.shown} has no symbols that tell where its jemalloc's functions are (it was stripped)")


def _whole(one: Mapped, code: Code) -> Ranges:
    if code.interpreter is not None and ".so" not in one.shown.name:
        raise HewError(f"{one.shown} has no symbols that tell jemalloc's code from the program's (it was stripped)")
    return [(area.start, area.end) for area in one.areas]


def _value(table: Symbols, name: bytes) -> int:
    rows = table.rows[table.numbers(name)]
    return int(rows[rows["section"] != 0]["value"][0])


def _inside(table: Symbols, prefix: bytes, one: Mapped) -> Ranges:
    """The code around the functions with jemalloc's names; empty where the table does not have its private ones."""
    import numpy as np  # noqa: PLC0415 - the extra `inspect`

    spaces = [found.encode() for found in table.prefixes(PRIVATE) if found]
    if not spaces:
        return []
    rows = table.rows[(table.rows["info"] & 15 == FUNCTION) & (table.rows["section"] != 0)]
    begins = b"|".join(re.escape(space) for space in spaces)
    exact = b"|".join(re.escape(prefix + name) + rb"\0" for name in PUBLIC)
    pattern = re.compile(rb"(?<=\0)(?:" + begins + rb"|" + exact + rb")")
    offsets = np.array([found.start() for found in pattern.finditer(table.texts)], np.uint32)
    chosen = rows[np.isin(rows["name"], offsets)]
    spans = sorted((int(row["value"]), int(row["value"]) + int(row["size"])) for row in chosen)
    return [(one.bias + start, one.bias + end) for start, end in _joined(spans)]


def _joined(spans: list[tuple[int, int]]) -> Ranges:
    """Those with little between them as one."""
    found: Ranges = []
    for start, end in spans:
        if found and start - found[-1][1] <= GAP:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def calls_of(one: Mapped, names: Iterable[bytes] = CALLS) -> Iterator[tuple[int, int]]:
    """fork() and exit(). What exit() calls does not return, so its return address may be the one behind it."""
    for table in tables_of(one):
        for name in names:
            for row in table.rows[table.numbers(name)]:
                if row["section"] != 0 and row["size"]:
                    start = one.bias + int(row["value"])
                    yield start, start + int(row["size"]) + 1


def restorers_of(one: Mapped) -> Iterator[int]:
    """Where handlers of signals return to."""
    return (one.bias + address for address in contents(one.file, one.shown).restorers)


def _gadget(pid: int, areas: list[Area]) -> int:
    """A syscall instruction: the kernel's own page has some."""
    for area in areas:
        if area.path == "[vdso]":
            with open(f"{PROC}/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - not a path of a file
                memory.seek(area.start)
                at = memory.read(area.size).find(SYSCALL)
            if at >= 0:
                return area.start + at
    raise HewError("it has no page of the kernel's with a system call in it (vdso)")
