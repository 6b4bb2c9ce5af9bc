# SPDX-License-Identifier: MIT
"""The table of locks in src/README.md, from src/os/locks.def; and whether every lock of src/ has its rank.

A lock that is a variable is defined as  struct hew_mutex NAME = HEW_MUTEX(rank);  a lock in a struct gets its rank by
HEW_MUTEX_PLACE(&...lock, rank, number).  Each rank has one of the two, and only one kind.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from generated import Section

from pages.page import Page

ROW = re.compile(r'^LOCK\((\w+), "([^"]*)", "([^"]*)"\)$')
SECTION = Section("<!-- made by scripts/gen_pages.py from os/locks.def -->", "<!-- end of the table -->")
VARIABLE = re.compile(r"^([ \t]*)(?:static\s+)?struct hew_mutex (\w+)(?:\s*=\s*HEW_MUTEX\((\w+)\))?;", re.MULTILINE)
PLACED = re.compile(r"HEW_MUTEX_PLACE\([^,]+, (\w+),")


@dataclass(frozen=True)
class Lock:
    """One row of locks.def."""

    rank: str
    name: str
    guards: str


def read_locks(path: Path) -> list[Lock]:
    """The rows, outermost first; raises ValueError for a line that looks like one and is none."""
    locks = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("LOCK("):
            match = ROW.match(line)
            if match is None:
                raise ValueError(f'{path}:{number}: write LOCK(rank, "name", "what it guards")')
            locks.append(Lock(match[1], match[2], match[3]))
    return locks


def table(locks: list[Lock]) -> list[str]:
    """The table for src/README.md."""
    lines = ["| | lock | guards |", "|---|---|---|"]
    for number, lock in enumerate(locks, 1):
        name = f"`{lock.name}`" if lock.name.startswith("hew_") else lock.name
        lines.append(f"| {number} | {name} | {lock.guards} |")
    return lines


def breaches(source: Path, locks: list[Lock]) -> list[str]:
    """Locks without a rank, ranks without a lock, and ranks that are given in both ways or unknown."""
    found = []
    alone: dict[str, str] = {}
    placed: set[str] = set()
    for path in sorted(source.rglob("*.[ch]")):
        if path.relative_to(source) == Path("os/mutex.h"):
            continue
        text = path.read_text()
        placed |= set(PLACED.findall(text))
        for indent, name, rank in VARIABLE.findall(text):
            if rank:
                if rank in alone:
                    found.append(f"{path}: {name} has the rank {rank}, which is {alone[rank]}'s")
                alone[rank] = name
            elif name != "lock" or not indent:  # a member: by HEW_MUTEX_PLACE()
                found.append(f"{path}: {name} has no rank: = HEW_MUTEX(rank), and a row in os/locks.def")
    known = [lock.rank for lock in locks]
    for rank in sorted({*alone, *placed} - set(known)):
        found.append(f"os/locks.def: no row for the rank {rank}")
    for rank in known:
        if (rank in alone) == (rank in placed):
            found.append(f"os/locks.def: {rank}: no lock has this rank, or both a variable and members")
    return found


def make_page(root: Path) -> str:
    """src/README.md of a project with its table made anew."""
    source = root / "src"
    return SECTION.put((source / "README.md").read_text(), table(read_locks(source / "os" / "locks.def")))


def find_breaches(root: Path) -> list[str]:
    """What the locks of a project lack."""
    return breaches(root / "src", read_locks(root / "src" / "os" / "locks.def"))


PAGE = Page("locks", "src/README.md", make_page, find_breaches)
