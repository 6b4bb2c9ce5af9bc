# SPDX-License-Identifier: MIT
"""`hew fleet`: what all services of a fleet can get back, from the series of hew export."""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hew.analysis.fleet import recorded
from hew.analysis.fleet.settings import read_setting
from hew.commands.export import file_option, read_token
from hew.commands.fleet_query import Wanted, fleet_of, samples_of
from hew.commands.fleet_rollout import rollout_of
from hew.commands.options import told
from hew.model.fleet import Query, Source
from hew.model.lazy_dataclass import dataclass
from hew.sources.fleet.engine import EngineSource
from hew.sources.fleet.files import refresh, store_of
from hew.views.fleet_document import fleet_json, rollout_json
from hew.views.fleet_text import show_fleet, show_rollout
from hew.views.openmetrics import one_line, printable
from hew.views.table import results_console

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LATEST = 253402300799.0  # the end of the year 9999
WIDE = 120  # columns when the output is no terminal


def _seconds(_context: click.Context, parameter: click.Parameter, text: str) -> float:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhdw])", text)
    if match is None or float(match[1]) == 0 or float(match[1]) * UNITS[match[2]] > 10 * 366 * UNITS["d"]:
        raise click.BadParameter(f"{text!r} is not a time such as 90s, 15m, 1h or 7d", param=parameter)
    return float(match[1]) * UNITS[match[2]]


def _moment(_context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """ISO 8601, in UTC unless it says otherwise, or seconds since 1970."""
    if text is None:
        return None
    try:
        if re.fullmatch(r"\d{1,12}(\.\d+)?", text):
            return min(float(text), LATEST)
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is no time such as 2026-11-23T20:00 (UTC) or seconds since 1970", param=parameter
        ) from None


def _text(_context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Labels are UTF-8; bytes of a command line that are not have no label that is like them."""
    if text is not None and any("\ud800" <= one <= "\udfff" for one in text):
        raise click.BadParameter(f"{printable(text)} is not UTF-8, as labels are", param=parameter)
    return text


def _finite(_context: click.Context, parameter: click.Parameter, number: float) -> float:
    """What is no number is within any range."""
    if math.isnan(number):
        raise click.BadParameter("nan is no number", param=parameter)
    return number


def _match(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name):
            raise click.BadParameter(f"{text!r} is not LABEL=VALUE", param=parameter)
        found.append((name, _text(context, parameter, value) or ""))
    return tuple(found)


store_option = click.Path(file_okay=False, path_type=Path)
positive = click.FloatRange(min=0, min_open=True, max=1e6)
OPTIONS = (
    click.option("--engine", metavar="URL", help="An engine with Prometheus's HTTP interface: http://HOST:9090"),
    click.option("--store", type=store_option, help="A folder of scrapes and recordings, one folder a host."),
    click.option("--token-file", type=file_option, help="A token for the engine (Bearer)."),
    click.option("--match", multiple=True, callback=_match, metavar="LABEL=VALUE", help="Only series with it."),
    click.option("--recorded", is_flag=True, help="The engine has the recording rules of docs/fleet_rules.yml."),
    click.option("--service", metavar="NAME", callback=_text, help="Only this service."),
    click.option("--window", default="1h", show_default=True, callback=_seconds, help="How much time is looked at."),
    click.option("--at", callback=_moment, metavar="TIME", help="Where it ends.  [default: the newest sample]"),
    click.option("--trend", default="3d", show_default=True, callback=_seconds, help="Growth is computed over it."),
    click.option(
        "--horizon", default="30d", show_default=True, callback=_seconds, help="Limits met later are left out."
    ),
    click.option(
        "--gib-per-core", type=positive, callback=_finite, default=4.0, show_default=True, help="Memory worth one core."
    ),
    click.option("--rollout", callback=_moment, metavar="TIME", help="Compare SERVICE before and after this time."),
    click.option("--settle", default="10m", show_default=True, callback=_seconds, help="After a rollout: not counted."),
    click.option("--setting", metavar="NAME:VALUE", help="With --rollout: list the hosts with it and without it."),
    click.option(
        "--timeout",
        type=positive,
        callback=_finite,
        default=30.0,
        show_default=True,
        help="Seconds for each of its answers.",
    ),
    click.option("--rows", type=click.IntRange(1), default=20, show_default=True, help="Services to show."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead."),
)


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True)
class FleetOptions:
    """What the user asks for: a field for each option."""

    engine: str | None
    store: Path | None
    token_file: Path | None
    match: tuple[tuple[str, str], ...]
    recorded: bool
    service: str | None
    window: float
    at: float | None
    trend: float
    horizon: float
    gib_per_core: float
    rollout: float | None
    settle: float
    setting: str | None
    timeout: float
    rows: int
    as_json: bool


@click.command("fleet")
@_with_options
def command(**options: Any) -> None:
    """Rank services by what they can get back: CPU in lock waits, fills and page faults; memory in idle pages, caches
    and fragmentation. Each with the advice for its mean process, its evidence, and the host where to look closer.

    The series are those of hew export (docs/metrics.md), in an engine (--engine) or recorded in a folder (--store):
    what hew export --once and hew watch wrote. Beside the ranking stand settings that differ within a service, and the
    day on which a service meets its limit of memory.

    With --rollout a service's hosts are compared before and after a time, host by host, with an interval.
    """
    asked = FleetOptions(**options)
    if (asked.engine is None) == (asked.store is None):
        raise click.UsageError("give --engine URL or --store DIR")
    if asked.rollout is not None and not asked.service:
        raise click.UsageError("--rollout compares one service: --service NAME")
    if asked.setting is not None and asked.rollout is None:
        raise click.UsageError("--setting belongs to --rollout; settings that differ are reported without it")
    if asked.recorded and (asked.engine is None or asked.match):
        raise click.UsageError("--recorded wants --engine, and no --match: the rules' series have lost other labels")
    with told("hew fleet"):
        if asked.setting is not None:
            read_setting(asked.setting)
        _answer(asked)


def _answer(asked: FleetOptions) -> None:
    wanted = Wanted(asked.window, asked.at, asked.service, asked.gib_per_core, asked.trend, asked.horizon)
    source = _source(asked)
    if asked.rollout is not None:
        rollout = rollout_of(source, wanted, asked.rollout, asked.settle, asked.setting)
        if asked.as_json:
            click.echo(rollout_json(rollout))
        else:
            show_rollout(rollout, results_console(WIDE))
        return
    state = fleet_of(source, wanted)
    if asked.as_json:
        click.echo(fleet_json(state))
    else:
        show_fleet(state, asked.rows, results_console(WIDE))


def _rule(query: Query) -> str | None:
    return recorded.name(query) if recorded.usable(query) else None


def _source(asked: FleetOptions) -> Source:
    if asked.engine is not None:
        token = read_token(asked.token_file, "hew fleet")
        return EngineSource(asked.engine, token, asked.timeout, asked.match, _rule if asked.recorded else None)
    assert asked.store is not None  # noqa: S101 - one of the two was asked for
    store = store_of(asked.store, asked.match)
    for note in refresh(store, asked.store, samples_of):
        click.echo(f"hew fleet: {one_line(note)}", err=True)
    return store
