# SPDX-License-Identifier: MIT
"""The day of a limit: growth is found at every hour of a day, and the rhythm of days is none."""

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench" / "fleet")]

from play import Fleet  # noqa: E402

from hew.analysis.fleet.limits import limit_day, slopes, trend_span  # noqa: E402
from hew.model.fleet import LimitDay, Line  # noqa: E402

GIB = 1 << 30
END = 1_800_000_000.0
DAY = 86400.0
HOUR = 3600.0


def line(values: Sequence[float]) -> Line:
    """A value each half hour."""
    return Line(("h",), tuple((END + at * 1800, value) for at, value in enumerate(values)))


def looks(end: float, days: float, used: Callable[[float], float]) -> Line:
    """What a source answers for so many days."""
    return Line(("h",), tuple((at, used(at)) for at in trend_span(end, days * DAY).ends))


def judged(end: float, days: float, used: Callable[[float], float], horizon: float = 30 * DAY) -> LimitDay | None:
    """By the limit of 100 GiB."""
    return limit_day("h", looks(end, days, used), 100 * GIB, horizon)


def _sine(place: float) -> float:
    return math.sin(2 * math.pi * place)


def _ramp(place: float) -> float:
    """Up through the day, down within the last tenth of it."""
    return place / 0.45 - 1 if place < 0.9 else 1 - (place - 0.9) / 0.05


def _office(place: float) -> float:
    return 1.0 if 0.35 < place < 0.75 else -1.0


def _peak(place: float) -> float:
    return 2 * math.exp(-(((place - 0.5) / 0.1) ** 2)) - 1


RHYTHMS = (_sine, _ramp, _office, _peak)
NOISE = np.random.default_rng(1).normal(0, 0.005, 1000).tolist()


def rhythm(wave: Callable[[float], float], share: float) -> Callable[[float], float]:
    """50 GiB, and so much more and less within a day, with noise of half a per cent."""
    return lambda at: 50 * GIB * (1 + share * wave(at / DAY % 1)) * (1 + NOISE[int(at / HOUR) % len(NOISE)])


@pytest.mark.parametrize("wave", RHYTHMS)
def test_the_rhythm_of_a_day_is_no_growth_at_any_hour(wave: Callable[[float], float]) -> None:
    for end in (END + hour * HOUR for hour in range(24)):
        for share in (0.05, 0.15, 0.3):
            for days in (1, 2, 3, 7):
                found = judged(end, days, rhythm(wave, share))
                assert found is None, (end, share, days, found)


@pytest.mark.parametrize("wave", RHYTHMS)
def test_growth_is_found_under_the_rhythm_of_days_at_any_hour(wave: Callable[[float], float]) -> None:
    """With three days of looks; the highest hour of a day is the first that meets the limit."""
    for end in (END + hour * HOUR for hour in range(24)):
        for share in (0.05, 0.3):
            quiet = rhythm(wave, share)

            def used(at: float, quiet: Callable[[float], float] = quiet, begin: float = end) -> float:
                return quiet(at) + 3 * GIB * (at - begin) / DAY

            found = judged(end, 3, used)
            assert found is not None, (end, share)
            assert found.a_day == pytest.approx(3 * GIB, rel=0.2)
            true = next(at for at in np.arange(end, end + 30 * DAY, HOUR) if used(at) >= 100 * GIB)
            assert found.at == pytest.approx(true, abs=0.15 * (true - end) + DAY)
            assert found.days == pytest.approx(3)


@pytest.mark.parametrize("ago", [3, 12, 24, 25, 30, 36, 47, 48, 60])
def test_a_step_is_no_growth(ago: int) -> None:
    for wave in RHYTHMS:
        quiet = rhythm(wave, 0.15)
        found = judged(END, 3, lambda at, quiet=quiet: quiet(at) + (8 * GIB if at > END - ago * HOUR else 0))  # type: ignore[misc]
        assert found is None, (wave, found)


def test_what_grew_and_stopped_grows_no_more() -> None:
    assert judged(END, 7, lambda at: (40 + 5 * min(at - (END - 7 * DAY), 5 * DAY) / DAY) * GIB) is None
    slows = judged(END, 7, lambda at: (40 + 5 * (at - (END - 7 * DAY)) / DAY) * GIB)
    assert slows is not None
    assert slows.at == pytest.approx(END + 5 * DAY, abs=2 * HOUR)


def test_in_less_than_a_day_only_what_is_met_as_soon_is_told() -> None:
    soon = judged(END, 0.5, lambda at: (85 + 2 * (at - END) / HOUR) * GIB)
    assert soon is not None
    assert soon.at == pytest.approx(END + 7.5 * HOUR, rel=1e-6)
    assert soon.days == pytest.approx(0.5, rel=0.1)
    assert judged(END, 0.5, lambda at: (60 + 1 * (at - END) / HOUR) * GIB) is None, "40 hours ahead, twelve seen"


@pytest.mark.parametrize("seed", [3, 4])
def test_a_played_fleet_meets_the_same_limits_at_every_hour(seed: int) -> None:
    """What was wrong once: of a fleet played until a certain hour, one service more met its limit."""
    for end in (END + hour * HOUR for hour in range(24)):
        fleet = Fleet(60, 1800.0, end, seed)
        found = {
            service.name
            for number, service in enumerate(fleet.services)
            for day in [played_limit(fleet, number)]
            if day is not None
        }
        assert found == set(fleet.truth.limits), end


def played_limit(fleet: Fleet, number: int) -> LimitDay | None:
    """Of the hosts of a service together, as the ranking asks first."""
    values = fleet._series(number, fleet.services[number])
    used, limit = values["hew_group_used_bytes", ()].max(axis=0), values["hew_group_limit_bytes", ()].min()
    points = tuple(zip(fleet.times.tolist(), used.tolist(), strict=True))
    return limit_day("", Line(("",), points), float(limit), 30 * DAY)


def test_a_limit_is_met_when_growth_reaches_it() -> None:
    grows = line([(40 + 0.5 * at + 0.1 * math.sin(at)) * GIB for at in range(48)])
    day = limit_day("h", grows, 80 * GIB, 30 * DAY)
    assert day is not None
    assert day.latest is not None
    true = END + (80 - 40) / 0.5 * 1800
    assert day.earliest <= true <= day.latest
    assert day.at == pytest.approx(true, rel=0.001)
    assert limit_day("h", grows, 1e6 * GIB, 30 * DAY) is None, "beyond the horizon"
    assert limit_day("h", line([50.0 * GIB] * 48), 100 * GIB, 30 * DAY) is None
    near = limit_day("h", line([95.0 * GIB] * 3), 100 * GIB, 30 * DAY)
    assert near is not None
    assert (near.a_day, near.latest) == (0, None)
    assert limit_day("h", Line(("h",), ()), 100 * GIB, DAY) is None
    assert limit_day("h", grows, math.inf, DAY) is None


def test_the_interval_of_a_slope_holds_the_slope() -> None:
    low, middle, high = slopes(line([3 * at + 2 * math.sin(at * 7) for at in range(24)]).points)
    assert low < middle < high
    assert low <= 3 / 1800 <= high
    assert slopes(line([1.0]).points) == (0, 0, 0)
