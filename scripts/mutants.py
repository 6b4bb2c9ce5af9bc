#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change the library in small ways, one at a time, and see whether its tests notice.

    python3 scripts/mutants.py [--count 200] [--seed 1] [--layers base,meta,page,slab,cache] [--jobs 1]
                               [--only page/heap.c] [--build build/release] [--checked build/dev] [--coverage build/cov]

A mutant is a copy of one .c file with one change: a comparison, an arithmetic operator, a constant by one, a condition
the other way round, or a statement left out (scripts/mutating.py, which also says what is left alone). It is compiled
as the build compiles the file and linked, in its place, to those tests that run the line (scripts/reach.py asks gcov),
the quickest first, until one fails; with `--checked` those that pass are tried again in a build whose checks are on. A
mutant that the compiler makes the same object file of is the same program. One that no test fails on survives: it is
printed with its line. Then a test is missing, or the code does not matter.

tests/mutants/equivalent.toml lists those of which nobody can tell the difference, each with its reason; they are not
counted, and one that is in no file any more fails the run. The sample is made from the seed. Exits 0 however many
survive: this is to be read; 1 with --at-least PERCENT when fewer are killed.
"""

import argparse
import json
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutating import Mutant, changed, checks_in, mutants_of
from reach import Reach

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ["base", "os", "meta", "page", "slab", "cache", "alloc"]
EQUIVALENT = ROOT / "tests" / "mutants" / "equivalent.toml"


def equivalents(path: Path, source: Path) -> tuple[set[tuple[str, str, str]], list[str]]:
    """File, line and change of each row; and the rows whose line is not there, or which give no reason."""
    rows = tomllib.loads(path.read_text()).get("equivalent", [])
    known, wrong = set(), []
    for row in rows:
        file = source / row["file"]
        lines = {line.split("/*", 1)[0].strip() for line in file.read_text().splitlines()} if file.exists() else set()
        if row["line"] not in lines or not row.get("reason"):
            wrong.append(f"{row['file']}: {row['line']}")
        known.add((row["file"], row["line"], row["mutant"]))
    return known, wrong


@dataclass
class Build:
    """A build folder: how it compiles the files of src/, and its tests' objects."""

    folder: Path

    def __post_init__(self) -> None:
        self.how: dict[str, list[str]] = {}
        self.sound: dict[str, bool] = {}  # tests that pass with the library as it is
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            path = Path(entry["file"])
            words = shlex.split(entry["command"])
            at = words.index("-o")
            # Some tests compile files of the library their own way.
            if path.is_relative_to(ROOT / "src") and re.match(r"CMakeFiles/hew_\w+_objects\.dir/", words[at + 1]):
                kept = [word for word in words[:at] + words[at + 2 :] if word not in {"-c", entry["file"]}]
                compiler = next(at for at, word in enumerate(kept) if not word.endswith("ccache"))
                self.how[str(path.relative_to(ROOT / "src"))] = kept[compiler:]

    def compile(self, file: str, text: str, folder: Path) -> Path | None:
        """The object of the file with that text; None: it does not compile.  Its name in messages stays."""
        source, target = folder / Path(file).name, folder / "mutant.o"
        source.write_text(text)
        target.unlink(missing_ok=True)
        command = [*self.how[file], "-g0", "-w", "-c", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, check=False)
        return target if done.returncode == 0 else None

    def object_of_test(self, test: str) -> Path | None:
        kind, layer, _ = test.split("_", 2)
        folder = self.folder / "tests" / kind / "CMakeFiles" / f"{test}.dir"
        if (folder / "__").exists():
            return None
        inner = folder / layer if kind == "unit" else folder
        return next(iter(inner.glob("*.c.o")), None)

    def link(self, test: str, objects: list[Path], program: Path) -> Path | None:
        """The test with objects in place of what the archives have; None: it has sources of the library of its own."""
        layer = test.split("_")[1]
        archives = [self.folder / f"libhew_{name}.a" for name in LAYERS[LAYERS.index(layer) :: -1]]
        own = self.object_of_test(test)
        parts = [str(part) for part in (own, *objects, *archives)]
        command = ["cc", "-fuse-ld=gold", *parts, "-pthread", "-ldl", "-o", str(program)]
        if own is None:
            return None
        subprocess.run(command, capture_output=True, check=True)
        return program


@dataclass
class Judge:
    """Tries mutants."""

    builds: list[Build]
    reach: Reach
    folder: Path
    longest: float

    def passes(self, test: str, program: Path) -> bool:
        limit = 10 + 3 * self.reach.seconds[test]  # a mutant may never end
        try:
            done = subprocess.run([str(program)], capture_output=True, check=False, timeout=limit, cwd=program.parent)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def killer(self, build: Build, mutant: Mutant, object_file: Path) -> str | None:
        """The test that notices it, and that finds nothing in the library as it is."""
        for test in self.reach.tests(mutant.file, mutant.line + 1):
            if self.reach.seconds[test] > self.longest:
                continue
            program = build.link(test, [object_file], object_file.parent / "test")
            if program is None or self.passes(test, program):
                continue
            if test not in build.sound:
                build.link(test, [], program)
                build.sound[test] = self.passes(test, program)
            if build.sound[test]:
                return test
            print(f"mutants: {test} fails without a mutant, and is not asked", file=sys.stderr)
        return None

    def judge(self, number: int, mutant: Mutant) -> str:
        """killed by a test, survived, same (the compiler made the same of it) or broken (it does not compile)."""
        folder = self.folder / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        text = (ROOT / "src" / mutant.file).read_text()
        for build in self.builds:
            if build is self.builds[0]:
                plain = build.compile(mutant.file, text, folder)
                before = plain.read_bytes() if plain is not None else b""
            object_file = build.compile(mutant.file, changed(text.splitlines(), mutant), folder)
            if object_file is None:
                return "broken"
            if build is self.builds[0] and object_file.read_bytes() == before:
                return "same"
            test = self.killer(build, mutant, object_file)
            if test is not None:
                return f"killed by {test}" + ("" if build is self.builds[0] else ", with checks")
        return "survived"


def sources(build: Build, layers: list[str], only: str | None) -> dict[str, list[str]]:
    """The lines of each file that is to be changed."""
    files = sorted(file for file in build.how if file.endswith(".c") and file.split("/")[0] in layers)
    return {file: (ROOT / "src" / file).read_text().splitlines() for file in files if only in (None, file)}


def run(options: argparse.Namespace) -> int:
    builds = [Build(path) for path in (options.build, options.checked) if path is not None]
    known, wrong = equivalents(EQUIVALENT, ROOT / "src")
    if wrong:
        print("mutants: rows of equivalent.toml that fit no line or have no reason:", *wrong, sep="\n  ")
        return 1
    files = sources(builds[0], options.layers.split(","), options.only)
    every = [mutant for file, lines in files.items() for mutant in mutants_of(file, lines)]
    left_out = sum(checks_in(file, lines) for file, lines in files.items())
    sample = random.Random(options.seed).sample(every, min(options.count, len(every)))  # noqa: S311
    print(
        f"{len(sample)} of {len(every)} mutants, seed {options.seed}; left out as checks: {left_out} lines", flush=True
    )
    start = time.monotonic()
    reach = Reach(options.coverage, LAYERS)
    print(f"{len(reach.programs)} tests, reach known after {time.monotonic() - start:.0f} s", flush=True)
    counts = {"killed": 0, "survived": 0, "same": 0, "broken": 0, "equivalent": 0}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        judge = Judge(builds, reach, Path(folder), options.longest)
        work = [pool.submit(judge.judge, at, mutant) for at, mutant in enumerate(sample)]
        for mutant, future in zip(sample, work, strict=True):
            result = future.result()
            line = files[mutant.file][mutant.line].split("/*", 1)[0].strip()
            if result == "survived" and (mutant.file, line, mutant.text.strip()) in known:
                result = "equivalent"
            counts[result.split()[0]] += 1
            if result == "survived" or options.all:
                where = f"src/{mutant.file}:{mutant.line + 1} ({mutant.kind})"
                print(f"{result}: {where}\n  {line}\n  {mutant.text.strip()}", flush=True)
    judged = max(counts["killed"] + counts["survived"], 1)
    percent = 100 * counts["killed"] / judged
    print(
        f"mutants: {counts['killed']} of {judged} killed ({percent:.1f} %), {counts['same']} the same program, "
        f"{counts['equivalent']} listed as equivalent, {counts['broken']} do not compile; "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if percent < options.at_least else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Which small changes of the library do its tests not notice?")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", default="base,meta,page,slab,cache")
    parser.add_argument("--only", help="mutants of this file alone, such as page/heap.c")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="a build with its tests")
    parser.add_argument("--checked", type=Path, help="another one, with checks")
    parser.add_argument("--coverage", type=Path, default=ROOT / "build" / "cov", help="a build with --coverage")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--longest", type=float, default=1e9, metavar="SECONDS", help="ask no test that takes longer: more survive"
    )
    parser.add_argument("--all", action="store_true", help="print those that are killed, too, and by which test")
    parser.add_argument("--at-least", type=float, default=0, metavar="PERCENT")
    options = parser.parse_args(arguments)
    try:
        return run(options)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
