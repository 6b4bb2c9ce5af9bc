#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the runners of the tests said, out of a log of `make test`: a line of each, and each test that failed.

    python3 scripts/closing_lines.py build/ci.log

A test that failed and passed at its second try does not fail the run: it is named behind the others as `flaky: NAME`,
so that it is seen, and mended.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

OUR_CHECKS = (
    "check_format|check_tidy|planted|check_layers|check_sizes|check_decisions|gen_pages|call_cycles|check_first|"
    "check_symbols|build_wheel|fast_path|prepare"
)
CLOSING = re.compile(
    rf"(?:{OUR_CHECKS}): "
    r"|.*tests passed, "
    r"|\s+\d+ - \S+ \([^()]+\)"  # of ctest's list of those that failed
    r"|[= ]*\d+ (?:passed|failed)"
    r"|All checks passed|Success: no issues|Found \d+ error"
    r"|make: \*\*\*"
)
PARTS = re.compile(r"Test project .*/(?P<build>[^/]+)$|pytest (?P<tests>\S+)$")  # where a runner begins
CTEST = re.compile(r"\s*(?:\d+/\d+ )?Test +#\d+: (?P<name>\S+) \.*(?P<how>.*)$")
PYTEST = re.compile(r"(?P<how>RERUN|FAILED|ERROR) (?P<rest>\S+::.*)")


def flaky(lines: Sequence[str]) -> Iterator[str]:
    """Tests that failed at first and passed then, in the order of their runs, with the build that ctest tested."""
    where = ""
    failed: dict[str, None] = {}
    passed: set[str] = set()
    for line in [*lines, "pytest end"]:
        if part := PARTS.match(line):
            yield from (f"{name}{where}" for name in failed if name in passed)
            where = f" ({part['build']})" if part["build"] else ""
            failed, passed = {}, set()
        elif found := CTEST.match(line):
            if "***" in found["how"]:
                failed[found["name"]] = None
            elif found["how"].lstrip().startswith("Passed"):
                passed.add(found["name"])
        elif found := PYTEST.match(line):
            if found["how"] == "RERUN":
                failed[found["rest"]] = None
                passed.add(found["rest"])
            else:  # with or without a reason
                passed -= {name for name in passed if f"{found['rest']} - ".startswith(f"{name} - ")}


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: closing_lines.py LOG", file=sys.stderr)
        return 2
    try:
        lines = Path(arguments[0]).read_text(errors="replace").splitlines()
    except OSError as error:
        print(f"closing_lines: {arguments[0]}: {error.strerror}", file=sys.stderr)
        return 1
    for line in lines:
        if CLOSING.match(line):
            print(line)
    for name in flaky(lines):
        print(f"flaky: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
