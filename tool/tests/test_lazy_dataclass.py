# SPDX-License-Identifier: MIT
"""Classes whose methods are compiled late are the same as those of dataclasses."""

import dataclasses
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from functools import cached_property
from threading import Barrier

import pytest

from hew.model.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Point:
    """A class with everything that ours have."""

    x: int
    names: list[str] = field(default_factory=list)
    scale: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", self.x)

    @cached_property
    def twice(self) -> int:
        return self.x * 2


@dataclass(frozen=True)
class Marked(Point):
    mark: str = "none"


@dataclass
class Changing:
    count: int = 0


def test_objects_are_made_compared_and_shown_as_with_dataclasses() -> None:
    one, other = Point(1, scale=3.0), Point(1, scale=3.0)
    assert one == other
    assert one != Point(2)
    assert repr(one).endswith("Point(x=1, names=[], scale=3.0)")
    assert one.names is not other.names
    assert (one.twice, vars(one)["seen"]) == (2, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 5  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Point()  # type: ignore[call-arg]


def test_a_class_that_inherits_has_all_fields() -> None:
    assert [one.name for one in dataclasses.fields(Marked)] == ["x", "names", "scale", "mark"]
    assert replace(Marked(1, mark="a"), x=2) == Marked(2, mark="a")
    assert dataclasses.asdict(Marked(1)) == {"x": 1, "names": [], "scale": 2.0, "mark": "none"}


def test_one_that_changes_changes() -> None:
    one = Changing()
    one.count += 1
    assert one == Changing(1)


def test_threads_may_make_the_first_objects_at_once() -> None:
    threads, classes = 4, 50
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(classes):

            @dataclass(frozen=True)
            class Fresh:
                a: int
                b: int = 7

            barrier = Barrier(threads)

            def make(number: int, made: type = Fresh, barrier: Barrier = barrier) -> object:
                barrier.wait()
                return made(number)

            with ThreadPoolExecutor(threads) as pool:
                assert list(pool.map(make, range(threads))) == [Fresh(number) for number in range(threads)]
    finally:
        sys.setswitchinterval(before)
