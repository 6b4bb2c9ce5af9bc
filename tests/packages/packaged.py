# SPDX-License-Identifier: MIT
"""Commands of the packages' tests, which must succeed, and the program to try a package with."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests/packages/program.c"


def run_command(*words: str | Path, folder: Path | None = None, **changes: str) -> str:
    """What a command prints on both of its outputs; it must end with 0."""
    done = subprocess.run(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        check=False, env={**os.environ, **changes},
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}"
    return done.stdout


def need(*commands: str) -> None:
    """Skips the test where one of the commands is not installed."""
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not installed")
