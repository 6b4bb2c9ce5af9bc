# SPDX-License-Identifier: MIT
"""What the real programs of the suites work on: the same each time, and made without the programs that are not here."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "bench/programs/make_inputs.py"
TEXTS = {"templates.cpp", "drawing.ps", "problem.smt2", "documents.json"}


def make(folder: Path, path: Path) -> str:
    """Runs it with no program to be found, and gives what it complains of."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)], env={"PATH": str(path)}, capture_output=True, text=True, check=True
    )
    return done.stderr


def test_inputs_are_the_same_each_time_and_what_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    said = make(one, tmp_path)
    assert said.splitlines() == [
        "make_inputs: Threads.class: javac is not here (package default-jdk-headless)",
        "make_inputs: mariadb/ibdata1: mariadb-install-db is not here (package mariadb-server)",
    ]
    make(two, tmp_path)
    assert {path.name for path in one.iterdir()} == {*TEXTS, "made_by"}
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in TEXTS)
    assert len(json.loads((one / "documents.json").read_text())) > 1000


def test_what_is_there_is_left_alone_unless_another_script_made_it(tmp_path: Path) -> None:
    drawing = tmp_path / "drawing.ps"
    make(tmp_path, tmp_path)
    drawing.write_text("mine")
    make(tmp_path, tmp_path)
    assert drawing.read_text() == "mine"
    (tmp_path / "made_by").write_text("another")
    make(tmp_path, tmp_path)
    assert drawing.read_text() != "mine"
