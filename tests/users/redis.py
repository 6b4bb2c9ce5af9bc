#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's redis-server with LIBRARY in the place of libjemalloc.so.2: are its memory reports right?

Loads data, compares INFO memory, MEMORY STATS, MEMORY DOCTOR and MALLOC-STATS with what we stored and with /proc, drops
the data, purges, looks again.  Run with Debian's own libjemalloc.so.2 to check the script.
"""

import json
import socket
import sys
import tempfile
import time
from pathlib import Path

from place import Failure, check, check_allocator, free_port, listens, main, resident, running, stand_in, wait_for

KEYS = 200_000
VALUE = 200
Reply = "str | int | list[Reply] | None"


class Client:
    """Enough of Redis's protocol for one connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.stream = self.socket.makefile("rb")

    def send(self, *words: "str | bytes | int") -> bytes:
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)

    def read(self) -> Reply:
        line = self.stream.readline()[:-2]
        kind, rest = line[:1], line[1:].decode()
        if kind == b"-":
            raise Failure(f"redis says {rest}")
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self.stream.read(int(rest) + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return None if rest == "-1" else [self.read() for _ in range(int(rest))]
        return rest

    def do(self, *words: "str | bytes | int") -> Reply:
        self.socket.sendall(self.send(*words))
        return self.read()

    def do_many(self, commands: list[bytes]) -> None:
        for start in range(0, len(commands), 1000):
            batch = commands[start : start + 1000]
            self.socket.sendall(b"".join(batch))
            for _ in batch:
                self.read()

    def memory(self) -> dict[str, str]:
        text = self.do("INFO", "memory")
        assert isinstance(text, str)
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def figures(client: Client) -> dict[str, int]:
    """allocator_* and used_memory of INFO memory.  Redis reads them ten times a second."""
    time.sleep(0.3)
    info = client.memory()
    return {
        "used": int(info["used_memory"]),
        "allocated": int(info["allocator_allocated"]),
        "active": int(info["allocator_active"]),
        "resident": int(info["allocator_resident"]),
        "rss": int(info["used_memory_rss"]),
    }


def check_figures(now: dict[str, int], pid: int, when: str) -> None:
    """Their order, and their distance from what Redis counts itself and from what the kernel says."""
    print(f"  {when}: {now}, VmRSS {resident(pid)}")
    slack = 3 << 20
    check(now["allocated"] <= now["active"] <= now["resident"], "allocated <= active <= resident")
    check(now["used"] <= now["allocated"] + slack, "what Redis counts as used is allocated")
    check(now["allocated"] <= now["used"] * 1.05 + slack, "hardly more is allocated than Redis counts as used")
    check(now["active"] <= resident(pid) + slack, "active pages are resident")
    other = 24 << 20  # code, stacks, libraries
    check(resident(pid) <= now["resident"] + other, "resident covers what the kernel says")


def load(client: Client) -> None:
    client.do_many([client.send("SET", f"key:{i}", b"v" * (VALUE + i % 64)) for i in range(KEYS)])
    client.do_many([client.send("HSET", f"hash:{i % 100}", f"field{i}", f"value {i}") for i in range(20_000)])
    client.do_many([client.send("RPUSH", f"list:{i % 50}", b"x" * (i % 500)) for i in range(20_000)])
    client.do_many([client.send("ZADD", "scores", i, f"member{i}") for i in range(20_000)])


def check_memory_commands(client: Client) -> None:
    stats = client.do("MEMORY", "STATS")
    assert isinstance(stats, list)
    table = dict(zip(stats[::2], stats[1::2], strict=True))
    names = ["allocator.allocated", "allocator.active", "allocator.resident"]
    values = [int(str(table[name])) for name in names]
    check(0 < values[0] <= values[1] <= values[2], f"MEMORY STATS has {dict(zip(names, values, strict=True))}")
    check(float(str(table["allocator-fragmentation.ratio"])) >= 1, "MEMORY STATS has a fragmentation ratio")
    doctor = str(client.do("MEMORY", "DOCTOR"))
    check("Sam" in doctor, f"MEMORY DOCTOR answers: {doctor[:60]}...")
    text = str(client.do("MEMORY", "MALLOC-STATS"))
    check(text.startswith("___ Begin jemalloc statistics ___"), "MEMORY MALLOC-STATS begins as jemalloc's text")
    check(text.rstrip().endswith("--- End jemalloc statistics ---"), "MEMORY MALLOC-STATS ends as jemalloc's text")
    check("\nAllocated: " in text and "\nbins:" in text, "MEMORY MALLOC-STATS has the totals and the bins")
    usage = client.do("MEMORY", "USAGE", "key:0")
    check(isinstance(usage, int) and VALUE < usage < VALUE + 200, f"MEMORY USAGE of one key is {usage}")


def check_mallctl(client: Client) -> None:
    check(client.do("DEBUG", "MALLCTL", "arenas.page") == 4096, "DEBUG MALLCTL arenas.page is 4096")
    check(str(client.do("DEBUG", "MALLCTL-STR", "version"))[0] == "5", "DEBUG MALLCTL-STR version begins with 5")
    check(client.do("DEBUG", "MALLCTL-STR", "opt.dss") in {"secondary", "disabled"}, "DEBUG MALLCTL-STR opt.dss")
    client.do("DEBUG", "MALLCTL", "arenas.dirty_decay_ms", 5000)
    check(client.do("DEBUG", "MALLCTL", "arenas.dirty_decay_ms") == 5000, "DEBUG MALLCTL sets arenas.dirty_decay_ms")
    allocated = client.do("DEBUG", "MALLCTL", "stats.allocated")
    check(isinstance(allocated, int) and allocated > KEYS * VALUE, f"DEBUG MALLCTL stats.allocated is {allocated}")


def background_threads(client: Client) -> int:
    """After some pages have become idle: an allocator may begin its thread when there is work for it."""
    client.do("SET", "big", b"x" * (20 << 20))
    client.do("DEL", "big")
    time.sleep(0.5)  # until Redis has written epoch
    found = client.do("DEBUG", "MALLCTL", "stats.background_thread.num_threads")
    assert isinstance(found, int)
    return found


def check_background_thread(client: Client) -> None:
    for word, threads in (("no", 0), ("yes", 1), ("no", 0), ("yes", 1)):
        check(client.do("CONFIG", "SET", "jemalloc-bg-thread", word) == "OK", f"CONFIG SET jemalloc-bg-thread {word}")
        check(client.do("CONFIG", "GET", "jemalloc-bg-thread") == ["jemalloc-bg-thread", word], "and it is kept")
        found = background_threads(client)
        check(found == threads, f"there are {found} background threads")


def exercise(port: int, pid: int) -> None:
    client = Client(port)
    info = client.memory()
    check(info["mem_allocator"].startswith("jemalloc-5"), f"mem_allocator is {info['mem_allocator']}")
    before = figures(client)
    check_figures(before, pid, "empty")
    load(client)
    loaded = figures(client)
    check_figures(loaded, pid, "loaded")
    check(loaded["allocated"] - before["allocated"] >= KEYS * VALUE, "what was stored is counted")
    check_memory_commands(client)
    check_mallctl(client)
    check_background_thread(client)
    client.do("FLUSHALL")
    check(client.do("MEMORY", "PURGE") == "OK", "MEMORY PURGE")
    after = figures(client)
    check_figures(after, pid, "flushed and purged")
    check(after["resident"] < loaded["resident"] / 2, "resident fell by more than half")
    check(resident(pid) < loaded["rss"] / 2, "so did VmRSS")
    print("  " + json.dumps({"empty": before, "loaded": loaded, "purged": after}))


def run(library: Path) -> None:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, stand_in(library) as environment:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        command += ["--enable-debug-command", "yes", "--dir", folder]
        with running(command, environment, Path(folder) / "log") as process:
            wait_for("redis-server", lambda: listens(port), process)
            check_allocator(process.pid, library)
            exercise(port, process.pid)


if __name__ == "__main__":
    sys.exit(main(run, "redis"))
