#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of scripts/swap_soak.py: each is started under a load that knows what every answer must be."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from attach_soak import SOURCES, await_port, ended_well, needed, read_line, running
from swap_clients import PATHS, body_of
from swap_kills import QUIET, ROOT, WORK, Subject, build_swaps, checking

from hew.model.errors import HewError
from hew.sources.server import free_port

ATTACH_SOAK = ROOT / "scripts" / "attach_soak.py"
THREADS = 200
CLIENTS = str(ROOT / "scripts" / "swap_clients.py")
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
    """Two hundred threads, which pause so long that they take one processor at most."""
    return checking([str(build_swaps()), str(THREADS), "500000"])


@contextmanager
def start_cxx() -> Iterator[Subject]:
    """A server with a thread for each connection."""
    program, port = WORK / "cxx_server", free_port()
    source = ROOT / "tool" / "tests" / "programs" / "cxx_server.cpp"
    subprocess.run([needed("c++"), "-O2", "-pthread", "-o", str(program), str(source)], check=True)
    with served([str(program), str(port), str(THREADS)]) as server:
        await_port(port)
        with asked(server.pid, port, THREADS - 1) as subject:
            yield subject


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
def asked(pid: int, port: int, connections: int = 4) -> Iterator[Subject]:
    """A web server with clients that compare each answer; they are a process of their own."""
    with running([sys.executable, CLIENTS, "--read", str(port), str(connections)]) as reader:
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
    "c++": start_cxx,
    "redis": start_redis,
    "redis-glibc": start_redis_glibc,
    "nginx": start_nginx,
    "postgres": start_postgres,
    "python": lambda: start_script(sys.executable, "-c", PYTHON_SERVER),
    "node": lambda: start_script("node", "-e", NODE_SERVER),
    "java": start_java,
}
