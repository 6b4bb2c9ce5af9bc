# SPDX-License-Identifier: MIT
"""Reading statistics: reports recorded from real allocators, whole, damaged, and among other output."""

import gzip
import json
import os
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import HewRunner, is_as_described
from hew.model.statistics import Depot, Guard, Mutex, Peak, Snapshot
from hew.sources.statistics.misnamed import misnamed
from hew.sources.statistics.stream import find_reports
from hew.views.statistics_document import statistics_json
from hew.views.table import NARROWEST, results_console

DATA = Path(__file__).parent / "data" / "statistics"
NAMES = ("jemalloc-5.2.1", "jemalloc-5.3.0", "jemalloc-5.3.1", "hew-0.1.0")


def recorded(name: str, form: str) -> str:
    return gzip.decompress((DATA / f"{name}.{form}.gz").read_bytes()).decode()


def only(text: str) -> Snapshot:
    found = find_reports(text, "test").snapshots
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("form", ["json", "txt"])
@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_report_is_read_whole(name: str, form: str) -> None:
    snapshot = only(recorded(name, form))
    assert f"{snapshot.allocator}-{snapshot.release}" == name
    assert snapshot.whole
    assert (snapshot.layout.page, snapshot.option("dss")) == (4096, "secondary")
    arena = snapshot.all_arenas
    assert arena is not None
    assert arena.small.nmalloc is not None
    assert snapshot.totals.allocated == (arena.small.allocated or 0) + (arena.large.allocated or 0)
    assert arena.mutexes["extents_dirty"].num_ops
    bins = {one.size: one for one in arena.bins}
    assert bins[2560].nregs in (8, 19)
    assert bins[2560].nrequests == 1840  # the program asks for as many
    assert bins[2560].mutex.num_ops
    assert {one.key for one in snapshot.arenas} >= {"0", "1"}


@pytest.mark.parametrize("path", sorted(DATA.glob("*.gz")), ids=lambda path: path.name)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_what_is_read_is_as_the_schema_says(path: Path, share: float) -> None:
    text = gzip.decompress(path.read_bytes()).decode()
    document = is_as_described(statistics_json(find_reports(text[: int(len(text) * share)], "test")), "stats")
    assert len(document["snapshots"]) == 1
    assert document["snapshots"][0]["whole"] is (share == 1)


def test_a_pipe_is_read(hew: HewRunner, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(recorded("hew-0.1.0", "json"),))
    writer.start()
    assert "hew 0.1.0" in hew("stats", str(pipe)).stdout
    writer.join()


def test_a_narrow_terminal_cuts_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert results_console().width == NARROWEST


@pytest.mark.parametrize("name", NAMES)
def test_both_forms_of_a_report_tell_the_same(name: str) -> None:
    one, other = only(recorded(name, "json")), only(recorded(name, "txt"))
    assert {key: one.opt[key] for key in other.opt.keys() & one.opt.keys() if not key.startswith("stats_print")} == {
        key: other.opt[key] for key in other.opt.keys() & one.opt.keys() if not key.startswith("stats_print")
    }
    assert one.layout == other.layout
    assert one.config == other.config
    assert set(one.mutexes) == set(other.mutexes)
    layouts = [{b.size: (b.nregs, b.slab_size) for b in s.all_arenas.bins} for s in (one, other) if s.all_arenas]
    assert layouts[1].items() <= layouts[0].items()


@pytest.mark.parametrize("name", ["jemalloc-5.2.1", "jemalloc-5.3.0"])
def test_misnamed_counters_are_put_right(name: str) -> None:
    """In these reports each `num_wait` is the operations per second: an innocent reader sees a lock all wait for."""
    raw = json.loads(recorded(name, "json"))["jemalloc"]["stats.arenas"]["merged"]["mutexes"]["extents_dirty"]
    assert raw["num_wait"] == raw["num_ops"]
    snapshot = only(recorded(name, "json"))
    assert snapshot.all_arenas is not None
    lock = snapshot.all_arenas.mutexes["extents_dirty"]
    assert (lock.num_ops, lock.num_wait, lock.num_spin_acq) == (
        raw["num_ops"],
        raw["num_spin_acq"],
        raw["total_wait_time"],
    )
    assert (lock.num_owner_switch, lock.total_wait_ns, lock.max_wait_ns) == (None, None, None)
    assert "put right" in snapshot.notes[0]


@pytest.mark.parametrize(
    ("name", "form"), [("jemalloc-5.3.1", "json"), ("hew-0.1.0", "json"), ("jemalloc-5.3.0", "txt")]
)
def test_right_counters_are_left_alone(name: str, form: str) -> None:
    snapshot = only(recorded(name, form))
    assert snapshot.notes == ()
    assert snapshot.all_arenas is not None
    lock = snapshot.all_arenas.mutexes["extents_dirty"]
    assert lock.num_wait == 0
    assert (lock.num_owner_switch or 0) > 0
    assert lock.total_wait_ns == 0


def test_the_counters_themselves_outweigh_the_version() -> None:
    lock = {"num_ops": 300, "num_wait": 100, "num_spin_acq": 7}
    arena = {"uptime_ns": 3 * 10**9, "mutexes": {"base": lock}}
    assert misnamed("5.3.0-77-gabc", [arena])
    assert misnamed("5.3.1-0-gabc", [arena])
    patched = {"uptime_ns": 3 * 10**9, "mutexes": {"base": lock | {"num_wait": 3}}}
    assert not misnamed("5.3.0-0-gabc", [patched])
    idle = {"uptime_ns": 3 * 10**9, "mutexes": {"base": {"num_ops": 0, "num_wait": 0}}}
    assert misnamed("5.3.0-0-gabc", [idle])
    assert not misnamed("5.3.1-0-gabc", [idle])


def test_what_a_report_leaves_out_is_none() -> None:
    text = '{"jemalloc":{"version":"5.3.1-0-g1","stats":{"allocated":7},"stats.arenas":{"0":{"nthreads":2}}}}'
    snapshot = only(text)
    assert (snapshot.totals.allocated, snapshot.totals.resident) == (7, None)
    assert snapshot.all_arenas is not None
    assert (snapshot.all_arenas.nthreads, snapshot.all_arenas.pdirty, snapshot.all_arenas.bins) == (2, None, ())
    assert snapshot.all_arenas.mutexes.get("base", Mutex()).num_ops is None


def test_reports_of_several_processes_among_other_output_are_all_found() -> None:
    parts = ["make: entering\n", recorded("jemalloc-5.3.0", "json"), "warning {x}\n", recorded("hew-0.1.0", "txt")]
    parts += ['{"other": 1}\n', recorded("jemalloc-5.2.1", "json"), recorded("jemalloc-5.3.1", "txt"), "\nbye\n"]
    reading = find_reports("".join(parts), "test")
    assert [one.subject for one in reading.snapshots] == [
        "jemalloc 5.3.0",
        "hew 0.1.0",
        "jemalloc 5.2.1",
        "jemalloc 5.3.1",
    ]
    assert all(one.whole for one in reading.snapshots)
    assert reading.other_bytes == sum(
        len(part.strip()) for part in ("make: entering", "warning {x}", '{"other": 1}', "bye")
    )


@pytest.mark.parametrize("form", ["json", "txt"])
@pytest.mark.parametrize("name", NAMES)
def test_a_report_that_breaks_off_is_read_up_to_there(name: str, form: str) -> None:
    text = recorded(name, form)
    cut = text[: text.rindex("extents") if form == "txt" else len(text) * 3 // 4]
    whole = recorded("jemalloc-5.3.1", "json")
    first, second = find_reports(cut + whole, "test").snapshots
    assert not first.whole
    assert "breaks off" in first.notes[-1]
    assert first.totals == only(text).totals
    assert first.all_arenas == only(text).all_arenas
    assert second.whole


@settings(max_examples=20, deadline=None)
@given(
    cut=st.floats(0, 1), name=st.sampled_from(NAMES), form=st.sampled_from(["json", "txt"]), junk=st.text(max_size=40)
)
def test_no_damage_makes_the_reader_fail(cut: float, name: str, form: str, junk: str) -> None:
    text = recorded(name, form)
    at = int(len(text) * cut)
    find_reports(text[:at] + junk + text[at:], "test")
    find_reports(text[:at], "test")


@pytest.mark.parametrize(
    "text", ['{"jemalloc":{' + "[" * 5000, '{"jemalloc":{"stats":[1],"arenas":{"bin":[3]},"stats.arenas":{"0":4}}}']
)
def test_nonsense_in_the_outline_is_survived(text: str) -> None:
    find_reports(text, "test")


def test_stats_shows_and_says_what_is_not_reported(hew: HewRunner) -> None:
    done = hew("stats", str(DATA / "jemalloc-5.3.0.json.gz"))
    assert done.returncode == 0
    assert "jemalloc 5.3.0" in done.stdout
    assert "put right" in done.stdout
    done = hew("stats", "-", stdin='{"jemalloc":{"version":"5.3.1-0-g1","stats":{"allocated":2048}}} tail')
    assert "2.00 KiB" in done.stdout
    assert "not reported" in done.stdout
    assert "4 bytes of standard input belong to no report" in done.stdout


def test_stats_as_json_is_what_was_read(hew: HewRunner) -> None:
    done = hew("stats", "--json", str(DATA / "hew-0.1.0.json.gz"))
    document = json.loads(done.stdout)
    assert document["format"] == "hew-stats/1"
    assert document["snapshots"][0]["merged"]["mutexes"]["base"]["num_ops"] > 0


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("no-such-file", "neither a file nor a process id"),
        ("-", "has no statistics"),
        ("999999999", "no process 999999999"),
    ],
)
def test_stats_says_what_to_do_next(hew: HewRunner, place: str, said: str) -> None:
    done = hew("stats", place, stdin="hello")
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_both_forms_tell_of_the_depots_where_there_are_any() -> None:
    text = recorded("hew-0.1.0", "txt")
    line = "Depots: 2, bytes: 4096, limit: 8192, takes: 5, gives: 6, misses: 7, refusals: 1\n"
    counts = Depot(bytes=4096, limit=8192, depots=2, takes=5, gives=6, misses=7, refusals=1)
    at = text.index("Background threads:")
    assert only(text[:at] + line + text[at:]).depot == counts
    document = json.loads(recorded("hew-0.1.0", "json"))
    document["jemalloc"]["stats"]["depot"] = {
        "bytes": 4096, "limit": 8192, "depots": 2, "takes": 5, "gives": 6, "misses": 7, "refusals": 1,
    }  # fmt: skip
    assert only(json.dumps(document)).depot == counts
    assert only(recorded("jemalloc-5.3.0", "json")).depot == Depot()


def test_both_forms_tell_where_the_memory_was_at_the_peak(hew: HewRunner, tmp_path: Path) -> None:
    parts = {"live": 700, "thread_caches": 40, "depots": 60, "slabs": 90, "kept": 10, "idle": 50, "metadata": 50}
    peak = Peak(resident=1000, **parts)
    text = recorded("hew-0.1.0", "txt")
    line = "Peak: resident: 1000, " + ", ".join(f"{name}: {size}" for name, size in parts.items()) + "\n"
    at = text.index("Background threads:")
    assert only(text[:at] + line + text[at:]).peak == peak
    document = json.loads(recorded("hew-0.1.0", "json"))
    document["jemalloc"]["stats"]["peak"] = {"resident": 1000, **parts}
    assert only(json.dumps(document)).peak == peak
    file = tmp_path / "report"
    file.write_text(json.dumps(document))
    shown = hew("stats", "--peak", file).stdout
    assert re.search(r"objects of the program +700 B +70%", shown)
    assert re.search(r"in all +1,?000 B +100%", shown)
    file.write_text(recorded("jemalloc-5.3.0", "json"))
    assert "no peak in this report" in hew("stats", "--peak", file).stdout


def test_both_forms_tell_of_guarded_objects_and_advice_of_what_they_found(hew: HewRunner, tmp_path: Path) -> None:
    counts = {"guarded": 900, "live": 3, "waiting": 700, "passed": 5, "refused": 6, "interval": 64, "reported": 2}
    found = {"use_after_free": 4, "overflow": 0, "underflow": 0, "double_free": 1, "bad_pointer": 0}
    guard = Guard(**counts, **found)
    text = recorded("hew-0.1.0", "txt")
    numbers = ", ".join(f"{name}: {value}" for name, value in (counts | found).items())
    at = text.index("Background threads:")
    assert only(f"{text[:at]}Guarded objects: {numbers}\n{text[at:]}").guard == guard
    document = json.loads(recorded("hew-0.1.0", "json"))
    document["jemalloc"]["stats"]["guard"] = counts | found
    assert only(json.dumps(document)).guard == guard
    assert only(recorded("hew-0.1.0", "json")).guard == Guard()
    file = tmp_path / "report"
    file.write_text(json.dumps(document))
    (advice,) = (one for one in json.loads(hew("advise", "--json", file).stdout)["advice"] if one["rule"] == "misuse")
    assert {one["label"]: one["value"] for one in advice["evidence"]} == {
        "distinct mistakes": 2,
        "use after free": 4,
        "double free": 1,
        "guarded objects": 900,
    }


def test_reports_of_libraries_that_told_of_tuning_are_read_without_that() -> None:
    text, document = recorded("hew-0.1.0", "txt"), json.loads(recorded("hew-0.1.0", "json"))
    plain = only(text), only(json.dumps(document))
    older = """Tuning: on, windows: 10, own_ns: 5000, steps: 1, kept: 0, undone: 0, dirty_decay_ms: -1, room_depots: 64
  at 9 ms cache_room 100 -> 200: kept, reason: 61828 -> 9048 misses of 1000000 operations, effect: 8 -> 4 ps a call
  at 800 ms depot_room 100 -> 800: undone, effect: 60254 -> 65122 ps an operation
"""
    assert only(text.replace("Background threads:", f"{older}Background threads:", 1)) == plain[0]
    step = {"at_ms": 9, "setting": "cache_room", "before": 100, "after": 200, "outcome": "kept"}
    for told in ({"mode": "on", "windows": 10, "room_depots": 4096, "last_steps": [step]}, {}, None, [1]):
        document["jemalloc"]["stats"]["tuning"] = told
        assert only(json.dumps(document)) == plain[1]


def test_two_files_are_shown_and_compared(hew: HewRunner, tmp_path: Path) -> None:
    """Also what only the second one has."""
    document = json.loads(recorded("jemalloc-5.3.1", "json"))
    (tmp_path / "first").write_text(json.dumps(document))
    merged = document["jemalloc"]["stats.arenas"]["merged"]
    document["jemalloc"]["stats"]["allocated"] += 5 << 20
    merged["bins"][10]["curregs"] = merged["bins"][10].get("curregs", 0) + (1 << 20)
    (tmp_path / "second").write_text(json.dumps(document))
    done = hew("stats", str(tmp_path / "first"), str(tmp_path / "second"))
    assert done.returncode == 0, done.stderr
    changed = done.stdout.partition("from the first to the second")[2]
    assert "+5.00 MiB" in changed
    size = document["jemalloc"]["arenas"]["bin"][10]["size"]
    assert f"objects of {size} B" in changed
    alike = hew("stats", str(tmp_path / "first"), str(tmp_path / "first")).stdout
    assert "objects of" not in alike.partition("from the first to the second")[2]


def test_depots_are_shown_where_there_are_any(hew: HewRunner) -> None:
    line = "Depots: 2, bytes: 4096, limit: 8192, takes: 5, gives: 6, misses: 7, refusals: 1\n"
    text = recorded("hew-0.1.0", "txt").replace("Background threads:", f"{line}Background threads:", 1)
    shown = hew("stats", "-", stdin=text).stdout
    assert "turned away" in shown
    assert re.search(r"2 +4\.00 KiB +8\.00 KiB +5 +6 +7 +1", shown)
    assert "turned away" not in hew("stats", str(DATA / "jemalloc-5.3.0.json.gz")).stdout
