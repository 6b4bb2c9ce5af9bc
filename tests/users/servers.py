#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's servers that are linked to libjemalloc.so.2, with LIBRARY in its place: do they run, serve and end?

varnishd in front of a small HTTP server, named with a zone of its own, nghttpx in front of the same HTTP server,
kresd answering a static name; each under many requests.  A server that is not installed is left out by name.
"""

import contextlib
import http.server
import os
import random
import shutil
import socket
import struct
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from place import Failure, check, check_allocator, free_port, listens, main, running, stand_in, wait_for

THREADS = 8
REQUESTS = 400


def body_of(path: str) -> bytes:
    """What our HTTP server answers for /<seed>/<size>: the same bytes each time."""
    _, seed, size = path.split("/")
    return random.Random(seed).randbytes(int(size))


class Pages(http.server.BaseHTTPRequestHandler):
    """One answer a connection: a proxy that keeps connections may meet one that we are closing."""

    def do_GET(self) -> None:
        body = body_of(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=60")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class WebServer(http.server.ThreadingHTTPServer):
    request_queue_size = 128


@contextlib.contextmanager
def web_server() -> Iterator[int]:
    server = WebServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def in_threads(work: "callable[[random.Random], None]") -> None:
    """work() with a generator of its own in each of THREADS threads; the first error counts."""
    errors: list[Exception] = []

    def one(seed: int) -> None:
        try:
            work(random.Random(seed))
        except Exception as error:  # every one is a failure of the server
            errors.append(error)

    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Failure(f"{len(errors)} of {THREADS} clients: {errors[0]!r}")


def fetch_pages(port: int, chance: random.Random) -> None:
    for _ in range(REQUESTS):
        path = f"/{chance.randrange(200)}/{chance.choice([10, 1000, 30_000, 300_000])}"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            if answer.read() != body_of(path):
                raise Failure(f"{path} has the wrong contents")


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def varnish(environment: dict[str, str], library: Path, folder: Path) -> None:
    folder.chmod(0o755)
    with web_server() as pages:
        port = free_port()
        command = ["varnishd", "-F", "-j", "none", "-n", str(folder / "varnish"), "-a", f"127.0.0.1:{port}"]
        command += ["-b", f"127.0.0.1:{pages}", "-s", "malloc,32m", "-T", "none", "-p", "thread_pool_min=20"]
        with running(command, environment, folder / "log") as process:
            wait_for("varnishd", lambda: listens(port), process)
            for pid in (process.pid, *children_of(process.pid)):
                check_allocator(pid, library)
            in_threads(lambda chance: fetch_pages(port, chance))
            check(True, f"{THREADS * REQUESTS} pages through the cache are right")


def nghttpx(environment: dict[str, str], library: Path, folder: Path) -> None:
    with web_server() as pages:
        port = free_port()
        command = ["nghttpx", f"--frontend=127.0.0.1,{port};no-tls", f"--backend=127.0.0.1,{pages}", "--workers=4"]
        command += ["--conf=/dev/null", "--accesslog-file=/dev/null"]
        with running(command, environment, folder / "log") as process:
            wait_for("nghttpx", lambda: listens(port), process)
            for pid in (process.pid, *children_of(process.pid)):
                check_allocator(pid, library)
            in_threads(lambda chance: fetch_pages(port, chance))
            check(True, f"{THREADS * REQUESTS} pages through the proxy are right")


def question(name: str, identifier: int) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part) + b"\0"
    return struct.pack(">6H", identifier, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">2H", 1, 1)


def address_of(name: str, port: int, chance: random.Random) -> str:
    """The A record of a name, asked over UDP; "" when there is none."""
    identifier = chance.randrange(65536)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(5)
        asker.sendto(question(name, identifier), ("127.0.0.1", port))
        answer = asker.recv(4096)
    if struct.unpack(">H", answer[:2])[0] != identifier:
        raise Failure("an answer to another question")
    return socket.inet_ntoa(answer[-4:]) if struct.unpack(">H", answer[6:8])[0] == 1 else ""


def ask_names(port: int, chance: random.Random, hosts: int) -> None:
    for _ in range(REQUESTS * 5):
        host = chance.randrange(hosts)
        wanted = f"10.0.{host // 256}.{host % 256}" if host < 2000 else ""
        for _attempt in range(3):
            with contextlib.suppress(TimeoutError):
                found = address_of(f"host{host}.example.net", port, chance)
                break
        else:
            raise Failure(f"host{host}: no answer")
        if found != wanted:
            raise Failure(f"host{host} is {found}, not {wanted}")


def has_name(port: int) -> bool:
    return address_of("host1.example.net", port, random.Random(1)) == "10.0.0.1"


def named(environment: dict[str, str], library: Path, folder: Path) -> None:
    port = free_port()
    lines = ["$TTL 60", "@ IN SOA ns.example.net. root.example.net. 1 60 60 60 60", "@ IN NS ns", "ns IN A 127.0.0.1"]
    lines += [f"host{host} IN A 10.0.{host // 256}.{host % 256}" for host in range(2000)]
    (folder / "zone").write_text("\n".join(lines) + "\n")
    (folder / "named.conf").write_text(
        f"""options {{ directory "{folder}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
        pid-file none; session-keyfile none; recursion no; dnssec-validation no; minimal-responses yes; }};
        controls {{ }};
        zone "example.net" {{ type master; file "{folder}/zone"; }};\n"""
    )
    command = ["named", "-g", "-c", str(folder / "named.conf"), "-n", "4"]
    with running(command, environment, folder / "log") as process:
        wait_for("named", lambda: has_name(port), process)
        check_allocator(process.pid, library)
        in_threads(lambda chance: ask_names(port, chance, 3000))
        check(True, f"{THREADS * REQUESTS * 5} names are answered right")


def kresd(environment: dict[str, str], library: Path, folder: Path) -> None:
    """Its malloc_conf variable says narenas:1, which has to be in force."""
    port = free_port()
    hints = "".join(f"hints['host{host}.example.net'] = '10.0.{host // 256}.{host % 256}'\n" for host in range(2000))
    (folder / "kresd.conf").write_text(
        f"""net.listen('127.0.0.1', {port}, {{ kind = 'dns' }})
        modules = {{ 'hints > iterate' }}
        {hints}
        cache.size = 10 * MB\n"""
    )
    command = ["kresd", "-n", "-q", "-c", str(folder / "kresd.conf"), str(folder)]
    with running(command, environment, folder / "log") as process:
        wait_for("kresd", lambda: has_name(port), process)
        check_allocator(process.pid, library)
        in_threads(lambda chance: ask_names(port, chance, 2000))
        check(True, f"{THREADS * REQUESTS * 5} names are answered right")


def run(library: Path) -> None:
    wanted = os.environ.get("COMPAT_SERVERS", "varnishd named nghttpx kresd").split()
    for name, serve in (("varnishd", varnish), ("named", named), ("nghttpx", nghttpx), ("kresd", kresd)):
        if name not in wanted:
            continue
        if shutil.which(name) is None:
            print(f" {name}: not installed, left out")
            continue
        print(f" {name}:")
        with tempfile.TemporaryDirectory(prefix="compat-") as folder, stand_in(library) as environment:
            serve(environment, library, Path(folder))


if __name__ == "__main__":
    sys.exit(main(run, "servers"))
