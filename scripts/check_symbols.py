#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold libhew.so to what old C libraries and musl have, and to what programs linked to an older hew need of it.

    python3 scripts/check_symbols.py [--update]

No symbol that it needs has a version above glibc 2.17's, or one of another library's; what cmake/glibc.txt calls weak
or unversioned is so; and it needs no library but libc.  It exports every symbol of tests/golden/exports.txt, of the
same kind and without a version.  Exits 1 with a line for each symbol that would keep a program from starting, and for
each new one that exports.txt lacks; --update adds those, with the present version of hew.  A line is removed by hand
alone, when the library's name gets another number.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from generated import version_of

ROOT = Path(__file__).parent.parent
NEWEST = (2, 17)
LIBRARIES = {"libc.so.6"}
EXPORTS_HEAD = """\
# What libhew.so exports: kind, name, and the version of hew that had it first. Programs are linked to these, so that a
# line stays as long as libhew.so.0 does. scripts/check_symbols.py --update adds new ones.
"""


@dataclass(frozen=True)
class Symbol:
    """One that the library needs; `version` is empty where it asks for none."""

    name: str
    version: str
    weak: bool


def describe(library: Path) -> str:
    """What readelf tells of the library's dynamic symbols and of the libraries that it needs."""
    command = ["readelf", "-W", "--dyn-syms", "--dynamic", str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_symbols(text: str) -> list[Symbol]:
    """The symbols that are not defined in the library, from the words of describe()."""
    rows = re.findall(r"^ *\d+: \S+ +\d+ \w+ +(GLOBAL|WEAK) +\w+ +UND ([^@\s]+)(?:@+(\S+))?", text, re.MULTILINE)
    return [Symbol(name, version, binding == "WEAK") for binding, name, version in rows]


def needed_libraries(text: str) -> list[str]:
    """Their names, from the words of describe()."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def absent_somewhere(table: str) -> tuple[set[str], set[str]]:
    """The names of cmake/glibc.txt that have to be weak, and those of them that have to be without a version."""
    weak: set[str] = set()
    unversioned: set[str] = set()
    for line in table.splitlines():
        kind, *names = line.split() or [""]
        if kind == "weak":
            weak.update(names[1:])
        elif kind == "unversioned":
            unversioned.update(names)
    return weak | unversioned, unversioned


def exported_symbols(text: str) -> dict[str, str]:
    """The kind of each symbol that the library defines, and SONAME for its own name; symbols with their version."""
    rows = re.findall(r"^ *\d+: \S+ +\d+ (\w+) +(?:GLOBAL|WEAK) +\w+ +\d+ (\S+)", text, re.MULTILINE)
    library = [("SONAME", name) for name in re.findall(r"\(SONAME\).*\[(.+)\]", text)]
    return {name: kind for kind, name in [*rows, *library]}


def recorded_symbols(table: str) -> dict[str, tuple[str, str]]:
    """The kind and the first version of each symbol of exports.txt, by its name."""
    rows = [line.split() for line in table.splitlines() if line and not line.startswith("#")]
    return {name: (kind, since) for kind, name, since in rows}


def missing_exports(exported: dict[str, str], recorded: dict[str, tuple[str, str]]) -> list[str]:
    """A line for each symbol that programs linked to an older hew would miss, and for each that is not recorded."""
    said = []
    for name, (kind, since) in recorded.items():
        if name not in exported:
            said.append(f"{name} is not exported: programs linked to hew {since} would not start")
        elif exported[name] != kind:
            said.append(f"{name} is {exported[name]}, and was {kind} since hew {since}")
    new = [name for name in exported if name not in recorded]
    return said + [f"{name} is exported and not in exports.txt: --update adds it" for name in new]


def write_exports(file: Path, exported: dict[str, str], recorded: dict[str, tuple[str, str]]) -> None:
    """Adds what is new to exports.txt."""
    rows = {name: (kind, version_of(ROOT)) for name, kind in exported.items()} | recorded
    lines = [f"{kind} {name} {since}\n" for name, (kind, since) in sorted(rows.items())]
    file.write_text(EXPORTS_HEAD + "".join(lines), encoding="utf-8")


def too_new(version: str) -> bool:
    """Whether it is above the limit, or no version of glibc's."""
    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return found is None or (int(found[1]), int(found[2])) > NEWEST


def faults(text: str, table: str) -> list[str]:
    """A line for each thing that would keep a program from starting somewhere."""
    weak, unversioned = absent_somewhere(table)
    said = [f"needs {name}: programs would load it too" for name in needed_libraries(text) if name not in LIBRARIES]
    for symbol in needed_symbols(text):
        if symbol.version and symbol.name in unversioned:
            said.append(f"{symbol.name}@{symbol.version} has a version, and is newer than the oldest glibc")
        elif symbol.version and too_new(symbol.version):
            said.append(f"{symbol.name}@{symbol.version} is newer than glibc {NEWEST[0]}.{NEWEST[1]}, or not glibc's")
        if not symbol.weak and symbol.name in weak:
            said.append(f"{symbol.name} is not weak, and not there everywhere (src/os/threads.h)")
    return said


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "release" / "libhew.so")
    parser.add_argument("--table", type=Path, default=ROOT / "cmake" / "glibc.txt")
    parser.add_argument("--exports", type=Path, default=ROOT / "tests" / "golden" / "exports.txt")
    parser.add_argument("--update", action="store_true", help="add new exports to the file")
    options = parser.parse_args(arguments)
    text = describe(options.library)
    exported = exported_symbols(text)
    if options.update:
        write_exports(options.exports, exported, recorded_symbols(options.exports.read_text()))
    said = faults(text, options.table.read_text())
    lost = missing_exports(exported, recorded_symbols(options.exports.read_text()))
    for line in (*said, *lost):
        print(f"check_symbols: {line}")
    count = len(needed_symbols(text))
    print(
        f"check_symbols: {count} needed symbols, {len(said)} that an old glibc or musl does not have; "
        f"{len(exported)} exported, {len(lost)} not as recorded"
    )
    return 1 if said or lost or not count else 0


if __name__ == "__main__":
    sys.exit(main())
