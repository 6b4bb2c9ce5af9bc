# SPDX-License-Identifier: MIT
"""What `hew fleet` makes of series: costs, advice, limits, settings, rollouts; and the command as a user runs it."""

import math
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import PATIENCE, HewRunner, is_as_described, wait_until

BENCH = Path(__file__).resolve().parents[2] / "bench" / "fleet"
sys.path[:0] = [str(BENCH), str(BENCH.parents[1] / "tests" / "engines")]

from check import problems  # noqa: E402
from load import to_store  # noqa: E402
from play import PROBLEMS, Fleet  # noqa: E402

from hew.analysis.advice import decay_too_long, thread_caches  # noqa: E402
from hew.analysis.fleet import recorded  # noqa: E402
from hew.analysis.fleet.case import advice_of  # noqa: E402
from hew.analysis.fleet.costs import costs  # noqa: E402
from hew.analysis.fleet.figures import ASKS  # noqa: E402
from hew.analysis.fleet.rollout import FIGURES, RSS, by_host, group  # noqa: E402
from hew.analysis.fleet.settings import mixed, read_setting, split  # noqa: E402
from hew.analysis.ratios import bootstrap_interval, order_interval  # noqa: E402
from hew.model.errors import HewError  # noqa: E402
from hew.model.fleet import HOST, SERVICE, Kind, Line  # noqa: E402
from hew.model.report import Verdict  # noqa: E402
from hew.sources.fleet.engine import promql  # noqa: E402
from hew.sources.fleet.store import NAME, StoreSource  # noqa: E402
from waiting import waiting_on_hew, waits  # noqa: E402

GIB, MIB = 1 << 30, 1 << 20
END = 1_800_000_000.0
DAY = 86400.0


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """A hundred hosts, a sample each five minutes."""
    return Fleet(160, 300.0, END)


@pytest.fixture(scope="module")
def played(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has them."""
    folder = tmp_path_factory.mktemp("fleet")
    store = StoreSource(folder / NAME)
    to_store(fleet, store)
    store.close()
    return folder


def test_each_planted_problem_of_a_played_fleet_is_found_in_its_place_and_nothing_else(
    fleet: Fleet, played: Path
) -> None:
    planted = {service.problem for service in fleet.services} - {""}
    assert planted == set(PROBLEMS)
    store = StoreSource(played / NAME)
    found, state = problems(fleet, store)
    assert found == []
    assert len(state.services) == len(fleet.services)
    store.close()


def test_the_check_of_a_played_fleet_finds_what_is_wrong(fleet: Fleet, played: Path) -> None:
    """A fleet with another seed has its problems elsewhere."""
    store = StoreSource(played / NAME)
    found, _ = problems(Fleet(160, 300.0, END, seed=2), store)
    for words in (
        "planted, and not found",
        "found, and not planted",
        "is ranked before",
        "settings differ",
        "limits are met",
    ):
        assert any(words in one for one in found), words
    store.close()


@pytest.mark.parametrize("engine", ["victoria-metrics", "prometheus"])
def test_an_engine_gives_the_same_answers(engine: str) -> None:
    """It ends its engine by itself when it is told to end; where it does not end, we do."""
    if shutil.which(engine) is None:
        pytest.skip(f"no {engine} on this machine")
    words = [sys.executable, str(BENCH / "run.py"), "--hosts", "60", "--every", "300", "--asked", "1", engine]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        try:
            said, _ = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            child.terminate()
            said, _ = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, said


HEALTHY = {
    "processes": 2.0, "allocated": 2.0 * GIB, "active": 2.1 * GIB, "resident": 2.2 * GIB, "mapped": 2.2 * GIB,
    "idle.dirty": 0.1 * GIB, "cached": 20.0 * MIB, "requests": 1e6, "fills": 1e4, "lock_waits": 1.0,
    "lock_seconds": 1e-4, "lock_operations": 1e4, "threads": 16.0, "arenas": 8.0, "decay.dirty": 10.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "kind", "cores", "size"),
    [
        ({"lock_waits": 2000.0, "lock_seconds": 1.0}, Kind.LOCKS, 1.0, 0),
        ({"fills": 100_000.0}, Kind.FILLS, 0.1, 0),
        ({"purged.dirty": 4096 * 30_000.0, "faults.minor": 25_000.0}, Kind.FAULTS, 0.05, 0),
        ({"refaulted": 4096 * 50_000.0}, Kind.REFAULTS, 0.1, 0),
        ({"idle.dirty": 0.5 * GIB, "idle.muzzy": 0.5 * GIB}, Kind.IDLE, 0, GIB),
        ({"cached": GIB}, Kind.CACHES, 0, GIB),
        ({"active": 4.5 * GIB, "holes": 0.5 * GIB}, Kind.FRAGMENTATION, 0, 2 * GIB),
    ],
)
def test_a_kind_costs_what_it_takes_from_its_rules_threshold_on(
    changes: dict[str, float], kind: Kind, cores: float, size: float
) -> None:
    assert costs(HEALTHY) == ()
    (cost,) = costs({**HEALTHY, **changes})
    assert cost.kind is kind
    assert [cost.cores, cost.bytes] == pytest.approx([cores, size])


def test_a_service_without_figures_costs_nothing_and_gets_no_advice() -> None:
    assert costs({}) == ()
    assert costs({"processes": 3.0}) == ()
    assert advice_of({}, {}, ("", ""), 3600) == ()
    assert advice_of({"processes": 3.0}, {}, ("", ""), 3600) == ()


def test_the_rules_of_hew_advise_speak_of_the_mean_process_and_name_the_series() -> None:
    assert advice_of(HEALTHY, {}, ("hew", "0.1.0"), 3600) == ()
    figures = {**HEALTHY, "idle.dirty": float(GIB), "decay.dirty": math.inf, "cached": float(GIB)}
    found = {one.rule: one for one in advice_of(figures, {}, ("hew", "0.1.0"), 3600)}
    assert set(found) == {decay_too_long.NAME, thread_caches.NAME}
    advice = found[decay_too_long.NAME]
    assert advice.conf() == "dirty_decay_ms:10000"
    assert advice.subject == "hew 0.1.0, the mean of 2 processes"
    first = advice.evidence[0]
    assert first.value == pytest.approx(GIB / 2, rel=1e-4)
    assert first.where == 'hew_idle_bytes{state="dirty"}'


def test_classes_that_are_exported_let_more_rules_speak() -> None:
    bins = {"objects.64": 2.0 * MIB, "slabs.64": 2.0 * GIB}
    (advice,) = advice_of(HEALTHY, bins, ("hew", "0.1.0"), 3600)
    assert advice.rule == "external-fragmentation"
    assert any("hew_bin" in one.where for one in advice.evidence)


def test_settings_are_read_and_hosts_split_by_what_they_have() -> None:
    assert read_setting("dirty_decay_ms:-1") == ("dirty_decay_ms", math.inf)
    for text, said in (
        ("tcache:false", "no series shows 'tcache'"),
        ("narenas:x", "is no number"),
        ("narenas", "is no"),
    ):
        with pytest.raises(HewError, match=said):
            read_setting(text)
    values = {"b": (1000.0, 1000.0), "a": (1000.0, 1000.0), "c": (1000.0, math.inf), "d": (5.0, 5.0)}
    assert split(values, 1000.0) == (["a", "b"], [("c", "1000 to -1"), ("d", "5")])
    found = mixed("dirty_decay_ms", values)
    assert found is not None
    assert (found.usual, [host for host, _ in found.others]) == (1000, ["c", "d"])
    assert mixed("dirty_decay_ms", {}) is None
    assert mixed("dirty_decay_ms", {"a": (1.0, 1.0)}) is None


def test_a_rollout_is_compared_host_by_host() -> None:
    hosts = [f"h{number}" for number in range(20)]
    before = {RSS.key: {host: (1.0 + number) * GIB for number, host in enumerate(hosts)}}
    after = {
        RSS.key: {host: value * (0.8 + 0.002 * number) for number, (host, value) in enumerate(before[RSS.key].items())}
    }
    told = group("all", hosts, before, after)
    ratio = told.ratios[RSS.key]
    assert ratio.verdict is Verdict.BETTER
    assert ratio.low <= 0.819 <= ratio.high
    assert group("few", hosts[:3], before, after).ratios[RSS.key].verdict is Verdict.TOO_FEW_RUNS
    assert group("none", ["x"], before, after).ratios == {}
    answers = {"requests_per_second": [Line(("h",), ((END, 0.0),))], "cpu_cores": [Line(("h",), ((END, 1.0),))]}
    assert by_host(answers)["cpu_seconds_per_million_requests"] == {}, "no load, no cost of it"
    assert RSS in FIGURES


def test_many_hosts_have_the_interval_that_the_bootstrap_would_give() -> None:
    values = tuple(1 + 0.3 * math.sin(number * 7.3) for number in range(500))
    assert order_interval(values) == pytest.approx(bootstrap_interval(values), abs=0.02)
    begun = time.process_time()
    bootstrap_interval(tuple(range(100_000)))
    assert time.process_time() - begun < 10, "the bootstrap would take minutes and 8 GB"


def test_the_ranking_is_printed_and_its_json_is_as_described(hew: HewRunner, fleet: Fleet, played: Path) -> None:
    shown = hew("fleet", "--store", str(played), "--rows", "8")
    assert shown.returncode == 0, shown.stderr
    assert "decay-too-long, hew 0.1.0, the mean of" in shown.stdout
    assert "and 12 more: --rows" in shown.stdout
    document = is_as_described(hew("fleet", "--store", str(played), "--json").stdout, "fleet")
    assert document["services"][0]["name"] in {name for name, _ in fleet.truth.costs}
    (limited,) = [one["limit"] for one in document["services"] if one["limit"]]
    assert limited["earliest"] <= limited["at"]
    only = is_as_described(hew("fleet", "--store", str(played), "--json", "--service", "service-001").stdout, "fleet")
    assert [one["name"] for one in only["services"]] == ["service-001"]


def test_a_rollout_is_printed_and_its_json_is_as_described(hew: HewRunner, fleet: Fleet, played: Path) -> None:
    words = ["fleet", "--store", str(played), "--service", fleet.truth.rollout, "--rollout", str(END - DAY / 2)]
    words += ["--setting", "dirty_decay_ms:1000"]
    shown = hew(*words)
    assert shown.returncode == 0, shown.stderr
    assert "hosts with the setting" in shown.stdout
    for host in fleet.truth.kept:
        assert f"{host}  10000" in shown.stdout
    document = is_as_described(hew(*words, "--json").stdout, "fleet")
    assert {one["host"] for one in document["missing"]} == fleet.truth.kept


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine (package prometheus)")
def test_promtool_accepts_the_recording_rules() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", BENCH.parents[1] / "docs/fleet_rules.yml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_have_what_the_ranking_asks_by_service() -> None:
    names = {recorded.name(ask.query) for ask in ASKS}
    assert len(names) == len(ASKS), "no two queries have one rule"
    assert all(f"record: {one}\n" in recorded.rules() for one in names)
    query = replace(ASKS[0].query, match=((SERVICE, "a"),))
    assert recorded.usable(query)
    assert promql(query, 60, recorded.name(query)) == (
        'sum by (service_name) (service:hew_allocated_bytes:count{service_name="a"})'
    )
    rate = next(ask.query for ask in ASKS if ask.key == "fills")
    expected = "sum by (service_name) (avg_over_time(service:hew_fills_total:rate5m[60000ms]))"
    assert promql(rate, 60, recorded.name(rate)) == expected
    assert not recorded.usable(replace(query, by=(HOST,)))
    assert not recorded.usable(replace(query, match=(("cluster", "x"),)))


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "give --engine URL or --store DIR"),
        (["--store", "x", "--engine", "y"], 2, "give --engine URL or --store DIR"),
        (["--store", "x", "--rollout", "0"], 2, "--rollout compares one service"),
        (["--store", "x", "--recorded"], 2, "--recorded wants --engine"),
        (["--store", "x", "--setting", "narenas:1"], 2, "--setting belongs to --rollout"),
        (["--store", "x", "--window", "0s"], 2, "is not a time such as"),
        (["--store", "x", "--window", "99999999w"], 2, "is not a time such as"),
        (["--store", "x", "--at", "tomorrow"], 2, "is no time such as"),
        (["--store", "x", "--match", "a"], 2, "is not LABEL=VALUE"),
        (["--store", "x", "--service", "caf\udce9"], 2, "is not UTF-8"),
        (["--store", "x", "--match", "pid=\udcff"], 2, "is not UTF-8"),
        (["--store", "x", "--timeout", "nan"], 2, "is no number"),
        (["--store", "x", "--gib-per-core", "nan"], 2, "is no number"),
        (["--store", "/nowhere"], 1, "/nowhere is no folder"),
        (["--engine", "http://127.0.0.1:1"], 1, "does not answer"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(hew: HewRunner, words: list[str], status: int, said: str) -> None:
    done = hew("fleet", *words)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_folder_has_nothing_to_say(hew: HewRunner, tmp_path: Path) -> None:
    done = hew("fleet", "--store", str(tmp_path))
    assert done.returncode == 1
    assert "has no series of hew export" in done.stderr


def test_names_that_others_chose_are_shown_as_text(hew: HewRunner, tmp_path: Path) -> None:
    (tmp_path / f"host-{END:.0f}").write_text('hew_allocated_bytes{pid="1",service_name="[red]a\x1b[2J\\n"} 5\n')
    done = hew("fleet", "--store", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "[red]a\\x1b[2J" in done.stdout


HOST_LINES = """hew_allocated_bytes{{pid="1",service_name="{name}"}} 2e9 {at}
hew_resident_bytes{{pid="1",service_name="{name}"}} 4e9 {at}
hew_thread_cache_bytes{{pid="1",service_name="{name}"}} 1e9 {at}
hew_process_info{{pid="1",service_name="{name}",allocator="{allocator}",version="{version}"}} 1 {at}
hew_bin_objects{{pid="1",service_name="{name}",size_class="{size}"}} 10 {at}
hew_bin_slab_bytes{{pid="1",service_name="{name}",size_class="{size}"}} 1e9 {at}
"""


def scrape(
    folder: Path, at: float, allocator: str = "hew", version: str = "0.1.0", size: str = "64", name: str = "web"
) -> None:
    """One host's, as it might be."""
    text = HOST_LINES.format(at=at, allocator=allocator, version=version, size=size, name=name)
    (folder / f"host-{at:.0f}.{name}").write_text(text)


def test_size_classes_and_versions_that_are_none_are_text(hew: HewRunner, tmp_path: Path) -> None:
    """Each in a service of its own: none ends the ranking, none reaches the terminal as more than text."""
    sizes = ("²", "0", "-1", "١٢", "9" * 5000, "", "64.5", "+Inf")
    versions = ("²", "1.²", "9" * 5000, "\x1b]0;taken\x07[red]", "1\\nforged", "")
    for number, size in enumerate(sizes):
        scrape(tmp_path, END, size=size, name=f"size{number}")
    for number, version in enumerate(versions):
        for allocator in ("hew", "jemalloc"):
            scrape(tmp_path, END, allocator, version, name=f"version{number}{allocator}")
    done = hew("fleet", "--store", str(tmp_path), "--at", str(END), "--rows", "50")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout.count("thread-caches, ") == len(sizes) + 2 * len(versions)
    assert not {"\x1b", "\x07"} & set(done.stdout), "a terminal would obey it"
    assert not [line for line in done.stdout.splitlines() if line.startswith("forged")], "a newline begins no line"


def test_a_file_whose_name_a_terminal_would_obey_is_named_as_text(hew: HewRunner, tmp_path: Path) -> None:
    scrape(tmp_path, END)
    (tmp_path / "a\x1b[2J").write_text("nobody's")
    done = hew("fleet", "--store", str(tmp_path), "--at", str(END))
    assert "\x1b" not in done.stderr
    assert "a\\x1b[2J is left out" in done.stderr


def test_a_clock_that_is_ahead_is_said(hew: HewRunner, tmp_path: Path) -> None:
    now = time.time()
    scrape(tmp_path, now)
    assert "in the future" not in hew("fleet", "--store", str(tmp_path)).stdout
    scrape(tmp_path, now + 7 * DAY)
    assert "in the future: a host's clock is ahead" in hew("fleet", "--store", str(tmp_path)).stdout
    assert "in the future" not in hew("fleet", "--store", str(tmp_path), "--at", str(now)).stdout


def test_where_to_look_says_what_is_most_there(hew: HewRunner, tmp_path: Path) -> None:
    scrape(tmp_path, END)
    whole = ["fleet", "--store", str(tmp_path), "--at", str(END)]
    assert "on host-1800000000, where it is most, hew advise 1" in hew(*whole).stdout
    (tmp_path / NAME).unlink()
    path = tmp_path / f"host-{END:.0f}.web"
    path.write_text(path.read_text().replace("hew_thread_cache_bytes", "hew_active_bytes").replace("1e9", "9e9"))
    assert "which uses most pages, hew advise 1" in hew(*whole).stdout


def test_a_real_process_is_seen_by_what_was_recorded_of_it(hew: HewRunner, hew_library: Path, tmp_path: Path) -> None:
    """Scrapes of hew export, two with a second in between, and a foreign file beside them."""
    (tmp_path / "here").mkdir()
    words, name = waits(100_000, 100), "fleet-test"
    with waiting_on_hew(hew_library, tmp_path, "", words, OTEL_SERVICE_NAME=name, PYTHONMALLOC="malloc"):
        for number in range(2):
            begun = time.time()
            scrape = hew("export", "--once").stdout
            (tmp_path / "here" / f"scrape-{int(begun)}-{number}.txt").write_text(scrape)
            wait_until(lambda before=begun: time.time() > before + 1)  # type: ignore[misc]
    (tmp_path / "notes.bin").write_bytes(bytes(range(256)))
    done = hew("fleet", "--store", str(tmp_path), "--service", name, "--json")
    assert "notes.bin is left out" in done.stderr
    (service,) = is_as_described(done.stdout, "fleet")["services"]
    assert (service["processes"], service["hosts"]) == (1, 1)
    assert service["resident_bytes"] > 10 * MIB
