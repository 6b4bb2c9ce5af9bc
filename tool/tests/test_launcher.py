# SPDX-License-Identifier: MIT
"""Starting a command so that what is measured is the command alone."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import PATIENCE, wait_until
from hew.model.errors import CommandNotFoundError
from hew.sources.launcher import Ending, Streams, launch
from hew.sources.processes import stat_fields

MIB = 2**20


@pytest.fixture
def streams() -> Iterator[Streams]:
    with Path(os.devnull).open("rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        yield Streams(nothing, out, errors)


def run(streams: Streams, *command: str, preload: str | None = None, timeout: float | None = PATIENCE) -> Ending:
    launched = launch(command, os.environ, preload, streams)
    launched.open_gate()
    return launched.wait(timeout)


def written(streams: Streams) -> str:
    streams.output.seek(0)
    return streams.output.read().decode()


def test_peak_memory_is_the_commands_and_not_that_of_the_process_that_started_it(streams: Streams) -> None:
    ballast = bytearray(os.urandom(1)) * (100 * MIB)
    assert run(streams, "true").peak_rss < 8 * MIB
    assert len(ballast) == 100 * MIB


def test_peak_memory_is_that_of_the_largest_process_of_the_tree(streams: Streams) -> None:
    big = f"{sys.executable} -c 'x = bytearray(60 * 2**20)'"
    assert 60 * MIB < run(streams, "sh", "-c", f"{big}; true").peak_rss < 100 * MIB


def test_nothing_runs_before_the_gate_is_opened(streams: Streams) -> None:
    launched = launch(["sh", "-c", "echo ran"], os.environ, None, streams)
    wait_until(lambda: stat_fields(launched.pid)[0] == "S")  # at the gate
    assert written(streams) == ""
    assert launched.running()
    launched.open_gate()
    assert launched.wait(PATIENCE).status == 0
    assert written(streams) == "ran\n"


def test_times_are_the_commands(streams: Streams) -> None:
    began = time.monotonic()
    ending = run(streams, "sleep", "0.3")
    assert 0.3 <= ending.wall <= time.monotonic() - began
    assert ending.cpu < 0.2


@pytest.mark.parametrize(("script", "status"), [("exit 5", 5), ("kill -9 $$", -9)])
def test_the_ending_says_how_it_ended(streams: Streams, script: str, status: int) -> None:
    assert run(streams, "sh", "-c", script).status == status


def test_words_reach_the_command_unchanged(streams: Streams) -> None:
    words = ["$HOME", "a b", "", "*", "'\"\\", "-x", "ü\n"]
    run(streams, sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert written(streams).strip() == repr(words)


def test_the_command_has_the_preload_and_no_stray_descriptor(streams: Streams, library: Path) -> None:
    run(streams, "sh", "-c", "echo $LD_PRELOAD; ls /proc/$$/fd; :", preload=str(library))
    preload, *open_ones = written(streams).split()
    ours = {end.name for end in Path("/proc/self/fd").iterdir()}
    assert preload == str(library)
    assert {"0", "1", "2"} <= set(open_ones) <= {"0", "1", "2"} | {one for one in ours if passes_on(int(one))}


def passes_on(descriptor: int) -> bool:
    """Whether a descriptor of ours is one that every child gets."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False


def test_a_timeout_kills_the_command_and_its_children(streams: Streams, tmp_path: Path) -> None:
    before = children()
    ending = run(streams, "sh", "-c", f"(sleep 999; touch {tmp_path}/late) & sleep 999; true", timeout=0.3)
    assert ending.timed_out
    assert children() <= before


def test_what_a_command_left_behind_in_its_group_is_ended_and_collected(streams: Streams) -> None:
    before = children()
    assert run(streams, "sh", "-c", "sleep 999 & exit 0").status == 0
    assert children() <= before


@pytest.mark.parametrize("opened", [False, True])
def test_an_interrupt_at_any_point_ends_and_collects_the_command(streams: Streams, opened: bool) -> None:
    before = children()
    with pytest.raises(KeyboardInterrupt):
        interrupted(streams, opened)
    assert children() <= before


def interrupted(streams: Streams, opened: bool) -> None:
    with launch(["sh", "-c", "sleep 32 & sleep 33"], os.environ, None, streams) as one:
        if opened:
            one.open_gate()
        raise KeyboardInterrupt


def test_leaving_the_block_after_the_end_changes_nothing(streams: Streams) -> None:
    with launch(["sh", "-c", "exit 3"], os.environ, None, streams) as one:
        one.open_gate()
        ending = one.wait(60)
    one.end()
    assert ending.status == 3


def children() -> set[int]:
    """Our own children, zombies too."""
    listed = subprocess.Popen(["ps", "-o", "pid=", "--ppid", str(os.getpid())], stdout=subprocess.PIPE, text=True)
    found, _ = listed.communicate()
    return {int(line) for line in found.splitlines()} - {listed.pid}


def test_a_missing_command_is_known_before_anything_starts(streams: Streams) -> None:
    with pytest.raises(CommandNotFoundError):
        launch(["no-such-command-here"], os.environ, None, streams)
