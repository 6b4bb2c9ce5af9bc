#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Say of each branch that no test takes why not.

    python3 scripts/check_branches.py build/cov/coverage/branches.json

Reads what gcovr has counted (make coverage) and tests/coverage/reasons.txt, a line a function: path:function, then the
reason. Writes beside the JSON file branches.md: each function with branches that no test took, their lines and the
reason. Exits 1 when one has no reason, or a reason is given for what is no function there; a function all of whose
branches are taken by now is named, so that its line can go.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REASONS = Path(__file__).resolve().parent.parent / "tests" / "coverage" / "reasons.txt"


@dataclass
class Function:
    """The branches of one function."""

    branches: int = 0
    missed: Counter[int] = field(default_factory=Counter)  # by line


def functions_of(report: dict[str, Any]) -> dict[str, Function]:
    """Every function, as path:name."""
    found: dict[str, Function] = defaultdict(Function)
    for file in report["files"]:
        for line in file["lines"]:
            function = found[f"{file['file']}:{line.get('function_name', 'none')}"]
            for branch in line.get("branches", []):
                function.branches += 1
                if branch["count"] == 0:
                    function.missed[line["line_number"]] += 1
    return dict(found)


def read_reasons(text: str) -> dict[str, str]:
    """From path:function to the reason."""
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {line[0]: line[1].strip() if len(line) > 1 else "" for line in lines}


def page(functions: dict[str, Function], reasons: dict[str, str]) -> str:
    """The table of branches that no test takes."""
    total = sum(function.branches for function in functions.values())
    missed = sum(function.missed.total() for function in functions.values())
    percent = 100 * (total - missed) / max(total, 1)
    rows = [f"{total - missed} of {total} branches are taken ({percent:.1f} %). The others:", ""]
    rows += ["| function | branches | lines | why |", "|---|---|---|---|"]
    for name, function in sorted(functions.items()):
        if function.missed:
            lines = ", ".join(
                f"{line}" if count == 1 else f"{line} x {count}" for line, count in function.missed.items()
            )
            rows.append(
                f"| `{name}` | {function.missed.total()} of {function.branches} | {lines} | {reasons.get(name, '')} |"
            )
    return "\n".join(rows) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Say of each branch that no test takes why not.")
    parser.add_argument("report", type=Path, help="gcovr's JSON")
    parser.add_argument("--reasons", type=Path, default=REASONS)
    options = parser.parse_args(arguments)
    functions = functions_of(json.loads(options.report.read_text()))
    reasons = read_reasons(options.reasons.read_text())
    options.report.with_suffix(".md").write_text(page(functions, reasons))
    nameless = sorted(name for name, function in functions.items() if function.missed and not reasons.get(name))
    strange = sorted(reasons.keys() - functions.keys())
    idle = sorted(name for name in reasons.keys() & functions.keys() if not functions[name].missed)
    for names, what in (
        (nameless, "has branches that no test takes, and no reason in reasons.txt"),
        (strange, "has a reason, and is no function"),
        (idle, "has a reason, and all its branches are taken (no failure)"),
    ):
        for name in names:
            print(f"{name}: {what}")
    print(f"check_branches: {options.report.with_suffix('.md')}")
    return 1 if nameless or strange else 0


if __name__ == "__main__":
    sys.exit(main())
