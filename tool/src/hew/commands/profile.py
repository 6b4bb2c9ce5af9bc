# SPDX-License-Identifier: MIT
"""`hew profile`: which stacks allocated the live memory of a process, a command, or a file with a profile."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hew.analysis.profile.pins import GROUPS
from hew.commands.options import told, writable
from hew.commands.profile_output import Ways
from hew.commands.profiling import Profiling
from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Kind
from hew.model.whole_run import View
from hew.sources.trace.family import is_trace

KINDS = {kind.key: kind for kind in Kind}


def _pattern(_context: click.Context, parameter: click.Parameter, text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise click.BadParameter(f"{text!r} is no regular expression: {error}", param=parameter) from error


def _kind_option(kind: Kind) -> Callable[[Any], Any]:
    return click.option(f"--{kind.key}", "kind", flag_value=kind.key, default=None, help=f"Show {kind.title}.")


output = click.Path(dir_okay=False, path_type=Path)
folder = click.Path(exists=True, file_okay=False, path_type=Path)
VIEWS = {
    View.PEAK: "Of a trace: what is live when most bytes are. The default.",
    View.LEAKS: "Of a trace: what was never freed.",
    View.TEMPORARY: "Of a trace: what was freed at once.",
    View.COUNT: "Of a trace: all allocations.",
    View.SIZES: "Of a trace: sizes and lifetimes.",
}
OPTIONS = (
    *map(_kind_option, (Kind.INUSE_SPACE, Kind.INUSE_OBJECTS, Kind.ALLOC_SPACE, Kind.ALLOC_OBJECTS)),
    click.option("--base", "--diff", type=click.Path(path_type=Path), metavar="OLD",
                 help="Show what changed since then."),
    *(click.option(f"--{view}", "view", flag_value=view, default=None, help=text) for view, text in VIEWS.items()),
    click.option("--at", type=click.FloatRange(0), metavar="SECONDS", help="Of a trace: what is live then."),
    click.option("--between", type=(click.FloatRange(0), click.FloatRange(0)), metavar="SECONDS SECONDS",
                 help="Of a trace: what has grown from one moment to the other."),
    click.option("--process", metavar="PID|NAME",
                 help="Of a recording of several processes: this one.  [default: that with most operations]"),
    click.option("--within", type=click.IntRange(1), default=1, show_default=True, metavar="N",
                 help="What counts as temporary: freed as the Nth operation of its thread, or sooner."),
    click.option("--html", type=output, callback=writable, metavar="FILE", help="One page with a flame graph."),
    click.option("--pprof", type=output, callback=writable, metavar="FILE", help="pprof's format, with names."),
    click.option("--collapsed", is_flag=True, help="Print collapsed stacks, for other flame graph programs."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("--rows", type=click.IntRange(1), default=20, show_default=True, help="Functions, or stacks, shown."),
    click.option("--cum", "by_cum", is_flag=True, help="Order by what was allocated in a function and below it."),
    click.option("--lines", "by_line", is_flag=True, help="Tell the lines of a function apart."),
    click.option("--focus", callback=_pattern, metavar="REGEX", help="Only stacks with such a function."),
    click.option("--ignore", callback=_pattern, metavar="REGEX", help="No stacks with such a function."),
    click.option("--debug-dir", "folders", type=folder, multiple=True, help="Folder of debug files, by build id."),
    click.option("--root", type=folder, default=Path("/"), help="Where the files of the profile lie, if not at /."),
    click.option("--by", type=click.Choice(sorted(GROUPS)),
                 help="Of a process: its objects by that, then by stack. Of a trace: thread."),
    click.option("--pins", is_flag=True, help="Of a process: which stacks keep slabs alive that are hardly used."),
    click.option("--sparse", type=click.IntRange(1, 99), default=25, show_default=True, metavar="PERCENT",
                 help="With --pins: slabs of which at most so much is in use."),
    click.option("--seconds", type=click.FloatRange(min=0), default=10.0, show_default=True,
                 help="Of a process that does not sample: how long it shall."),
    click.option("--conf", default="", metavar="HEW_CONF", help="Settings for COMMAND, such as lg_prof_sample:16."),
    click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Folder for COMMAND's profiles."),
)  # fmt: skip


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True)
class Source:
    """What to look at: a process, a file, or a command with its words."""

    pid: int | None = None
    file: Path | None = None
    words: tuple[str, ...] = ()


class _Words(click.Command):
    """Tells `hew profile -- redis-server` from `hew profile FILE`: click takes the -- away."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Remember whether it was there."""
        context.meta["command"] = "--" in args
        return super().parse_args(context, args)


def source_of(words: tuple[str, ...], is_command: bool) -> Source:
    """What some words mean."""
    if is_command:
        return Source(words=words)
    if len(words) > 1:
        raise click.UsageError("give one PID or FILE; a command goes behind --")
    if words[0].isdecimal() and not Path(words[0]).exists():
        return Source(pid=int(words[0]))
    return Source(file=Path(words[0]))


@click.command("profile", cls=_Words)
@_with_options
@click.argument("words", metavar="PID | FILE | -- COMMAND [ARGUMENT]...", nargs=-1, required=True)
@click.pass_context
def command(context: click.Context, /, words: tuple[str, ...], **options: Any) -> None:
    """Show who allocated what is live: functions, stacks, a flame graph.

    A PID is a process on hew with prof:true (prof_active:false will do) and a control socket. A FILE is a profile in
    heap_v2, of hew or jemalloc, in pprof's format or of heaptrack; - is standard input. A COMMAND runs under hew, and
    is looked at at its end; with an option that is of a trace each of its allocations is recorded.

    A FILE may also be a trace of hew record --stacks all: then all amounts are exact. Of a folder with traces the one
    with most operations is shown; the page of --html has the others as well.

    --pins wants a process that was started with prof:true,prof_slabs:true.
    """
    ways = Ways(
        **{**options, "kind": KINDS[options["kind"] or Kind.INUSE_SPACE.key], "any_kind": options["kind"] is None}
    )
    if ways.pins and (ways.by or ways.base or ways.html or ways.pprof or ways.collapsed):
        raise click.UsageError("--pins is a table of its own: with it go --rows, --sparse and --json")
    if ways.collapsed and ways.as_json:
        raise click.UsageError("--collapsed and --json both print to standard output: give one")
    source = source_of(words, context.meta["command"])
    if ways.moment and source.pid is not None:
        raise click.UsageError("what is of a trace is not of a process: hew record PID --stacks all -o FILE")
    if ways.process is not None and source.pid is not None:
        raise click.UsageError("--process chooses among the processes of a recording")
    of_trace = ways.moment or (source.file is not None and (is_trace(source.file) or source.file.is_dir()))
    if source.pid is None and (ways.pins or (ways.by and not of_trace)):
        raise click.UsageError("--pins and --by look at a running process: give its PID")
    with told("hew profile"):
        status = Profiling(ways).show(source.pid, source.file, source.words)
    context.exit(status if status >= 0 else 128 - status)
