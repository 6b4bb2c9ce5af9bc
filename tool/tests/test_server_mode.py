# SPDX-License-Identifier: MIT
"""`hew compare --server`: a small server of our own, and Redis when it is there."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from conftest import PATIENCE, HewRunner
from hew.sources.server import free_port, with_port
from test_compare_command import SCHEMA, row

SERVER = """
import os, signal, socket, sys, time
MARKED = "marker" in os.environ.get("LD_PRELOAD", "")
BEHAVIOUR = sys.argv[2] if MARKED else "good"
if BEHAVIOUR == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if BEHAVIOUR == "absent":
    sys.exit("cannot bind")
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
kept = []
while True:
    talk, _ = listener.accept()
    for word in talk.makefile("r"):
        if word == "load\\n":
            kept.append(bytearray(30 * 2**20))
            deadline = time.process_time() + 0.1
            while time.process_time() < deadline:
                pass
            if BEHAVIOUR == "dies":
                sys.exit("fell over")
            kept.append(bytearray((20 if MARKED else 1) * 2**20))
        talk.sendall(b"ok\\n")
"""
CLIENT = """
import os, socket, sys
assert "LD_PRELOAD" not in os.environ
talk = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
talk.sendall(sys.argv[2].encode() + b"\\n")
assert talk.recv(10) == b"ok\\n", "no answer"
print('"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"')
print('"LOAD","100.0","1","1","1.5","2.5","3.5","4"')
"""


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    return {"server": tmp_path / "server.py", "client": tmp_path / "client.py"}


def words_for(parts: dict[str, Path], library: Path, behaviour: str = "good", runs: int = 1) -> list[str]:
    server = shlex.join([sys.executable, str(parts["server"]), "{port}", behaviour])
    ready = shlex.join([sys.executable, str(parts["client"]), "{port}", "ping"])
    client = [sys.executable, str(parts["client"]), "{port}", "load"]
    options = ["--alloc", f"marker={library}", "--runs", str(runs), "--warmup", "0"]
    return ["compare", "--json", *options, "--server", server, "--ready", ready, "--", *client]


def measured(hew: HewRunner, words: list[str]) -> dict[str, Any]:
    done = hew(*words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    validate(found, SCHEMA)
    return found


def test_the_servers_memory_and_time_and_the_clients_latencies_are_measured(
    hew: HewRunner, parts: dict[str, Path], library: Path
) -> None:
    found = measured(hew, words_for(parts, library, runs=2))
    glibc, marker = row(found, "glibc")["medians"], row(found, "marker")["medians"]
    assert 15 * 2**20 < marker["server_rss_bytes"] - glibc["server_rss_bytes"] < 25 * 2**20
    assert glibc["server_peak_rss_bytes"] >= glibc["server_rss_bytes"] > 30 * 2**20
    assert 0.1 <= glibc["server_cpu_seconds"] < 5
    assert glibc["client_wall_seconds"] > 0.05
    assert glibc["client.LOAD.p95_seconds"] == pytest.approx(2.5e-3)
    assert found["server"][-2:] == ["{port}", "good"]
    assert len(row(found, "glibc")["rss"]) > 1


def test_a_server_that_dies_under_the_load_fails_with_its_last_words(
    hew: HewRunner, parts: dict[str, Path], library: Path
) -> None:
    failure = row(measured(hew, words_for(parts, library, "dies")), "marker")["failures"][0]
    assert failure["reason"] == "the server ended during the load"
    assert "fell over" in failure["stderr_tail"]


def test_a_server_that_does_not_start_fails_with_its_last_words(
    hew: HewRunner, parts: dict[str, Path], library: Path
) -> None:
    failure = row(measured(hew, words_for(parts, library, "absent")), "marker")["failures"][0]
    assert failure["reason"] == "the server ended before it was ready"
    assert "cannot bind" in failure["stderr_tail"]


def test_a_server_that_ignores_the_request_to_stop_is_killed(
    hew: HewRunner, parts: dict[str, Path], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = "import sys; from hew.sources import server; server.STOP_LIMIT = 0.5; from hew.cli import main; main()"
    words = words_for(parts, library, "stubborn")
    done = subprocess.run(
        [sys.executable, "-c", patch, *words], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert row(json.loads(done.stdout), "marker")["good_runs"] == 1


def test_without_a_ready_command_a_connection_is_enough(hew: HewRunner, parts: dict[str, Path], library: Path) -> None:
    words = words_for(parts, library)
    at = words.index("--ready")
    found = measured(hew, words[:at] + words[at + 2 :])
    assert row(found, "glibc")["good_runs"] == 1


def test_a_failing_client_is_told_from_a_failing_server(hew: HewRunner, parts: dict[str, Path], library: Path) -> None:
    words = [*words_for(parts, library)[:-4], "sh", "-c", "echo no luck >&2; exit 4"]
    done = hew(*words)
    assert done.returncode == 1
    failure = row(json.loads(done.stdout), "glibc")["failures"][0]
    assert (failure["reason"], failure["stderr_tail"]) == ("the client: exit status 4", "no luck")


def test_options_that_make_no_sense_are_refused(hew: HewRunner) -> None:
    assert "--ready needs --server" in hew("compare", "--ready", "true", "--", "true").stderr
    assert "needs --ready" in hew("compare", "--server", "sleep 9", "--", "true").stderr


def test_the_port_is_free_and_put_into_every_word() -> None:
    assert 1024 <= free_port() < 65536
    assert with_port(["-p{port}", "{port}:{port}", "x"], 77) == ("-p77", "77:77", "x")


def test_redis_is_one_command(hew: HewRunner, library: Path) -> None:
    for program in ("redis-server", "redis-cli", "redis-benchmark"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    words = ["compare", "--json", "--alloc", f"marker={library}", "--runs", "1", "--warmup", "0"]
    words += ["--server", 'redis-server --port {port} --save ""', "--ready", "redis-cli -p {port} ping", "--"]
    words += ["redis-benchmark", "-p", "{port}", "-t", "set", "-n", "5000", "-r", "5000", "-d", "16"]
    found = measured(hew, words)
    for name in ("glibc", "marker"):
        assert row(found, name)["medians"]["client.SET.requests_per_second"] > 100
        assert row(found, name)["medians"]["client.SET.p99_seconds"] > 0
