# SPDX-License-Identifier: MIT
"""Families as single series, as a remote write sends them: labels in order, stale marks for what has gone."""

import struct
from collections.abc import Iterable, Iterator, Mapping

from hew.model.metric import Family, Labels

# The not-a-number by which Prometheus knows that a series has ended.
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
MOST = 2000  # series of one request: as many as Prometheus sends at a time


def series(families: Iterable[Family], more: Mapping[str, str]) -> dict[Labels, float]:
    """Each sample under all its labels, its name among them; a label without a value is none."""
    found = {}
    for family in families:
        for sample in family.samples:
            labels = {**more, **dict(sample.labels), "__name__": family.metric.series}
            found[tuple(sorted((name, value) for name, value in labels.items() if value))] = float(sample.value)
    return found


def with_ends(now: Mapping[Labels, float], before: Iterable[Labels]) -> dict[Labels, float]:
    """The series of now, and a stale mark for each of those before that is not among them."""
    return {**now, **{labels: STALE for labels in before if labels not in now}}


def batches(found: Mapping[Labels, float], most: int = MOST) -> Iterator[list[tuple[Labels, float]]]:
    """Requests: each series has one sample in one of them, so that a request sent twice says nothing new."""
    rows = list(found.items())
    for at in range(0, len(rows), most):
        yield rows[at : at + most]
