# SPDX-License-Identifier: MIT
"""What commands do when who reads their output goes: nothing but end, as cat and grep do."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import environment
from hew.sources.reader import reader_has_gone
from test_profile import HEAP_V2

DATA = Path(__file__).parent / "data" / "statistics"
REPORT = str(DATA / "hew-0.1.0.json.gz")
COMMANDS = (
    ("--help",),
    ("profile", "--help"),
    ("profile", "{profile}"),
    ("profile", "--json", "{profile}"),
    ("profile", "--collapsed", "{profile}"),
    ("stats", REPORT),
    ("stats", "--json", REPORT),
    ("advise", REPORT),
    ("advise", "--json", REPORT),
    ("doctor", "{pid}"),
    ("completion", "bash"),
    ("top", "--json"),
    ("export", "--once"),
)


def status_without_reader(words: tuple[str, ...]) -> tuple[int, str]:
    """The status, and what was said."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "hew", *words],
            stdout=writes,
            stderr=subprocess.PIPE,
            env=environment({}),
            text=True,
            check=False,
        )
    finally:
        os.close(writes)
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words)[:30])
def test_a_command_ends_quietly_when_its_reader_goes(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "profile").write_bytes(HEAP_V2)
    filled = tuple(one.format(profile=tmp_path / "profile", pid=os.getpid()) for one in words)
    status, said = status_without_reader(filled)
    assert status == -signal.SIGPIPE
    assert "roken" not in said
    assert "Traceback" not in said


def test_much_output_ends_in_the_middle(tmp_path: Path) -> None:
    rows = "".join(f"@ 0x{0x401000 + at:x} 0x402000\n  t*: 1: 200 [0: 0]\n" for at in range(20_000))
    (tmp_path / "profile").write_text(f"heap_v2/1\n  t*: 1: 200 [0: 0]\n{rows}\nMAPPED_LIBRARIES:\n")
    words = [sys.executable, "-m", "hew", "profile", "--collapsed", str(tmp_path / "profile")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment({})) as one:
        assert one.stdout is not None
        assert one.stderr is not None
        assert one.stdout.readline()
        one.stdout.close()
        said = one.stderr.read().decode()
        assert one.wait() == -signal.SIGPIPE
    assert said == ""


def test_a_reader_that_is_there_has_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, one.makefile("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert not reader_has_gone()
        other.close()
        assert reader_has_gone()
    assert not reader_has_gone()  # closed: no error
