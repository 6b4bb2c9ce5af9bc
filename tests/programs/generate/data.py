# SPDX-License-Identifier: MIT
"""Data for programs to work on: text, a git history, Redis commands."""

from __future__ import annotations

import random
from pathlib import Path

WORDS = (
    "arena bin cache decay dirty extent flush fill huge idle junk keep large mapped narrow owner page quota region "
    "retained slab small stack thread tree usable value wide yield zero"
).split()


def write_text(path: Path, megabytes: int) -> None:
    """Prose-like text that compresses about as well as a log file."""
    chance = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        written = 0
        while written < megabytes << 20:
            words = [chance.choice(WORDS) for _ in range(12)]
            line = f"{written:012d} {chance.getrandbits(32):08x} {' '.join(words)}\n"
            file.write(line * chance.randint(1, 3))
            written = file.tell()


def write_history(path: Path, commits: int) -> None:
    """A stream for git fast-import: many commits that each change a few of many files."""
    chance = random.Random(2)
    files: dict[str, list[str]] = {}
    with open(path, "w", encoding="ascii") as file:
        for number in range(commits):
            message = f"Change {number}: {' '.join(chance.choice(WORDS) for _ in range(6))}"
            file.write("commit refs/heads/main\n")
            file.write(f"committer A Person <person@example.org> {1_600_000_000 + number * 60} +0000\n")
            file.write(f"data {len(message)}\n{message}\n")
            for _ in range(3):
                name = f"dir{chance.randrange(30)}/file{chance.randrange(20)}.txt"
                lines = files.setdefault(name, [])
                position = chance.randint(0, len(lines))
                lines[position : position + chance.randint(0, 3)] = [
                    " ".join(chance.choice(WORDS) for _ in range(8)) for _ in range(chance.randint(1, 12))
                ]
                body = "\n".join(lines) + "\n"
                file.write(f"M 100644 inline {name}\ndata {len(body)}\n{body}\n")
            file.write("\n")


def write_redis_commands(path: Path, count: int) -> None:
    """Commands over every data type, with overwrites, growth and deletes, one per line for redis-cli."""
    chance = random.Random(3)

    def key(kind: str) -> str:
        return f"{kind}:{chance.randrange(count // 10)}"

    def text(longest: int) -> str:
        return f"{chance.getrandbits(64):016x}" * chance.randint(1, longest)

    with open(path, "w", encoding="ascii") as file:
        for number in range(count):
            kind = number % 8
            if kind == 0:
                file.write(f"SET {key('s')} {text(120)}\n")
            elif kind == 1:
                file.write(f"APPEND {key('s')} {text(8)}\n")
            elif kind == 2:
                file.write(f"RPUSH {key('l')} {text(3)} {text(6)}\n")
            elif kind == 3:
                file.write(f"HSET {key('h')} f{chance.randrange(200)} {text(5)}\n")
            elif kind == 4:
                file.write(f"SADD {key('t')} {chance.randrange(10**9)} m{chance.randrange(1000)}\n")
            elif kind == 5:
                file.write(f"ZADD {key('z')} {chance.randrange(10**6)} {text(1)}\n")
            elif kind == 6:
                file.write(f"DEL {key(chance.choice('slhtz'))}\n")
            else:
                file.write(f"XADD {key('x')} {number + 1}-1 field {text(2)}\n")


def write_zone(directory: Path, names: int, queries: int) -> None:
    """zone: addresses, texts and aliases for a name server; queries: what dnsperf asks, one in ten not there."""
    chance = random.Random(4)
    with open(directory / "zone", "w", encoding="ascii") as file:
        file.write("$TTL 60\n@ IN SOA ns.example.net. root.example.net. 1 60 60 60 60\n@ IN NS ns\nns IN A 127.0.0.1\n")
        for name in range(names):
            kind = name % 4
            if kind == 3:
                file.write(f"host{name} IN CNAME host{name - 1}\n")
            elif kind == 2:
                file.write(f'host{name} IN TXT "{" ".join(chance.choice(WORDS) for _ in range(9))}"\n')
            else:
                file.write(f"host{name} IN A 10.{name >> 16 & 255}.{name >> 8 & 255}.{name & 255}\n")
    kinds = ("A", "A", "TXT", "A", "AAAA")
    with open(directory / "queries", "w", encoding="ascii") as file:
        for _ in range(queries):
            file.write(f"host{chance.randrange(names * 10 // 9)}.example.net {chance.choice(kinds)}\n")
