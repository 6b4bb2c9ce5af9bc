# SPDX-License-Identifier: MIT
"""Normalisers: what is left of an output once everything that may rightly differ between two runs is taken out.

Each is a pure function from text to text, so that what remains is compared exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def nothing(_text: str) -> str:
    """For steps whose output is all timing: only the exit status and the artifacts are compared."""
    return ""


def only(pattern: str) -> Callable[[str], str]:
    """Keep the lines that match."""
    compiled = re.compile(pattern)

    def keep(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if compiled.search(line))

    return keep


def without(pattern: str) -> Callable[[str], str]:
    """Drop the lines that match."""
    compiled = re.compile(pattern)

    def keep(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if not compiled.search(line))

    return keep


def csv_first_column(text: str) -> str:
    """redis-benchmark --csv: the tests that ran; the figures are timing."""
    return "\n".join(line.split(",")[0] for line in text.splitlines() if line.startswith('"'))


def wrk_complaints(text: str) -> str:
    """wrk: that requests were answered, and any error it saw."""
    answered = "requests answered" if re.search(r"[1-9]\d* requests in", text) else "no request answered"
    bad = [line.strip() for line in text.splitlines() if "Socket errors" in line or "Non-2xx" in line]
    return "\n".join([answered, *bad])


def wrk_cost(text: str) -> float:
    """wrk runs for a fixed time: the cost is seconds per thousand requests."""
    found = re.search(r"Requests/sec:\s*([\d.]+)", text)
    return 1000.0 / float(found.group(1)) if found and float(found.group(1)) > 0 else 0.0


def regrtest_results(text: str) -> str:
    """Python's test runner: the tests that ran, those that failed, and the totals; no times, no load."""
    ran = re.findall(r"\[ *\d+/\d+(?:/\d+)?\] (test_\w+)", text)
    failed = re.findall(r"^test (test_\w+) (?:failed|crashed)", text, re.MULTILINE)
    totals = [line for line in text.splitlines() if re.search(r"tests? (OK|failed|skipped)\b|Tests result:", line)]
    return "\n".join([f"ran {' '.join(sorted(ran))}", f"failed {' '.join(sorted(failed))}", *totals])
