#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the runners of the tests said, out of a log of `make test`: a line of each, and each test that failed.

    python3 scripts/closing_lines.py [--most-skipped N] build/ci.log

A test that failed and passed at its second try does not fail the run: it is named behind the others as `flaky: NAME`,
so that it is seen, and mended. The last line says how many tests could not run. With --most-skipped the exit status is
1 where there are more: a package that is missing must not pass for tests that pass.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

OUR_CHECKS = (
    "check_format|check_tidy|planted|check_layers|check_sizes|check_decisions|check_figures|check_links|check_prose|"
    "gen_pages|call_cycles|check_first|check_symbols|build_wheel|fast_path|prepare"
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
SKIPPED = re.compile(r"(?:.*[ ,])?(?P<count>\d+) skipped\b")  # in the last line of pytest, and of the programs' table
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
            if "***" in found["how"] and "***Skipped" not in found["how"]:
                failed[found["name"]] = None
            elif found["how"].lstrip().startswith("Passed"):
                passed.add(found["name"])
        elif found := PYTEST.match(line):
            if found["how"] == "RERUN":
                failed[found["rest"]] = None
                passed.add(found["rest"])
            else:  # with or without a reason
                passed -= {name for name in passed if f"{found['rest']} - ".startswith(f"{name} - ")}


def skipped(lines: Sequence[str]) -> int:
    """Tests that could not run, of all runners together; a program of ctest's that skips one of its tests is one."""
    of_ctest = sum("***Skipped" in line for line in lines if CTEST.match(line))
    last = [line for line in lines if CLOSING.match(line)]
    return of_ctest + sum(int(found["count"]) for found in map(SKIPPED.match, last) if found)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="closing_lines.py", description="What the runners of the tests said.")
    parser.add_argument("log", metavar="LOG", type=Path, help="what `make test` printed")
    parser.add_argument("--most-skipped", metavar="N", type=int, help="fail where more tests were skipped")
    wanted = parser.parse_args(arguments)
    try:
        lines = wanted.log.read_text(errors="replace").splitlines()
    except OSError as error:
        print(f"closing_lines: {wanted.log}: {error.strerror}", file=sys.stderr)
        return 1
    for line in lines:
        if CLOSING.match(line):
            print(line)
    for name in flaky(lines):
        print(f"flaky: {name}")
    count, most = skipped(lines), wanted.most_skipped
    print(f"skipped: {count}" + (f", {most} at most" if most is not None else ""))
    return 1 if most is not None and count > most else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
