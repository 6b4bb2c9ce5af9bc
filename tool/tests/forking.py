# SPDX-License-Identifier: MIT
"""Runs `hew` hundreds of times, and imports it once.

A server, one for each process of pytest, has the tool imported and forks for each command. Such a command is a process
of its own: it has its own arguments, environment, folder, standard files, signals and status. Only the start of Python
and the imports are left out. A command that changes how Python itself starts needs `python -m hew`.
"""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from hew.cli import main

MOST_REQUEST = 1 << 20  # bytes: more than a socket passes on at once


class Forker:
    """The server, and how to ask it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, "-P", __file__, str(theirs.fileno())]
            self._server = subprocess.Popen(words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def close(self) -> None:
        self._socket.close()
        self._server.wait()

    def run(
        self, words: Sequence[str | Path], environment: Mapping[str, str], stdin: str, patience: float
    ) -> subprocess.CompletedProcess[str]:
        """As subprocess.run() with this environment, its output captured."""
        asked = {"words": [*map(str, words)], "environment": dict(environment), "folder": str(Path.cwd())}
        answers, theirs = socket.socketpair()
        read_in, write_in = os.pipe()
        read_out, write_out = os.pipe()
        read_err, write_err = os.pipe()
        passed = [read_in, write_out, write_err, theirs.fileno()]
        with ThreadPoolExecutor(3) as pool, answers:
            socket.send_fds(self._socket, [json.dumps(asked).encode()], passed)
            theirs.close()
            for number in (read_in, write_out, write_err):
                os.close(number)
            pool.submit(_write, write_in, stdin.encode())
            out, err = pool.submit(_read, read_out), pool.submit(_read, read_err)
            answers.settimeout(patience)
            with answers.makefile() as lines:
                child = int(lines.readline())
                try:
                    status = int(lines.readline())
                except TimeoutError:
                    os.kill(child, signal.SIGKILL)
                    raise subprocess.TimeoutExpired("hew", patience) from None
            return subprocess.CompletedProcess(["hew", *words], status, out.result(), err.result())


def _write(number: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(number, "wb") as stream:
        stream.write(data)


def _read(number: int) -> str:
    with open(number, encoding="utf-8") as stream:
        return stream.read()


def serve(requests: socket.socket) -> list[str]:
    """Fork for each request. Returns in the process of a command, with its words; ends when there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's is for pytest
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait for commands leave nothing to wait for
    while True:
        data, files, _, _ = socket.recv_fds(requests, MOST_REQUEST, 4)
        if not data:
            sys.exit()
        asked = json.loads(data)
        _import(asked["words"])
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if (child := os.fork()) != 0:
                _report(child, files)
            _become(files, asked["environment"], asked["folder"])
            return list(asked["words"])
        for number in files:
            os.close(number)


def _import(words: Sequence[str]) -> None:
    """The module of a command, so that the next one of its name has it."""
    with suppress(ImportError, IndexError):  # the command itself says what is wrong
        importlib.import_module(f"hew.commands.{words[0]}")


def _report(child: int, files: Sequence[int]) -> NoReturn:
    """Tell which process the command is, and how it ends."""
    for number in files[:3]:
        os.close(number)
    os.write(files[3], f"{child}\n".encode())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(files[3], f"{status}\n".encode())
    os._exit(0)


def _become(files: Sequence[int], environment: Mapping[str, str], folder: str) -> None:
    """What a process gets when it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for at, number in enumerate(files[:3]):
        os.dup2(number, at)
    for number in files:
        os.close(number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - no path
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


if __name__ == "__main__":
    sys.argv = ["hew", *serve(socket.socket(fileno=int(sys.argv[1])))]
    main(prog_name="hew")
