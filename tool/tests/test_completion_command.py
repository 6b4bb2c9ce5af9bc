# SPDX-License-Identifier: MIT
"""Completions, as the shells ask for them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import HewRunner


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_is_installed_where_the_shell_looks(
    hew: HewRunner, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    printed = hew("completion", shell)
    assert "_HEW_COMPLETE" in printed.stdout
    done = hew("completion", "--install", shell)
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.partition(";")[0].strip())
    assert path.is_relative_to(tmp_path)
    assert path.read_text() == printed.stdout
    program = shutil.which(shell)
    if program is not None:
        assert subprocess.run([program, "-n", path], check=False).returncode == 0


def test_commands_are_completed(hew: HewRunner) -> None:
    done = hew(_HEW_COMPLETE="bash_complete", COMP_WORDS="hew com", COMP_CWORD="1")
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == {"compare", "completion"}, done.stderr


def test_an_unknown_shell_is_one_line(hew: HewRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/odd")
    done = hew("completion")
    assert (done.returncode, done.stderr) == (1, "hew completion: odd: name one of bash, fish, zsh\n")
