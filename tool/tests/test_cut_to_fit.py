# SPDX-License-Identifier: MIT
"""From a real program to a recommendation, at a small size: record, replay, simulate, cut, search."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from conftest import HewRunner, is_as_described
from hew.model.errors import HewError
from hew.sources.library import find_part
from hew.sources.trace.planning import planned

SQL = (
    "create table t(a integer primary key, b text);"
    "with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000)"
    "insert into t select x, hex(x * 7) from n;"
    "create index i on t(b); delete from t where a % 3 = 0; select count(*) from t;"
)
AGAIN = "for i in range(60): x = b'x' * 1_000_000"
RETURNS = "dirty_decay_ms:0,muzzy_decay_ms:0"  # each large object's pages go back at once
QUICK = ("--goal", "faults", "--try", "dirty_decay_ms:-1", "--runs", "6", "--warmup", "0", "--seed", "1")


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        find_part("libhewtrace.so"), find_part("hew-replay"), find_part("hew-simulate")
    except HewError as error:
        pytest.skip(str(error))


def test_a_real_program_is_recorded_replayed_simulated_cut_and_searched(
    hew: HewRunner, hew_library: Path, tmp_path: Path
) -> None:
    if shutil.which("sqlite3") is None:
        pytest.skip("sqlite3 is not installed")
    trace = str(tmp_path / "t")
    done = hew("record", "-o", trace, "--", "sqlite3", ":memory:", SQL)
    assert (done.returncode, done.stdout) == (0, "13334\n"), done.stderr
    with planned(Path(trace)) as (_, one):
        assert re.search(rf"t: {one.operations:,} operations of 1 thread", done.stderr)
        assert one.operations > 60_000
        assert (one.unknown, one.damaged, one.missing, one.cut_off) == (0, 0, 0, 0)

    replayed = hew("replay", "--runs", "1", "--warmup", "0", "--json", "--alloc", f"hew={hew_library}", trace)
    assert replayed.returncode == 0, replayed.stderr
    report = is_as_described(replayed.stdout, "compare")
    assert {row["name"]: row["good_runs"] for row in report["allocators"]} == {"glibc": 1, "hew": 1}

    simulated = is_as_described(hew("simulate", "--json", trace).stdout, "simulate")
    assert simulated["trace"]["operations"] == one.operations
    assert simulated["peak_live"] == one.live_bytes
    assert all(row["peak_heap"] >= one.live_bytes for row in simulated["policies"])

    cut = is_as_described(hew("cut", "--json", trace).stdout, "cut")
    assert cut["waste"]["cut"]["total"] < cut["waste"]["hew"]["total"]
    assert {row["name"] for row in cut["simulated"]} == {"cut", "hew", "hew-fine", "jemalloc"}

    searched = hew("search", "--trace", trace, "--trials", "3", "--rounds", "1", *QUICK, "--json")
    assert searched.returncode == 0, searched.stderr
    document = is_as_described(searched.stdout, "search")
    assert len(document["tried"]) == 1
    assert document["verdict"].startswith(("recommended: ", "nothing better: "))


def test_a_search_over_a_trace_finds_what_helps_and_the_command_has_the_last_word(
    hew: HewRunner, hew_library: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-S", "-c", AGAIN]
    trace = str(tmp_path / "t")
    assert hew("record", "-o", trace, "--", *command).returncode == 0
    words = ("search", "--trace", trace, *QUICK, "--json")
    replay = json.loads(hew(*words, HEW_CONF=RETURNS).stdout)
    assert replay["command"] == ["hew", "replay", trace]
    assert [row["value"] for row in replay["recommended"]["settings"]] == ["-1"]
    assert replay["verification"]["variants"][1]["ratios"]["page_faults"]["interval"][1] < 0.5
    assert any("tried and verified by replays" in note for note in replay["notes"])
    saved = tmp_path / "saved.conf"
    life = json.loads(hew(*words, "--save", str(saved), "--", *command, HEW_CONF=RETURNS).stdout)
    assert saved.read_text().splitlines()[-1] == f"{RETURNS},dirty_decay_ms:-1"
    assert "recommended: hew dirty_decay_ms:-1" in saved.read_text()
    assert life["recommended"] == replay["recommended"]
    assert life["command"] == command
    other = json.loads(hew(*words, "--", "echo", "7", HEW_CONF=RETURNS).stdout)
    assert other["recommended"] is None
    taken = hew("run", "--", sys.executable, "-S", "-c", "print(7)", HEW_CONF=f"conf_file:{saved},confirm_conf:true")
    assert (taken.returncode, taken.stdout) == (0, "7\n")
    assert "dirty_decay_ms:-1" in taken.stderr
    assert other["front"]
    assert other["verdict"].startswith("nothing better: ")


def test_a_search_with_too_few_fresh_runs_says_so(hew: HewRunner, hew_library: Path, tmp_path: Path) -> None:
    words = [*QUICK, "--runs", "3", "--rounds", "1", "--", sys.executable, "-S", "-c", AGAIN]
    done = hew("search", *words, HEW_CONF=RETURNS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("and so few fresh runs cannot tell: --runs 6"), done.stdout
    assert "Undecided: hew dirty_decay_ms:-1" in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ((), 2, "give a COMMAND, or --trace TRACE"),
        (("--trace", "{}/none"), 1, "No such file"),
        (("--trace", "{}/t", "--metric", "x (.*)"), 2, "--server and --metric want a COMMAND"),
        (("--trace", "{}/t"), 1, 'does not begin with "hewtrace"'),
        (("--storage", "what://me:secret@none/x", "--", "true"), 1, "what://me:***@none/x"),
        (("--storage", "sqlite:////none/at/all.db", "--", "true"), 1, "unable to open database file"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(
    hew: HewRunner, hew_library: Path, tmp_path: Path, words: tuple[str, ...], status: int, says: str
) -> None:
    (tmp_path / "t").write_text("no trace")
    done = hew("search", *(word.format(tmp_path) for word in words))
    assert done.returncode == status
    assert says in done.stderr
    assert "secret" not in done.stderr
