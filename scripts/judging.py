# SPDX-License-Identifier: MIT
"""Whether a changed file of the library is noticed: by tests that it is linked to, and by the simulator.

Only the changed file is compiled; everything else is as the build has it.  A judge that finds something in the library
as it is is not asked.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mutating import Mutant, changed
from reach import Reach

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ["base", "os", "meta", "page", "slab", "cache", "alloc", "pool", "prof", "stats"]
# What is asked of every mutant, whatever line it changes: memory refused at every call; and the seeds of
# simulate.seeds.
OOM, OOM_SECONDS = "oom_layers", 10
SIMULATE = "simulate"
SEEDS = ["--no-shrink", "--seed", "1", "--operations", "300000"]
LIMIT = 60


def commands(folder: Path, objects: str) -> dict[str, list[str]]:
    """How a build compiles each file of src/ into an object of that kind, less compiler cache, input and output."""
    found: dict[str, list[str]] = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        words = shlex.split(entry["command"])
        at = words.index("-o")
        if path.is_relative_to(ROOT / "src") and re.match(objects, words[at + 1]):
            kept = [word for word in words[:at] + words[at + 2 :] if word not in {"-c", entry["file"]}]
            compiler = next(at for at, word in enumerate(kept) if not word.endswith("ccache"))
            found[str(path.relative_to(ROOT / "src"))] = kept[compiler:]
    return found


def compile_as(command: list[str], file: str, text: str, folder: Path, debug: str = "-g0") -> Path | None:
    """The object of the file with that text; None: it does not compile.  Its name in messages stays."""
    source, target = folder / Path(file).name, folder / "mutant.o"
    source.write_text(text)
    target.unlink(missing_ok=True)
    done = subprocess.run(
        [*command, debug, "-w", "-c", str(source), "-o", str(target)], capture_output=True, check=False
    )
    return target if done.returncode == 0 else None


def ends_well(command: list[str], limit: float, folder: Path) -> bool:
    """Whether a program ends with 0 in time: a mutant may never end, nor may a process that it has forked."""
    program = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, start_new_session=True
    )
    try:
        return program.wait(limit) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()


@dataclass
class Build:
    """A build folder: how it compiles the files of src/, and its tests' objects."""

    folder: Path

    def __post_init__(self) -> None:
        # Some tests compile files of the library their own way.
        self.how = commands(self.folder, r"CMakeFiles/hew_\w+_objects\.dir/")
        self.sound: dict[str, bool] = {}  # tests that pass with the library as it is
        self.plain: dict[str, bytes] = {}  # objects of files as they are

    def compile(self, file: str, text: str, folder: Path) -> Path | None:
        return compile_as(self.how[file], file, text, folder)

    def same(self, file: str, text: str, object_file: Path) -> bool:
        """Whether the compiler makes the same of a file with that text."""
        made = object_file.read_bytes()
        if file not in self.plain:
            plain = self.compile(file, text, object_file.parent)
            self.plain[file] = plain.read_bytes() if plain is not None else b""
            object_file.write_bytes(made)
        return made == self.plain[file]

    def objects_of_test(self, test: str) -> list[Path]:
        kind, layer, *_ = test.split("_")
        folder = self.folder / "tests" / kind / "CMakeFiles" / f"{test}.dir"
        if (folder / "__").exists():
            return []
        return sorted((folder / layer if kind == "unit" else folder).glob("*.c.o"))

    def link(self, test: str, objects: list[Path], program: Path) -> Path | None:
        """The test with objects in place of what the archives have; None: it has sources of the library of its own."""
        layer = "alloc" if test == OOM else test.split("_")[1]
        archives = [self.folder / f"libhew_{name}.a" for name in LAYERS[LAYERS.index(layer) :: -1]]
        own = self.objects_of_test(test)
        parts = [str(part) for part in (*own, *objects, *archives)]
        if not own:
            return None
        subprocess.run(
            ["cc", "-fuse-ld=gold", *parts, "-pthread", "-ldl", "-o", str(program)], capture_output=True, check=True
        )
        return program


class Simulator:
    """The simulator of a build, which checks contents, places and statistics against a model (docs/simulator.md)."""

    def __init__(self, build: Path) -> None:
        self.folder = build / "tests" / "simulate"
        self.how = commands(build, r"tests/simulate/CMakeFiles/hew_tested_objects\.dir/")
        self.objects = {
            str(path).split("/src/", 1)[1].removesuffix(".o"): path
            for path in (self.folder / "CMakeFiles" / "hew_tested_objects.dir" / "__").rglob("src/**/*.o")
        }
        self.own = sorted((self.folder / "CMakeFiles" / "simulate.dir").glob("*.o"))
        self.is_sound: bool | None = None

    def passes(self, mutant: Mutant, text: str, folder: Path) -> bool:
        """Whether the seeds find nothing; true as well when it cannot be built."""
        if mutant.file not in self.how or not (self.folder / SIMULATE).exists():
            return True
        changed_file = compile_as(self.how[mutant.file], mutant.file, text, folder, "-g1")
        if changed_file is None:
            return True
        others = [str(path) for file, path in self.objects.items() if file != mutant.file]
        library, program = folder / "tested.o", folder / SIMULATE
        steps = [
            ["ld", "-r", "-o", str(library), str(changed_file), *others],
            ["objcopy", f"--redefine-syms={self.folder / 'hew_tested.o.renamed'}", str(library)],
            ["cc", "-no-pie", "-o", str(program), *map(str, self.own), str(library), "-lpthread"],
        ]
        if any(subprocess.run(step, capture_output=True, check=False).returncode != 0 for step in steps):
            return True
        if ends_well([str(program), *SEEDS], LIMIT, folder):
            return True
        if self.is_sound is None:
            self.is_sound = ends_well([str(self.folder / SIMULATE), *SEEDS], LIMIT, folder)
        return not self.is_sound


@dataclass
class Judge:
    """Tries mutants: on the tests of its layer that run the line, the simulator, other tests that do, and OOM."""

    builds: list[Build]
    reach: Reach
    folder: Path
    longest: float
    simulator: Simulator | None = None

    def seconds(self, test: str) -> float:
        return OOM_SECONDS if test == OOM else self.reach.seconds[test]

    def limit(self, test: str) -> float:
        return 10 + 3 * self.seconds(test) if test != OOM else 10 * OOM_SECONDS

    def fails(self, build: Build, test: str, object_file: Path) -> bool:
        """Whether the test notices it, and finds nothing in the library as it is."""
        program = build.link(test, [object_file], object_file.parent / "test")
        if program is None or ends_well([str(program)], self.limit(test), program.parent):
            return False
        if test not in build.sound:
            build.link(test, [], program)
            build.sound[test] = ends_well([str(program)], self.limit(test), program.parent)
            if not build.sound[test]:
                print(f"mutants: {test} fails without a mutant, and is not asked", file=sys.stderr)
        return build.sound[test]

    def killer(self, mutant: Mutant, objects: list[Path], text: str) -> str | None:
        """What notices it, what is likely to do so first."""
        layer, name = mutant.file.split("/", maxsplit=1)[0], Path(mutant.file).stem
        tests = [test for test in self.reach.tests(mutant.file, mutant.line + 1) if self.seconds(test) <= self.longest]
        near = [test for test in tests if test.split("_")[1] == layer]
        near.sort(key=lambda test: test != f"unit_{layer}_{name}")
        far = [test for test in tests if test not in near]
        test = self.killer_among(near, objects)
        if test is None and self.simulator is not None and not self.simulator.passes(mutant, text, objects[0].parent):
            test = SIMULATE
        test = test or self.killer_among(far, objects)
        if test is None and self.longest >= OOM_SECONDS and self.fails(self.builds[0], OOM, objects[0]):
            test = OOM
        return test

    def killer_among(self, tests: list[str], objects: list[Path]) -> str | None:
        for build, object_file in zip(self.builds, objects, strict=True):
            for test in tests:
                if self.fails(build, test, object_file):
                    return test + ("" if build is self.builds[0] else ", with checks")
        return None

    def judge(self, number: int, mutant: Mutant) -> str:
        """killed by a test, survived, same (the compiler made the same of it) or broken (it does not compile)."""
        text = (ROOT / "src" / mutant.file).read_text()
        other = changed(text.splitlines(), mutant)
        objects = []
        for at, build in enumerate(self.builds):
            folder = self.folder / str(number) / str(at)
            folder.mkdir(parents=True, exist_ok=True)
            object_file = build.compile(mutant.file, other, folder)
            if object_file is None:
                return "broken"
            if at == 0 and build.same(mutant.file, text, object_file):
                return "same"
            objects.append(object_file.rename(folder / "changed.o"))
        test = self.killer(mutant, objects, other)
        return "survived" if test is None else f"killed by {test}"
