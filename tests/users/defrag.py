#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does Redis's active defragmentation work?  The argument is a redis-server built from source, over jemalloc or hew.

Redis moves an object when je_get_defrag_hint() says that its slab is emptier than most, and takes the new place around
the thread cache.  With exact answers and the lowest free place first, allocator_frag_ratio falls towards 1.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from place import Failure, check, free_port, listens, main, running, wait_for
from redis import Client

KEYS = 300_000
SETTINGS = {
    "active-defrag-ignore-bytes": "1mb",
    "active-defrag-threshold-lower": 2,
    "active-defrag-threshold-upper": 20,
    "active-defrag-cycle-min": 50,
    "active-defrag-cycle-max": 80,
}


def value(key: int) -> bytes:
    return random.Random(key).randbytes(8) * (4 + key % 60)


def fragment(client: Client) -> list[int]:
    """Fills many size classes, then drops two keys of three in no order; the keys that are left."""
    client.do_many([client.send("SET", f"key:{key}", value(key)) for key in range(KEYS)])
    client.do_many([client.send("RPUSH", f"list:{key % 500}", b"x" * (key % 300)) for key in range(50_000)])
    keys = list(range(KEYS))
    random.Random(1).shuffle(keys)
    cut = KEYS * 2 // 3
    client.do_many([client.send("DEL", f"key:{key}") for key in keys[:cut]])
    client.do_many([client.send("DEL", f"list:{number}") for number in range(0, 500, 2)])
    return keys[cut:]


def ratio(client: Client) -> float:
    time.sleep(0.3)
    return float(client.memory()["allocator_frag_ratio"])


def run(server: Path) -> None:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        command = [str(server.resolve()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with running(command, {"PATH": "/usr/bin:/bin"}, Path(folder) / "log") as process:
            wait_for("redis-server", lambda: listens(port), process)
            client = Client(port)
            print(f"  mem_allocator is {client.memory()['mem_allocator']}")
            keys = fragment(client)
            before, memory = ratio(client), client.memory()
            print(f"  fragmented: ratio {before}, active {memory['allocator_active']}, RSS {memory['used_memory_rss']}")
            check(before > 1.2, "the load leaves slabs that are emptier than they could be")
            for name, setting in SETTINGS.items():
                client.do("CONFIG", "SET", name, setting)
            client.do("CONFIG", "SET", "activedefrag", "yes")
            after, started = before, time.monotonic()
            while after > 1.06 and time.monotonic() < started + 60:
                after = ratio(client)
            memory = client.memory()
            stats = str(client.do("INFO", "stats"))
            hits = next(line for line in stats.splitlines() if line.startswith("active_defrag_hits"))
            print(f"  after {time.monotonic() - started:.1f} s: ratio {after}, active {memory['allocator_active']}, "
                  f"RSS {memory['used_memory_rss']}, {hits}")
            check(after < 1 + (before - 1) / 3, "defragmentation takes most of it away")
            for key in keys:
                if client.do("STRLEN", f"key:{key}") != len(value(key)):
                    raise Failure(f"key:{key} has the wrong length")
            for key in keys[:20_000]:
                client.socket.sendall(client.send("GET", f"key:{key}"))
                size = int(client.stream.readline()[1:])
                check_value = client.stream.read(size + 2)[:-2]
                if check_value != value(key):
                    raise Failure(f"key:{key} has the wrong contents")
            check(True, f"{len(keys)} values are as they were")


if __name__ == "__main__":
    sys.exit(main(run, "defrag"))
