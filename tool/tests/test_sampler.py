# SPDX-License-Identifier: MIT
"""Memory over time, and what is really mapped."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import PATIENCE, wait_until
from hew.sources import sampler as module
from hew.sources.launcher import Streams, launch
from hew.sources.sampler import Sampler, is_loading

MIB = 2**20
STEPS = 20
# Takes 3 MiB more each time it is told to, by a file.
GROW = (
    "import pathlib, sys, time; kept = []\n"
    f"for step in range({STEPS}):\n"
    "    while not pathlib.Path(sys.argv[1], str(step)).exists(): time.sleep(0.01)\n"
    "    kept.append(bytearray(3 * 2**20))\n"
    "while not pathlib.Path(sys.argv[1], 'end').exists(): time.sleep(0.01)\n"
)
FOREVER = ("sleep", "999")


def watch(
    *command: str,
    until: Callable[[Sampler], object] | None = None,
    library: Path | None = None,
    preload: Path | None = None,
) -> Sampler:
    """A command that was watched to its end, or until something was seen of it."""
    with (
        Path(os.devnull).open("rb") as nothing,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
        launch(command, os.environ, str(preload) if preload else None, Streams(nothing, out, errors)) as launched,
    ):
        sampler = Sampler(launched.pid, library)
        launched.open_gate()
        sampler.start()
        if until:
            wait_until(lambda: until(sampler))
            launched.kill()
        launched.wait(PATIENCE)
        sampler.stop()
        return sampler


def looked_at(sampler: Sampler) -> bool:
    """As often as there are looks."""
    return any(sighting.looks == len(module.LOOKS) for sighting in sampler.seen.values())


def growing(folder: Path, *before: str) -> Sampler:
    """A program that grows once each of its sizes has been seen."""
    told = 0

    def tell(sampler: Sampler) -> bool:
        nonlocal told
        if sampler.points and sampler.points[-1].bytes > 3 * MIB * told:
            (folder / (str(told) if told < STEPS else "end")).touch()
            told += 1
        return told > STEPS

    return watch(*before, sys.executable, "-c", GROW, str(folder), until=tell)


def test_the_line_follows_the_commands_memory(tmp_path: Path) -> None:
    points = growing(tmp_path).points
    assert len(points) > 8
    assert [point.seconds for point in points] == sorted(point.seconds for point in points)
    sizes = [point.bytes for point in points]
    assert max(sizes) - min(sizes) > 35 * MIB


def test_the_line_is_that_of_the_largest_process_of_a_tree(tmp_path: Path) -> None:
    points = growing(tmp_path, "sh", "-c", '"$@"; true', "sh").points
    assert max(point.bytes for point in points) > 45 * MIB


def test_a_full_line_drops_every_second_point_and_keeps_the_higher(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 8)
    points = growing(tmp_path).points
    assert 2 <= len(points) < 8
    assert [point.bytes for point in points] == sorted(point.bytes for point in points)


def test_a_preloaded_library_is_seen(library: Path) -> None:
    assert not watch(*FOREVER, until=looked_at, library=library, preload=library).misses_library()


def test_a_library_that_is_not_there_is_missed(library: Path) -> None:
    assert watch(*FOREVER, until=looked_at, library=library).misses_library()


def test_a_command_that_is_over_at_once_is_not_accused(library: Path) -> None:
    assert not watch("true", library=library).misses_library()


def test_a_process_whose_loader_is_at_work_is_not_judged() -> None:
    loader, program = Path("/lib64/ld-linux-x86-64.so.2"), Path("/usr/bin/sleep")
    assert is_loading({loader, program})
    assert not is_loading({loader, program, Path("/usr/lib/libc.so.6")})
    assert not is_loading({program})


def test_a_process_that_has_ended_is_not_judged(library: Path) -> None:
    ended = subprocess.Popen(["sleep", "0"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    sampler = Sampler(ended.pid, library)
    for now in (0.0, 1.0, 2.0, 3.0):
        sampler._look([ended.pid], now)
    assert not sampler.misses_library()
    ended.wait()


def test_an_allocator_that_nobody_asked_for_is_named(library: Path, tmp_path: Path) -> None:
    own = tmp_path / "libjemalloc.so.2"
    own.write_bytes(library.read_bytes())
    command = ("sh", "-c", "sleep 999; true")
    sampler = watch(*command, until=Sampler.foreign_allocators, library=library, preload=own)
    assert sampler.foreign_allocators() == {"libjemalloc.so.2"}


def test_a_program_that_another_became_is_looked_at_anew(library: Path, tmp_path: Path) -> None:
    script = f"while [ ! -e {tmp_path}/seen ]; do sleep 0.05; done; unset LD_PRELOAD; exec sleep 999"

    def shed(sampler: Sampler) -> bool:
        if looked_at(sampler):
            (tmp_path / "seen").touch()
        return sampler.misses_library()

    assert watch("sh", "-c", script, until=shed, library=library, preload=library).misses_library()
