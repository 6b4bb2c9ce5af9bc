# SPDX-License-Identifier: MIT
"""`hew serve` as a user starts and ends it."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from conftest import PATIENCE, SIGNALS, HewRunner

WORDS = [sys.executable, "-m", "hew", "serve", "--listen", "127.0.0.1:0"]


@contextmanager
def started(*words: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The command, its port, and what is behind the # of its link."""
    with subprocess.Popen([*WORDS, *words], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        found = re.fullmatch(r"hew serve: open http://127\.0\.0\.1:(\d+)/#token=(\S+)\n", child.stderr.readline())
        assert found is not None
        child.stderr.readline()
        try:
            yield child, int(found[1]), found[2]
        finally:
            child.kill()


@pytest.mark.parametrize(("number", "status", "word"), SIGNALS)
def test_it_prints_its_link_serves_and_ends_with_a_signal(number: signal.Signals, status: int, word: str) -> None:
    with started(str(os.getpid())) as (child, port, token):
        assert len(token) >= 32
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/")
        assert b"<title>hew serve</title>" in connection.getresponse().read()
        child.send_signal(number)
        _, said = child.communicate(timeout=PATIENCE)
        assert (child.returncode, said) == (status, f"hew serve: {word}\n")
        connection.close()


def test_a_port_in_use_is_one_line_that_says_what_to_do(hew: HewRunner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = hew("serve", "--listen", f"127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"hew serve: port {port} is in use: --listen 127.0.0.1:0 takes a free one\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "0.0.0.0:0"), "can be reached from other machines: give --token-file"),
        (("--listen", "nonsense"), "is not HOST:PORT"),
        (
            (
                "--listen",
                "192.0.2.1:1",
            ),
            "can be reached from other machines",
        ),
        (("no-such-thing",), "no-such-thing is neither a process nor a file nor a folder"),
        (("999999999",), "999999999 is neither"),
        (("/dev/null",), "/dev/null is neither"),
    ],
)
def test_wrong_use_is_one_line(hew: HewRunner, words: tuple[str, ...], said: str) -> None:
    done = hew("serve", *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_without_statistics_is_named(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("nothing")
    done = hew("serve", str(tmp_path / "notes"))
    assert done.returncode == 1
    assert "notes" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_a_token_file_the_link_does_not_print_the_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-some-length\n")
    file.chmod(0o600)
    with started("--token-file", str(file)) as (_, port, token):
        assert token == "…"
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/api/processes")
        assert connection.getresponse().status == 401
        connection.close()
