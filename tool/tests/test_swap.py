# SPDX-License-Identifier: MIT
"""`hew swap`: another allocator in a process that runs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import PATIENCE, PROGRAMS, HewRunner, build, environment
from hew.model.errors import HewError
from hew.sources.processes import resident, tree
from hew.sources.swap import held
from hew.sources.swap.counting import count
from hew.sources.swap.service import forget, keep, processes_of
from hew.sources.swap.swapping import drain, swap, swap_back
from swapped import LONG, MARKS
from waiting import waiting

Programs = Callable[[str], list[str]]
SOAK = Path(__file__).resolve().parents[2] / "scripts" / "swap_soak.py"
WAYS = ("direct", "stored", "dlsym", "dlvsym", "realloc", "aligned", "libc", "plugin", "thread", "child")
PLUGIN = "#include <stdlib.h>\nvoid *make(size_t size) { return malloc(size); }\n"

pytestmark = MARKS


@pytest.mark.parametrize("preload", ["", "libjemalloc.so.2"])
def test_objects_of_both_allocators_live_on_through_swaps_back_and_forth(
    preload: str, programs: Programs, ours: Path
) -> None:
    folder = Path("/usr/lib/x86_64-linux-gnu")
    if preload and not (folder / preload).exists():
        pytest.skip("jemalloc is not here: apt-get install libjemalloc2")
    with waiting(programs("swaps 3"), {"LD_PRELOAD": str(folder / preload) if preload else None}) as program:
        first = swap(program.pid, ours, timeout=LONG)
        assert first.loaded
        with pytest.raises(HewError, match="has been swapped already"):
            swap(program.pid, ours)
        assert drain(program.pid, timeout=LONG).frees > 0
        assert not swap_back(program.pid, timeout=LONG).loaded
        with pytest.raises(HewError, match="has not been swapped, or is back already"):
            swap_back(program.pid)
        assert not swap(program.pid, ours, timeout=LONG).loaded
        output, _ = program.communicate("\n", timeout=LONG)
        assert (program.returncode, output.split()[:2]) == (0, ["wrong", "0"])


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        ((), {}),
        (("-Wl,-z,relro", "-Wl,-z,now", "-fcf-protection=full"), {}),
        (("-no-pie", "-Wl,-z,lazy"), {}),
        (("-Wl,-z,norelro", "-Wl,-z,lazy"), {}),
        ((), {"LD_BIND_NOW": "1"}),
    ],
    ids=["usual", "read-only words and CET", "fixed address, bound at the first call", "no RELRO", "bound at start"],
)
def test_every_way_to_malloc_leads_to_hew_and_back(
    flags: tuple[str, ...], variables: dict[str, str | None], compiler: str, tmp_path: Path, ours: Path
) -> None:
    text = (PROGRAMS / "swap_corners.c").read_text()
    program = build(compiler, tmp_path / "corners", text, "-O1", "-fno-builtin", "-pthread", *flags)
    plugin = build(compiler, tmp_path / "plugin.so", PLUGIN, "-shared", "-fPIC", "-fno-builtin")
    with waiting([str(program), str(ours), str(plugin)], variables) as child:

        def served() -> set[tuple[str, str]]:
            """Each way with the allocator that it led to."""
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("\n")
            child.stdin.flush()
            words = child.stdout.readline().split()
            return set(zip(words[::2], words[1::2], strict=True))

        assert served() == {(way, "old") for way in WAYS}
        swap(child.pid, ours, timeout=LONG)
        assert served() == {(way, "hew") for way in WAYS}
        swap_back(child.pid, timeout=LONG)
        assert served() == {(way, "old") for way in WAYS}
        child.communicate("", timeout=LONG)
        assert child.returncode == 0


def test_hew_gets_its_settings_and_its_control_socket(programs: Programs, ours: Path, hew: HewRunner) -> None:
    with waiting(programs("swaps 2"), {}) as program:
        done = hew("swap", "--timeout", "60", "--lib", str(ours), "--conf", "dirty_decay_ms:1234", str(program.pid))
        assert (done.returncode, done.stderr) == (0, "")
        assert hew("ctl", str(program.pid), "arenas.dirty_decay_ms").stdout == "1234\n"


def test_a_server_under_load_gives_right_answers_meanwhile(ours: Path, tmp_path: Path) -> None:
    words = [sys.executable, str(SOAK), "--swaps", "2", "--only", "python", "--library", str(ours)]
    words += ["--results", str(tmp_path / "results.json")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 of 2" in done.stdout


def test_one_command_swaps_and_trims_and_then_trims_alone(programs: Programs, ours: Path, hew: HewRunner) -> None:
    with waiting(programs("hold 1 1000 40000 0 4000000"), {}) as program:
        words = ("swap", "--timeout", "60", "--trim", "--lib", str(ours), str(program.pid))
        first, second = hew(*words).stdout.splitlines(), hew(*words).stdout.splitlines()
        assert "is on hew" in first[0]
        assert "of the old heap returned" in first[2]
        assert "of the old heap returned" in second[0]
        assert hew("swap", "--back", "--timeout", "60", str(program.pid)).returncode == 0


def test_advice_offers_a_swap_and_says_what_comes_back(programs: Programs, ours: Path, hew: HewRunner) -> None:
    words = programs("plateau 100000 1000 50000")
    clean = environment({"LD_PRELOAD": None, "MALLOC_CONF": None})
    with subprocess.Popen(words, env=clean, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        while program.stdout.readline() != "end\n":
            pass
        advice = hew("advise", str(program.pid)).stdout
        offered = re.search(
            rf"hew swap --trim {program.pid} \(about (\d+) MiB come back at once\)", " ".join(advice.split())
        )
        assert offered
        before = resident(program.pid)
        swap(program.pid, ours, timeout=LONG)
        drain(program.pid, timeout=LONG)
        returned = (before - resident(program.pid)) / (1 << 20)
        assert returned == pytest.approx(int(offered[1]), rel=0.15)
        program.kill()


def test_a_program_that_only_sleeps_goes_on_sleeping(programs: Programs, ours: Path) -> None:
    with waiting(programs("hold 1 500 300 3 4000000"), {}) as program:
        swap(program.pid, ours, timeout=LONG)
        drain(program.pid, timeout=LONG)
        swap_back(program.pid, timeout=LONG)
        assert program.poll() is None


def test_descendants_are_swapped_too(programs: Programs, ours: Path, hew: HewRunner) -> None:
    words = " ".join(programs("swaps 2"))
    with waiting(["sh", "-c", f"{words}; echo $?"], {}) as shell:
        done = hew("swap", "--timeout", "60", "--children", "--json", "--lib", str(ours), str(shell.pid))
        swapped = [one["pid"] for one in json.loads(done.stdout)]
        assert swapped == tree(shell.pid)
        assert len(swapped) == 2
        output, _ = shell.communicate("\n", timeout=LONG)
        assert output.split()[-1] == "0"


def test_a_program_that_is_executed_has_the_old_allocator(programs: Programs, ours: Path) -> None:
    words = f"echo ready; read line; exec {programs('two_pools')[0]}"
    with waiting(["sh", "-c", words], {}) as shell:
        maps = Path(f"/proc/{shell.pid}/maps")
        swap(shell.pid, ours, timeout=LONG)
        assert str(ours) in maps.read_text()
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write("\n")
        shell.stdin.flush()
        assert shell.stdout.readline() == "ready\n"
        assert str(ours) not in maps.read_text()


def test_a_service_is_the_processes_of_its_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text('#!/bin/sh\n[ "$5" = busy ] && echo /system.slice/busy.service; exit 0\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    group = tmp_path / "system.slice" / "busy.service"
    (group / "inner").mkdir(parents=True)
    (group / "cgroup.procs").write_text("41\n")
    (group / "inner" / "cgroup.procs").write_text("9\n10\n")
    assert processes_of("busy", tmp_path) == [9, 10, 41]
    with pytest.raises(HewError, match="the service idle does not run"):
        processes_of("idle", tmp_path)


def test_the_share_of_requests_is_counted_and_nothing_stays(programs: Programs, ours: Path, hew: HewRunner) -> None:
    with waiting(programs("two_pools"), {}) as program:
        before = [line.split()[0] for line in Path(f"/proc/{program.pid}/maps").read_text().splitlines()]
        found = count(program.pid, 0.5, timeout=LONG)
        (old, served), (copy, kept) = found.requests
        assert old.startswith("glibc")
        assert copy.startswith("jemalloc (my_malloc in ")
        assert served
        assert kept
        assert abs(kept - 3 * served) <= 3, "a request at the first and at the last moment"
        assert [line.split()[0] for line in Path(f"/proc/{program.pid}/maps").read_text().splitlines()] == before
        first, *rows = hew("swap", "--share", "--timeout", "60", str(program.pid)).stdout.splitlines()
        assert first.endswith("; hew would serve 25%")
        assert len(rows) == 2
        swap(program.pid, ours, timeout=LONG)
        with pytest.raises(HewError, match="is on hew; hew stats"):
            count(program.pid, 0.5)
        program.communicate("\n", timeout=LONG)
        assert program.returncode == 0


def test_a_count_that_is_cut_short_leaves_a_program_that_can_be_swapped(
    programs: Programs, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with waiting(programs("swaps 3"), {}) as program:
        with monkeypatch.context() as patch:
            patch.setattr("hew.sources.swap.counting.time.sleep", lambda _: held.HOLDER.end())
            patch.setattr(held.HOLDER, "start", lambda: (_ for _ in ()).throw(HewError("cut short")))
            with pytest.raises(HewError, match="cut short"):
                count(program.pid, 1.0, timeout=LONG)
        swap(program.pid, ours, timeout=LONG)
        swap_back(program.pid, timeout=LONG)
        assert (found := count(program.pid, 0.1, timeout=LONG).requests[0][1])
        assert found > 0
        output, _ = program.communicate("\n", timeout=LONG)
        assert (program.returncode, output.split()[:2]) == (0, ["wrong", "0"])


def test_a_service_starts_on_hew_from_now_on_and_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    file = keep("busy", Path("/usr/lib/libhew.so"), "dirty_decay_ms:1000", tmp_path)
    assert file == tmp_path / "busy.service.d" / "hew.conf"
    assert file.read_text().splitlines()[1:] == [
        "[Service]",
        "Environment=LD_PRELOAD=/usr/lib/libhew.so",
        "Environment=HEW_CONF=dirty_decay_ms:1000",
    ]
    assert forget("busy", tmp_path) == file
    assert not file.exists()
    assert forget("busy", tmp_path) is None
    assert (tmp_path / "asked").read_text().splitlines() == ["daemon-reload"] * 2
    file.write_text("[Service]\n")
    with pytest.raises(HewError, match="was not written by hew swap"):
        keep("busy", Path("/usr/lib/libhew.so"), "", tmp_path)
    assert file.read_text() == "[Service]\n"
