#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that every decision of docs/decisions is one page of one form, and is in the index.

A decision explains the code of today: question, decision, figures and rejected alternatives, in this order, in at
most 80 lines of 100 columns (rows of tables may be longer).  The index README.md has one row for each: number, title
as a link, and what it is about.  A decision that is overtaken becomes a line of abandoned.md, and its file goes.
"""

import argparse
import re
import sys
from itertools import pairwise
from pathlib import Path

DECISIONS = Path(__file__).parent.parent / "docs" / "decisions"
ROW = re.compile(r"\| (?P<number>\d{4}) \| \[(?P<title>.+)\]\((?P<name>[^)]+)\) \| [^|]+ \|")
PARTS = ("**Question", "**Decision", "**Figures", "**Rejected")
LINES = 80
COLUMNS = 100


def page_breaches(text: str, number: str) -> list[str]:
    """What is wrong with one decision."""
    lines = text.splitlines()
    breaches = []
    if not lines or not re.fullmatch(rf"# {number}: .+", lines[0]):
        breaches.append("its first line is not a title with its number")
    places = [text.find(part) for part in PARTS]
    if -1 in places or places != sorted(places):
        breaches.append(f"not in this form: {', '.join(part[2:] for part in PARTS)}")
    if len(lines) > LINES:
        breaches.append(f"{len(lines)} lines, more than {LINES}")
    if any(len(line) > COLUMNS and not line.startswith("|") for line in lines):
        breaches.append(f"has lines of more than {COLUMNS} columns")
    return breaches


def find_breaches(folder: Path) -> list[str]:
    """What is wrong, a line each."""
    rows = {row["name"]: row for row in ROW.finditer((folder / "README.md").read_text())}
    paths = sorted(folder.glob("[0-9]*.md"))
    breaches = [f"README.md: {name} is no decision" for name in sorted(rows.keys() - {path.name for path in paths})]
    twice = {before.name for before, path in pairwise(paths) if before.name[:4] == path.name[:4]}
    for path in paths:
        number, text = path.name[:4], path.read_text()
        if path.name in twice:
            breaches.append(f"{path.name}: another decision has its number")
        breaches += [f"{path.name}: {breach}" for breach in page_breaches(text, number)]
        row = rows.get(path.name)
        if row is None:
            breaches.append(f"{path.name}: not in README.md")
        elif f"# {row['number']}: {row['title']}" != text.partition("\n")[0]:
            breaches.append(f"{path.name}: README.md has another number or title")
    return breaches


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=DECISIONS)
    breaches = find_breaches(parser.parse_args(arguments).folder)
    for breach in breaches:
        print(breach)
    if not breaches:
        print("check_decisions: every decision is one page of one form and is in the index")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
