# SPDX-License-Identifier: MIT
"""Every command of the README, in its order, in a clean copy of the sources, with a build and a .venv of its own.

What stands for something of the reader's is put in: ./job and ./server are small programs, PID is the server's process,
FILE a name; ports are free ones. A command that runs on is ended when it has shown that it works.
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LEFT_BEHIND = ("build", "dist", ".venv", ".git", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis")
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:make|cmake|\.venv/bin/hew|\./\w+)(?= )")
BEFORE_A_COMMENT = re.compile(r"\s{2,}# .*")
PATIENCE = 1200.0  # seconds for one command: the first builds the library and fetches the tool's packages
# Commands that go on, and what tells that they work: a file that is there, or words that they print.
GOES_ON = {"watch": "watched", "serve": "http://", "export": "9464", "top": ""}
# What does not end with 0: the engine has nothing.
ENDS = {".venv/bin/hew fleet": (1, "has no series of hew export")}
# The job takes some milliseconds, of which malloc has a part; the server holds memory until it is ended.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    enum { OBJECTS = 3000, ROUNDS = 20 };
    static char *held[OBJECTS];
    unsigned random = 1;
    for (int i = 0; i < ROUNDS * OBJECTS; i++) {
        char **place = &held[i % OBJECTS];
        size_t size = 16 + (random = random * 1103515245 + 12345) / 65536 % 2000;
        free(*place);
        memset(*place = malloc(size), 1, size);
    }
    if (argc > 1 && strcmp(argv[1], "--port") == 0) {
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    printf("%u\\n", random);
    return 0;
}
"""


def commands() -> list[str]:
    """The lines of its blocks that are commands, without the words behind them."""
    lines = (line.removeprefix("    ") for line in README.splitlines() if line.startswith("    "))
    return [BEFORE_A_COMMENT.sub("", line).rstrip() for line in lines if COMMAND.match(line)]


class Engine(BaseHTTPRequestHandler):
    """An engine of metrics that has none."""

    def answer(self) -> None:
        """An empty answer to whatever is asked."""
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def engine() -> Iterator[int]:
    """Its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Reader:
    """A reader who types the README's commands in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEW_", "MALLOC_", "LD_"))}
        base = getattr(sys, "_base_executable", sys.executable)
        self.environment = {
            **kept, "DEMO_RUNS": "1", "PYTHON": base, "DESTDIR": str(folder / "installed"), "TERM": "xterm",
            "HEW_APT": "no", "PWD": str(folder),
        }  # fmt: skip
        self.ports = {"9464": free_port()}
        self.pid = 0

    def typed(self, command: str) -> str:
        """With what the reader puts in."""
        command = re.sub(r"\bPID\b", str(self.pid), re.sub(r"\bFILE\b", "watched", command))
        command = re.sub(r"hew serve\b(?! --help)", "hew serve --listen 127.0.0.1:0", command)
        for there, here in self.ports.items():
            command = command.replace(f":{there}", f":{here}")
        return command

    def run(self, command: str) -> None:
        """Runs one to its end, or until it has shown that it works."""
        began, words = time.monotonic(), self.typed(command)
        name = next((one for one in GOES_ON if f"hew {one} " in f"{command} "), None)
        if name is None:
            done = subprocess.run(
                ["sh", "-c", words], cwd=self.folder, env=self.environment, text=True, check=False, timeout=PATIENCE,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            said, status = done.stdout, done.returncode
        else:
            said, status = self.watched(words, GOES_ON[name].replace("9464", str(self.ports["9464"])))
        print(f"$ {words}   [{status}, {time.monotonic() - began:.0f} s]\n{said[-3000:]}", flush=True)
        wanted, words_of_it = ENDS.get(" ".join(command.split()[:2]), (0, ""))
        assert (status, words_of_it in said) == (wanted, True), f"{words}: status {status}\n{said}"
        assert "Traceback" not in said, said
        assert not re.search(r"is not in /|which is not installed", said), said

    def shows(self, sign: str, said: str) -> bool:
        """Whether a command that goes on has shown that it works: by its words, or by a file with something in it."""
        file = self.folder / sign
        return bool(said) if not sign else sign in said or (file.is_file() and file.stat().st_size > 0)

    def watched(self, words: str, sign: str) -> tuple[str, int]:
        """On a terminal of its own, until the sign is there; then ends it as a user would."""
        main, other = pty.openpty()
        process = subprocess.Popen(
            ["sh", "-c", f"exec {words}"], cwd=self.folder, env=self.environment, stdin=other, stdout=other,
            stderr=other, start_new_session=True,
        )  # fmt: skip
        os.close(other)
        said, until, ended = b"", time.monotonic() + PATIENCE, False
        while time.monotonic() < until:
            if select.select([main], [], [], 0.1)[0]:
                try:
                    said += os.read(main, 65536)
                except OSError:  # the program has gone
                    break
            if not ended and self.shows(sign, said.decode(errors="replace")):
                ended = True
                if sign:
                    process.send_signal(signal.SIGINT)
                else:
                    os.write(main, b"q")
        else:
            process.kill()
        status = process.wait()
        os.close(main)
        return said.decode(errors="replace"), 0 if ended and status in {0, 130, -signal.SIGINT} else status or 1


@contextmanager
def served(reader: Reader) -> Iterator[int]:
    """The server that PID stands for."""
    words = [".venv/bin/hew", "run", "--", "./server", "--port", "8080"]
    with subprocess.Popen(
        words, cwd=reader.folder, env=reader.environment, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        yield server.pid
        server.kill()


@pytest.mark.timeout(3 * PATIENCE)
def test_every_command_works_in_its_order_in_a_clean_copy(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path / "hew"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    (folder / "program.c").write_text(PROGRAM)
    (folder / "input.dat").touch()
    subprocess.run(["cc", "-O1", "-o", "job", "program.c"], cwd=folder, check=True)
    shutil.copy(folder / "job", folder / "server")
    first, *others = [one for one in commands() if one != "make test"]
    assert first == "make demo"
    assert len(others) >= 20
    reader = Reader(folder)
    reader.run(first)
    with engine() as port, served(reader) as pid:
        reader.ports["9090"], reader.pid = port, pid
        for command in others:
            reader.run(command)
