#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run clang-tidy over src/ and trace/ with the settings of .clang-tidy, where every finding is an error.

    python3 scripts/check_tidy.py [--build build/release] [--since COMMIT] [FILE ...]

Compiles as the build does, from its compile_commands.json, less what only gcc knows, and at check level 1. FILE: only
those; --since: only what differs from that commit, where a header is looked at by way of one file that includes it; all
when .clang-tidy does. What is meant and looks like a bug has NOLINT(check) with the reason beside it. Exits 1 when
something was found.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "trace")
GCC_ONLY = ["-fno-tree-slsr", "-fno-tree-loop-distribute-patterns"]
# What HEW_ASSERT(1, ...) says of a value is then known, such as that it is not 0.
CHECKED = {"-DHEW_CHECK_LEVEL=0": "-DHEW_CHECK_LEVEL=1"}
OF_LIBRARY = " -o CMakeFiles/hew_"


def find_tidy() -> str | None:
    """The pinned clang-tidy of .venv, or whichever is on the path."""
    own = ROOT / ".venv" / "bin" / "clang-tidy"
    return str(own) if own.is_file() else shutil.which("clang-tidy")


def write_database(build: Path, folder: Path) -> list[Path]:
    """The commands for FOLDERS as clang understands them; the files.

    A file that tests compile their own way, too, is looked at once, as the library has it.
    """
    entries: dict[str, dict[str, str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = [CHECKED.get(word, word) for word in entry["command"].split(" ") if word not in GCC_ONLY]
        ours = any(Path(entry["file"]).is_relative_to(ROOT / folder) for folder in FOLDERS)
        if ours and (OF_LIBRARY in entry["command"] or entry["file"] not in entries):
            entries[entry["file"]] = {**entry, "command": " ".join(words)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(list(entries.values())))
    return sorted(Path(file) for file in entries)


def changed(files: list[Path], names: list[str]) -> list[Path]:
    """Of all files those to look at when the named ones have changed; a header is seen where it is included."""
    if ".clang-tidy" in names:
        return files
    wanted = {file for file in files if str(file.relative_to(ROOT)) in names}
    for name in names:
        if name.endswith((".h", ".def")):
            include = f'#include "{name.split("/", 1)[1]}"'
            user = next((file for file in files if include in file.read_text()), None)
            wanted |= {user} if user is not None else set()
    return sorted(wanted)


def changed_since(commit: str) -> list[str]:
    command = ["git", "diff", "--name-only", commit, "--", *FOLDERS, "include", ".clang-tidy"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.split()
    print(f"check_tidy: no commit {commit} here: all files are looked at", flush=True)
    return [".clang-tidy"]


def look(tidy: str, folder: Path, file: Path) -> tuple[bool, str]:
    """Whether the file is clean, and what was found."""
    command = [tidy, "-p", str(folder), "--quiet", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run clang-tidy over src/ and trace/.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--since", metavar="COMMIT", help="only what has changed")
    options = parser.parse_args(arguments)
    tidy = find_tidy()
    if tidy is None:
        print("check_tidy: no clang-tidy: python3 scripts/prepare.py test", file=sys.stderr)
        return 2
    try:
        files = write_database(options.build, options.build / "tidy")
        if options.files:
            files = [file.resolve() for file in options.files]
        elif options.since:
            files = changed(files, changed_since(options.since))
    except (OSError, ValueError) as error:
        print(f"check_tidy: {error}", file=sys.stderr)
        return 2
    found = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for clean, output in pool.map(lambda file: look(tidy, options.build / "tidy", file), files):
            if not clean:
                found += 1
                print(output, end="")
    print(f"check_tidy: {len(files)} files, {found} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
