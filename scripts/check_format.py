#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that every C and C++ file is laid out as .clang-format says.

    python3 scripts/check_format.py [--fix] [FILE ...]

The version is the one that pyproject.toml pins: another one lays some lines out in another way.  Exits 1 when a file is
not as it should be; --fix makes it so.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ["src", "trace", "include", "tests", "bench", "docs/examples"]
SUFFIXES = {".c", ".h", ".cpp", ".cc"}


def wanted_version() -> str:
    """The pin of pyproject.toml."""
    match = re.search(r'"clang-format==([0-9.]+)"', (ROOT / "pyproject.toml").read_text())
    return match[1] if match else ""


def find_formatter(wanted: str) -> str | None:
    """The clang-format of .venv, or the one on the path, if it is of the wanted version."""
    for candidate in [str(ROOT / ".venv" / "bin" / "clang-format"), shutil.which("clang-format")]:
        if candidate is not None and Path(candidate).is_file():
            said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
            if f"version {wanted}" in said:
                return candidate
    return None


def sources(root: Path) -> list[Path]:
    """Every C and C++ file of the project."""
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)
    return sorted(path for path in found if path.is_file())


def crooked(formatter: str, files: list[Path]) -> list[Path]:
    """The files that would change."""
    done = subprocess.run(
        [formatter, "--dry-run", "--ferror-limit=1", *map(str, files)], capture_output=True, text=True, check=False
    )
    names = {line.split(":", 1)[0] for line in done.stderr.splitlines() if "code should be clang-formatted" in line}
    if done.returncode != 0 and not names:
        raise OSError(done.stderr.strip().splitlines()[-1] if done.stderr else "clang-format failed")
    return [file for file in files if str(file) in names]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the layout of C and C++ files.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--fix", action="store_true", help="lay them out")
    options = parser.parse_args(arguments)
    version = wanted_version()
    formatter = find_formatter(version)
    if formatter is None:
        print(f"check_format: no clang-format {version}: python3 scripts/prepare.py test", file=sys.stderr)
        return 2
    files = options.files or sources(ROOT)
    try:
        found = crooked(formatter, files)
    except OSError as error:
        print(f"check_format: {error}", file=sys.stderr)
        return 2
    if options.fix and found:
        subprocess.run([formatter, "-i", *map(str, found)], check=True)
    for file in found:
        print(f"{file}: {'laid out' if options.fix else 'not as .clang-format says: scripts/check_format.py --fix'}")
    print(f"check_format: {len(files)} files, {len(found)} not as they should be")
    return 1 if found and not options.fix else 0


if __name__ == "__main__":
    sys.exit(main())
