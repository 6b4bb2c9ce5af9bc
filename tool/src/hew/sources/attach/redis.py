# SPDX-License-Identifier: MIT
"""A running Redis or Valkey is asked: `MEMORY MALLOC-STATS` is its jemalloc's report.

Asked where the process itself listens, so that no other server answers: on a local socket, or a port of this machine.
"""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import closing

from hew.model.errors import HewError
from hew.sources.control import listening, sockets
from hew.sources.processes import PROC, name_of, read_text

NAMES = re.compile(r"redis-server|valkey-server|keydb-server")
REQUEST = b"*2\r\n$6\r\nMEMORY\r\n$12\r\nMALLOC-STATS\r\n"
LISTENS = "0A"  # TCP_LISTEN in /proc/net/tcp
PATIENCE = 10.0  # seconds: it answers between two commands of its clients
MOST_ANSWER = 64 << 20


def is_redis(pid: int) -> bool:
    """Whether it is such a server, by the name of its program (its title may be another)."""
    try:
        program = os.path.basename(os.readlink(f"{PROC}/{pid}/exe"))  # noqa: PTH115, PTH119
    except OSError:
        program = ""
    return bool(NAMES.match(program) or NAMES.match(name_of(pid)))


def ask_redis(pid: int) -> str:
    """The report of its jemalloc. HewError says why there is none."""
    reason = f"process {pid} is a Redis that listens nowhere that can be reached from here"
    for address in addresses(pid):
        try:
            with closing(_connected(address)) as connection:
                answer = _answer(connection)
        except OSError as error:
            reason = f"process {pid} does not answer as a Redis: {error.strerror or error}"
            continue
        if answer.startswith(b"-"):
            said = answer[1:].decode(errors="replace").strip()
            raise HewError(f"process {pid} was asked for MEMORY MALLOC-STATS, and said: {said}")
        return answer.partition(b"\r\n")[2].decode(errors="replace")
    raise HewError(reason)


def _connected(address: str | tuple[str, int]) -> socket.socket:
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def _answer(connection: socket.socket) -> bytes:
    """One answer: a line, or a bulk of bytes behind its length."""
    connection.sendall(REQUEST)
    found = bytearray()
    wanted = None
    while len(found) < MOST_ANSWER and (wanted is None or len(found) < wanted):
        piece = connection.recv(1 << 16)
        if not piece:
            raise OSError("it hung up")
        found += piece
        head = re.match(rb"([$=])(\d+)\r\n", found)
        if head is not None:
            wanted = head.end() + int(head[2])
        elif found.endswith(b"\r\n"):
            wanted = len(found) if found.startswith(b"-") else None
            if wanted is None:
                raise OSError("its answer is none of Redis's")
    return bytes(found[:wanted])


def addresses(pid: int) -> Iterator[str | tuple[str, int]]:
    """Where the process listens, local sockets first. A port counts only in our own network."""
    inodes = set(sockets(f"{PROC}/{pid}/fd"))
    yield from (f"{PROC}/{pid}/root{path}" for inode, path in listening(pid).items() if inode in inodes)
    try:
        ours = os.readlink(f"{PROC}/self/ns/net") == os.readlink(f"{PROC}/{pid}/ns/net")  # noqa: PTH115
    except OSError:
        ours = False
    for table, own in (("tcp", "127.0.0.1"), ("tcp6", "::1")):
        for line in read_text(f"{PROC}/{pid}/net/{table}").splitlines()[1:] if ours else ():
            fields = line.split()
            if fields[3] == LISTENS and int(fields[9]) in inodes:
                place, _, port = fields[1].partition(":")
                yield _host(place) or own, int(port, 16)


def _host(place: str) -> str | None:
    """The address of a row; None: all addresses of this machine. The row's words are in the machine's byte order."""
    if not int(place, 16):
        return None
    words = [bytes.fromhex(place[at : at + 8])[::-1] for at in range(0, len(place), 8)]
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words))
