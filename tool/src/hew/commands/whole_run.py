# SPDX-License-Identifier: MIT
"""What `hew profile` does with a trace: a run of which every allocation is known. With a command, it records one."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from hew.analysis.profile.names import Wanted, selected
from hew.analysis.profile.over_time import over_time
from hew.analysis.profile.whole_run import places, profile_at, with_names
from hew.commands.profile_output import OfRun, Ways, print_lines, write
from hew.model.errors import HewError
from hew.model.profile import Kind, Profile
from hew.model.whole_run import Moment, View, WholeRun
from hew.sources.environment import caller_environment
from hew.sources.profile.read import read_profile
from hew.sources.profile.whole_run import Selection, read_whole_run
from hew.sources.symbols.symbolise import Finder, symbolise
from hew.sources.trace.family import Member, chosen, family, is_trace
from hew.sources.trace.recorder import Recording, arranged, files_of, finish, record
from hew.views.profile.run_page import PageOfRun, run_page
from hew.views.profile.whole_run_text import about, run_json, sizes
from hew.views.trace_text import count

KINDS = {View.TEMPORARY: Kind.ALLOC_OBJECTS, View.COUNT: Kind.ALLOC_OBJECTS}


PAGES = 12  # processes in one page
NAMED = 3  # other processes that a line names


def other_processes(member: Member, members: Sequence[Member]) -> str:
    """That there are others, and which."""
    others = [one for one in members if one is not member]
    names = ", ".join(f"{one.title} ({count(one.operations, 'operation')})" for one in others[:NAMED])
    more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
    return f"this is {member.title}; --process shows another one: {names}{more}"


def is_whole_run(ways: Ways, file: Path | None, words: Sequence[str]) -> bool:
    """Whether a run is wanted, not a profile. Raises HewError for what is of a run where there is none."""
    if file is not None and (is_trace(file) or file.is_dir()):
        return True
    if file is not None and (ways.moment or ways.process):
        raise HewError(f"{file} is no trace of hew record: the options of a trace need one")
    return bool(words and (ways.moment or ways.process))


def show_whole_run(ways: Ways, file: Path | None, words: Sequence[str]) -> int:
    """Everything; the status to end with."""
    if ways.by not in (None, "thread"):
        raise HewError("--by size and --by age look at a running process; of a trace: --sizes, --by thread")
    with _recorded(words) if file is None else _there(file) as (members, status):
        view, member = ways.moment or View.PEAK, _member(ways, members)
        run = _read(ways, member.path, words if file is None and member is members[0] else ())
        if view is View.SIZES and not ways.as_json:
            print_lines([about(run), "", *sizes(run)])
            return status
        if ways.any_kind:
            ways = replace(ways, kind=_kind(run, view))
        moment, older = _moment(run, view), _older(ways, run, view)
        of_run = OfRun(about(run), run_json(run, moment), _page(ways, run, member, members))
        write(ways, _chosen(ways, run, view, moment), older, of_run)
        return status


def _kind(run: WholeRun, view: View) -> Kind:
    """What is shown first; of a sample bytes, which have an interval in each row."""
    kind = KINDS.get(view, Kind.INUSE_SPACE)
    return Kind.ALLOC_SPACE if run.sample and not kind.in_bytes else kind


def _member(ways: Ways, members: list[Member]) -> Member:
    """The process that is shown; says that there are others."""
    member = members[0] if ways.process is None else chosen(members, ways.process)
    if len(members) > 1 and ways.process is None:
        click.echo(f"hew profile: {other_processes(member, members)}", err=True)
    return member


def _page(ways: Ways, run: WholeRun, member: Member, members: list[Member]) -> str:
    """The page of the run and of other processes, if one is wanted and it is not for a comparison with another run."""
    if ways.html is None or ways.base is not None:
        return ""
    wanted = Wanted(ways.by_line, ways.focus, ways.ignore)
    pages = [PageOfRun(member.title, run, over_time(run, wanted))]
    for one in [one for one in members if one is not member][: PAGES - 1]:
        with contextlib.suppress(HewError):  # it has no stacks: a child that ended at once
            other = _read(ways, one.path)
            pages.append(PageOfRun(one.title, other, over_time(other, wanted)))
    return run_page(pages, len(members))


def _read(ways: Ways, trace: Path, words: Sequence[str] = ()) -> WholeRun:
    """The run with names."""
    at = [ways.at] if ways.at is not None else sorted(ways.between or ())
    asked = Selection(ways.within, at, over_time=ways.html is not None, by_thread=ways.by is not None)
    run = read_whole_run(trace, asked)
    written = None if words else trace.stat().st_mtime
    finder = Finder(ways.root, folders=ways.folders, written=written)
    run = with_names(run, symbolise(places(run), finder))
    return replace(run, source=words[0]) if words else run


def _moment(run: WholeRun, view: View) -> Moment:
    if view in (View.PEAK, View.SIZES):
        return run.peak
    if view in (View.AT, View.BETWEEN):
        return run.moments["at 0" if view is View.AT else "at 1"]
    return run.end


def _chosen(ways: Ways, run: WholeRun, view: View, moment: Moment) -> Profile:
    return selected(profile_at(run, view, moment), Wanted(ways.by_line, ways.focus, ways.ignore))


def _older(ways: Ways, run: WholeRun, view: View) -> Profile | None:
    """What the moment is compared with: an earlier one, or the same of another run."""
    if view is View.BETWEEN:
        return _chosen(ways, run, View.AT, run.moments["at 0"])
    if ways.base is None:
        return None
    if is_trace(ways.base):
        other = _read(ways, ways.base)
        return _chosen(ways, other, view, _moment(other, view))
    if not ways.base.is_file():
        raise HewError(f"{ways.base}: there is no such file")
    named = symbolise(read_profile(ways.base), Finder(ways.root, folders=ways.folders))
    return selected(named, Wanted(ways.by_line, ways.focus, ways.ignore))


@contextmanager
def _there(place: Path) -> Iterator[tuple[list[Member], int]]:
    members = family(place)
    if not members:
        raise HewError(f"{place}: there is no trace of hew record in it")
    yield members, 0


@contextmanager
def _recorded(words: Sequence[str]) -> Iterator[tuple[list[Member], int]]:
    """Runs the command, with what it prints on standard error, and has its traces for as long as they are read. How the
    command ended is the status."""
    with tempfile.TemporaryDirectory(prefix="hew-profile-") as folder:
        output = Path(folder) / "trace"
        recording = Recording(output, None, 1, 1, True, None)
        status = record(words, recording, caller_environment(), sys.stderr.fileno())
        found = arranged([finish(path) for path in files_of(output)], output)
        if not found or not found[0].operations:
            raise HewError(
                f"{words[0]}: nothing was recorded: the program allocates nothing, is static, has a malloc of its own, "
                "or forbids preloading"
            )
        yield family(output), status
