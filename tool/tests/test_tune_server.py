# SPDX-License-Identifier: MIT
"""`hew tune --server`: a server learns while its client loads it, and fresh runs verify."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MACHINE, PATIENCE, HewRunner, environment, good_run
from hew.analysis.tuned import WAY, faster, lean, outcome_of, saved_lines, tuned_ways
from hew.analysis.verification import figures_of, outcomes
from hew.model.advice import Setting
from hew.model.run import Run
from hew.model.tuned import Tuned
from hew.model.tuning import Tuning
from hew.model.verification import Verification

CLIENT = (
    "import socket, sys; talk = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
    "talk.sendall(b'x'); assert talk.recv(1) == b'x'"
)
TUNING = Tuning("on", 40, 5000, 0, 0, 0, 10_000, (), 3 << 20)
RATE, OTHER = "client.SET.requests_per_second", "client.GET.requests_per_second"
Words = Callable[[str], list[str]]


def words_for(library: Path, programs: Words, ending: str, *more: str) -> list[str]:
    """One run of the small server, and one with and without."""
    server = shlex.join(programs("serve")) + " {port}" + ending
    options = ["--json", "--alloc", f"hew={library}", "--runs", "1", "--warmup", "0", *more]
    return ["tune", *options, "--server", server, "--", sys.executable, "-c", CLIENT, "{port}"]


def test_a_server_learns_under_its_load_and_is_asked_before_it_is_stopped(
    hew: HewRunner, programs: Words, hew_library: Path
) -> None:
    """SIGTERM kills it without a word, so what is known comes from the live process."""
    done = hew(*words_for(hew_library, programs, " batches", "--memory", "100"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["tuning"]["mode"] == "on"
    assert document["tuning"]["windows"] > 0
    assert (document["verification"] is not None) == bool(document["learned"])


def test_a_server_that_cannot_be_asked_tells_when_it_ends(
    hew: HewRunner, programs: Words, hew_library: Path, tmp_path: Path
) -> None:
    alone = {"HEW_CONF": "control:false"}
    done = hew(*words_for(hew_library, programs, " exits"), **alone)
    assert json.loads(done.stdout)["tuning"]["mode"] == "on", done.stderr
    mute = hew(*words_for(hew_library, programs, ""), **alone)
    assert (mute.returncode, mute.stdout) == (1, "")
    assert "has told nothing of its tuning" in mute.stderr


def test_what_it_learned_is_verified_under_load_and_saved(
    programs: Words, hew_library: Path, tmp_path: Path
) -> None:
    """What is learned and what is faster depend on the machine; these two are given."""
    patch = (
        "from hew.commands import tune; from hew.cli import main; from hew.model.advice import Setting\n"
        "tune.learned = lambda tuning: (Setting('depot_room', '400'),)\n"
        "tune.faster = lambda outcome: not outcome.failures\n"
        "tune.lean = lambda outcome, memory: True\n"
        "main()"
    )
    words = words_for(hew_library, programs, "", "--save", str(tmp_path / "saved"))
    done = subprocess.run(
        [sys.executable, "-c", patch, *words],
        env=environment({"LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None}),
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    document = json.loads(done.stdout)
    verified = document["verification"]
    assert document["better"], done.stderr
    assert verified["server"][1] == "{port}"
    assert verified["variants"][1]["changes"] == {"HEW_CONF": "depot_room:400"}
    assert verified["variants"][1]["ratios"].keys() >= {"server_cpu_seconds", "server_peak_rss_bytes"}
    saved = (tmp_path / "saved").read_text().splitlines()
    assert "serve {port}, loaded by " in saved[0]
    assert "server CPU during the load" in saved[2]
    assert saved[-1] == "export HEW_CONF=depot_room:400"


def test_what_cannot_be_meant_or_started_is_refused_before_the_server_runs(hew: HewRunner, programs: Words) -> None:
    server = shlex.join(programs("serve"))
    assert "needs --ready" in hew("tune", "--server", server, "--", "true").stderr
    assert "--ready needs --server" in hew("tune", "--ready", "true", "--", "true").stderr
    assert "/no/client: command not found" in hew("tune", "--server", f"{server} {{port}}", "--", "/no/client").stderr
    gone = hew("tune", "--server", "false {port}", "--", "true")
    assert (gone.returncode, gone.stdout) == (1, "")
    assert "the server ended before it was ready" in gone.stderr


def verified(**parts: float) -> Verification:
    """Eight rounds of a server in which what was learned had such a part of each figure."""
    plain = {"server_cpu_seconds": 2.0, "client_wall_seconds": 3.0, "server_peak_rss_bytes": 2.0**24,
             "server_rss_bytes": 2.0**23, RATE: 1e5, OTHER: 1e5}  # fmt: skip
    keys = {"cpu": "server_cpu_seconds", "wall": "client_wall_seconds", "peak": "server_peak_rss_bytes",
            "rate": RATE, "other": OTHER}  # fmt: skip
    given: Mapping[str, float] = {keys[name]: value for name, value in parts.items()}
    ways = tuned_ways([Setting("depot_room", "400")], "HEW_CONF", {})

    def part(way: str, key: str) -> float:
        return given.get(key, 1.0) if way == WAY else 1.0

    runs: list[Run] = [
        good_run(one.name, number, figures={key: number * value * part(one.name, key) for key, value in plain.items()})
        for number in range(1, 9)
        for one in ways
    ]
    found = tuple(outcomes(ways, runs))
    return Verification(("load", "{port}"), "hew 0.1.0", 8, 1, "2026", MACHINE, 0.95, figures_of(runs), found, (), (),
                        ("serve", "{port}"))  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"cpu": 0.8}, (True, True)),
        ({"wall": 0.8}, (True, True)),
        ({"cpu": 0.8, "wall": 1.2}, (False, True)),
        ({"cpu": 0.8, "peak": 1.2}, (True, False)),
        ({"peak": 0.8}, (False, True)),
    ],
)
def test_a_server_is_judged_by_its_processor_the_clients_clock_and_its_peak(
    parts: dict[str, float], expected: tuple[bool, bool]
) -> None:
    outcome = outcome_of(verified(**parts))
    assert (faster(outcome), lean(outcome, 0)) == expected


def test_a_client_that_runs_for_a_fixed_time_is_judged_by_its_first_rate() -> None:
    """Of GET and SET that is GET's, by their names."""
    assert faster(outcome_of(verified(other=1.2)))
    assert not faster(outcome_of(verified(cpu=0.8, other=0.8)))
    assert faster(outcome_of(verified(other=1.2, rate=0.9)))


def test_the_evidence_of_a_server_names_it_with_its_client() -> None:
    result = replace(verified(cpu=0.8), server=("serve\n", "{port}"))
    lines = saved_lines(Tuned(TUNING, (), result, outcome_of(result), True, True), "2026-01-02")
    assert lines[0] == "# hew tune, 2026-01-02: serve  {port}, loaded by load {port}"
    assert "server CPU during the load 0.80 (0.80 to 0.80)" in lines[2]
    assert lines[-1] == "export HEW_CONF=depot_room:400"


def test_redis_is_one_command(hew: HewRunner, hew_library: Path) -> None:
    for program in ("redis-server", "redis-cli", "redis-benchmark"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    words = ["tune", "--json", "--alloc", f"hew={hew_library}", "--runs", "1", "--warmup", "0"]
    words += ["--server", 'redis-server --bind 127.0.0.1 --port {port} --save ""']
    words += ["--ready", "redis-cli -p {port} ping", "--"]
    words += ["redis-benchmark", "-p", "{port}", "-t", "set", "-n", "50000", "-r", "50000", "-d", "200", "-P", "16"]
    done = hew(*words)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["tuning"]["mode"] == "on"
    assert (document["verification"] is not None) == bool(document["learned"])
