# SPDX-License-Identifier: MIT
"""Proxies, caches, name servers, brokers and application servers, each under a load of three phases: few clients, many,
few again."""

from __future__ import annotations

import shutil

import normalise
from generate import data, documents
from model import Place, Program, Server, Step

PHASES = (("8", "1"), ("120", "4"), ("8", "1"))
"""Clients of a phase, and its share of the requests."""


def load(paths: tuple[str, ...]) -> tuple[Step, ...]:
    """The same number of requests under every allocator, so that processor time can be compared."""
    return tuple(
        Step(
            ("h2load", "--h1", "-t", "1", "-c", clients, "-n", f"{{requests{share}}}", "-H", "Accept-Encoding: gzip")
            + tuple(f"http://127.0.0.1:{{port}}{path}" for path in paths),
            normalise=normalise.only("^requests:|^status codes:"),
            under_library=False,
        )
        for clients, share in PHASES
    )


def requests(quick: int, full: int) -> dict[str, tuple[str, str]]:
    return {f"requests{share}": (str(quick * share), str(full * share)) for share in (1, 4)}


def site(place: Place) -> None:
    """Pages that every user may read: haproxy and varnish send them from their own memory."""
    folder = place.inputs / "site"
    folder.mkdir()
    data.write_text(folder / "large.txt", 1)
    text = (folder / "large.txt").read_text(encoding="ascii")
    for name, size in (("small", 600), ("medium", 12_000), ("big", 300_000)):
        (folder / name).write_text(text[:size], encoding="ascii")


def zone(place: Place) -> None:
    data.write_zone(place.inputs, int(place.sizes["names"]), int(place.sizes["queries"]))


def application(place: Place) -> None:
    documents.write_records(place.inputs / "records.json", int(place.sizes["records"]))
    for name in ("application.py", "application.ru"):
        shutil.copyfile(place.workloads / name, place.inputs / name)


def fetched(*paths: str) -> Step:
    """A digest of each page, asked for one after the other."""
    return Step(("{python}", "{workloads}/digest.py", "{port}", *paths), timed=False, under_library=False)


HAPROXY = Program(
    name="haproxy",
    what="two tiers in one process, 2 threads: headers rewritten, sticky table, gzip; `h2load`, 8, 120 and 8 clients",
    packages={"haproxy": "haproxy", "h2load": "nghttp2-client"},
    version=("haproxy", "-v"),
    unprivileged=True,
    sizes=requests(3000, 20000),
    prepare=site,
    server=Server(
        ("/bin/sh", "{workloads}/filled.sh", "{workloads}/haproxy.cfg", "{run}", "{inputs}/site", "{port}")
        + ("haproxy", "-db", "-f", "{run}/haproxy.cfg"),
        ends_with=-15,
    ),
    steps=(*load(("/small", "/medium")), fetched("small", "medium")),
)

VARNISH = Program(
    name="varnish",
    what="`varnishd` with 64 MiB of storage in malloc, objects that expire and are banned; `h2load`, three phases",
    packages={"varnishd": "varnish", "h2load": "nghttp2-client", "gcc": "gcc"},
    version=("varnishd", "-V"),
    unprivileged=True,
    sizes=requests(3000, 20000),
    prepare=site,
    server=Server(
        ("/bin/sh", "{workloads}/filled.sh", "{workloads}/varnish.vcl", "{run}", "{inputs}/site", "{port}")
        + ("varnishd", "-F", "-j", "none", "-n", "{run}/varnish", "-a", "127.0.0.1:{port}", "-f", "{run}/varnish.vcl")
        + ("-s", "malloc,64m", "-T", "none", "-p", "thread_pool_max=200"),
    ),
    steps=(
        *load(tuple(f"/{name}/{number}" for number in range(40) for name in ("small", "medium", "big"))),
        fetched("small/1", "medium/2", "big/3"),
    ),
    note="the manager and its child together; the VCL is compiled by gcc at the start",
)

BIND = Program(
    name="bind",
    what="`named` with a zone of its own and a recursive view of it; `dnsperf`, 4, 60 and 4 clients",
    packages={"named": "bind9", "dnsperf": "dnsperf", "dig": "bind9-dnsutils"},
    version=("named", "-v"),
    unprivileged=True,
    sizes={"names": ("20000", "120000"), "queries": ("20000", "120000")},
    prepare=zone,
    server=Server(
        ("/bin/sh", "{workloads}/filled.sh", "{workloads}/named.conf", "{run}", "{inputs}", "{port}")
        + ("named", "-g", "-c", "{run}/named.conf", "-n", "2"),
        ready=("/bin/sh", "-c", "dig +short @127.0.0.1 -p {port} host1.example.net | grep -q 10.0.0.1"),
    ),
    steps=tuple(
        Step(
            ("dnsperf", "-s", "127.0.0.1", "-p", "{port}", "-d", "{inputs}/queries", "-c", clients, "-T", "1")
            + ("-q", "100", "-n", "1"),
            normalise=normalise.only(r"Queries (sent|completed)|NOERROR"),
            under_library=False,
        )
        for clients in ("4", "60", "4")
    ),
)

MOSQUITTO = Program(
    name="mosquitto",
    what="topics, retained messages and queues of sleeping sessions; 10, 200 and 10 clients (our own)",
    packages={"mosquitto": "mosquitto"},
    version=("mosquitto", "-h"),
    unprivileged=True,
    sizes={"messages": ("60", "400")},
    server=Server(
        ("/bin/sh", "{workloads}/filled.sh", "{workloads}/mosquitto.conf", "{run}", "{inputs}", "{port}")
        + ("mosquitto", "-c", "{run}/mosquitto.conf")
    ),
    steps=tuple(
        Step(
            ("{python}", "{workloads}/mqtt_client.py", "{port}", clients, "{messages}", str(number)),
            under_library=False,
        )
        for number, clients in enumerate(("10", "200", "10"))
    ),
)

GUNICORN = Program(
    name="gunicorn",
    what="a WSGI application (JSON, templates, sqlite3) in 3 forked workers; `h2load`, three phases",
    packages={"gunicorn": "gunicorn", "h2load": "nghttp2-client"},
    version=("gunicorn", "--version"),
    probe=("{python}", "--version"),
    unprivileged=True,
    sizes={"records": ("2000", "8000"), **requests(150, 1200)},
    prepare=application,
    environment={"PYTHONHASHSEED": "0", "RECORDS": "{inputs}/records.json", "PYTHONDONTWRITEBYTECODE": "1"},
    server=Server(
        ("gunicorn", "--chdir", "{inputs}", "--preload", "-w", "3", "-b", "127.0.0.1:{port}", "--log-level", "error")
        + ("--worker-tmp-dir", "{run}", "application:application"),
    ),
    steps=(*load(("/search/7", "/page/3", "/sum/11")), fetched("search/5", "page/6", "sum/7")),
    note="the arbiter and its workers together; pymalloc takes small objects from pages of its own",
)

PUMA = Program(
    name="puma",
    what="a Rack application (JSON, ERB, regular expressions) in 2 forked workers of 4 threads; `h2load`, three phases",
    packages={"puma": "puma", "ruby": "ruby", "h2load": "nghttp2-client"},
    version=("puma", "--version"),
    probe=("ruby", "--version"),
    unprivileged=True,
    sizes={"records": ("2000", "8000"), **requests(150, 1200)},
    prepare=application,
    environment={"RECORDS": "{inputs}/records.json"},
    server=Server(
        ("puma", "--preload", "-w", "2", "-t", "4:4", "-b", "tcp://127.0.0.1:{port}", "-e", "production", "--silent")
        + ("{inputs}/application.ru",),
        ends_with=-15,
    ),
    steps=(*load(("/search/7", "/page/3", "/sum/11")), fetched("search/5", "page/6", "sum/7")),
    note="the cluster's master and its workers together",
)

PROGRAMS = [HAPROXY, VARNISH, BIND, MOSQUITTO, GUNICORN, PUMA]
