# SPDX-License-Identifier: MIT
"""Memory over time, as launch.c writes it down: the peak, the mean, and what is left later.

Pure but for the reading of a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

Sample = tuple[float, int]
"""Monotonic seconds, and kilobytes of all processes together: proportional set sizes, shared pages counted once."""


@dataclass(frozen=True)
class Memory:
    """The samples of one run, oldest first."""

    samples: tuple[Sample, ...] = ()

    def between(self, start: float, end: float) -> Memory:
        return Memory(tuple(sample for sample in self.samples if start <= sample[0] <= end))

    @property
    def peak_kb(self) -> int:
        return max((kilobytes for _, kilobytes in self.samples), default=0)

    @property
    def seconds(self) -> float:
        return self.samples[-1][0] - self.samples[0][0] if self.samples else 0.0

    @property
    def mean_kb(self) -> float:
        """By time, as samples come at uneven distances: each counts until the next."""
        if not self.seconds:
            return float(self.peak_kb)
        following = self.samples[1:]
        area = sum(one[1] * (two[0] - one[0]) for one, two in zip(self.samples, following, strict=False))
        return area / self.seconds

    @property
    def last_kb(self) -> int:
        return self.samples[-1][1] if self.samples else 0


def read_samples(path: Path) -> Memory:
    """A last line that is cut off is left out."""
    if not path.exists():
        return Memory()
    rows = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return Memory(tuple((float(row[0]), int(row[1])) for row in rows if len(row) == 3))


def mean_of(parts: list[Memory]) -> float:
    """The mean over several commands, one after the other, by their time."""
    length = sum(part.seconds for part in parts)
    if not length:
        return max((part.mean_kb for part in parts), default=0.0)
    return sum(part.mean_kb * part.seconds for part in parts) / length
