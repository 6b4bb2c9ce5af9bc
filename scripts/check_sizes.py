#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold files and functions to the sizes that can be read in one go.

A size over the hard limit fails unless scripts/size_exceptions.txt names it with a reason; one over the soft limit is
listed with --soft.  Limits (soft/hard): .c 400/600 lines, headers 200/300, functions 40/60 lines, 5 parameters,
3 levels of blocks in a function; Python modules 400, modules in a commands/ directory 200, functions 50.  An extent
hook has jemalloc's parameters.

A line of the exceptions file reads  PATH[:FUNCTION] WHAT LIMIT REASON , with WHAT one of lines, parameters and blocks,
and LIMIT the new hard limit.  An exception that nothing needs any more fails too.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ["src", "include", "trace", "bench", "tests", "tool", "scripts"]
C_SUFFIXES = {".c", ".cc", ".cpp"}
HEADER_SUFFIXES = {".h", ".hpp"}
MEASURED = C_SUFFIXES | HEADER_SUFFIXES | {".def", ".py"}
FUNCTION = re.compile(r"^(?!struct\b|enum\b|union\b|typedef\b|static\b|extern\b)[\w:~]+(?:<[^>]*>)?(?:::\S+)?\(")
EXTENT_HOOK = re.compile(r"(const )?(struct )?\w*hooks\w* \*")
NAME = re.compile(r"^([\w:~]+)(?:\((\w+)\))?")


@dataclass(frozen=True)
class Size:
    """One measured thing: where it is, what was counted, and the limits that hold for it."""

    where: str
    what: str
    count: int
    soft: int
    hard: int


@dataclass(frozen=True)
class Exemption:
    """One line of the exceptions file."""

    where: str
    what: str
    limit: int
    reason: str


def without_text(line: str) -> str:
    """The line without string and character literals and without its comment, for counting brackets."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
    line = re.sub(r"'(?:\\.|[^'\\])+'", "''", line)
    return re.sub(r"//.*|/\*.*?\*/", "", line)


def count_parameters(head: str) -> int:
    """Parameters between the outermost parentheses of a function's head that are ours to choose."""
    inside = head[head.index("(") + 1 : head.rindex(")")].strip()
    if inside in {"", "void"} or EXTENT_HOOK.match(inside):
        return 0
    depth, count = 0, 1
    for byte in inside:
        depth += byte in "([{<"
        depth -= byte in ")]}>"
        count += byte == "," and depth == 0
    return count


def deepest_block(body: list[str]) -> int:
    """How many blocks lie inside each other within a body that includes its own braces."""
    depth = deepest = 0
    for line in body:
        for byte in without_text(line):
            depth += byte == "{"
            deepest = max(deepest, depth)
            depth -= byte == "}"
    return deepest - 1


def c_functions(path: str, lines: list[str]) -> Iterator[Size]:
    """The functions of a C file in our style: name at the start of a line, braces alone in the first column."""
    head: list[str] = []
    start = None
    for number, line in enumerate(lines):
        if FUNCTION.match(line) and start is None:
            head = [line]
        elif line == "{" and head and start is None:
            start = number
        elif line.startswith("}") and start is not None:
            match = NAME.match(head[0])
            name = (match[2] or match[1]) if match and match[1] == "TEST" else match[1] if match else "?"
            where = f"{path}:{name}"
            yield Size(where, "lines", number - start + 1, 40, 60)
            yield Size(where, "parameters", count_parameters(" ".join(head)), 5, 5)
            yield Size(where, "blocks", deepest_block(lines[start : number + 1]), 3, 3)
            head, start = [], None
        elif start is None and head:
            head = [*head, line] if line.startswith(" ") else []


def python_functions(path: str, text: str) -> Iterator[Size]:
    """The functions and methods of a Python module, with their decorators and docstrings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Size(f"{path}:{node.name}", "lines", count, 50, 50)


def file_sizes(path: Path, root: Path) -> Iterator[Size]:
    """Everything measured in one file."""
    name = path.relative_to(root).as_posix()
    text = path.read_text()
    lines = text.splitlines()
    if path.suffix in C_SUFFIXES | {".def"}:
        yield Size(name, "lines", len(lines), 400, 600)
    elif path.suffix in HEADER_SUFFIXES:
        yield Size(name, "lines", len(lines), 200, 300)
    elif path.suffix == ".py":
        limit = 200 if path.parent.name == "commands" else 400
        yield Size(name, "lines", len(lines), limit, limit)
        yield from python_functions(name, text)
    if path.suffix in C_SUFFIXES | HEADER_SUFFIXES:
        yield from c_functions(name, lines)


def all_sizes(root: Path) -> Iterator[Size]:
    """Everything measured in the project's own code; third-party assets live in vendor/ directories."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if (
                path.suffix in MEASURED
                and path.is_file()
                and not {"vendor", "build", ".venv", "__pycache__"} & set(path.parts)
            ):
                yield from file_sizes(path, root)


def read_exemptions(path: Path) -> list[Exemption]:
    """The exceptions file; raises ValueError on a line that says no limit or no reason."""
    exemptions = []
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split(None, 3)
        if len(parts) < 4 or parts[1] not in {"lines", "parameters", "blocks"} or not parts[2].isdigit():
            raise ValueError(f"{path}:{number}: write PATH[:FUNCTION] lines|parameters|blocks LIMIT REASON")
        exemptions.append(Exemption(parts[0], parts[1], int(parts[2]), parts[3]))
    return exemptions


def check(root: Path, exemptions: list[Exemption]) -> tuple[list[str], list[str]]:
    """The lines that fail, and those over a soft limit only."""
    failures, soft = [], []
    limits = {(exemption.where, exemption.what): exemption.limit for exemption in exemptions}
    needed = set()
    for size in all_sizes(root):
        key = (size.where, size.what)
        if size.count > size.hard and key in limits:
            needed.add(key)
        hard = limits.get(key, size.hard)
        if size.count > hard:
            failures.append(f"{size.where}: {size.count} {size.what}, limit {hard}")
        elif size.count > size.soft:
            soft.append(f"{size.where}: {size.count} {size.what}, better {size.soft}")
    failures += [f"{where}: the exception for {what} is not needed any more" for where, what in limits.keys() - needed]
    return failures, soft


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the sizes of files and functions.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's directory")
    parser.add_argument("--soft", action="store_true", help="also list what is over a soft limit")
    options = parser.parse_args(arguments)
    try:
        exemptions = read_exemptions(options.root / "scripts" / "size_exceptions.txt")
        failures, soft = check(options.root, exemptions)
    except (OSError, SyntaxError, ValueError) as error:
        print(f"check_sizes: {error}", file=sys.stderr)
        return 2
    for line in (soft if options.soft else []) + failures:
        print(line)
    if not failures:
        print(f"check_sizes: all within their limits, {len(soft)} over a soft one, {len(exemptions)} exceptions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
