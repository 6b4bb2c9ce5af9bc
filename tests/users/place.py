# SPDX-License-Identifier: MIT
"""Put a library in jemalloc's place for a program that is linked to libjemalloc.so.2, and watch the process."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


class Failure(Exception):
    """Something that a user of jemalloc would notice."""


def check(holds: bool, what: str) -> None:
    """One line for each thing that was looked at; the first that does not hold ends the script."""
    print(f"  {'ok' if holds else 'NOT OK'}: {what}")
    if not holds:
        raise Failure(what)


@contextlib.contextmanager
def stand_in(library: Path) -> Iterator[dict[str, str]]:
    """An environment in which libjemalloc.so.2 is `library`."""
    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        (Path(folder) / "libjemalloc.so.2").symlink_to(library.resolve())
        yield {**os.environ, "LD_LIBRARY_PATH": folder}


def allocator_of(pid: int) -> set[str]:
    """The files named like an allocator that the process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[5] for line in lines if "/" in line}
    return {name for name in files if "libjemalloc" in name or "libhew" in name}


def check_allocator(pid: int, library: Path) -> None:
    """The process has the library that we mean, and no other jemalloc."""
    found = allocator_of(pid)
    check(found == {str(library.resolve())}, f"the process runs with {library.name} (mapped: {sorted(found)})")


def resident(pid: int) -> int:
    """VmRSS in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise Failure(f"process {pid} is gone")


def free_port() -> int:
    """A free port on loopback, neither taken for TCP nor for UDP: a name server takes both."""
    while True:
        with socket.socket() as stream, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            stream.bind(("127.0.0.1", 0))
            port = int(stream.getsockname()[1])
            with contextlib.suppress(OSError):
                datagrams.bind(("127.0.0.1", port))
                return port


def wait_for(what: str, ready: "callable[[], bool]", process: "subprocess.Popen[bytes]", seconds: float = 20) -> None:
    """Until ready() is true; a Failure when the process ends or time runs out."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Failure(f"{what}: exit status {process.returncode}")
        with contextlib.suppress(OSError):
            if ready():
                return
        time.sleep(0.05)
    raise Failure(f"{what}: not ready after {seconds} s")


def listens(port: int) -> bool:
    """Whether a server accepts connections on the port."""
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


@contextlib.contextmanager
def running(command: list[str], environment: dict[str, str], log: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A server for the time of the block; afterwards it must end by SIGTERM with nothing said by the allocator."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            try:
                yield process
            except Failure:
                print(log.read_text(errors="replace")[-2000:])
                raise
            process.send_signal(signal.SIGTERM)
            status = process.wait(20)
            check(status in {0, -signal.SIGTERM}, f"{Path(command[0]).name} ends by SIGTERM with status {status}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    words = log.read_text(errors="replace")
    check("<jemalloc>" not in words and "hew:" not in words, "the allocator had nothing to complain of")


def main(run: "callable[[Path], None]", name: str) -> int:
    """The command line of every script here: the library as the only argument."""
    if len(sys.argv) != 2:
        print(f"usage: {name} LIBRARY", file=sys.stderr)
        return 2
    print(f"{name}:")
    try:
        run(Path(sys.argv[1]))
    except Failure as failure:
        print(f"{name}: FAILED: {failure}")
        return 1
    print(f"{name}: passed")
    return 0
