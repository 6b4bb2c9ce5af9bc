# SPDX-License-Identifier: MIT
"""`hew advise` as users meet it: recorded reports, live processes, several reports in one stream, errors."""

import gzip
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from conftest import HewRunner, is_as_described, may_attach, wait_until
from hew.analysis.advice.reconcile import reconciled
from hew.analysis.advice.rules import MODULES, advise
from hew.analysis.series import MOST_AT_ONCE, last_of_each
from hew.model.advice import Advice, Case, Certainty, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Arena, Layout, Mutex, Snapshot
from hew.sources.attach.redis import addresses
from hew.sources.discovery import find_library, library_folders
from hew.sources.process_facts import read_process
from hew.sources.server import free_port
from hew.sources.statistics.stream import find_reports
from hew.views.advice_text import show_advice

Programs = Callable[[str], list[str]]
DATA = Path(__file__).parent / "data" / "statistics"
PROVOKED = sorted(DATA.glob("provoked-*.gz"))


def text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


@pytest.mark.parametrize("path", PROVOKED, ids=lambda path: path.name)
def test_a_recorded_report_gets_the_advice_that_it_was_recorded_for(hew: HewRunner, path: Path) -> None:
    rule = path.name.removeprefix("provoked-").partition(".gz")[0].split("-", 1)[1].rpartition(".")[0]
    done = hew("advise", str(path), "--json")
    assert done.returncode == 3
    document = is_as_described(done.stdout, "advice")
    assert document["outcome"] == "advice"
    assert document["looked_at"]["spoke"] == len(document["advice"])
    found = {one["rule"]: one for one in document["advice"]}
    assert rule in found
    assert found[rule]["subject"] == f"jemalloc {path.name.split('-')[1]}"


@pytest.mark.parametrize("name", ["jemalloc-5.2.1", "jemalloc-5.3.0", "jemalloc-5.3.1", "hew-0.1.0"])
@pytest.mark.parametrize("form", ["json", "txt"])
def test_what_was_looked_at_is_said_when_all_is_well(hew: HewRunner, name: str, form: str) -> None:
    done = hew("advise", str(DATA / f"{name}.{form}.gz"))
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    rules = sum(getattr(module, "LOOKS_AT", "report") == "report" for module in MODULES)
    subject = f"{name.partition('-')[0]} {name.partition('-')[2]}"
    assert done.stdout.startswith(f"{rules} rules looked at statistics of {subject}, none spoke; ")
    assert "--process PID" in done.stdout


def test_advice_says_what_why_and_how(hew: HewRunner) -> None:
    done = hew("advise", str(DATA / "provoked-5.3.1-slab-sizes.json.gz"))
    for part in (
        "regions in a slab",
        "arenas.bin[1024 B].nregs",
        "MALLOC_CONF=slab_sizes:1024-1024:8",
        "CPU",
        "memory",
    ):
        assert part in done.stdout
    assert "risk" in done.stdout
    assert "verify" in done.stdout


def test_every_process_of_a_stream_is_judged_by_its_last_report() -> None:
    first, other = text_of(DATA / "provoked-5.3.1-slab-sizes.json.gz"), text_of(DATA / "hew-0.1.0.json.gz")
    snapshots = [by_interval(one) for one in find_reports(first + other, "test").snapshots]
    arena = snapshots[0].merged or snapshots[0].arenas[0]
    later = replace(snapshots[0], merged=replace(arena, uptime_ns=(arena.uptime_ns or 0) * 2))
    latest, notes = last_of_each([*snapshots, later])
    assert latest == [later, snapshots[1]]
    assert notes == ["1 earlier report of the same process left out"]
    latest, notes = last_of_each([later, *snapshots])
    assert len(latest) == 3
    assert notes == []


def by_interval(snapshot: Snapshot) -> Snapshot:
    """As a program writes it that reports as it runs, not at its end."""
    return replace(snapshot, opt={**snapshot.opt, "stats_print": False})


def test_reports_of_one_program_run_three_times_are_three_processes() -> None:
    snapshot = find_reports(text_of(DATA / "provoked-5.3.1-slab-sizes.json.gz"), "test").snapshots[0]
    arena = snapshot.merged or snapshot.arenas[0]
    longer = replace(snapshot, merged=replace(arena, uptime_ns=(arena.uptime_ns or 0) * 2))
    assert len(last_of_each([snapshot, longer])[0]) == 2  # written at the end: a process has one end
    fewer = tuple(replace(one, nmalloc=(one.nmalloc or 0) // 2) for one in arena.bins)
    other = replace(longer, merged=replace(arena, uptime_ns=(arena.uptime_ns or 0) * 2, bins=fewer))
    assert len(last_of_each([by_interval(snapshot), by_interval(other)])[0]) == 2


def test_many_reports_are_sorted_by_process_in_time_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def counted(later: Snapshot, earlier: Snapshot) -> bool:
        nonlocal looks
        looks += 1
        return False

    monkeypatch.setattr("hew.analysis.series._follows", counted)
    count = 5000
    assert len(last_of_each([Snapshot("JSON")] * count)[0]) == count
    assert looks <= count * MOST_AT_ONCE


def contended(kind: str, form: Mutex, **decay: int) -> Case:
    lock = {"extents_dirty": Mutex(num_ops=9, num_wait=0, total_wait_ns=0), f"extents_{kind}": form}
    arena = Arena("merged", uptime_ns=10**10, mutexes=lock)
    return Case(Snapshot("JSON", "5.3.1-0-g0", {}, dict(decay), None, Layout(page=4096), merged=arena))


def test_the_kind_of_pages_waited_for_says_which_decay_to_raise() -> None:
    """Two CPUs cannot make threads wait for muzzy or retained pages; these reports are made up."""
    busy = Mutex(num_ops=10**6, num_wait=2000, total_wait_ns=2 * 10**9)
    [retained] = advise(contended("retained", busy, dirty_decay_ms=10000, muzzy_decay_ms=0))
    assert retained.conf() == "muzzy_decay_ms:10000"
    [muzzy] = advise(contended("muzzy", busy, dirty_decay_ms=5000, muzzy_decay_ms=1000))
    assert muzzy.conf() == "dirty_decay_ms:20000"
    assert advise(contended("muzzy", replace(busy, total_wait_ns=10**8))) == ()
    untimed = Mutex(num_ops=10**6, num_wait=2000)
    [one] = advise(contended("muzzy", untimed))
    assert all("waiting" not in evidence.label for evidence in one.evidence)
    assert advise(contended("muzzy", replace(untimed, num_wait=900))) == ()


def test_pages_that_may_just_have_been_freed_are_only_likely() -> None:
    [one] = advise(Case(find_reports(text_of(DATA / "provoked-5.3.1-background-thread.json.gz"), "").snapshots[0]))
    assert one.certainty is Certainty.LIKELY


def test_every_rule_is_named_after_its_module_and_explains_itself() -> None:
    for module in MODULES:
        assert module.NAME.replace("-", "_") == module.__name__.rpartition(".")[2]
        assert "Speaks" in (module.__doc__ or "") or "speaks" in (module.__doc__ or "")


@contextmanager
def waiting(words: list[str], errors: Path, **changes: str) -> Iterator[int]:
    """A program that has said "ready" and waits; what it writes to standard error goes to a file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "LD_PRELOAD"))}
    with (
        errors.open("w") as file,
        subprocess.Popen(words, env=kept | changes, stdout=subprocess.PIPE, stderr=file) as process,
    ):
        try:
            assert process.stdout is not None
            if not process.stdout.readline() and process.wait() == 77:
                pytest.skip("this kernel cannot collapse huge pages on request (Linux 6.1 can)")
            yield process.pid
        finally:
            process.kill()


def test_glibcs_arenas_are_seen_from_outside(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    cpus = len(os.sched_getaffinity(0))
    if cpus > 16:
        pytest.skip("more CPUs than the program has threads")
    with waiting(programs(f"hold {max(12, cpus + 4)} 1000 4000 2 900000"), tmp_path / "errors") as pid:
        done = hew("advise", str(pid), "--json")
    assert done.returncode == 3
    [advice] = json.loads(done.stdout)["advice"]
    assert advice["rule"] == "glibc-arenas"
    assert advice["settings"][0]["text"] == f"MALLOC_ARENA_MAX={max(2, cpus)}"


def test_a_healthy_process_on_glibc_is_left_in_peace(hew: HewRunner, programs: Programs, tmp_path: Path) -> None:
    with waiting(programs("hold 1 1000 40000 2 900000"), tmp_path / "errors") as pid:
        done = hew("advise", str(pid))
    assert done.returncode == 0
    assert "rules looked at the heap of glibc" in done.stdout
    assert "none spoke" in done.stdout
    assert "malloc_trim would return" in done.stdout


@pytest.mark.parametrize(("words", "said"), [("refill 8000 8", ["huge-pages"]), ("refill 3000 1", [])])
def test_huge_pages_that_were_filled_again_are_found(
    hew: HewRunner, programs: Programs, tmp_path: Path, words: str, said: list[str]
) -> None:
    library = find_library("jemalloc", library_folders({}))
    if library is None:
        pytest.skip("jemalloc is not here: apt-get install libjemalloc2")
    report, settings = tmp_path / "report", "dirty_decay_ms:0"
    with waiting(programs(words), report, LD_PRELOAD=str(library), MALLOC_CONF=settings) as pid:
        done = hew("advise", str(report), "--process", str(pid), "--json")
    rules = [one["rule"] for one in json.loads(done.stdout)["advice"]]
    assert [rule for rule in rules if rule == "huge-pages"] == said


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("no-such-file", "neither a file nor a process id"),
        ("-", "MALLOC_CONF=stats_print:true"),
        ("4999999", "no process 4999999"),
    ],
)
def test_advise_says_what_to_do_next(hew: HewRunner, place: str, said: str) -> None:
    done = hew("advise", place, stdin="hello")
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_process_on_hew_is_asked(hew: HewRunner, programs: Programs, hew_library: Path, tmp_path: Path) -> None:
    words, settings = programs("hold 1 128 400000 8 900000"), "control:auto"
    with waiting(words, tmp_path / "errors", LD_PRELOAD=str(hew_library), MALLOC_CONF=settings) as pid:
        done = hew("advise", str(pid), "--json")
    assert [one["rule"] for one in json.loads(done.stdout)["advice"]] == ["external-fragmentation"]


HOLD_JUST_ABOVE, HOLD_FULL = "asks 4097 104 30000", "asks 4500 109 30000"  # in the class of 4608 bytes


@pytest.mark.parametrize(("words", "said"), [(HOLD_JUST_ABOVE, ["internal-fragmentation"]), (HOLD_FULL, [])])
@pytest.mark.parametrize("way", ["profile", "record", "trace"])
def test_internal_fragmentation_is_told_where_the_sizes_are_known(
    hew: HewRunner, programs: Programs, hew_library: Path, tmp_path: Path, words: str, said: list[str], way: str
) -> None:
    settings = "control:auto" + (",prof:true,lg_prof_sample:14" if way == "profile" else "")
    more = ["--record", "2"] if way == "record" else []
    if way == "trace":
        size = words.split()[1]
        assert hew("record", "-o", str(tmp_path / "trace"), "--", *programs(f"hold 1 {size} 1000 1 1")).returncode == 0
        more = ["--trace", str(tmp_path / "trace")]
    with waiting(programs(words), tmp_path / "errors", LD_PRELOAD=str(hew_library), MALLOC_CONF=settings) as pid:
        done, text = (hew("advise", *more, str(pid), *form) for form in (("--json",), ()))
    document = is_as_described(done.stdout, "advice")
    assert [one["rule"] for one in document["advice"] if one["rule"] == "internal-fragmentation"] == said
    assert document["looked_at"]["not_looked_at"] == []
    [slack] = document["looked_at"]["internal_fragmentation"]
    assert slack["known"] > 100e6
    assert (slack["unused"] > 0.09 * slack["known"]) == bool(said)
    assert "internal fragmentation: " in text.stdout


def test_advise_says_that_it_did_not_look_at_internal_fragmentation(
    hew: HewRunner, programs: Programs, hew_library: Path, tmp_path: Path
) -> None:
    hold = programs("hold 1 4100 30000 1 900000")
    with waiting(hold, tmp_path / "errors", LD_PRELOAD=str(hew_library), MALLOC_CONF="control:auto") as pid:
        done, text = hew("advise", str(pid), "--json"), hew("advise", str(pid))
    looked = is_as_described(done.stdout, "advice")["looked_at"]
    assert (len(looked["not_looked_at"]), looked["internal_fragmentation"]) == (1, [])
    assert "not looked at: internal fragmentation of hew" in text.stdout
    assert "hew advise --record 1 PID" in text.stdout


def test_sizes_are_recorded_of_a_process_alone(hew: HewRunner) -> None:
    done = hew("advise", "--record", "1", str(PROVOKED[0]))
    assert (done.returncode, "--record is for a PID" in done.stderr) == (2, True)
    done = hew("advise", "--record", "1", "--verify", "--", "true")
    assert (done.returncode, "not for --verify" in done.stderr) == (2, True)


@pytest.mark.parametrize("password", ["", "secret"])
@pytest.mark.parametrize("port", [False, True])
def test_redis_is_asked_where_it_listens(hew: HewRunner, tmp_path: Path, password: str, port: bool) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not here: apt-get install redis-server")
    where = ["--port", str(free_port())] if port else ["--port", "0", "--unixsocket", str(tmp_path / "redis")]
    words = ["redis-server", *where, "--save", "", "--dir", str(tmp_path), "--requirepass", password]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:
        try:
            wait_until(lambda: list(addresses(server.pid)), "redis does not listen")
            facts = read_process(server.pid)
            if facts.provider is None or facts.provider.code.kind != "jemalloc":
                pytest.skip("this redis-server is not on jemalloc")
            done = hew("advise", "--no-attach", str(server.pid), "--json")
            attached = hew("advise", str(server.pid), "--json")
        finally:
            server.kill()
    document = is_as_described(done.stdout, "advice")
    stopped = [note for note in json.loads(attached.stdout)["notes"] if note.startswith("attached to process")]
    looked = document["looked_at"]
    if password:
        assert "NOAUTH" in looked["unseen"][0]["why"]
        assert (done.returncode, looked["read"]) == (4, [])
        assert not may_attach() or (attached.returncode, len(stopped)) == (0, 1)
    else:
        assert (done.returncode, document["outcome"]) == (0, "well")
        assert stopped == []  # who answers is not stopped
        assert looked["read"][0].startswith("statistics of jemalloc 5")


def test_a_process_that_cannot_be_asked_is_named_with_the_way_out(
    hew: HewRunner, programs: Programs, tmp_path: Path
) -> None:
    library = find_library("jemalloc", library_folders({}))
    if library is None:
        pytest.skip("jemalloc is not here: apt-get install libjemalloc2")
    with waiting(programs("hold 1 128 40 8 900000"), tmp_path / "errors", LD_PRELOAD=str(library)) as pid:
        done = hew("advise", "--no-attach", str(pid))
        told = hew("advise", "--no-attach", str(pid), "--json")
    assert (done.returncode, told.returncode, done.stderr) == (4, 4, "")
    assert "neither a report nor a heap could be read" in done.stdout
    assert "stats_print:true" in done.stdout
    document = is_as_described(told.stdout, "advice")
    assert document["outcome"] == "not seen"
    assert "jemalloc" in document["looked_at"]["unseen"][0]["what"]


def advice_of(rule: str, *settings: Setting) -> Advice:
    return Advice(rule, rule, "hew", (), settings, "less", "more", "low", "look")


def test_advice_that_contradicts_goes_to_the_first_and_is_mentioned_there() -> None:
    more = advice_of("extents-contention", Setting("tcache_max", "1048576"))
    less = advice_of("thread-caches", Setting("lg_tcache_nslots_mul", "0"))
    found = reconciled([more, less])
    assert [one.rule for one in found] == ["extents-contention"]
    assert "thread-caches asks for the opposite (lg_tcache_nslots_mul:0)" in found[0].risk
    few, many = advice_of("arenas-too-few", Setting("narenas", "8")), advice_of("x", Setting("narenas", "8"))
    assert reconciled([few, many]) == (few, many)


def test_lists_of_size_classes_are_joined_since_the_later_setting_would_win() -> None:
    one = advice_of("cache-depth", Setting("tcache_ncached_max", "256-256:400"))
    other = advice_of("depots", Setting("tcache_ncached_max", "512-512:4096"))
    assert {two.settings[0].value for two in reconciled([one, other])} == {"256-256:400|512-512:4096"}


def test_a_setting_with_a_bar_is_quoted_for_the_shell() -> None:
    one = advice_of("slab-sizes", Setting("slab_sizes", "512-512:4|1024-1024:8"))
    console = Console(file=io.StringIO(), width=100)
    show_advice([replace(one, evidence=(Evidence("x", 1, Unit.COUNT, "y"),))], [], console)
    assert isinstance(console.file, io.StringIO)
    assert "MALLOC_CONF='slab_sizes:512-512:4|1024-1024:8'" in console.file.getvalue()
