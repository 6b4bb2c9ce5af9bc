# SPDX-License-Identifier: MIT
"""Which runs measure a handful of candidates: rounds that stop for those that have shown enough.

Each round runs the base and every candidate once, and starts one later than the round before, as all of our
measurements do. After each round those are left out that are broken or hopeless; the others go on.
"""

from collections.abc import Callable, Iterator, Sequence

from hew.model.run import Run, Step

Hopeless = Callable[[str, Sequence[Run], Sequence[Run]], bool]


class Race:
    """A schedule that hears of its runs. `hopeless` is told a name, its runs, and the base's."""

    def __init__(self, base: str, names: Sequence[str], rounds: int, hopeless: Hopeless) -> None:
        self.runs: list[Run] = []
        self._base = base
        self._names = list(names)
        self._rounds = rounds
        self._hopeless = hopeless

    def steps(self) -> Iterator[Step]:
        """Every step, each made when the one before has been heard of."""
        going = [self._base, *self._names]
        for number in range(1, self._rounds + 1):
            turn = number % len(going)
            for name in going[turn:] + going[:turn]:
                yield Step(name, number)
            going = [self._base] + [name for name in going if name != self._base and self._goes_on(name)]
            if len(going) == 1:
                return

    def heard(self, run: Run) -> Run:
        """Take a run in."""
        self.runs.append(run)
        return run

    def all_of(self, name: str) -> list[Run]:
        """Every run of one."""
        return [run for run in self.runs if run.allocator == name]

    def of(self, name: str) -> list[Run]:
        """The good runs of one."""
        return [run for run in self.all_of(name) if run.failure is None]

    def _goes_on(self, name: str) -> bool:
        mine = self.all_of(name)
        if any(run.failure for run in mine):
            return False
        return not self._hopeless(name, mine, self.of(self._base))
