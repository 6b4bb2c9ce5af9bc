# SPDX-License-Identifier: MIT
"""`hew advise --verify`: what is run, and what is said of it."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conftest import MACHINE, PATIENCE, HewRunner, build, good_run
from hew.analysis.verification import changes_of, figures_of, outcomes, variants
from hew.model.advice import Advice, Setting
from hew.model.errors import HewError
from hew.model.report import Verdict
from hew.model.run import Failure, Run
from hew.model.verification import WITHOUT, Variant, Verification
from hew.sources.discovery import find_library, library_folders
from hew.sources.measure import Place
from hew.sources.statistics_run import conf_variable, observe
from hew.views.verification import verdict, verification_document
from stubs import PREFIXED

HOT = Path(__file__).parents[2] / "bench" / "apps" / "hot_threads.c"
# Allocates for half a second and ends as a program does.
WORKER = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 1000; i++) free(malloc(100)); return 0; }\n"


def advice(rule: str, *settings: Setting) -> Advice:
    return Advice(rule, rule, "hew 0.1.0", (), settings, cpu="less", memory="more", risk="low", verify="")


MORE_ARENAS = advice("arenas", Setting("narenas", "8"))
FEWER_ARENAS = advice("limit", Setting("narenas", "2"))
DECAY = advice("decay", Setting("dirty_decay_ms", "100"), Setting("muzzy_decay_ms", "0"))
GLIBC = advice("glibc", Setting("arena_max", "2", variable="MALLOC_ARENA_MAX"))
CODE = advice("code")


def test_each_advice_is_tried_by_itself_and_all_together() -> None:
    found, notes = variants([MORE_ARENAS, CODE, DECAY], "MALLOC_CONF", {"MALLOC_CONF": "prof:false"})
    assert [(one.name, dict(one.changes)) for one in found] == [
        ("without", {}),
        ("arenas", {"MALLOC_CONF": "prof:false,narenas:8"}),
        ("decay", {"MALLOC_CONF": "prof:false,dirty_decay_ms:100,muzzy_decay_ms:0"}),
        ("all together", {"MALLOC_CONF": "prof:false,narenas:8,dirty_decay_ms:100,muzzy_decay_ms:0"}),
    ]
    assert notes == []


def test_advice_that_contradicts_other_advice_is_not_combined() -> None:
    found, notes = variants([MORE_ARENAS, FEWER_ARENAS], "MALLOC_CONF", {})
    assert [one.name for one in found] == ["without", "arenas", "limit"]
    assert "narenas" in notes[0]


def test_settings_go_where_this_malloc_reads_them() -> None:
    assert changes_of([DECAY, GLIBC], "JE_MALLOC_CONF", {"MALLOC_CONF": "x:1"}) == {
        "JE_MALLOC_CONF": "dirty_decay_ms:100,muzzy_decay_ms:0",
        "MALLOC_ARENA_MAX": "2",
    }


def runs_of(cpu: float, rounds: int = 8) -> list[Run]:
    """Runs as they are, and with an advice that takes `cpu` as much CPU time."""
    found = []
    for number in range(1, rounds + 1):
        noise = 1 + number / 1000
        plain = good_run(WITHOUT, number).figures
        found += [
            good_run(WITHOUT, number, figures={**plain, "cpu_seconds": 0.5 * noise}),
            good_run("arenas", number, figures={**plain, "cpu_seconds": 0.5 * noise * cpu}),
        ]
    return found


def verification(runs: Sequence[Run]) -> Verification:
    found = [Variant(WITHOUT, (), {}), Variant("arenas", (MORE_ARENAS,), {"MALLOC_CONF": "narenas:8"})]
    results = tuple(outcomes(found, runs))
    return Verification(("work",), "hew", 8, 1, "", MACHINE, 0.95, figures_of(runs), results, (CODE,), ())


def test_a_difference_is_said_with_its_interval() -> None:
    result = verification(runs_of(0.8))
    ratio = result.outcomes[1].ratios["cpu_seconds"]
    assert ratio.verdict is Verdict.BETTER
    assert ratio.low <= 0.8 <= ratio.high
    assert verdict(result, result.outcomes[1]) == "CPU time 20 % less"


def test_no_difference_is_an_answer() -> None:
    result = verification(runs_of(1.0))
    assert "no difference" in verdict(result, result.outcomes[1])


def test_too_few_rounds_are_no_answer() -> None:
    result = verification(runs_of(0.5, rounds=3))
    assert "--runs" in verdict(result, result.outcomes[1])


def test_advice_under_which_the_command_fails_is_not_to_be_used() -> None:
    runs = [good_run(WITHOUT, number) for number in range(1, 9)]
    runs += [Run("arenas", 1, failure=Failure("killed by SIGABRT"))]
    result = verification(runs)
    assert "do not use it" in verdict(result, result.outcomes[1])
    assert verification_document(result)["variants"][1]["failures"] == [{"round": 1, "reason": "killed by SIGABRT"}]


@pytest.fixture(scope="module")
def worker(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(compiler, tmp_path_factory.mktemp("worker") / "worker", WORKER, "-O0")


def test_the_variable_is_that_of_the_malloc_in_use(
    compiler: str, worker: Path, hew_library: Path, tmp_path: Path
) -> None:
    environment = {"PATH": "/usr/bin:/bin"}
    prefixed = build(compiler, tmp_path / "prefixed", PREFIXED)
    assert conf_variable([str(worker)], Place(None, environment)) is None
    assert conf_variable([str(worker)], Place(hew_library, environment)) == "MALLOC_CONF"
    assert conf_variable([str(worker)], Place(None, {**environment, "LD_PRELOAD": str(hew_library)})) == "MALLOC_CONF"
    assert conf_variable([str(prefixed)], Place(None, environment)) == "JE_MALLOC_CONF"


def test_a_run_gives_the_statistics_of_its_end(worker: Path, hew_library: Path) -> None:
    seen = observe([str(worker)], Place(hew_library, {"PATH": "/bin"}), "MALLOC_CONF", PATIENCE, Path("/dev/null"))
    (snapshot,) = seen.reading.snapshots
    assert snapshot.allocator == "hew"
    assert snapshot.whole


def test_a_run_that_fails_is_an_error(hew_library: Path) -> None:
    with pytest.raises(HewError, match="exit status 3"):
        observe(["sh", "-c", "exit 3"], Place(None, {"PATH": "/bin"}), None, PATIENCE, Path("/dev/null"))


@pytest.mark.skipif(not HOT.is_file(), reason="not in a checkout")
def test_hot_threads_are_measured_with_and_without(
    hew: HewRunner, compiler: str, hew_library: Path, tmp_path: Path
) -> None:
    program = tmp_path / "hot"
    words = [compiler, "-O2", "-D_GNU_SOURCE", "-fno-builtin", "-o", str(program), str(HOT), "-pthread"]
    subprocess.run(words, check=True)
    options = ["--verify", "--json", "--alloc", f"hew={hew_library}", "--runs", "1", "--warmup", "0"]
    done = hew("advise", *options, "--", str(program), "--messages", "60000", "--threads", "32")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["format"] == "hew-verification/1"
    for variant in document["variants"][1:]:
        assert variant["good_runs"] == 1
        assert not variant["output_differs"]
        assert variant["ratios"]["peak_rss_bytes"]["verdict"] == "too few runs"


CLIENT = (
    "import socket, sys; talk = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
    "talk.sendall(b'x'); assert talk.recv(1) == b'x'"
)


@pytest.mark.parametrize(("allocator", "ending"), [("hew", ""), ("jemalloc", " exits")])
def test_a_server_is_looked_at_and_measured_under_load(
    allocator: str, ending: str, hew: HewRunner, programs: Callable[[str], list[str]], hew_library: Path
) -> None:
    """hew is asked while the server lives, jemalloc writes when it exits."""
    if allocator == "jemalloc" and find_library("jemalloc", library_folders({})) is None:
        pytest.skip("jemalloc is not here: apt-get install libjemalloc2")
    named = f"hew={hew_library}" if allocator == "hew" else allocator
    options = ["--verify", "--json", "--alloc", named, "--runs", "1", "--warmup", "0"]
    server = shlex.join(programs("serve")) + " {port}" + ending
    client = [sys.executable, "-c", CLIENT, "{port}"]
    done = hew("advise", *options, "--server", server, "--", *client, MALLOC_CONF="dirty_decay_ms:0")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["server"][1] == "{port}"
    without, cured = document["variants"][:2]
    assert (cured["name"], cured["good_runs"]) == ("decay-too-short", 1)
    assert "dirty_decay_ms:1000" in cured["changes"]["MALLOC_CONF"]
    assert without["medians"].keys() >= {"server_rss_bytes", "server_cpu_seconds", "client_wall_seconds"}


def test_a_server_that_ends_without_a_word_is_told_what_to_do(
    hew: HewRunner, programs: Callable[[str], list[str]]
) -> None:
    if find_library("jemalloc", library_folders({})) is None:
        pytest.skip("jemalloc is not here: apt-get install libjemalloc2")
    words = ["--verify", "--alloc", "jemalloc", "--server", shlex.join(programs("serve")) + " {port}"]
    done = hew("advise", *words, "--", sys.executable, "-c", CLIENT, "{port}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "SIGTERM" in done.stderr
    assert hew("advise", "--server", "true", "file").returncode == 2


def test_a_command_without_statistics_is_told_what_to_do(hew: HewRunner) -> None:
    done = hew("advise", "--verify", "--", "true")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--alloc" in done.stderr
