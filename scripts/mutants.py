#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change the library in small ways, one at a time, and see whether its tests notice.

    python3 scripts/mutants.py [--count 200] [--seed 1] [--layers base,meta,page,slab,cache] [--jobs 1]
                               [--only page/heap.c] [--build build/release] [--checked build/dev] [--coverage build/cov]

A mutant is a copy of one .c file with one change: a comparison, an arithmetic operator, a constant by one, a condition
the other way round, or a statement left out (scripts/mutating.py, which also says what is left alone). It is compiled
as the build compiles the file and linked, in its place, to those tests that run the line (scripts/reach.py asks gcov).
Asked are tests of its layer, the quickest first, and with `--checked` again in a build whose checks are on; then the
simulator, with some seeds; then the tests of higher layers, and that which refuses memory at every call; until one
fails. A mutant that the compiler makes the same object file of is the same program. One that no test fails on survives:
it is printed with its line. Then a test is missing, or the code does not matter.

tests/mutants/equivalent.toml lists those that behave the same, each with its reason; they are not
counted, and one that is in no file any more fails the run. The sample is made from the seed. Exits 0 however many
survive: this is to be read; 1 with --at-least PERCENT when fewer are killed.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judging import LAYERS, Build, Judge, Simulator
from mutating import checks_in, mutants_of
from reach import Reach

ROOT = Path(__file__).resolve().parent.parent
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
    counts: Counter[str] = Counter()
    by_layer: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        judge = Judge(builds, reach, Path(folder), options.longest, Simulator(options.build))
        work = [pool.submit(judge.judge, at, mutant) for at, mutant in enumerate(sample)]
        for mutant, future in zip(sample, work, strict=True):
            result = future.result()
            line = files[mutant.file][mutant.line].split("/*", 1)[0].strip()
            if result == "survived" and (mutant.file, line, mutant.text.strip()) in known:
                result = "equivalent"
            counts[result.split()[0]] += 1
            by_layer[mutant.file.split("/")[0], result.split()[0]] += 1
            if result == "survived" or options.all:
                where = f"src/{mutant.file}:{mutant.line + 1} ({mutant.kind})"
                print(f"{result}: {where}\n  {line}\n  {mutant.text.strip()}", flush=True)
    for layer in dict.fromkeys(mutant.file.split("/")[0] for mutant in sample):
        killed, survived = by_layer[layer, "killed"], by_layer[layer, "survived"]
        print(f"{layer}: {killed} of {killed + survived} killed")
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
