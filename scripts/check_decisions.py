#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold every decision of docs/decisions to a state, and their index to what the files say.

Under its title a decision says "State: current", "State: superseded by NNNN" or
"State: partly superseded by NNNN (what)", several of the latter with commas.  Each row of the index README.md is
number, title as a link, state, and one line.
"""

import argparse
import re
import sys
from pathlib import Path

DECISIONS = Path(__file__).parent.parent / "docs" / "decisions"
ONE_PART = r"\d{4} \([^()]+\)"
STATE = re.compile(rf"current|superseded by \d{{4}}(, \d{{4}})*|partly superseded by {ONE_PART}(, {ONE_PART})*")
ROW = re.compile(r"\| (?P<number>\d{4}) \| \[(?P<title>.+)\]\((?P<name>[^)]+)\) \| (?P<state>[^|]+) \| [^|]+ \|")


def read_decision(path: Path) -> tuple[str, str]:
    """The title and the state of a decision; "" for what is not where it belongs."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("<!--")]
    head = re.fullmatch(rf"# {path.name[:4]}: (.+)", lines[0]) if lines else None
    state = lines[1].removeprefix("State: ") if len(lines) > 1 and lines[1].startswith("State: ") else ""
    return (head[1] if head else "", state)


def find_breaches(folder: Path) -> list[str]:
    """What is wrong, a line each."""
    rows = {row["name"]: row for row in ROW.finditer((folder / "README.md").read_text())}
    paths = sorted(folder.glob("[0-9]*.md"))
    numbers = {path.name[:4] for path in paths}
    breaches = [f"README.md: {name} is no decision" for name in sorted(rows.keys() - {path.name for path in paths})]
    for path in paths:
        title, state = read_decision(path)
        row = rows.get(path.name)
        if not title:
            breaches.append(f"{path.name}: its title does not begin with its number")
        if not STATE.fullmatch(state):
            breaches.append(f"{path.name}: no state under its title")
        breaches += [
            f"{path.name}: superseded by {number}, which is not there"
            for number in re.findall(r"\b\d{4}\b(?= \(|,|$)", state)
            if number not in numbers
        ]
        if row is None:
            breaches.append(f"{path.name}: not in README.md")
        elif (row["number"], row["title"], row["state"]) != (path.name[:4], title, state):
            breaches.append(f"{path.name}: README.md has another number, title or state")
    return breaches


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=DECISIONS)
    breaches = find_breaches(parser.parse_args(arguments).folder)
    for breach in breaches:
        print(breach)
    if not breaches:
        print("check_decisions: every decision has a state and stands in the index")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
