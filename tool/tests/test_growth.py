# SPDX-License-Identifier: MIT
"""What grew, since when, in which class: made-up series whose shape is known, and programs on hew that do it."""

import math
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import environment, wait_until
from hew.analysis.advice.over_time import advise_over_time
from hew.analysis.growth import growth, plateaus, slope, tau, trend
from hew.model.growth import Growth, Shape, Verdict
from hew.model.history import MOST_ARENAS, Point, Record, Track
from hew.model.live import Moment, Outside
from hew.sources.control import find_socket
from hew.sources.history.blocks import LineFile
from hew.sources.history.recording import line_of, read_recording
from hew.sources.history.watching import OneProcess
from hew.views.growth_text import sentence

MIB = 1 << 20
Sizes = Callable[[int], float]


def noise(number: int, size: float) -> float:
    return random.Random(number).uniform(-size, size)  # noqa: S311 - the same each time is what is wanted


def track(live: Sizes, resident: Sizes, count: int = 120, every: float = 10.0) -> Track:
    moment = Moment(42, "server", "", "hew", {}, 0.0, 0, 0.0, Outside(0, 0, 0, 0))
    points = tuple(
        Point(at * every, round(resident(at)), round(live(at)), classes={32: round(live(at)) - MIB, 64: MIB})
        for at in range(count)
    )
    return Track(42, 1, points, Record(0.0, 1, moment))


SERIES: dict[str, tuple[Sizes, Sizes, Verdict]] = {
    "flat": (lambda at: 50 * MIB + noise(at, MIB / 2), lambda at: 60 * MIB + noise(at, MIB / 2), Verdict.FLAT),
    "leak": (lambda at: 50 * MIB + at * MIB / 4, lambda at: 60 * MIB + at * MIB / 4, Verdict.LEAK),
    "leak beneath a sawtooth": (
        lambda at: 50 * MIB + at * MIB / 2 + at % 5 * 4 * MIB,
        lambda at: 100 * MIB + at * MIB / 2,
        Verdict.LEAK,
    ),
    "leak that is noisy": (
        lambda at: 50 * MIB + at * MIB / 4 + noise(at, 3 * MIB),
        lambda at: 60 * MIB + at * MIB / 4,
        Verdict.LEAK,
    ),
    "sawtooth": (
        lambda at: 50 * MIB + at % 9 * 5 * MIB,
        lambda at: 100 * MIB + noise(at, MIB),
        Verdict.SAWTOOTH,
    ),
    "day and night": (
        lambda at: 80 * MIB + 30 * MIB * math.sin(at / 6),
        lambda at: 130 * MIB + noise(at, MIB),
        Verdict.SAWTOOTH,
    ),
    "retention": (
        lambda at: 20 * MIB + noise(at, MIB / 8),
        lambda at: (30 + 40 * (at // 40)) * MIB,
        Verdict.RETENTION,
    ),
    "retention after one peak": (
        lambda at: 300 * MIB if at == 31 else 20 * MIB,
        lambda at: 30 * MIB if at < 31 else 310 * MIB,
        Verdict.RETENTION,
    ),
    "a cache that filled": (
        lambda at: 20 * MIB + min(at, 50) * MIB,
        lambda at: 30 * MIB + min(at, 50) * MIB,
        Verdict.PLATEAUS,
    ),
    "steps": (lambda at: 20 * MIB + at // 30 * 10 * MIB, lambda at: 30 * MIB + at // 30 * 10 * MIB, Verdict.PLATEAUS),
}


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("count", [40, 120, 1000])
def test_each_course_of_memory_has_its_verdict(name: str, count: int) -> None:
    live, resident, verdict = SERIES[name]
    scale = 1.0 if verdict is Verdict.SAWTOOTH else count / 120
    made = track(lambda at: live(int(at / scale)), lambda at: resident(int(at / scale)), count)
    found = growth(made)
    assert found.verdict is verdict, (found.live, found.resident)
    assert (advise_over_time(found, made.last) is not None) is (verdict is Verdict.LEAK)


def test_the_class_and_the_time_of_a_rise_are_named() -> None:
    found = growth(track(lambda at: (20 + max(at - 60, 0)) * MIB, lambda at: (30 + max(at - 60, 0)) * MIB))
    assert [one.size for one in found.classes] == [32]
    assert found.live is not None
    assert found.live.since is not None
    assert 600 <= found.live.since <= 640
    assert found.verdict is Verdict.LEAK
    assert found.live.slope == pytest.approx(MIB / 10, rel=0.05)
    assert "most of it in objects of 32 bytes" in sentence(found)


def test_retention_counts_its_plateaus() -> None:
    found = growth(track(*SERIES["retention"][:2]))
    assert found.resident.plateaus == 3
    assert sentence(found).startswith("retention, not a leak: 3 plateaus; 80.0 MiB stay")


def leaking(arenas: Callable[[int], dict[str, int]]) -> Growth:
    """A leak, with what each look tells of arenas."""
    whole = track(*SERIES["leak"][:2])
    points = tuple(replace(one, arenas=arenas(at)) for at, one in enumerate(whole.points))
    return growth(replace(whole, points=points))


def test_growth_is_told_by_arena() -> None:
    found = leaking(lambda at: {"0": 5 * MIB, "1": at * MIB, **({"2": at * MIB // 4} if at > 10 else {})}).arenas
    assert [one.key for one in found] == ["1", "2"]  # the last one was made after some looks
    assert found[0].trend.shape is Shape.STEADY


def test_an_arena_that_some_looks_leave_out_is_not_told_to_have_grown() -> None:
    """The busiest are kept: one that became busy late was there before, with an unknown number of bytes."""

    def busiest(at: int) -> dict[str, int]:
        late = "late" if at > 60 else "early"
        return {late: 900 * MIB, "grows": at * MIB, **{str(one): MIB for one in range(MOST_ARENAS - 2)}}

    assert [one.key for one in leaking(busiest).arenas] == ["grows"]


def test_few_looks_have_no_verdict() -> None:
    assert growth(track(lambda at: at * MIB, lambda at: at * MIB, 5)).verdict is Verdict.UNKNOWN
    assert growth(track(lambda at: at * MIB, lambda at: at * MIB, 20, every=0.0)).verdict is Verdict.UNKNOWN


def test_the_slope_is_that_of_most_whatever_a_few_looks_say() -> None:
    series = [(float(at), 7 * at + (10**9 if at in {3, 20} else 0)) for at in range(40)]
    assert slope(series) == pytest.approx(7.0)
    assert tau([(0.0, 1), (1.0, 2), (2.0, 3)]) == 1
    assert tau([(0.0, 3), (1.0, 2), (2.0, 2)]) == pytest.approx(-2 / 3)
    line = [(float(at), at * MIB) for at in range(200)]
    assert plateaus(line) == []
    assert trend(line).shape is Shape.STEADY


@contextmanager
def growing(library: Path, words: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The test program on hew, as far as its first step; freed pages stay."""
    settings = {"HEW_CONF": f"control:{folder}/socket.%p,dirty_decay_ms:-1", "LD_PRELOAD": str(library)}
    with subprocess.Popen(
        words,
        env=environment({**settings, "MALLOC_CONF": None}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        step(child)
        wait_until(lambda: find_socket(child.pid))
        yield child
        child.kill()


def step(child: subprocess.Popen[str]) -> None:
    """One more."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "done\n"


@pytest.mark.parametrize(
    ("what", "verdict"), [("leak", Verdict.LEAK), ("peaks", Verdict.RETENTION), ("flat", Verdict.FLAT)]
)
def test_a_program_on_hew_is_told_by_its_recording(
    hew_library: Path, programs: Callable[[str], list[str]], tmp_path: Path, what: str, verdict: Verdict
) -> None:
    path, ticks = tmp_path / "file", iter(range(1000))
    with growing(hew_library, programs(f"grow {what}"), tmp_path) as child:
        looking = OneProcess(child.pid, None, clock=lambda: float(next(ticks)))
        file = LineFile(path, MIB, {})
        for _ in range(24):
            for one in looking.look():
                file.put(line_of(one))
            step(child)
        file.close()
        child.kill()
        child.wait()
        assert looking.look() == []
    found: Growth = growth(read_recording(path).tracks[0])
    assert found.verdict is verdict, (found.live, found.resident)
    assert [one.size for one in found.classes] == ([32] if what == "leak" else [])
    assert [one.key for one in found.arenas] == (["0"] if what == "leak" else [])
    assert found.live is not None
    if what == "leak":
        assert found.live.slope == pytest.approx(20000 * 32, rel=0.05)
    if what == "peaks":
        assert found.resident.plateaus == 3
