# SPDX-License-Identifier: MIT
"""`hew watch` as a user runs it, and the commands that read what it wrote."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from conftest import HewRunner, environment, is_as_described, wait_until
from hew.commands.replaying import ReplayFeed
from hew.model.errors import HewError
from hew.sources.history.blocks import LineFile
from hew.sources.history.recording import line_of, read_looks, read_recording
from hew.views.replay import ReplayApp
from test_watch_file import record
from waiting import waiting, waiting_on_hew, waits


@contextmanager
def watching(place: object, path: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`hew watch` as it runs."""
    command = [sys.executable, "-m", "hew", "watch", str(place), "-o", str(path), "--every", "0.1", *words]
    with subprocess.Popen(command, env=environment({"LD_PRELOAD": None}), stderr=subprocess.PIPE, text=True) as child:
        yield child
        child.kill()


def looks(path: Path) -> int:
    """So many are in the file."""
    try:
        return len(read_looks(path))
    except HewError:
        return 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_it_says_what_it_wrote(hew_library: Path, tmp_path: Path, number: int) -> None:
    path = tmp_path / "file"
    with waiting_on_hew(hew_library, tmp_path) as child, watching(child.pid, path) as watch:
        wait_until(lambda: looks(path) >= 3)
        watch.send_signal(number)
        watch.send_signal(number)
        _, said = watch.communicate()
    assert watch.returncode == 0
    found = looks(path)
    assert f"hew watch: ended by {signal.Signals(number).name}; {found} samples, " in said
    assert read_looks(path).record(found - 1).moment.snapshot is not None


def test_it_ends_when_the_process_ends(hew_library: Path, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with waiting_on_hew(hew_library, tmp_path) as child, watching(child.pid, path) as watch:
        wait_until(lambda: looks(path) >= 1)
        child.kill()
        child.wait()
        _, said = watch.communicate()
    assert watch.returncode == 0
    assert "hew watch: the process has ended; " in said


def test_what_a_killed_one_wrote_is_gone_on_with(hew_library: Path, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with waiting_on_hew(hew_library, tmp_path) as child:
        with watching(child.pid, path) as watch:
            wait_until(lambda: looks(path) >= 3)
            watch.kill()
            watch.wait()
        before = looks(path)
        assert before >= 3
        with watching(child.pid, path) as watch:
            wait_until(lambda: looks(path) >= before + 2)
            watch.terminate()
            watch.wait()
        found = read_recording(path)
        assert [one.pid for one in found.tracks] == [child.pid]
        assert not found.notes


def test_all_processes_of_a_folder_are_in_one_file(hew_library: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    other.mkdir()
    with ExitStack() as stack:
        pids = [stack.enter_context(waiting_on_hew(hew_library, tmp_path)).pid for _ in range(2)]
        stack.enter_context(waiting_on_hew(hew_library, other))
        watch = stack.enter_context(watching(tmp_path, path))
        wait_until(lambda: looks(path) >= 6)
        watch.terminate()
        watch.wait()
    tracks = read_recording(path).tracks
    assert sorted(one.pid for one in tracks) == sorted(pids)
    assert all(one.points[-1].live for one in tracks)


def test_a_process_on_another_malloc_is_recorded_from_outside(hew: HewRunner, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with waiting(waits(), {}) as child, watching(child.pid, path) as watch:
        wait_until(lambda: looks(path) >= 10)
        watch.terminate()
        watch.wait()
    found = hew("advise", str(path))
    assert found.returncode in {0, 4}, found.stderr
    assert ": flat" in found.stdout
    told = hew("stats", str(path))
    assert "has no statistics, only what the kernel said" in told.stderr


def test_wrong_words_are_told_in_one_line(hew: HewRunner, tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text("a letter")
    for words, text in (
        (("nothing", "-o", str(tmp_path / "new")), "neither a process id nor a folder"),
        ((str(os.getpid()), "-o", str(letter)), "is no recording of hew watch"),
        (("4194304", "-o", str(tmp_path / "new")), "there is no process"),
    ):
        found = hew("watch", *words)
        assert found.returncode == 1
        assert text in found.stderr
        assert found.stderr.count("\n") == 1
    assert not (tmp_path / "new").exists()
    assert hew("watch", "1", "-o", "x", "--max", "1K").returncode == 2
    assert "is no recording" in hew("top", "--replay", str(letter), "--json").stderr


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    """A recording of two processes: one grows by 1 MiB a second, the other does not."""
    path = tmp_path / "recording"
    file = LineFile(path, 1 << 20, {})
    for at in range(20):
        file.put(line_of(record(1e9 + at, 42, (10 + at) << 20)))
        file.put(line_of(record(1e9 + at, 43, 5 << 20)))
    file.close()
    return path


def test_stats_and_advise_say_what_grew(hew: HewRunner, leaky: Path) -> None:
    shown = hew("stats", str(leaky))
    assert shown.returncode == 0, shown.stderr
    assert "a leak is likely" in shown.stdout
    assert "most of it in objects of 16 bytes" in shown.stdout
    advice = hew("advise", str(leaky))
    assert advice.returncode == 3
    assert "Live memory grows steadily" in advice.stdout
    document = is_as_described(hew("advise", "--json", str(leaky)).stdout, "advice")
    assert [one["verdict"] for one in document["over_time"]] == ["leak likely", "flat"]
    assert document["over_time"][0]["classes"][0]["size"] == 16
    document = is_as_described(hew("stats", "--json", str(leaky)).stdout, "stats")
    assert len(document["snapshots"]) == 2


def test_a_replay_for_scripts_shows_the_end(hew: HewRunner, leaky: Path) -> None:
    document = is_as_described(hew("top", "--replay", str(leaky), "--json", "42").stdout, "top")
    assert document["process"]["pid"] == 42
    listed = json.loads(hew("top", "--replay", str(leaky), "--json").stdout)
    assert [row["pid"] for row in listed["processes"]] == [42, 43]
    assert "this needs a terminal" in hew("top", "--replay", str(leaky)).stderr


def test_a_recording_of_a_library_that_told_of_tuning_is_read_without_that(hew: HewRunner, tmp_path: Path) -> None:
    older = {"mode": "on", "windows": 10, "own_ns": 5000, "room_trials": 2, "dirty_decay_ms": 10_000,
             "last_steps": [["at_ms", "setting", "before", "after"], [400, "depot_room", 100, 200]]}  # fmt: skip
    file = LineFile(tmp_path / "recording", 1 << 20, {})
    for at in range(2):
        line = json.loads(line_of(record(1e9 + at, 42, 10 << 20)))
        line["moment"]["snapshot"]["tuning"] = older
        file.put(json.dumps(line).encode())
    file.close()
    assert len(read_looks(tmp_path / "recording")) == 2
    shown = hew("top", "--replay", str(tmp_path / "recording"), "--json", "42")
    assert is_as_described(shown.stdout, "top")["process"]["pid"] == 42


def test_a_replay_is_paused_and_stepped_by_keys(leaky: Path) -> None:
    feed = ReplayFeed(read_looks(leaky))
    assert feed.period == 1.0

    async def run() -> None:
        app = ReplayApp(feed, 1000.0, 42)
        async with app.run_test(size=(110, 36)) as pilot:
            await pilot.press("space")
            assert app.sub_title.endswith("look 1 of 20, paused")
            for key, place in (("right", 2), ("right", 3), ("left", 2), ("left", 1), ("left", 1)):
                await pilot.press(key)
                await pilot.pause()
                assert f"look {place} of 20" in app.sub_title
            await pilot.press("space")
            app.on_interval()
            app.on_interval()
            assert app.sub_title.endswith("look 2 of 20")

    asyncio.run(run())
    feed.go_to_end()
    rates = {one.label: one.value for one in feed.look(42).rates}
    assert rates["requests"] == 0
    with pytest.raises(HewError, match="there was no process 44"):
        feed.look(44)
