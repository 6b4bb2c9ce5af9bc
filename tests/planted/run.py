#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plant faults in the library, one at a time, and see that its own checks find each.

    python3 tests/planted/run.py [--build build/dev] [WORDS]

Each fault of faults.toml changes a copy of one file of src/, which is compiled as the build at check level 3 compiles it
and linked, with the other files of that build, to work.c: a program that uses everything and looks at nothing.  It must end
with the line that the fault's row tells, and the check that found it must be of the row's level.  Without a fault it must
end well.  Exits 1 when some fault is not found so.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LAYERS = ["alloc", "cache", "slab", "page", "meta", "os", "base"]
LIMIT = 900.0  # seconds: a fault may also lead to an endless loop; no busy machine takes as long
PLACE = re.compile(r"check failed: (\w+\.[ch]):(\d+): ")
FATAL = re.compile(r'FATAL_CHECK\(lock_\w+, "([^"]*)"\)')


class PlantError(Exception):
    """A row that cannot be planted, in words."""


@dataclass(frozen=True)
class Fault:
    """One row of faults.toml."""

    name: str
    file: str
    old: str
    new: str
    level: int
    says: str


def read_faults(path: Path) -> list[Fault]:
    return [Fault(**row) for row in tomllib.loads(path.read_text())["fault"]]


def planted(text: str, fault: Fault) -> str:
    """The file with the fault; lines keep their numbers."""
    if text.count(fault.old) != 1:
        raise PlantError(f"stands {text.count(fault.old)} times in {fault.file}: {fault.old!r}")
    padding = "\n" * (fault.old.count("\n") - fault.new.count("\n"))
    return text.replace(fault.old, fault.new + padding)


def compile_command(build: Path, source: Path) -> list[str]:
    """How the build compiles a file of src/, without its input and output."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if Path(entry["file"]).resolve() == source.resolve():
            words = shlex.split(entry["command"])
            at = words.index("-o")
            return [word for word in words[:at] + words[at + 2 :] if word not in {"-c", entry["file"]}]
    raise PlantError(f"{build} does not build {source}")


def make(build: Path, folder: Path, fault: Fault | None) -> Path:
    """The program, with the fault."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = compile_command(build, ROOT / "src" / "page" / "heap.c")
    extra = ["-Wno-unused-function", "-Wno-unused-variable", "-I", str(ROOT / "tests")]
    sources = [HERE / "work.c"]
    if fault is not None:
        copy = folder / Path(fault.file).name
        copy.write_text(planted((ROOT / "src" / fault.file).read_text(), fault))
        sources.append(copy)
    archives = [str(build / f"libhew_{layer}.a") for layer in LAYERS]
    program = folder / "work"
    command = [*flags, "-w", *extra, *map(str, sources), *archives, "-pthread", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlantError(done.stderr.strip().splitlines()[0] if done.stderr else "does not compile")
    return program


def level_of(line: str) -> int | None:
    """The level of the check whose failure a line tells."""
    if any(text in line for text in FATAL.findall((ROOT / "src" / "base" / "fatal.def").read_text())):
        return 1
    match = PLACE.search(line)
    if match is None:
        return None
    for path in (ROOT / "src").rglob(match[1]):
        lines = path.read_text().splitlines()
        # A condition that takes two lines is reported by the number of the last one.
        for number in range(int(match[2]) - 1, max(int(match[2]) - 4, -1), -1):
            found = re.search(r"HEW_ASSERT\((\d),", lines[number]) if number < len(lines) else None
            if found:
                return int(found[1])
    return None


def run(program: Path) -> tuple[int | None, str]:
    """The status of the program, None after too long a time; and the last line that it said."""
    environment = {key: value for key, value in os.environ.items() if key != "MALLOC_CONF"}
    try:
        done = subprocess.run(
            [str(program)], capture_output=True, text=True, check=False, timeout=LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


def verdict(build: Path, folder: Path, fault: Fault | None) -> str:
    """Empty when it went as it should, else what was wrong."""
    try:
        status, line = run(make(build, folder, fault))
    except PlantError as error:
        return str(error)
    if fault is None:
        return "" if status == 0 else f"without a fault: status {status}: {line}"
    if status != -signal.SIGABRT or fault.says not in line:
        return f"status {status}, said: {line or 'nothing'}"
    level = level_of(line)
    return "" if level == fault.level else f"found at level {level}, not {fault.level}: {line}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Plant faults and see that the library's checks find each.")
    parser.add_argument("words", nargs="?", default="", help="only faults whose name contains them")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "dev", help="a build at check level 3")
    parser.add_argument("--faults", type=Path, default=HERE / "faults.toml")
    options = parser.parse_args(arguments)
    if not (options.build / "libhew_alloc.a").is_file():
        print(f"planted: no build in {options.build}: make dev", file=sys.stderr)
        return 2
    rows = [row for row in read_faults(options.faults) if options.words in row.name]
    faults: list[Fault | None] = [None, *rows]
    folder = options.build / "planted"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        work = [pool.submit(verdict, options.build, folder / str(number), fault) for number, fault in enumerate(faults)]
        wrong = 0
        for fault, future in zip(faults, work, strict=True):
            said = future.result()
            wrong += said != ""
            name = "no fault" if fault is None else f"{fault.name} ({fault.file}, level {fault.level})"
            print(f"{'not ok' if said else 'ok'} - {name}" + (f"\n    {said}" if said else ""), flush=True)
    print(f"planted: {len(rows)} faults, {wrong} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
