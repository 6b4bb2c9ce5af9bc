# SPDX-License-Identifier: MIT
"""Limits of control groups, read from made-up trees of both versions."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from conftest import build, wait_until
from hew.analysis.doctor import examine
from hew.sources import process_limits
from hew.sources.discovery import find_library, library_folders
from hew.sources.process_facts import read_process
from hew.sources.process_limits import read_limits, read_system
from stubs import SLEEPER, running

PID = 7


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for /proc, without groups."""
    for folder in (f"proc/{PID}", "proc/self", "groups"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(process_limits, "PROC", str(tmp_path / "proc"))
    return tmp_path


def mount(machine: Path, where: str, kind: str, options: str = "rw") -> Path:
    """Mount a hierarchy; its folder."""
    table = machine / "proc/self/mountinfo"
    before = table.read_text() if table.exists() else ""
    table.write_text(f"{before}30 24 0:26 / {machine}/{where} rw,relatime shared:9 - {kind} {kind} {options}\n")
    (machine / where).mkdir(parents=True, exist_ok=True)
    return machine / where


def group(machine: Path, text: str) -> None:
    (machine / f"proc/{PID}/cgroup").write_text(text)


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".", 1)).write_text(text + "\n")


def test_without_groups_there_are_no_limits(machine: Path) -> None:
    limits = read_limits(PID)
    assert (limits.cpus_of_group, limits.memory_of_group, limits.memory_used_by_group) == (None, None, None)


def test_version_2_the_tightest_of_nested_groups_counts(machine: Path) -> None:
    root = mount(machine, "groups", "cgroup2")
    group(machine, "0::/outer/inner\n")
    write(root / "outer", cpu__max="50000 100000", memory__max="1000000", memory__high="max", memory__current="900")
    write(root / "outer/inner", cpu__max="max 100000", memory__max="max", memory__high="800000", memory__current="500")
    limits = read_limits(PID)
    assert (limits.cpus_of_group, limits.memory_of_group, limits.memory_used_by_group) == (0.5, 800000, 500)


def test_pages_of_files_do_not_count_and_the_group_with_the_least_left_is_told(machine: Path) -> None:
    root = mount(machine, "groups", "cgroup2")
    group(machine, "0::/outer/inner\n")
    stat = "anon 1\ninactive_file 300\nactive_file 50"
    write(root / "outer", memory__max="1000", memory__current="990", memory__stat="inactive_file 10\nactive_file 0")
    write(root / "outer/inner", memory__max="800", memory__current="700", memory__stat=stat)
    limits = read_limits(PID)
    assert (limits.memory_of_group, limits.memory_used_by_group) == (1000, 980)


def test_version_1_has_a_hierarchy_for_each_controller(machine: Path) -> None:
    cpu = mount(machine, "groups/cpu", "cgroup", "rw,cpu,cpuacct")
    memory = mount(machine, "groups/memory", "cgroup", "rw,memory")
    group(machine, "4:memory:/job\n2:cpu,cpuacct:/job\n")
    write(cpu / "job", cpu__cfs_quota_us="150000", cpu__cfs_period_us="100000")
    write(cpu, cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    write(memory / "job", memory__limit_in_bytes="5000", memory__usage_in_bytes="100")
    write(memory, memory__limit_in_bytes="9223372036854771712", memory__usage_in_bytes="7000")
    limits = read_limits(PID)
    assert (limits.cpus_of_group, limits.memory_of_group, limits.memory_used_by_group) == (1.5, 5000, 100)


def test_a_container_that_sees_its_own_group_only_is_read_at_the_mount(machine: Path) -> None:
    root = mount(machine, "groups", "cgroup2")
    group(machine, "0::/kubepods/pod1/container\n")
    write(root, cpu__max="200000 100000", memory__max="4096")
    limits = read_limits(PID)
    assert (limits.cpus_of_group, limits.memory_of_group) == (2.0, 4096)


def gone(group: Path) -> bool:
    """Take a group away, which the system allows some time after its last process has ended."""
    try:
        group.rmdir()
    except OSError:
        return False
    return True


@contextmanager
def limited_to_half_a_cpu(pid: int) -> Iterator[None]:
    """The process in a real group, of whichever version this machine gives us."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    found = [(fields[4], fields[fields.index("-") + 1], fields[-1].split(",")) for fields in mounts]
    for where, kind, options in found:
        if kind not in {"cgroup", "cgroup2"} or (kind == "cgroup" and "cpu" not in options):
            continue
        folder = Path(where) / f"hew-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if kind == "cgroup2":
                (folder / "cpu.max").write_text("50000 100000")
            else:
                (folder / "cpu.cfs_quota_us").write_text("50000")
            (folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            folder.rmdir()
            continue
        try:
            yield
        finally:
            os.kill(pid, signal.SIGKILL)
            wait_until(partial(gone, folder))
        return
    pytest.skip("no control group with a CPU limit can be made here (not root, or the hierarchy is read-only)")


def test_a_real_group_limits_a_real_process_and_its_arenas_are_too_many(compiler: str, tmp_path: Path) -> None:
    library = find_library("jemalloc", library_folders({}))
    program = build(compiler, tmp_path / "sleeper", SLEEPER)
    with running(program, {"LD_PRELOAD": str(library) if library else None}) as pid, limited_to_half_a_cpu(pid):
        assert read_limits(pid).cpus_of_group == 0.5
        if library and len(os.sched_getaffinity(0)) > 1:
            busy = replace(read_process(pid), threads=8)
            said = [one for one in examine(busy) if "counts the CPUs alone" in one.what]
            assert said[0].next.startswith("set MALLOC_CONF=narenas:4;")


def test_the_link_of_settings_is_the_process_s_own(machine: Path) -> None:
    (machine / f"proc/{PID}/root/etc").mkdir(parents=True)
    (machine / f"proc/{PID}/root/etc/malloc.conf").symlink_to("narenas:2")
    assert read_system(PID).conf_link == "narenas:2"
