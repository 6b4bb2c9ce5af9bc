# SPDX-License-Identifier: MIT
"""Recording rules for large fleets: the ranking's queries folded by service when samples come in, not when it is asked.

docs/fleet_rules.yml is made from this. A rule a query; what is asked of many hosts again and again then has a series a
service. Rates are of five minutes; a window is the mean of them.
"""

from collections.abc import Iterator

from hew.analysis.fleet.figures import ASKS, BINS, VERSIONS
from hew.model.fleet import HOST, PID, SERVICE, Fold, Over, Query

RATE = "5m"
HEAD = """# SPDX-License-Identifier: MIT
# Made by scripts/gen_pages.py from tool/src/hew/analysis/fleet/recorded.py.
# For fleets of more than some thousand hosts: what `hew fleet --recorded` asks, folded by service
# beforehand.  Prometheus and vmalert read it (docs/fleet.md).
groups:
  - name: hew-fleet
    interval: 1m
    rules:
"""
LIMITS = (
    Query("hew_group_used_bytes", Over.LAST, Fold.MAX),
    Query("hew_group_limit_bytes", Over.LAST, Fold.MIN),
)


def name(query: Query) -> str:
    """What the rule for a query is called."""
    return f"service:{query.series}:{'rate' + RATE if query.over is Over.INCREASE else query.fold.value}"


def usable(query: Query) -> bool:
    """Whether the rules have it: what is asked by host, or of some hosts only, they have not."""
    known = {(one.series, one.over, one.fold) for one in _queries()}
    whole = not {HOST, PID} & set(query.by) and all(label == SERVICE for label, _ in query.match)
    return whole and (query.series, query.over, query.fold) in known


def rules() -> str:
    """The whole file."""
    return HEAD + "".join(f"      - record: {name(one)}\n        expr: {_expression(one)}\n" for one in _queries())


def _queries() -> Iterator[Query]:
    yield from (ask.query for ask in (*ASKS, *BINS))
    yield VERSIONS
    yield from LIMITS


def _expression(query: Query) -> str:
    inner = f"rate({query.series}[{RATE}])" if query.over is Over.INCREASE else query.series
    return f"{query.fold.value} by ({', '.join(query.by)}) ({inner})"
