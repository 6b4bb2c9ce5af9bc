#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change the allocator of busy programs, back and forth, and look for wrong answers.

    python3 scripts/swap_soak.py [--swaps 1000] [--seconds S] [--kills 500] [--only redis|nginx|...|kills ...]
                                 [--library FILE] [--page docs/swap.md]

swaps       200 threads of tool/tests/programs/swaps.c, which look at every object; the tool has priority
redis       Debian's redis-server on its own jemalloc, with redis-benchmark and a client that reads all back at the end
redis-glibc the same on glibc's malloc
nginx       a worker that serves compressed files, which clients compare
postgres    one backend that answers queries, which a client compares
python      a server of the standard library with threads, node and java likewise; java checks itself
kills       SIGKILL to `hew swap` at random moments (swap_kills.py)

Then: what hew swap --trim returns of a heap of glibc that is full of holes, and how fast a swapped program is. What is
not here is left out, and the script says that. Status 1: a program ended, or an answer was wrong or missing. --page
writes the tables.
"""

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from attach_soak import SOURCES, Missing, await_port, ended_well, needed, read_line, running
from generated import revision_of, section_of, table, version_of
from swap_clients import PATHS, body_of
from swap_kills import QUIET, WORK, Subject, build_swaps, checking, kills

from hew.model.errors import HewError
from hew.sources.library import find_hew
from hew.sources.processes import resident
from hew.sources.server import free_port
from hew.sources.swap.swapping import drain, swap, swap_back

ROOT = Path(__file__).resolve().parent.parent
ATTACH_SOAK = ROOT / "scripts" / "attach_soak.py"
PATIENCE = 30.0  # seconds
CLIENTS = str(ROOT / "scripts" / "swap_clients.py")
SECTION = section_of("scripts/swap_soak.py", "figures")
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


def start_swaps() -> AbstractContextManager[Subject]:
    """Two hundred threads."""
    return checking([needed("nice"), "-n", "14", str(build_swaps()), "200"])


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


@contextmanager
def asked(pid: int, port: int) -> Iterator[Subject]:
    """A web server with clients that compare each answer; they are a process of their own."""
    with running([sys.executable, CLIENTS, "--read", str(port)]) as reader:
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
        with running([sys.executable, CLIENTS, "--query", client, str(port)]) as asking:
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

    def row(self, name: str) -> list[str]:
        """Of the table."""
        stops = sorted(self.stops) or [0.0]
        figures = [statistics.median(stops), stops[-(-(len(stops) - 1) * 99 // 100)], stops[-1]]
        done = f"{len(self.stops) // 2} of {self.wanted}"
        said = self.said.replace("\n", ", ")
        return [name, done, str(sum(self.refused.values())), *(f"{one:.1f}" for one in figures), said]


HEAD = ["program", "there and back", "refused, tried again", "stop, median ms", "99 %", "longest", "what came of it"]


def change(score: Score, pid: int, library: Path, seconds: float) -> None:
    """There and back, as often as wanted or as there is time. A swap that is refused, for a process that is too busy,
    is tried again."""
    until = time.monotonic() + seconds
    for number in range(2 * score.wanted):
        if number and number % 2 == 0 and time.monotonic() > until:
            score.wanted = number // 2
            return
        for _ in range(5):
            try:
                done = swap(pid, library, timeout=PATIENCE) if number % 2 == 0 else swap_back(pid, PATIENCE)
            except HewError as error:
                reason = str(error).partition(": ")[2]
                score.refused[reason] = score.refused.get(reason, 0) + 1
                if not Path(f"/proc/{pid}").exists():
                    raise
            else:
                score.stops.append(done.stop * 1000)
                break


def soak(start: Started, swaps: int, library: Path, seconds: float) -> Score:
    """One subject."""
    score = Score(swaps)
    with start() as subject:
        change(score, subject.pid, library, seconds)
        score.said = subject.ended()
    return score


HOLES = ("310000", "1000", "100000")  # of plateau: 300 MB, of which a few objects live
SETTLED = 60.0  # seconds
JOB = """
import sys, time
print("ready", flush=True)
sys.stdin.readline()
began = time.process_time()
for _ in range(150):
    kept = {str(i): [i, str(i * 7), (i,)] for i in range(10000)}
print(time.process_time() - began)
"""
RUNS = 3


def holes(library: Path) -> list[str]:
    """Resident MiB of a process whose heap is full of holes: before, after a swap with --trim, and under hew."""
    program = WORK / "plateau"
    source = ROOT / "tool" / "tests" / "programs" / "plateau.c"
    subprocess.run([needed("cc"), "-O1", "-fno-builtin", "-pthread", "-w", "-o", program, source], check=True)
    found = []
    for variables in ({}, {"LD_PRELOAD": str(library)}):
        with running([str(program), *HOLES], **variables) as process:
            while read_line(process.stdout) != "end":
                pass
            if not variables:
                found.append(resident(process.pid))
                swap(process.pid, library)
                drain(process.pid)
            time.sleep(SETTLED)
            found.append(resident(process.pid))
    before, swapped, ours = (one / (1 << 20) for one in found)
    return ["resident MiB, 300 MB of holes", f"{before:.1f}", f"{swapped:.1f}", f"{ours:.1f}"]


def speed(library: Path) -> list[str]:
    """CPU seconds of a job of Python that allocates by malloc alone: on glibc, swapped, and under hew. The least."""
    found: list[list[float]] = [[], [], []]
    for _ in range(RUNS):
        for number, preload in enumerate(("", "", str(library))):
            with running([sys.executable, "-c", JOB], PYTHONMALLOC="malloc", LD_PRELOAD=preload) as process:
                read_line(process.stdout)
                if number == 1:
                    swap(process.pid, library)
                found[number].append(float(ended_well(process)))
    return ["CPU s, a job of Python", *(f"{min(one):.2f}" for one in found)]


def main() -> int:
    """All subjects, or those that are named."""
    parser = argparse.ArgumentParser(description="Change the allocator of busy programs, back and forth.")
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of swaps for each program")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--only", choices=[*SUBJECTS, "kills"], action="append")
    parser.add_argument("--library", type=Path)
    parser.add_argument("--page", type=Path, help="write the tables there; not with --only")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    library = find_hew(options.library, os.environ)
    good, rows, said = True, [], ""
    for name in options.only or [*SUBJECTS, "kills"]:
        try:
            if name == "kills":
                said = kills(options.kills, library)
                print(said, flush=True)
                continue
            score = soak(SUBJECTS[name], options.swaps, library, options.seconds)
        except Missing as missing:
            print(f"{name}: left out, {missing}", flush=True)
        except (HewError, subprocess.SubprocessError) as error:
            print(f"{name}: FAILED, {error}", flush=True)
            good = False
        else:
            rows.append(score.row(name))
            why = (f"{count} refused: {reason}" for reason, count in score.refused.items())
            print(" | ".join(rows[-1]), *why, flush=True)
            good = good and score.good
    if not options.only:
        lines = page(rows, said, library)
        print("\n".join(lines))
        if options.page and good:
            SECTION.write(options.page, lines)
    return 0 if good else 1


def page(rows: list[list[str]], said: str, library: Path) -> list[str]:
    """The tables."""
    return [
        f"Measured: hew {version_of(ROOT)} at revision `{revision_of(ROOT)}`.",
        "",
        *table(HEAD, rows),
        "",
        f"{said}.",
        "",
        *table(["", "on glibc", "swapped", "started under hew"], figures(library)),
    ]


def figures(library: Path) -> list[list[str]]:
    """What a swap is good for."""
    return [holes(library), speed(library)]


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
