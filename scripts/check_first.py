#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold the front of libhew.so to what cmake/first.txt and cmake/often.txt say.

Each name there is a function or a variable of src/.  The system maps a file's pages 64 KiB at a time: the section of
the first list, .text.first, ends within the first such piece, that of the second, .text.often, within the second.
Exits 1 when a name is stale or a section has grown past its end; a library linked without the sections, as with a
sanitizer, is only named.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PIECE = 64 << 10


def listed(text: str) -> list[str]:
    """The names in a list of functions: every word of a line that is no comment."""
    return [name for line in text.splitlines() if not line.startswith("#") for name in line.split()]


def stale(names: list[str], folder: Path) -> list[str]:
    """Those that no source file under `folder` defines."""
    defined: set[str] = set()
    for suffix in ("*.c", "*.h", "*.def"):
        for source in folder.rglob(suffix):
            text = source.read_text()
            defined.update(re.findall(r"^(\w+)\(", text, re.MULTILINE))
            defined.update(re.findall(r"^HEW_NAME\((\w+)", text, re.MULTILINE))
            for line in re.findall(r"^(?!#|return\b|extern\b)\w[^;={]*(?=;| =)", text, re.MULTILINE):
                defined.update(re.findall(r"(\w+)(?:\[[^]]*\])?(?: HEW_ALIGNED\(\w+\))?(?=,|$)", line))
    return [name for name in names if name not in defined]


def section_headers(library: Path) -> str:
    """What readelf tells of the library's sections."""
    return subprocess.run(["readelf", "-SW", str(library)], check=True, capture_output=True, text=True).stdout


def section_end(headers: str, section: str) -> int | None:
    """Where the section ends, by the words of section_headers(); None when there is none."""
    found = re.search(rf"{re.escape(section)}\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", headers)
    return None if found is None else int(found[1], 16) + int(found[2], 16)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--lists", type=Path, default=ROOT / "cmake", help="folder of first.txt and often.txt")
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "release" / "libhew.so")
    options = parser.parse_args(arguments)
    headers = section_headers(options.library)
    good = True
    for piece, part in enumerate(("first", "often"), 1):
        names = listed((options.lists / f"{part}.txt").read_text())
        gone = stale(names, options.source)
        for name in gone:
            print(f"check_first: {name} in {part}.txt is nothing of {options.source.name}/")
        end = section_end(headers, f".text.{part}")
        if end is None:
            print(f"check_first: {options.library} has no .text.{part}; {len(names)} names")
        else:
            print(f"check_first: {len(names)} names, .text.{part} ends at {end} of {piece * PIECE} bytes")
        good = good and not gone and (end or 0) <= piece * PIECE
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
