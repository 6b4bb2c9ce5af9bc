# SPDX-License-Identifier: MIT
"""Servers under load: each is checked with work whose answers are known, besides the load that is only counted."""

from __future__ import annotations

import normalise
import preparing
from generate import data
from model import Place, Program, Server, Step


def redis_commands(place: Place) -> None:
    data.write_redis_commands(place.inputs / "commands", int(place.sizes["commands"]))


def nginx_site(place: Place) -> None:
    """Pages of several sizes."""
    site = place.inputs / "site"
    site.mkdir()
    data.write_text(site / "large.txt", 1)
    text = (site / "large.txt").read_text(encoding="ascii")
    for name, size in (("small.html", 600), ("medium.html", 20_000), ("big.html", 300_000)):
        (site / name).write_text("<html><pre>" + text[:size] + "</pre></html>\n", encoding="ascii")


def mariadb_data(place: Place) -> None:
    preparing.run(
        place,
        "mariadb-install-db",
        "--no-defaults",
        "--datadir={inputs}/data",
        "--skip-test-db",
        "--auth-root-authentication-method=normal",
        "--skip-name-resolve",
    )


def postgres_data(place: Place) -> None:
    preparing.run(
        place, "initdb", "-D", "{inputs}/data", "-A", "trust", "-U", "tester", "--no-sync", "--locale=C.UTF-8"
    )


REDIS_CLI = ("redis-cli", "-p", "{port}")
MARIADB_ADDRESS = ("--no-defaults", "--host=127.0.0.1", "--port={port}", "--user=root")
POSTGRES_ADDRESS = ("-h", "127.0.0.1", "-p", "{port}", "-U", "tester")

REDIS = Program(
    name="redis",
    what="`redis-benchmark`, all tests, 50 clients; then every data type by script, a forked save, a reload, digests",
    packages={"redis-server": "redis-server", "redis-benchmark": "redis-tools"},
    version=("redis-server", "--version"),
    quick=True,
    sizes={"requests": ("8000", "20000"), "commands": ("40000", "200000")},
    prepare=redis_commands,
    server=Server(
        (
            "redis-server",
            "--port",
            "{port}",
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--enable-debug-command",
            "yes",
            "--dir",
            "{run}",
            "--logfile",
            "{run}/log",
        ),
        ready=(*REDIS_CLI, "ping"),
    ),
    steps=(
        Step(
            ("redis-benchmark", "-p", "{port}", "-n", "{requests}", "-r", "100000", "--csv"),
            normalise=normalise.csv_first_column,
        ),
        Step((*REDIS_CLI, "flushall"), timed=False),
        Step((*REDIS_CLI, "--pipe"), stdin="{inputs}/commands", normalise=normalise.only("errors")),
        Step(("/bin/sh", "{workloads}/redis_checks.sh", "{port}", "{run}")),
    ),
)

MEMCACHED = Program(
    name="memcached",
    what="32 connections set, get, append and delete values of 1 B to 200 KB, every answer checked (our own client)",
    packages={"memcached": "memcached"},
    version=("memcached", "--version"),
    unprivileged=True,
    sizes={"operations": ("500", "4000")},
    server=Server(("memcached", "-l", "127.0.0.1", "-p", "{port}", "-U", "0", "-m", "512", "-t", "4", "-c", "256")),
    steps=(Step(("{python}", "{workloads}/memcached_client.py", "{port}", "32", "{operations}"), under_library=False),),
    note="memcached cuts its items out of 1 MiB pages of its own: malloc serves connections and those pages",
)

NGINX = Program(
    name="nginx",
    what="`wrk`, 100 connections, on static, gzipped and proxied pages; then pages fetched and compared",
    packages={"nginx": "nginx-light", "wrk": "wrk"},
    version=("nginx", "-v"),
    unprivileged=True,
    sizes={"seconds": ("1", "4")},
    prepare=nginx_site,
    server=Server(("/bin/sh", "{workloads}/nginx.sh", "{workloads}/nginx.conf", "{run}", "{inputs}/site", "{port}")),
    steps=tuple(
        Step(
            (
                "wrk",
                "-t",
                "2",
                "-c",
                "100",
                "-d",
                "{seconds}s",
                "-H",
                "Accept-Encoding: gzip",
                f"http://127.0.0.1:{{port}}{path}",
            ),
            normalise=normalise.wrk_complaints,
            cost=normalise.wrk_cost,
        )
        for path in ("/small.html", "/medium.html", "/proxied/big.html")
    )
    + (Step(("{python}", "{workloads}/fetch.py", "{port}"), timed=False),),
    note="the master and its two workers together",
)

MARIADB = Program(
    name="mariadb",
    what="`mysqlslap`, 16 clients, writes and reads by key; then joins, sorts and JSON by script, checksums",
    packages={"mariadbd": "mariadb-server", "mysqlslap": "mariadb-client", "mariadb-install-db": "mariadb-server"},
    version=("mariadbd", "--version"),
    unprivileged=True,
    sizes={"queries": ("4000", "20000")},
    prepare=mariadb_data,
    server=Server(
        (
            "/bin/sh",
            "{workloads}/copy_then.sh",
            "{inputs}/data",
            "{run}/data",
            "mariadbd",
            "--no-defaults",
            "--datadir={run}/data",
            "--socket={run}/socket",
            "--port={port}",
            "--bind-address=127.0.0.1",
            "--pid-file={run}/pid",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=128M",
            "--max-connections=64",
        ),
        ready=("mariadb", *MARIADB_ADDRESS, "-e", "select 1"),
    ),
    steps=(
        *(
            Step(
                (
                    "mysqlslap",
                    *MARIADB_ADDRESS,
                    "--concurrency=16",
                    "--number-of-queries={queries}",
                    "--auto-generate-sql",
                    "--auto-generate-sql-add-autoincrement",
                    f"--auto-generate-sql-load-type={kind}",
                    "--auto-generate-sql-write-number=2000",
                    "--number-char-cols=8",
                    "--number-int-cols=8",
                ),
                normalise=normalise.nothing,
            )
            for kind in ("write", "key")
        ),
        Step(("mariadb", *MARIADB_ADDRESS, "--batch"), stdin="{workloads}/mariadb.sql"),
    ),
)

POSTGRES = Program(
    name="postgresql",
    what="`pgbench` (TPC-B-like, fixed seed), 16 clients; then sums, hash joins, sorts, JSON, parallel indexes",
    packages={"postgres": "postgresql", "pgbench": "postgresql-contrib"},
    version=("postgres", "--version"),
    unprivileged=True,
    sizes={"transactions": ("100", "800")},
    prepare=postgres_data,
    server=Server(
        (
            "/bin/sh",
            "{workloads}/copy_then.sh",
            "{inputs}/data",
            "{run}/data",
            "postgres",
            "-D",
            "{run}/data",
            "-p",
            "{port}",
            "-k",
            "{run}",
            "-c",
            "fsync=off",
            "-c",
            "listen_addresses=127.0.0.1",
        ),
        ready=("pg_isready", "-h", "127.0.0.1", "-p", "{port}", "-U", "tester"),
    ),
    steps=(
        Step(
            ("pgbench", *POSTGRES_ADDRESS, "-i", "-s", "4", "-q", "postgres"), timed=False, normalise=normalise.nothing
        ),
        Step(
            (
                "pgbench",
                *POSTGRES_ADDRESS,
                "-c",
                "16",
                "-j",
                "2",
                "-t",
                "{transactions}",
                "--random-seed=7",
                "postgres",
            ),
            normalise=normalise.only("number of transactions|failed"),
        ),
        Step(
            (
                "psql",
                *POSTGRES_ADDRESS,
                "-q",
                "-A",
                "-v",
                "ON_ERROR_STOP=1",
                "-f",
                "{workloads}/postgresql.sql",
                "postgres",
            )
        ),
    ),
    note="the postmaster and its backends together, shared buffers included",
)

PROGRAMS = [REDIS, MEMCACHED, NGINX, MARIADB, POSTGRES]
