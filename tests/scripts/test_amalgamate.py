# SPDX-License-Identifier: MIT
"""hew.c and hew.h: one command compiles them, programs run on them, and they export what libhew.a does."""

import re
import shutil
import subprocess
from pathlib import Path

import amalgamate
import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests/packages/program.c"
QUIET = ("-O0", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
PREFIXED = "-DNAME(name)=my_##name"


def run(*words: str | Path, folder: Path) -> str:
    """What a command prints."""
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("amalgamation")
    assert amalgamate.main(["--output", str(folder)]) == 0
    return folder


def exported(object_file: Path) -> set[str]:
    """Names that a program around it sees."""
    table = run("readelf", "-sW", object_file, folder=object_file.parent)
    return set(re.findall(r"(?:GLOBAL|WEAK) +(?:DEFAULT|PROTECTED) +\d+ (\w+)", table))


def test_one_command_compiles_it_without_a_warning_and_a_program_runs_on_it(folder: Path) -> None:
    run("cc", *QUIET, "-c", "hew.c", folder=folder)
    run("cc", "-I.", "-o", "program", PROGRAM, "hew.o", "-pthread", folder=folder)
    assert run("./program", folder=folder) == f"hew {amalgamate.version()}\n"
    names = set(amalgamate.exported(("STANDARD", "JEMALLOC", "DATA", "REDIS", "HEW", "LIBC", "CXX")))
    assert exported(folder / "hew.o") == names - {"dlopen", "prctl"}


def test_with_names_it_stands_beside_the_malloc_of_libc(folder: Path) -> None:
    run("cc", *QUIET, "-DHEW_NAMES=my_", "-c", "hew.c", "-o", "my.o", folder=folder)
    run("cc", "-I.", PREFIXED, "-o", "my", PROGRAM, "my.o", "-pthread", folder=folder)
    assert run("./my", folder=folder) == f"hew {amalgamate.version()}\n"
    assert not [name for name in exported(folder / "my.o") if not name.startswith(("my_", "hew_"))]


def test_the_same_sources_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    assert amalgamate.main(["--output", str(tmp_path)]) == 0
    for name in ("hew.c", "hew.h"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_names_that_two_files_have_are_told_apart() -> None:
    table = amalgamate.collisions(amalgamate.sources())
    assert table["cache/depot.c"]["make_room"] == "depot_make_room"
    text = amalgamate.renamed('make_room(x.make_room, "make_room") /* make_room */', table["cache/depot.c"])
    assert text == 'depot_make_room(x.make_room, "make_room") /* make_room */'
    assert amalgamate.renamed("struct value value;", {"tag value": "request_value"}) == "struct request_value value;"
