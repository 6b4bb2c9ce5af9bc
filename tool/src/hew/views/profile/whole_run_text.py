# SPDX-License-Identifier: MIT
"""A recorded run in words: what there was of it, and tables of its sizes and lifetimes."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from hew.model.figures import Unit
from hew.model.quantity import quantity, size, three_digits
from hew.model.whole_run import Moment, Sum, WholeRun, off_by

NONE = Sum(0, 0)
BATCH = 7  # a trace has the time of each batch, of 100 microseconds: shorter lives are not told apart


def about(run: WholeRun) -> str:
    """One line."""
    made, temporary, left = run.end.totals.made, run.end.totals.temporary, run.end.totals.live
    peak = run.peak.totals.live
    share = f" ({temporary.count / made.count:.1%})" if made.count else ""
    threads = f"{run.threads:,} thread{'' if run.threads == 1 else 's'}"
    summed = (run.made_by_size, run.peak.sizes, run.end.sizes)
    off_made, off_peak, off_left = (off_by(run.sample, one) for one in summed)
    return (
        f"{run.program or 'a program'}: {_count(made, off_made)} allocations of {_size(made, off_made)} by {threads} "
        f"in {three_digits(run.seconds)} s; peak {_size(peak, off_peak)} in {_count(peak, off_peak)} objects at "
        f"{three_digits(run.peak.seconds)} s; {_size(left, off_left)} in {_count(left, off_left)} never "
        f"freed{_lost(run)}; {temporary.count:,} temporary{share}"
    )


def _count(one: Sum, off: Sum) -> str:
    return f"{one.count:,}{f' ± {off.count:,}' if off.count else ''}"


def _size(one: Sum, off: Sum) -> str:
    return f"{size(one.bytes)}{f' ± {size(off.bytes)}' if off.bytes else ''}"


def _lost(run: WholeRun) -> str:
    """Of that, what nothing points to, if it is known."""
    lost = run.all_lost
    return f", {size(lost.bytes)} in {lost.count:,} of it lost" if lost is not None else ""


def sizes(run: WholeRun) -> Iterator[str]:
    """Two tables: allocations by size, and how long objects lived that were freed."""
    wide = (26, 24) if run.sample else (12, 10)
    heads = zip(("allocations", "bytes", "at the peak", "bytes", "never freed"), (*wide, *wide, wide[0]), strict=True)
    yield "  ".join((f"{'size':>22}", *(f"{head:>{width}}" for head, width in heads)))
    for power, (made, peak, left) in enumerate(
        zip_longest(run.made_by_size, run.peak.sizes, run.end.sizes, fillvalue=NONE)
    ):
        if made.count:
            off = [off_by(run.sample, [*[NONE] * power, one]) for one in (made, peak, left)]
            texts = [_count(made, off[0]), _size(made, off[0]), _count(peak, off[1]), _size(peak, off[1])]
            cells = zip((*texts, _count(left, off[2])), (*wide, *wide, wide[0]), strict=True)
            yield "  ".join((f"{_range(power):>22}", *(f"{text:>{width}}" for text, width in cells)))
    yield ""
    yield f"{'lived for':>22}  {'objects':>12}  {'bytes':>10}"
    for power, one in enumerate(_ages(run)):
        if one.count:
            less = f"less than {quantity(2 ** (power + BATCH) / 1e6, Unit.SECONDS)}"
            yield f"{less:>22}  {one.count:>12,}  {size(one.bytes):>10}"
    yield f"{'to the end':>22}  {run.end.totals.live.count:>12,}  {size(run.end.totals.live.bytes):>10}"


def _ages(run: WholeRun) -> list[Sum]:
    """By power of two of microseconds, from BATCH on."""
    soon = run.ended_by_age[: BATCH + 1]
    first = Sum(sum(one.count for one in soon), sum(one.bytes for one in soon))
    return [first, *run.ended_by_age[BATCH + 1 :]]


def _range(power: int) -> str:
    """The numbers that begin with the bit of that place."""
    low, high = (0, 0) if power == 0 else (1 << (power - 1), (1 << power) - 1)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def run_json(run: WholeRun, moment: Moment) -> dict[str, Any]:
    """The run, and the moment that the rest of the document is of."""
    sampled = {"by_chance": _by_chance(run)} if run.sample else {}
    return {
        **sampled,
        "program": run.program,
        "command": run.command,
        "seconds": run.seconds,
        "threads": run.threads,
        "operations": run.operations,
        "within": run.within,
        "sample_bytes": run.sample,
        "allocations": _sum(run.end.totals.made),
        "temporary": _sum(run.end.totals.temporary),
        "never_freed": _sum(run.end.totals.live),
        "lost": _sum(run.all_lost) if run.all_lost is not None else None,
        "peak": {"seconds": run.peak.seconds, **_sum(run.peak.totals.live)},
        "moment": {"seconds": moment.seconds, **_sum(moment.totals.live)},
        "sizes": _sums(run.made_by_size),
        "sizes_at_peak": _sums(run.peak.sizes),
        "lifetimes": _sums(run.ended_by_age),
    }


def _by_chance(run: WholeRun) -> dict[str, Any]:
    parts = {"allocations": run.made_by_size, "never_freed": run.end.sizes, "peak": run.peak.sizes}
    return {name: _sum(off_by(run.sample, sizes)) for name, sizes in parts.items()}


def _sum(one: Sum) -> dict[str, int]:
    return {"objects": one.count, "bytes": one.bytes}


def _sums(found: Sequence[Sum]) -> list[list[int]]:
    return [[one.count, one.bytes] for one in found]
