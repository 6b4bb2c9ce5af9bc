# SPDX-License-Identifier: MIT
"""Memory over time, and what is really mapped."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from hew.sources import sampler as module
from hew.sources.launcher import Streams, launch
from hew.sources.sampler import Sampler

MIB = 2**20
GROW = "import time\nkept = []\nfor _ in range(5):\n    kept.append(bytearray(10 * 2**20))\n    time.sleep(0.08)\n"


def watch(*command: str, library: Path | None = None, preload: Path | None = None) -> Sampler:
    with Path(os.devnull).open("rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        launched = launch(command, os.environ, str(preload) if preload else None, Streams(nothing, out, errors))
        sampler = Sampler(launched.pid, library)
        launched.open_gate()
        sampler.start()
        launched.wait(20)
        sampler.stop()
        return sampler


def test_the_line_follows_the_commands_memory() -> None:
    points = watch(sys.executable, "-c", GROW).points
    assert len(points) > 8
    assert [point.seconds for point in points] == sorted(point.seconds for point in points)
    sizes = [point.bytes for point in points]
    assert max(sizes) - min(sizes) > 35 * MIB


def test_the_line_is_that_of_the_largest_process_of_a_tree() -> None:
    points = watch("sh", "-c", f"{sys.executable} -c '{GROW}'; true").points
    assert max(point.bytes for point in points) > 45 * MIB


def test_a_full_line_drops_every_second_point_and_keeps_the_higher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 8)
    points = watch(sys.executable, "-c", GROW).points
    assert 2 <= len(points) < 8
    assert [point.bytes for point in points] == sorted(point.bytes for point in points)


def test_a_preloaded_library_is_seen(library: Path) -> None:
    assert not watch("sleep", "0.4", library=library, preload=library).misses_library()


def test_a_library_that_is_not_there_is_missed(library: Path) -> None:
    assert watch("sleep", "0.4", library=library).misses_library()


def test_a_command_that_is_over_at_once_is_not_accused(library: Path) -> None:
    assert not watch("true", library=library).misses_library()


def test_an_allocator_that_nobody_asked_for_is_named(library: Path, tmp_path: Path) -> None:
    own = tmp_path / "libjemalloc.so.2"
    own.write_bytes(library.read_bytes())
    sampler = watch("sh", "-c", "sleep 0.4; true", library=library, preload=own)
    assert sampler.foreign_allocators() == {"libjemalloc.so.2"}


def test_a_program_that_another_became_is_looked_at_anew(library: Path) -> None:
    shedding = ["sh", "-c", "sleep 0.2; unset LD_PRELOAD; exec sleep 0.8"]
    assert watch(*shedding, library=library, preload=library).misses_library()
