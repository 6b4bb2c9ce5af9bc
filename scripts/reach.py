# SPDX-License-Identifier: MIT
"""Which of the tests in a build with --coverage run which lines of src/.

    from reach import Reach
    Reach(build).tests("page/heap.c", 120)    names of tests, the quickest first

Each test runs alone, once; what it ran is kept in <build>/reach.json until the test is built anew.  A test's process
that ends by _exit() or a signal tells nothing, unless it is one of tests/fakes/child.h.
"""

import gzip
import json
import subprocess
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 600


def programs(build: Path, layers: list[str]) -> dict[str, Path]:
    """The unit and model tests of the layers: from unit_page_heap to the program."""
    found = {}
    for kind in ("unit", "model"):
        for layer in layers:
            for path in sorted((build / "tests" / kind).glob(f"{kind}_{layer}_*")):
                if path.is_file():
                    found[path.name] = path
    return found


def lines_of(report: dict[str, Any], source: Path) -> dict[str, dict[int, int]]:
    """From one answer of gcov: how often each line of each file under `source` ran, by its number from 1."""
    found: dict[str, dict[int, int]] = {}
    for file in report["files"]:
        path = Path(report["current_working_directory"], file["file"]).resolve()
        if path.is_relative_to(source):
            counts = found.setdefault(str(path.relative_to(source)), {})
            for line in file["lines"]:
                counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
    return found


class Reach:
    """What each test runs."""

    def __init__(self, build: Path, layers: list[str]) -> None:
        self.build = build
        self.programs = programs(build, layers)
        self.kept = build / "reach.json"
        self.seconds: dict[str, float] = {}
        self.ran: dict[str, dict[str, set[int]]] = {}
        self.known: dict[str, set[int]] = {}
        stored = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        for name, program in self.programs.items():
            entry = stored.get(name)
            if entry is None or entry["built"] != program.stat().st_mtime:
                entry = stored[name] = self.measure(program)
                self.kept.write_text(json.dumps(stored))
            self.seconds[name] = entry["seconds"]
            self.ran[name] = {file: set(lines) for file, lines in entry["ran"].items()}
            for file, lines in entry["known"].items():
                self.known.setdefault(file, set()).update(lines)

    def measure(self, program: Path) -> dict[str, Any]:
        """Runs one test and asks gcov what it ran."""
        for data in self.build.rglob("*.gcda"):
            data.unlink()
        start = time.monotonic()
        subprocess.run([str(program)], capture_output=True, check=False, timeout=LIMIT)
        seconds = time.monotonic() - start
        ran: dict[str, list[int]] = {}
        known: dict[str, list[int]] = {}
        counted = [str(path) for path in self.build.glob("CMakeFiles/hew_*_objects.dir/**/*.gcda")]
        command = ["gcov", "--json-format", "--stdout", *counted]
        answer = subprocess.run(command, capture_output=True, check=True, cwd=self.build).stdout if counted else b""
        for report in answer.splitlines():
            text = gzip.decompress(report) if report.startswith(b"\x1f\x8b") else report
            for file, counts in lines_of(json.loads(text), ROOT / "src").items():
                ran.setdefault(file, []).extend(line for line, count in counts.items() if count > 0)
                known.setdefault(file, []).extend(counts)
        return {"built": program.stat().st_mtime, "seconds": seconds, "ran": ran, "known": known}

    def tests(self, file: str, line: int) -> list[str]:
        """Those that run a line, or where it has no code of its own the last one before it that has; and the test
        that is named after the file, which may do so in processes of which we do not hear."""
        layer, name = file.split("/", maxsplit=1)[0], Path(file).stem
        before = [known for known in self.known.get(file, set()) if known <= line]
        at = max(before, default=0)
        found = [test for test, ran in self.ran.items() if at in ran.get(file, set())]
        found += [test for test in (f"unit_{layer}_{name}",) if test in self.programs and test not in found]
        return sorted(found, key=lambda test: self.seconds[test])
