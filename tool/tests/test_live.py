# SPDX-License-Identifier: MIT
"""What `hew top` reads and reckons, without its screens."""

import gzip
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import wait_until
from hew.analysis.live import internal_fragmentation
from hew.model.statistics import Arena, Bin, LargeClass
from hew.sources import live
from hew.sources.code import read_code
from hew.sources.live import Processes
from hew.sources.processes import named_stat, stat_fields
from hew.sources.share import MOST, PART, Share
from hew.sources.statistics.stream import find_reports

STATISTICS = Path(__file__).parent / "data" / "statistics"


def test_internal_fragmentation_is_of_all_objects_not_of_the_samples_alone() -> None:
    """One object in a thousand is in the profile: what it wastes counts a thousand times."""
    small = Bin(96, 42, 4096, curregs=10_000, curslabs=239, prof_live_requested=800, prof_live_count=10)
    large = LargeClass(32768, curlextents=300, prof_live_requested=3 * 16384, prof_live_count=3)
    arena = Arena("merged", bins=(small,), lextents=(large,))
    assert internal_fragmentation(arena)[0] == pytest.approx(10_000 * 16 + 300 * 16384, abs=2)


def test_extents_of_a_json_report_have_sizes() -> None:
    """The text says them; the JSON has the classes in order."""
    for name in ("hew-0.1.0", "jemalloc-5.3.1"):
        rows = {}
        for form in ("json", "txt"):
            text = gzip.decompress((STATISTICS / f"{name}.{form}.gz").read_bytes()).decode()
            arena = find_reports(text, name).snapshots[0].all_arenas
            assert arena is not None
            rows[form] = [one.size for one in arena.extents]
        assert rows["json"]
        assert None not in rows["json"]
        assert set(rows["txt"]) & set(rows["json"])
        assert all(one is not None and one % 4096 == 0 for one in rows["json"])


def test_a_second_look_at_all_processes_reads_little() -> None:
    """Of a process that is known: its stat, not its threads, maps or program."""
    reads: list[str] = []

    def counted(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and recording and str(arguments[0]).startswith("/proc/"):
            reads.append(str(arguments[0]))

    recording = False
    sys.addaudithook(counted)
    processes = Processes(lambda: 0.0)  # no time passes: nothing is due again
    known = {str(row.pid) for row in processes.rows()}
    recording = True
    processes.rows()
    recording = False
    mine = [path.split("/")[2:] for path in reads if path.split("/")[2] in known]
    assert mine
    deep = {pid for pid, *words in mine if words != ["stat"]}
    assert len(deep) < len(known) / 4  # what has been born since with the number of another


def test_a_process_without_resident_pages_is_listed_a_kernel_thread_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is swapped out, or whose program the kernel is just starting."""

    def nothing_resident(pid: int) -> tuple[str, list[str]]:
        name, fields = named_stat(pid)
        if fields:  # one that ended meanwhile has none
            fields[21] = "0"
        return name, fields

    child = subprocess.Popen(["sleep", "60"])
    try:
        monkeypatch.setattr(live, "named_stat", nothing_resident)
        rows = {row.pid for row in Processes().rows()}
    finally:
        child.kill()
        child.wait()
    assert child.pid in rows
    assert 2 not in rows or named_stat(2)[0] != "kthreadd"  # in a container 2 is an ordinary process


def test_programs_and_libraries_of_many_processes_are_read_once() -> None:
    """Thirty processes of one program: its files are read for the first, and no page tables are walked."""
    opened: Counter[str] = Counter()

    def counted(event: str, arguments: tuple[object, ...]) -> None:
        if recording and event in {"open", "mmap.__new__"}:
            opened[event if event != "open" else str(arguments[0]).rpartition("/")[2]] += 1

    recording = False
    sys.addaudithook(counted)
    processes = Processes(lambda: 0.0)
    started = [subprocess.Popen(["sleep", "60"]) for _ in range(30)]
    try:
        wait_until(lambda: all(stat_fields(one.pid)[0] == "S" for one in started))  # asleep: their programs are mapped
        processes.allocator(started[0].pid)
        recording = True
        told = {processes.allocator(one.pid) for one in started}
        recording = False
    finally:
        for one in started:
            one.kill()
            one.wait()
    assert len(told) == 1
    assert opened["maps"] == 29
    assert opened["mmap.__new__"] == 0
    assert opened["smaps"] == 0


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    """The same name, another program: an upgrade while `hew top` runs."""
    file = tmp_path / "program"
    file.write_bytes(b"no program")
    assert read_code(file) is None
    shutil.copy(Path(sys.executable).resolve(), file)
    assert read_code(file) is not None


def test_work_that_can_wait_takes_its_share_of_the_time_that_passes() -> None:
    """Pieces of 0.3 s: however long each is, they are a hundredth of the time."""
    now = spent = 0.0
    share = Share(lambda: now, lambda: spent)
    pieces = []
    for look in range(1000):
        now = 2.0 * look
        while share.is_there():
            with share.piece():
                spent += 0.3
            pieces.append(now)
        if not look:
            share.end_of_first()
    assert pieces[:2] == [0.0, 0.0]  # half a second at once, at the beginning
    assert len(pieces[2:]) == pytest.approx(2000 * PART / 0.3, abs=2)
    now += 10000.0  # long asleep: no more is saved up than one look may take
    assert share.is_there()
    with share.piece():
        spent += 1.01 * MOST
    assert not share.is_there()
