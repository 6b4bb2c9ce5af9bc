#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients of scripts/swap_soak.py: `--read PORT CONNECTIONS` of a web server, `--query PSQL PORT` of PostgreSQL.

Each says when it is ready, asks until it reads a line, and ends with what it saw. Status 1: an answer was wrong.
"""

import http.client
import itertools
import os
import subprocess
import sys
import threading
import time

from attach_soak import read_line

PATHS = 400  # different answers of a server
CLIENTS = 4
PATIENCE = 30.0  # seconds without an answer


def body_of(number: int) -> bytes:
    """What a server answers to this path."""
    return f"{number}.".encode() * (number * 10)


class Longest:
    """How long the slowest answer took, and how many there were."""

    def __init__(self) -> None:
        self.seconds, self.count, self.wrong = 0.0, 0, ""
        self.over = threading.Event()

    def note(self, seconds: float) -> None:
        """One answer."""
        self.count += 1
        self.seconds = max(self.seconds, seconds)

    def told(self) -> None:
        """The result, at the end of a client."""
        if self.wrong:
            sys.exit(self.wrong)
        print(f"{self.count} answers, all right; the slowest took {self.seconds * 1000:.1f} ms")


def read(port: int, connections: int) -> None:
    """What `--read` runs: clients that know what each path must give. Each asks on its connections in turn."""
    longest = Longest()
    share = connections // CLIENTS
    threads = [threading.Thread(target=read_paths, args=(port, one, share, longest)) for one in range(CLIENTS)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    longest.over.set()
    for thread in threads:
        thread.join()
    longest.told()


def read_paths(port: int, number: int, count: int, longest: Longest) -> None:
    """One client."""
    connections = itertools.cycle(
        [http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE) for _ in range(count)]
    )
    try:
        while not longest.over.is_set() and not longest.wrong:
            number = (number * 31 + 7) % PATHS
            connection = next(connections)
            began = time.monotonic()
            connection.request("GET", f"/{number}")
            body = connection.getresponse().read()
            longest.note(time.monotonic() - began)
            if body != body_of(number):
                longest.wrong = f"/{number}: {len(body)} bytes that are not the right ones"
    except (OSError, http.client.HTTPException) as error:
        longest.wrong = f"/{number}: {error!r}"


QUERY = (
    "select md5(string_agg(a.g || ':' || b.g, ',' order by a.g desc, b.g)) from generate_series(1, 300) a(g) "
    "join generate_series(1, 3000) b(g) on b.g % 300 = a.g - 1;"
)


def query(client: str, port: int) -> None:
    """What `--query` runs: says which process answers, and asks it the same until it is told to stop."""
    longest = Longest()
    words = [client, "-h", "127.0.0.1", "-p", str(port), "-U", "hew", "-d", "postgres", "-AtqX"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as session:

        def ask(text: str) -> str:
            assert session.stdin is not None  # noqa: S101 - a pipe
            session.stdin.write(text + "\n")
            session.stdin.flush()
            return read_line(session.stdout)

        print(ask("select pg_backend_pid();"), flush=True)
        right = ask(QUERY)
        os.set_blocking(0, False)
        while not sys.stdin.readline() and not longest.wrong:
            began = time.monotonic()
            answer = ask(QUERY)
            longest.note(time.monotonic() - began)
            longest.wrong = "" if answer == right else f"{answer!r}, which was {right!r} before"
        session.kill()
    longest.told()


if __name__ == "__main__":
    if sys.argv[1] == "--read":
        read(int(sys.argv[2]), int(sys.argv[3]))
    else:
        query(sys.argv[2], int(sys.argv[3]))
