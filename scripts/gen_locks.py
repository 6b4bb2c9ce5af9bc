#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the table of locks in src/README.md from src/os/locks.def, and see that every lock of src/ has its rank.

    python3 scripts/gen_locks.py            write the table
    python3 scripts/gen_locks.py --check    exit 1 when the table is an old one, or a lock is not in locks.def

A lock that is a variable is defined as  struct hew_mutex NAME = HEW_MUTEX(rank);  a lock in a struct gets its rank by
HEW_MUTEX_PLACE(&...lock, rank, number).  Each rank has one of the two, and only one kind.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROW = re.compile(r'^LOCK\((\w+), "([^"]*)", "([^"]*)"\)$')
BEGIN, END = "<!-- made by scripts/gen_locks.py from os/locks.def -->", "<!-- end of the table -->"
VARIABLE = re.compile(r"^\s*(?:static\s+)?struct hew_mutex (\w+)(?:\s*=\s*HEW_MUTEX\((\w+)\))?;", re.MULTILINE)
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


def table(locks: list[Lock]) -> str:
    """The table for src/README.md, markers included."""
    lines = [BEGIN, "", "| | lock | guards |", "|---|---|---|"]
    for number, lock in enumerate(locks, 1):
        name = f"`{lock.name}`" if lock.name.startswith("hew_") else lock.name
        lines.append(f"| {number} | {name} | {lock.guards} |")
    return "\n".join([*lines, "", END])


def with_table(text: str, locks: list[Lock]) -> str:
    """The page with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    if not old:
        raise ValueError(f"no table between {BEGIN!r} and {END!r}")
    return before + table(locks) + after


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
        for name, rank in VARIABLE.findall(text):
            if rank:
                if rank in alone:
                    found.append(f"{path}: {name} has the rank {rank}, which is {alone[rank]}'s")
                alone[rank] = name
            elif name != "lock" or path.suffix != ".h":
                found.append(f"{path}: {name} has no rank: = HEW_MUTEX(rank), and a row in os/locks.def")
    known = [lock.rank for lock in locks]
    for rank in sorted({*alone, *placed} - set(known)):
        found.append(f"os/locks.def: no row for the rank {rank}")
    for rank in known:
        if (rank in alone) == (rank in placed):
            found.append(f"os/locks.def: {rank}: no lock has this rank, or both a variable and members")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the table of locks; see that every lock has a rank.")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="the src/ directory")
    options = parser.parse_args(arguments)
    page = options.source / "README.md"
    try:
        locks = read_locks(options.source / "os" / "locks.def")
        text = page.read_text()
        wanted = with_table(text, locks)
        found = breaches(options.source, locks)
    except (OSError, ValueError) as error:
        print(f"gen_locks: {error}", file=sys.stderr)
        return 2
    if wanted != text and options.check:
        found.append(f"{page}: the table of locks is not what os/locks.def says: run scripts/gen_locks.py")
    elif wanted != text:
        page.write_text(wanted)
    print("\n".join(found) if found else f"gen_locks: {len(locks)} ranks, every lock has one")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
