#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attach to busy programs on jemalloc, again and again, and look whether they notice.

    python3 scripts/attach_soak.py [--attaches 1000] [--only redis|rust|java ...]

redis   Debian's redis-server, loaded by redis-benchmark, while a client of ours writes what it reads back at the end
rust    tikv-jemallocator (`_rjem_`) linked into a program whose threads look at every byte before they free it
java    a JVM with libjemalloc.so.2 preloaded, which compares each round's result with the first

Needs redis-server, cargo and a JDK; what is not here is left out, and that is said. The status is 1 when a program
ended, when a result differed, or when a process was not left as it was. Build folder: build/attach.
"""

import argparse
import io
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO

from hew.model.errors import HewError
from hew.sources.attach import holder
from hew.sources.attach.moment import MOST_STOP
from hew.sources.attach.reading import allowed
from hew.sources.discovery import find_library, library_folders
from hew.sources.server import free_port
from hew.sources.statistics.stream import find_reports

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "users" / "attach"
WORK = ROOT / "build" / "attach"
BEFORE = 20.0  # seconds without us
PAUSE = 0.02  # seconds between two attaches, at most
GOAL = 0.020  # seconds
PATIENCE = 600.0  # seconds until a program has ended, on a machine with too much to do
LISTENS = 60.0  # seconds that a server may take to start
MANIFEST = """[package]
name = "soak"
version = "0.0.0"
edition = "2021"
[[bin]]
name = "soak"
path = "soak.rs"
[dependencies]
tikv-jemallocator = "0.7"
"""


class Missing(Exception):  # noqa: N818 - not an error
    """What a subject needs and this machine has not."""


def needed(name: str) -> str:
    """The path of a command."""
    found = shutil.which(name)
    if found is None:
        raise Missing(f"{name} is not here")
    return found


# Attaching: in a process of its own, which stays for all of them, so that a thousand take less than minutes.


def hold(pid: int, count: int) -> None:
    """What `--hold` runs: one line of JSON for each attach."""
    target, filtered = allowed(pid)
    plan = {**asdict(target), "pid": pid, "timeout": 20.0, "stop": MOST_STOP, "filtered": filtered}
    holder.shield()
    for _ in range(count):
        answer, text = holder.attach(plan)
        reading = find_reports(text.decode(), "report")
        answer["reports"] = sum(one.whole for one in reading.snapshots)
        print(json.dumps(answer), flush=True)
        time.sleep(random.uniform(0, PAUSE))  # noqa: S311


def attach_often(pid: int, count: int) -> list[dict[str, object]]:
    """The answers."""
    words = [sys.executable, __file__, "--hold", str(pid), "--attaches", str(count)]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def state(pid: int) -> tuple[object, ...]:
    """What an attach may not change: masks, handlers, tracer, whether memory of ours is left."""
    wanted = ("TracerPid", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp")
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    ours = sum(line.split()[1] == "r-xp" and line.split()[4] == "0" and len(line.split()) == 5 for line in maps)
    return (*(line for line in status if line.partition(":")[0] in wanted), f"nameless code: {ours}")


@contextmanager
def running(words: list[str], **changes: str) -> Iterator[subprocess.Popen[str]]:
    """A program that says "ready" and ends with its standard input."""
    clean = {name: value for name, value in os.environ.items() if "MALLOC" not in name and name != "LD_PRELOAD"}
    with subprocess.Popen(
        words, env=clean | changes, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def read_line(stream: IO[str] | None) -> str:
    """A line of a program."""
    return "" if stream is None else stream.readline().strip()


def ended_well(program: subprocess.Popen[str]) -> str:
    """What it says at its end; HewError when it did not end well."""
    output, _ = program.communicate("\n", timeout=PATIENCE)
    if program.returncode:
        raise HewError(f"it ended with status {program.returncode}: {output[-200:]}")
    return output.strip()


Result = tuple[list[dict[str, object]], str]


def soak_rust(count: int) -> Result:
    """A Rust program with jemalloc inside."""
    cargo = needed("cargo")
    folder = WORK / "rust"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCES / "soak.rs", folder)
    (folder / "Cargo.toml").write_text(MANIFEST)
    subprocess.run([cargo, "build", "--quiet", "--release"], cwd=folder, check=True)
    return soak_program([str(folder / "target" / "release" / "soak"), "6"], count)


def soak_java(count: int) -> Result:
    """A JVM with jemalloc preloaded."""
    java, library = needed("java"), find_library("jemalloc", library_folders({}))
    if library is None:
        raise Missing("libjemalloc.so.2 is not here")
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run([needed("javac"), "-d", str(WORK), str(SOURCES / "Soak.java")], check=True)
    return soak_program([java, "-Xmx128m", "-cp", str(WORK), "Soak", "4"], count, LD_PRELOAD=str(library))


def soak_program(words: list[str], count: int, **changes: str) -> Result:
    """A program that checks itself."""
    with running(words, **changes) as program:
        if read_line(program.stdout) != "ready":
            raise HewError("the program did not begin")
        time.sleep(BEFORE)
        alone = told_midway(program)
        before = state(program.pid)
        answers = attach_often(program.pid, count)
        unchanged(before, state(program.pid))
        return answers, f"{ended_well(program)}{alone}"


def told_midway(program: subprocess.Popen[str]) -> str:
    """What a program that tells so has noticed without us."""
    if program.stdin is None:
        return ""
    program.stdin.write("\n")
    program.stdin.flush()
    return f" (before: {read_line(program.stdout)})"


def unchanged(before: tuple[object, ...], after: tuple[object, ...]) -> None:
    """HewError with what differs."""
    if before != after:
        raise HewError(f"it was not left as it was: {sorted(map(str, set(before) ^ set(after)))}")


def soak_redis(count: int) -> Result:
    """redis-server, busy with two clients."""
    server, load, port = needed("redis-server"), needed("redis-benchmark"), free_port()
    WORK.mkdir(parents=True, exist_ok=True)
    words = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(WORK)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, stdout=quiet) as redis:
        try:
            await_port(port)
            traffic = [load, "-p", str(port), "-q", "-l", "-r", "100000", "-d", "100", "-t", "set,get,lpush,lpop,sadd"]
            with subprocess.Popen(traffic, stdout=quiet, stderr=quiet) as client:
                try:
                    return soak_server(redis.pid, port, count)
                finally:
                    client.kill()
        finally:
            redis.kill()


def await_port(port: int) -> None:
    """Waits until a process listens there."""
    deadline = time.monotonic() + LISTENS
    while time.monotonic() < deadline:
        with closing(socket.socket()) as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise HewError(f"no process listens on port {port}")


def soak_server(pid: int, port: int, count: int) -> Result:
    """Write, attach, read back."""
    words = [sys.executable, __file__, "--write", str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        try:
            if read_line(writer.stdout) != "ready":
                raise HewError("the client did not begin")
            before = state(pid)
            answers = attach_often(pid, count)
            unchanged(before, state(pid))
            return answers, ended_well(writer)
        finally:
            writer.kill()


def write(port: int) -> None:
    """What `--write` runs: a client that knows what every key must hold, checks each answer, and reads all back."""
    held: dict[str, str] = {}
    longest, number = 0.0, 0
    over = False

    def stop(_number: int, _frame: object) -> None:
        nonlocal over
        over = True

    signal.signal(signal.SIGALRM, stop)
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rwb") as stream:
        ask = asker(stream)
        ask("SELECT", "1")
        print("ready", flush=True)
        os.set_blocking(0, False)
        while not over:
            over = sys.stdin.readline() != ""
            key, piece = f"key:{number % 5000}", f"{number}." * (1 + number % 40)
            began = time.monotonic()
            held[key] = held.get(key, "") + piece if number % 7 else piece
            said = ask("APPEND", key, piece) if number % 7 else ask("SET", key, piece)
            if said not in {"OK", str(len(held[key]))}:
                sys.exit(f"{key}: {said}")
            longest = max(longest, time.monotonic() - began)
            number += 1
        wrong = [key for key, value in held.items() if ask("GET", key) != value]
        size = ask("DBSIZE")
    if wrong or int(size) != len(held):
        sys.exit(f"{len(wrong)} keys of {len(held)} differ, the server has {size}")
    print(f"{number} writes of {len(held)} keys read back; the slowest answer took {longest * 1000:.1f} ms")


def asker(stream: io.BufferedRWPair) -> Callable[..., str]:
    """One request, one answer."""

    def ask(*words: str) -> str:
        text = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        stream.write(text.encode())
        stream.flush()
        line = stream.readline().decode().strip()
        if line.startswith("$"):
            return stream.read(int(line[1:]) + 2)[:-2].decode()
        if line.startswith("-"):
            sys.exit(line)
        return line[1:]

    return ask


SUBJECTS = {"redis": soak_redis, "rust": soak_rust, "java": soak_java}


def told(name: str, count: int, answers: list[dict[str, object]], said: str) -> bool:
    """One subject's result; whether it is good."""
    read = [one for one in answers if not one["refusal"] and one["reports"]]
    stops = sorted(float(str(one["stop"])) * 1000 for one in read) or [0.0]
    tries = statistics.mean(int(str(one["tries"])) for one in answers) if answers else 0
    waited = sum(bool(one.get("waited")) for one in read)
    reasons = sorted({str(one["refusal"]) for one in answers if one["refusal"]})[:3]
    above = sum(one > GOAL * 1000 for one in stops)
    print(
        f"{name}: {len(read)} of {count} attaches read a whole report, {tries:.2f} tries each; "
        f"stop median {statistics.median(stops):.1f} ms, 99 % {stops[(len(stops) - 1) * 99 // 100]:.1f} ms, "
        f"longest {stops[-1]:.1f} ms, {above} above {GOAL * 1000:.0f} ms; {waited} waited for a thread; {said}",
        *(f"refused: {reason}" for reason in reasons),
        sep="\n  ",
        flush=True,
    )
    return len(read) == count


def main() -> int:
    """All subjects, or those that are named."""
    parser = argparse.ArgumentParser(
        description="Attach to busy programs again and again, and look whether they notice."
    )
    parser.add_argument("--attaches", type=int, default=1000)
    parser.add_argument("--only", choices=SUBJECTS, action="append")
    parser.add_argument("--hold", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hold:
        hold(options.hold, options.attaches)
        return 0
    if options.write:
        write(options.write)
        return 0
    good = True
    for name in options.only or SUBJECTS:
        try:
            answers, said = SUBJECTS[name](options.attaches)
        except Missing as missing:
            print(f"{name}: left out, {missing}", flush=True)
        except (HewError, subprocess.SubprocessError) as error:
            print(f"{name}: FAILED, {error}", flush=True)
            good = False
        else:
            good = told(name, options.attaches, answers, said) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
