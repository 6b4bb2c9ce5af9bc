# SPDX-License-Identifier: MIT
"""What `hew fleet --rollout` asks of a source, and has judged."""

from dataclasses import replace

from hew.analysis.fleet import rollout as rolled
from hew.analysis.fleet import settings
from hew.commands.fleet_query import Wanted, asked, clock_notes
from hew.model.errors import HewError
from hew.model.fleet import LOOKBACK, SERVICE, Rollout, Source, Span

Match = tuple[tuple[str, str], ...]


def rollout_of(source: Source, wanted: Wanted, at: float, settle: float, setting: str | None) -> Rollout:
    """A service before and after `at`. The window after it begins `settle` seconds later."""
    newest = wanted.end if wanted.end is not None else source.newest()
    begin = at + settle
    if newest is None:
        raise HewError(f"{source.name} has no samples of the last ten minutes: --at TIME looks further back")
    if newest <= begin:
        raise HewError(f"{source.name} has no samples of later than {settle:g} s after the rollout")
    before, after = Span(at - wanted.window, at), Span(begin, min(begin + wanted.window, newest))
    match = ((SERVICE, wanted.service or ""),)
    told = [_figures(source, match, span) for span in (before, after)]
    hosts = sorted({host for values in told[1].values() for host in values})
    if not hosts:
        raise HewError(f"{source.name} has no service {wanted.service!r} after the rollout")
    have, others = (hosts, []) if setting is None else _split(source, match, after, setting)
    groups = [rolled.group("hosts with the setting" if setting else "all hosts", have, *told)] if have else []
    if others:
        groups.append(rolled.group("hosts without it", [host for host, _ in others], *told))
    notes = list(clock_notes(wanted, newest))
    if after.end - after.begin < wanted.window * 0.99:
        notes.append(f"only {after.end - after.begin:,.0f} s after the rollout are there yet")
    return Rollout(
        wanted.service or "", rolled.FIGURES, tuple(groups), before, after, setting or "", tuple(others), tuple(notes)
    )


def _figures(source: Source, match: Match, span: Span) -> dict[str, dict[str, float]]:
    """By figure and host: sizes at several moments of the span, rates over all of it."""
    sizes = replace(span, steps=rolled.STEPS)
    return rolled.by_host({key: asked(source, query, (), sizes, span) for key, query in rolled.queries(match).items()})


def _split(source: Source, match: Match, after: Span, setting: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Which hosts have the setting at the end, and which have another value."""
    name, value = settings.read_setting(setting)
    last = Span(after.end - LOOKBACK, after.end)
    most, least = (source.ask(query, last) for query in settings.queries(name, match))
    return settings.split(settings.values(name, most, least), value)
