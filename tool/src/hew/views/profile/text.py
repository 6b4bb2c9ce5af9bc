# SPDX-License-Identifier: MIT
"""A heap profile as lines of text: a table of functions, stacks that grew, collapsed stacks, JSON."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hew.model.figures import Unit
from hew.model.profile import Kind, Values, by_chance
from hew.model.profile_view import Growth, Row, Shown
from hew.model.quantity import quantity

FORMAT = "hew-profile/1"
CALLERS = 6  # frames of a stack that grew which are shown


def amount(value: int, kind: Kind, sign: bool = False) -> str:
    """A sum of a kind; of a difference with its sign."""
    if not value:
        return "0"
    text = quantity(abs(value), Unit.BYTES if kind.in_bytes else Unit.COUNT)
    return f"{'-' if value < 0 else '+' if sign and value else ''}{text}"


def summary(shown: Shown) -> str:
    """The first line: what there is altogether."""
    profile = shown.profile
    sums = ", ".join(
        f"{profile.title(kind)} {amount(profile.total(kind), kind, bool(shown.base))}{_interval(shown, kind)}"
        for kind in profile.kinds
    )
    rate = f"; a byte in {quantity(profile.period, Unit.BYTES)} was sampled" if profile.period > 1 else ""
    against = f" against {shown.base}" if shown.base else ""
    return f"{profile.source}{against}: {sums}{rate}"


def chance(shown: Shown, size: int) -> int:
    """By how much an amount in bytes may be off. Of a difference both sides count, which this does not know."""
    return 0 if shown.base else by_chance(shown.profile.period, size)


def _interval(shown: Shown, kind: Kind) -> str:
    off = chance(shown, shown.profile.total(kind)) if kind.in_bytes else 0
    return f" ± {amount(off, kind)}" if off else ""


def table(shown: Shown, found: Sequence[Row], whole: int) -> Iterator[str]:
    """Functions as jeprof and pprof show them: what each allocated itself, and with what it called."""
    kind, sign = shown.kind, bool(shown.base)
    interval = kind.in_bytes and not shown.base and shown.profile.period > 1
    yield f"{shown.profile.title(kind):>12}{' ' * 13 * interval}  flat%   sum%         cum   cum%"
    running = 0
    for row in found:
        flat, cum = row.flat[kind], row.cum[kind]
        running += flat
        shares = [f"{one / whole:6.1%}" if whole else f"{'–':>6}" for one in (flat, running, cum)]
        sizes = [f"{amount(one, kind, sign):>{width}}" for one, width in ((flat, 12), (cum, 10))]
        sizes[0] += f" {'± ' + amount(chance(shown, flat), kind):>12}" if interval else ""
        yield f"{sizes[0]} {shares[0]} {shares[1]}  {sizes[1]} {shares[2]}  {row.name}"


def growth_lines(found: Iterable[Growth], kind: Kind) -> Iterator[str]:
    """Stacks that grew, each with its callers."""
    yield f"{'growth':>10}  {'by chance':>10}  {'before':>10}  {'now':>10}  stack"
    for one in found:
        cells = (
            amount(one.change(kind), kind, True),
            f"± {amount(round(one.noise), kind)}" if one.noise else "",
            amount(one.before[kind], kind),
            amount(one.after[kind], kind),
        )
        rest = len(one.stack) - CALLERS
        more = f" < {rest} more" if rest > 0 else ""
        yield "  ".join(f"{cell:>10}" for cell in cells) + f"  {' < '.join(one.stack[:CALLERS])}{more}"


def collapsed(stacks: Iterable[tuple[tuple[str, ...], Values]], kind: Kind) -> Iterator[str]:
    """A line for each stack, the outermost first, as flame graph programs take them."""
    sums: dict[str, int] = defaultdict(int)
    for names, values in stacks:
        sums[";".join(name.replace(";", ":") for name in reversed(names))] += values[kind]
    yield from (f"{stack or '[no stack]'} {value}" for stack, value in sorted(sums.items()) if value)


def to_json(shown: Shown, found: Sequence[Row]) -> str:
    """Everything as one document: profile.schema.json describes it."""
    profile = shown.profile
    document = {
        "format": FORMAT,
        "source": profile.source,
        "base": shown.base or None,
        "sampled_every_bytes": profile.period,
        "totals": {kind.key: profile.total(kind) for kind in profile.kinds},
        "functions": [_function(shown, one) for one in found],
        "growth": [
            {
                "stack": list(one.stack),
                "before": _values(shown, one.before),
                "after": _values(shown, one.after),
                "by_chance": round(one.noise),
            }
            for one in shown.growth
        ],
        "notes": list(profile.notes),
    }
    if profile.period > 1 and not shown.base:
        document["by_chance"] = _by_chance(shown, profile.total)
    if shown.run:
        document["run"] = shown.run
    return json.dumps(document, indent=1, ensure_ascii=False)


def _function(shown: Shown, one: Row) -> dict[str, Any]:
    document: dict[str, Any] = {"name": one.name, "flat": _values(shown, one.flat), "cum": _values(shown, one.cum)}
    if shown.profile.period > 1 and not shown.base:
        parts = {"flat": one.flat, "cum": one.cum}
        document["by_chance"] = {name: _by_chance(shown, values.__getitem__) for name, values in parts.items()}
    return document


def _by_chance(shown: Shown, amount_of: Callable[[Kind], int]) -> dict[str, int]:
    return {kind.key: chance(shown, amount_of(kind)) for kind in shown.profile.kinds if kind.in_bytes}


def _values(shown: Shown, values: Values) -> dict[str, int]:
    return {kind.key: values[kind] for kind in shown.profile.kinds}
