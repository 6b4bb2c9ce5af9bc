#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change the library in small ways, one at a time, and see whether its tests notice.

    python3 scripts/mutants.py [--count 150] [--seed 1] [--layers base,meta,page,slab,cache] [--build build/release]

A mutant is a copy of one .c file with one change: a comparison, an arithmetic operator, a constant by one, a
condition the other way round, or a statement left out. It is compiled as the build compiles the file and linked, in
its place, to the unit and model tests of its layer. One that no test fails on, and that is no other program than
before (the object file differs), survives: it is printed with its line. Then a test is missing, or the code does
not matter. The sample is made from the seed. Exits 0 however many survive: this is to be read.
"""

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ["base", "os", "meta", "page", "slab", "cache"]
LIMIT = 60.0  # seconds for one test: a mutant may never end
SKIP = re.compile(r"^\s*(#|/?\*|//|HEW_ASSERT)|_Static_assert|^\s*static const")
SWAPS = [
    ("comparison", r" (<|<=|>|>=|==|!=) ", {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}),
    ("arithmetic", r" (\+|-|\*|/|%|<<|>>|&&|\|\||&|\|) ", None),
    ("arithmetic", r" (\+=|-=) ", {"+=": "-=", "-=": "+="}),
]
OTHER = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<"}
OTHER |= {"&&": "||", "||": "&&", "&": "|", "|": "&"}
CONDITION = re.compile(r"^(\s*(?:\} else )?if \()(.*)(\) \{)$")
STATEMENT = re.compile(r"^\s+[A-Za-z_*(][^{}]*;$")
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
KEPT = re.compile(
    r"^\s*(return|break|continue|goto|struct|enum|const|static|unsigned|size_t|bool|u?int\w*_t|void|char|for)\b"
)


@dataclass(frozen=True)
class Mutant:
    """One change of one line, counted from 0."""

    file: str
    line: int
    kind: str
    text: str


def mutants_of(file: str, lines: list[str]) -> list[Mutant]:
    """Every change that we know for the lines of a file."""
    found = []
    whole = [line.split("/*", 1)[0].rstrip() for line in lines]
    for number, line in enumerate(whole):
        if SKIP.search(line) or not line.startswith(" "):
            continue
        for kind, pattern, swap in SWAPS:
            for match in re.finditer(pattern, line):
                other = (swap or OTHER)[match[1]]
                found.append(Mutant(file, number, kind, line[: match.start(1)] + other + line[match.end(1) :]))
        for match in NUMBER.finditer(line):
            for value in (int(match[1]) + 1, int(match[1]) - 1):
                if value >= 0:
                    text = line[: match.start()] + str(value) + line[match.end() :]
                    found.append(Mutant(file, number, "constant", text))
        condition = CONDITION.match(line)
        if condition:
            found.append(Mutant(file, number, "condition", f"{condition[1]}!({condition[2]}){condition[3]}"))
        before = whole[number - 1].strip() if number > 0 else ""
        if STATEMENT.match(line) and not KEPT.match(line) and before.endswith((";", "{", "}")):
            found.append(Mutant(file, number, "statement", ";"))
    return found


def commands(build: Path) -> dict[str, list[str]]:
    """From layer/file.c how the build compiles it, without input and output."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if path.is_relative_to(ROOT / "src"):
            words = shlex.split(entry["command"])
            at = words.index("-o")
            found[str(path.relative_to(ROOT / "src"))] = [
                word for word in words[:at] + words[at + 2 :] if word not in {"-c", entry["file"]}
            ]
    return found


def tests_of(build: Path, layer: str, file: str) -> list[Path]:
    """The objects of the layer's unit and model tests, the file's own first."""
    tests = build / "tests"
    objects = sorted(tests.glob(f"unit/CMakeFiles/unit_{layer}_*.dir/{layer}/*_test.c.o"))
    objects += sorted(tests.glob(f"model/CMakeFiles/model_{layer}_*.dir/*.o"))
    own = f"{Path(file).stem}_test.c.o"
    return sorted(objects, key=lambda path: path.name != own)


def compile_file(command: list[str], source: Path, target: Path) -> bool:
    done = subprocess.run([*command, "-w", "-c", str(source), "-o", str(target)], capture_output=True, check=False)
    return done.returncode == 0


def passes(build: Path, layer: str, mutant: Path, test: Path, program: Path) -> bool:
    """Whether a test that is linked with the mutant passes; one that cannot be linked says nothing."""
    below = LAYERS[LAYERS.index(layer) :: -1]
    archives = [str(build / f"libhew_{name}.a") for name in below]
    command = ["cc", str(test), str(mutant), *archives, "-pthread", "-ldl", "-o", str(program)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return True
    try:
        done = subprocess.run([str(program)], capture_output=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def judge(build: Path, folder: Path, how: dict[str, list[str]], mutant: Mutant) -> str:
    """killed, survived, same (the compiler made the same of it) or broken (it does not compile)."""
    layer = mutant.file.split("/")[0]
    folder.mkdir(parents=True, exist_ok=True)
    source, plain, changed = folder / Path(mutant.file).name, folder / "plain.o", folder / "changed.o"
    text = (ROOT / "src" / mutant.file).read_text()
    lines = text.splitlines()
    source.write_text(text)
    compile_file(how[mutant.file], source, plain)
    source.write_text("\n".join([*lines[: mutant.line], mutant.text, *lines[mutant.line + 1 :]]) + "\n")
    if not compile_file(how[mutant.file], source, changed):
        return "broken"
    if plain.read_bytes() == changed.read_bytes():
        return "same"
    tests = tests_of(build, layer, mutant.file)
    return "survived" if all(passes(build, layer, changed, test, folder / "test") for test in tests) else "killed"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Which small changes of the library do its tests not notice?")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", default="base,meta,page,slab,cache")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="a build with its tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    try:
        how = commands(options.build)
    except OSError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    all_mutants = []
    for file in sorted(how):
        if file.split("/")[0] in options.layers.split(",") and file.endswith(".c"):
            all_mutants += mutants_of(file, (ROOT / "src" / file).read_text().splitlines())
    sample = random.Random(options.seed).sample(all_mutants, min(options.count, len(all_mutants)))  # noqa: S311
    counts: dict[str, int] = {"killed": 0, "survived": 0, "same": 0, "broken": 0}
    folder = options.build / "mutants"
    with ThreadPoolExecutor(options.jobs) as pool:
        work = [pool.submit(judge, options.build, folder / str(at), how, each) for at, each in enumerate(sample)]
        for mutant, future in zip(sample, work, strict=True):
            result = future.result()
            counts[result] += 1
            if result == "survived":
                line = (ROOT / "src" / mutant.file).read_text().splitlines()[mutant.line].strip()
                text = mutant.text.strip()
                print(f"survived: src/{mutant.file}:{mutant.line + 1} ({mutant.kind})\n  {line}\n  {text}", flush=True)
    judged = counts["killed"] + counts["survived"]
    print(
        f"mutants: {len(sample)} of {len(all_mutants)}: {counts['killed']} of {judged} killed, "
        f"{counts['same']} the same program, {counts['broken']} do not compile"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
