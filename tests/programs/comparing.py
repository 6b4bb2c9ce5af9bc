# SPDX-License-Identifier: MIT
"""What of two runs must be the same, and where they first differ."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path


def allocator_messages(stderr: str) -> str:
    """Lines in which an allocator complains; there must be none, whatever else a program says on stderr."""
    return "\n".join(
        line for line in stderr.splitlines() if re.match(r"<?(lib)?(hew|jemalloc|mimalloc|tcmalloc)\b", line)
    )


def digest(path: Path) -> str:
    """SHA-256 of a file, or of all files of a directory with their names."""
    if not path.exists():
        return "missing"
    total = hashlib.sha256()
    files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
    for file in files:
        total.update(str(file.relative_to(path)).encode())
        with open(file, "rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def first_difference(expected: list[tuple[str, str]], got: list[tuple[str, str]]) -> str:
    """The first part that differs, with its first differing lines; empty if all are the same."""
    for (label, before), (_, after) in zip(expected, got, strict=False):
        if before != after:
            return f"{label}\n{first_lines(before, after)}"
    return "" if len(expected) == len(got) else "the number of steps that ran"


def first_lines(before: str, after: str) -> str:
    left, right = before.splitlines(), after.splitlines()
    for number in range(max(len(left), len(right))):
        one = left[number] if number < len(left) else "(end)"
        other = right[number] if number < len(right) else "(end)"
        if one != other:
            return f"line {number + 1}, expected: {one[:300]}\nline {number + 1}, got:      {other[:300]}"
    return "line ends differ"
