#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change the allocator of busy programs, back and forth, and look whether anybody notices.

    python3 scripts/swap_soak.py [--swaps 1000] [--only redis|nginx|... ...] [--library FILE]

swaps       200 threads of tool/tests/programs/swaps.c, which look at every object
redis       Debian's redis-server on its own jemalloc, with redis-benchmark and a client that reads all back at the end
redis-glibc the same on glibc's malloc
nginx       a worker that serves compressed files, which clients compare
postgres    one backend that answers queries, which a client compares
python      a server of the standard library with threads, node and java likewise; java checks itself

What is not here is left out, and that is said. Status 1: a program ended, or an answer was wrong, or missing.
"""

import argparse
import http.client
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from attach_soak import SOURCES, Missing, await_port, ended_well, needed, read_line, running

from hew.model.errors import HewError
from hew.sources.library import find_hew
from hew.sources.server import free_port
from hew.sources.swap.swapping import swap, swap_back

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "swap"
ATTACH_SOAK = ROOT / "scripts" / "attach_soak.py"
PATHS = 400  # different answers of a server
CLIENTS = 4
PATIENCE = 30.0  # seconds without an answer
GOAL = 20.0  # ms
QUIET = subprocess.DEVNULL
PYTHON_SERVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        number = int(self.path[1:])
        body = "".join([f"{number}." for _ in range(number * 10)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
server.serve_forever()
"""
NODE_SERVER = """
require("http").createServer((request, response) => {
  const number = Number(request.url.slice(1));
  const body = Buffer.alloc(0 + String(number + ".").length * number * 10, number + ".");
  response.end(body);
}).listen(PORT, "127.0.0.1");
"""
NGINX = """
daemon off; worker_processes 1; error_log stderr crit; pid {work}/nginx.pid;
events {{ worker_connections 64; }}
http {{
  access_log off; default_type text/plain; keepalive_requests 1000000;
  client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
  gzip on; gzip_min_length 1; gzip_types text/plain;
  server {{ listen 127.0.0.1:{port}; root {work}/files; }}
}}
"""


@dataclass
class Subject:
    """A program that runs under load. `ended` ends the load, and says what came of it; HewError when it was wrong."""

    pid: int
    ended: Callable[[], str]


Started = Callable[[], AbstractContextManager[Subject]]


@contextmanager
def served(words: list[str], **changes: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server, ended when we are done."""
    clean = {name: value for name, value in os.environ.items() if "MALLOC" not in name and name != "LD_PRELOAD"}
    with subprocess.Popen(words, env=clean | changes, stdout=QUIET, stderr=QUIET) as server:
        try:
            yield server
        finally:
            server.terminate()


def checking(words: list[str], **changes: str) -> AbstractContextManager[Subject]:
    """A program that says "ready", checks itself, and says at its end what it found."""

    @contextmanager
    def start() -> Iterator[Subject]:
        with running(words, **changes) as program:
            if read_line(program.stdout) != "ready":
                raise HewError("the program did not begin")
            yield Subject(program.pid, lambda: ended_well(program))

    return start()


def start_swaps() -> AbstractContextManager[Subject]:
    """Two hundred threads."""
    program = WORK / "swaps"
    source = ROOT / "tool" / "tests" / "programs" / "swaps.c"
    words = [needed("cc"), "-O1", "-fno-builtin", "-pthread", "-o", str(program), str(source)]
    subprocess.run(words, check=True)
    return checking([str(program), "200"])


def start_java() -> AbstractContextManager[Subject]:
    """A JVM on glibc, whose own heap stays what it is."""
    subprocess.run([needed("javac"), "-d", str(WORK), str(SOURCES / "Soak.java")], check=True)
    return checking([needed("java"), "-Xmx128m", "-cp", str(WORK), "Soak", "4"])


@contextmanager
def start_redis(**changes: str) -> Iterator[Subject]:
    """Busy with two clients, of which one knows every answer."""
    server, load, port = needed("redis-server"), needed("redis-benchmark"), free_port()
    words = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(WORK)]
    with served(words, **changes) as redis:
        await_port(port)
        traffic = [load, "-p", str(port), "-q", "-l", "-r", "100000", "-d", "100", "-t", "set,get,lpush,lpop,sadd"]
        client = [sys.executable, str(ATTACH_SOAK), "--write", str(port)]
        with subprocess.Popen(traffic, stdout=QUIET, stderr=QUIET) as other, running(client) as writer:
            try:
                if read_line(writer.stdout) != "ready":
                    raise HewError("the client did not begin")
                yield Subject(redis.pid, lambda: ended_well(writer))
            finally:
                other.kill()


def start_redis_glibc() -> AbstractContextManager[Subject]:
    """glibc's malloc comes first in the order of search."""
    return start_redis(LD_PRELOAD="libc.so.6")


def body_of(number: int) -> bytes:
    """What a server answers to this path."""
    return f"{number}.".encode() * (number * 10)


@contextmanager
def asked(pid: int, port: int) -> Iterator[Subject]:
    """A web server with clients that compare each answer; they are a process of their own."""
    with running([sys.executable, __file__, "--read", str(port)]) as reader:
        if read_line(reader.stdout) != "ready":
            raise HewError("the clients did not begin")
        yield Subject(pid, lambda: ended_well(reader))


@contextmanager
def start_nginx() -> Iterator[Subject]:
    """The only worker."""
    server, port = needed("nginx"), free_port()
    files = WORK / "files"
    files.mkdir(exist_ok=True)
    for number in range(PATHS):
        (files / str(number)).write_bytes(body_of(number))
    (WORK / "nginx.conf").write_text(NGINX.format(work=WORK, port=port))
    with served([server, "-e", "stderr", "-p", str(WORK), "-c", str(WORK / "nginx.conf")]) as master:
        await_port(port)
        worker = int(Path(f"/proc/{master.pid}/task/{master.pid}/children").read_text().split()[0])
        with asked(worker, port) as subject:
            yield subject


@contextmanager
def start_script(command: str, option: str, text: str) -> Iterator[Subject]:
    """A server of a few lines."""
    port = free_port()
    with served([needed(command), option, text.replace("PORT", str(port))]) as server:
        await_port(port)
        with asked(server.pid, port) as subject:
            yield subject


@contextmanager
def start_postgres() -> Iterator[Subject]:
    """One backend, which sorts, hashes and joins for one client."""
    server, client, port = needed("postgres"), needed("psql"), free_port()
    folder = Path(needed("initdb")) and WORK / "postgres"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
    if user:
        shutil.chown(folder, "nobody", "nogroup")
    subprocess.run([*user, needed("initdb"), "-A", "trust", "-U", "hew", "-D", str(folder)], check=True, stdout=QUIET)
    options = ["-p", str(port), "-k", "", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    with served([*user, server, "-D", str(folder), *options]):
        await_port(port)
        with running([sys.executable, __file__, "--query", client, str(port)]) as asking:
            yield Subject(int(read_line(asking.stdout)), lambda: ended_well(asking))


SUBJECTS: dict[str, Started] = {
    "swaps": start_swaps,
    "redis": start_redis,
    "redis-glibc": start_redis_glibc,
    "nginx": start_nginx,
    "postgres": start_postgres,
    "python": lambda: start_script(sys.executable, "-c", PYTHON_SERVER),
    "node": lambda: start_script("node", "-e", NODE_SERVER),
    "java": start_java,
}


# The clients, each in a process of its own.


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


def read(port: int) -> None:
    """What `--read` runs: clients that know what each path must give."""
    longest = Longest()
    threads = [threading.Thread(target=read_paths, args=(port, one, longest)) for one in range(CLIENTS)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    longest.over.set()
    for thread in threads:
        thread.join()
    longest.told()


def read_paths(port: int, number: int, longest: Longest) -> None:
    """One client."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        while not longest.over.is_set() and not longest.wrong:
            number = (number * 31 + 7) % PATHS
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


@dataclass
class Score:
    """What came of the swaps of one subject."""

    wanted: int
    stops: list[float] = field(default_factory=list)  # ms
    refused: dict[str, int] = field(default_factory=dict)
    said: str = ""

    @property
    def good(self) -> bool:
        """Whether every swap was done."""
        return len(self.stops) == 2 * self.wanted

    def told(self, name: str) -> str:
        """A line."""
        stops = sorted(self.stops) or [0.0]
        refused = ", ".join(f"{count} refused ({reason})" for reason, count in self.refused.items()) or "none refused"
        return (
            f"{name}: {len(self.stops) // 2} of {self.wanted} swaps there and back, {refused}; stop median "
            f"{statistics.median(stops):.1f} ms, 99 % {stops[(len(stops) - 1) * 99 // 100]:.1f}, longest "
            f"{stops[-1]:.1f}, {sum(one > GOAL for one in stops)} above {GOAL:.0f}; {self.said}"
        )


def change(score: Score, pid: int, library: Path) -> None:
    """There and back, as often as wanted. What is refused as the process was too busy is tried again."""
    for number in range(2 * score.wanted):
        for _ in range(5):
            try:
                done = swap(pid, library) if number % 2 == 0 else swap_back(pid)
            except HewError as error:
                reason = str(error).partition(": ")[2]
                score.refused[reason] = score.refused.get(reason, 0) + 1
                if not Path(f"/proc/{pid}").exists():
                    raise
            else:
                score.stops.append(done.stop * 1000)
                break


def soak(start: Started, swaps: int, library: Path) -> Score:
    """One subject."""
    score = Score(swaps)
    with start() as subject:
        change(score, subject.pid, library)
        score.said = subject.ended()
    return score


def main() -> int:
    """All subjects, or those that are named."""
    parser = argparse.ArgumentParser(description="Change the allocator of busy programs, back and forth.")
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--only", choices=SUBJECTS, action="append")
    parser.add_argument("--library", type=Path)
    parser.add_argument("--read", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--query", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(options.read)
        return 0
    if options.query:
        query(options.query[0], int(options.query[1]))
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    good = True
    for name in options.only or SUBJECTS:
        try:
            score = soak(SUBJECTS[name], options.swaps, find_hew(options.library, os.environ))
        except Missing as missing:
            print(f"{name}: left out, {missing}", flush=True)
        except (HewError, subprocess.SubprocessError) as error:
            print(f"{name}: FAILED, {error}", flush=True)
            good = False
        else:
            print(score.told(name), flush=True)
            good = good and score.good
    return 0 if good else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
