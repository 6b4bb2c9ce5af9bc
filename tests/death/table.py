#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every misuse and attack of misuse_table, at each level of hardening: hew reports what docs/misuse.md says.

    python3 tests/death/table.py PROGRAM LIBRARY

The number of distances that an attack finds may be larger than on the page, not smaller.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from pages import misuse  # noqa: E402

BITS = re.compile(r"one of 2\^(\d+) or more")


def cells_of(page: str) -> dict[str, dict[str, str]]:
    """The page's words by row and column."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    start = next(i for i, row in enumerate(rows) if row[1] == "hew")
    return {row[0]: dict(zip(rows[start][1:], row[1:], strict=True)) for row in rows[start + 1 :]}


def agrees(said: str, seen: str) -> bool:
    """Whether it is so, or better."""
    page, now = BITS.fullmatch(said), BITS.fullmatch(seen)
    return said == seen or (page is not None and now is not None and int(now[1]) >= int(page[1]))


def main(program: Path, library: Path) -> int:
    page = cells_of((ROOT / misuse.PAGE.file).read_text(encoding="utf-8"))
    names, wrong = misuse.names_of(program), 0
    for name in names:
        for column, environment in misuse.ours(library).items():
            seen, said = misuse.outcome(program, name, environment), page.get(name, {}).get(column, "nothing")
            if not agrees(said, seen):
                print(f"{name}, {column}: the page says {said}, seen: {seen}")
                wrong += 1
    for name in page.keys() - set(names):
        print(f"{name}: on the page only")
        wrong += 1
    print(f"{len(names)} misuses at each level, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
