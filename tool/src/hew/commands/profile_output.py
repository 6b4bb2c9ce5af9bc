# SPDX-License-Identifier: MIT
"""How `hew profile` shows what it has: tables, JSON, stacks, pages."""

import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from hew.analysis.profile.names import named
from hew.analysis.profile.rows import difference, growth, ranked, rows
from hew.analysis.profile.tree import tree
from hew.model.errors import HewError
from hew.model.profile import Kind, Profile
from hew.model.profile_view import Shown
from hew.model.whole_run import View
from hew.views.profile.page import profile_page
from hew.views.profile.profile_proto import to_pprof
from hew.views.profile.text import collapsed, growth_lines, summary, table, to_json


@dataclass(frozen=True)
class Ways:
    """What the user asks for: a field for each option."""

    kind: Kind
    any_kind: bool  # it was not asked for
    base: Path | None
    html: Path | None
    pprof: Path | None
    collapsed: bool
    as_json: bool
    rows: int
    by_cum: bool
    by_line: bool
    focus: re.Pattern[str] | None
    ignore: re.Pattern[str] | None
    by: str | None
    pins: bool
    sparse: int
    folders: tuple[Path, ...]
    root: Path
    seconds: float
    conf: str
    keep: Path | None
    view: str | None
    at: float | None
    between: tuple[float, float] | None
    within: int
    process: str | None

    @property
    def moment(self) -> View | None:
        """What of a recorded run was asked for."""
        if self.at is not None:
            return View.AT
        return View.BETWEEN if self.between else View(self.view) if self.view else None


@dataclass(frozen=True)
class OfRun:
    """The recorded run that a profile is a moment of."""

    about: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)  # for JSON
    page: str = ""  # in place of the page of one moment


def write(ways: Ways, newer: Profile, older: Profile | None, run: OfRun | None = None) -> None:
    """The profile, or what it has more than the older one, in all forms that were asked for."""
    both = difference(newer, older) if older else newer
    if ways.kind not in both.kinds:
        raise HewError(f"{both.source} has no {ways.kind.title}: it was taken without prof_accum:true")
    run = run or OfRun()
    grown = growth(newer, older, ways.kind, ways.by_line) if older else []
    shown = Shown(both, ways.kind, ways.by_line, older.source if older else "", tuple(grown), run.about, run.numbers)
    if ways.pprof:
        ways.pprof.write_bytes(to_pprof(both))
    if ways.html:
        page = run.page or profile_page(shown, tree(newer, older, ways.by_line), rows(both, ways.by_line))
        ways.html.write_text(page, encoding="utf-8")
    if ways.as_json:
        print_lines([to_json(shown, ranked(rows(both, ways.by_line), ways.kind, ways.by_cum)[: ways.rows])])
    elif ways.collapsed:
        print_lines(collapsed(named(both, ways.by_line), ways.kind))
    elif not (ways.pprof or ways.html):
        _print_tables(ways, shown, newer)
    for path in filter(None, (ways.pprof, ways.html)):
        click.echo(f"hew profile: {path} written", err=True)
    for note in both.notes if not ways.as_json else ():
        click.echo(f"hew profile: {note}", err=True)


def _print_tables(ways: Ways, shown: Shown, newer: Profile) -> None:
    found = ranked(rows(shown.profile, ways.by_line), ways.kind, ways.by_cum)[: ways.rows]
    whole = newer.total(ways.kind)
    print_lines([*filter(None, [shown.about]), summary(shown), "", *table(shown, found, whole)])
    if shown.base:
        most = shown.growth[: ways.rows]
        print_lines(["", *growth_lines([one for one in most if one.change(ways.kind) > 0], ways.kind)])


def print_lines(lines: Iterable[str]) -> None:
    """To standard output; on a terminal no line is longer than that is wide."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in lines:
        click.echo(line[:width])
