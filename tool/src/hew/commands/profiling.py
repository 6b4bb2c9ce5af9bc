# SPDX-License-Identifier: MIT
"""The steps of `hew profile`: takes or reads a profile, resolves names, and shows it in the chosen form."""

import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import click

from hew.analysis.profile.names import Wanted, selected
from hew.analysis.profile.pins import grouped, pins
from hew.commands.profile_output import Ways, print_lines, write
from hew.commands.whole_run import is_whole_run, show_whole_run
from hew.model.errors import HewError
from hew.model.live_samples import LiveSamples
from hew.model.profile import Kind, Profile
from hew.model.quantity import size
from hew.sources.attach.target import has_jemalloc
from hew.sources.control import find_socket
from hew.sources.environment import caller_environment
from hew.sources.profile.live import take_profile
from hew.sources.profile.of_command import profile_command
from hew.sources.profile.read import read_profile
from hew.sources.profile.samples import named_samples, placed, take_samples
from hew.sources.symbols.live import live_finder
from hew.sources.symbols.symbolise import Finder, symbolise
from hew.views.profile.pins_text import pins_json, pins_table

STDIN = Path("/dev/stdin")
LITTLE = 100  # times as much was allocated as is live: the live bytes tell nothing


JEMALLOC = (
    "process {pid} is on jemalloc, which writes heap profiles by itself alone: start it with "
    "MALLOC_CONF=prof:true,lg_prof_interval:30 (or let it call mallctl prof.dump), then hew profile "
    "jeprof.{pid}.*.heap; or start it by hew run --conf prof:true -- COMMAND"
)


class Profiling:
    """One invocation."""

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._wanted = Wanted(ways.by_line, ways.focus, ways.ignore)

    def show(self, pid: int | None, file: Path | None, words: tuple[str, ...]) -> int:
        """Everything; the status to end with."""
        status = 0
        if is_whole_run(self._ways, file, words):
            return show_whole_run(self._ways, file, words)
        older = self._read(self._ways.base) if self._ways.base else None
        if pid is not None and find_socket(pid) is None and has_jemalloc(pid):
            raise HewError(JEMALLOC.format(pid=pid))
        if pid is not None and self._ways.pins:
            self._show_pins(pid)
            return status
        if pid is not None:
            newer = self._of_process(pid)
        elif file is not None:
            newer = self._read(STDIN if str(file) == "-" else file)
        else:
            newer, status = self._of_command(words)
            if self._ways.any_kind and not older and not self._ways.as_json:
                newer = self._with_what_there_is(newer)
        write(self._ways, newer, older)
        return status

    def _with_what_there_is(self, profile: Profile) -> Profile:
        """A program that frees what it made has a page of nothing: then what it allocated is shown."""
        live, allocated = profile.total(Kind.INUSE_SPACE), profile.total(Kind.ALLOC_SPACE)
        if not 0 < allocated >= LITTLE * live:
            return profile
        self._ways = replace(self._ways, kind=Kind.ALLOC_SPACE)
        words = f"{size(live)} are live, so this is what was allocated (--inuse_space shows live bytes)"
        return replace(profile, notes=(*profile.notes, words))

    def _of_process(self, pid: int) -> Profile:
        if self._ways.by is not None:
            return selected(grouped(self._samples(pid), self._ways.by), self._wanted)
        taken = take_profile(pid, self._ways.seconds, lambda text: click.echo(f"hew profile: {text}", err=True))
        return self._named(taken, live_finder(pid, self._ways.folders))

    def _samples(self, pid: int) -> LiveSamples:
        return named_samples(take_samples(pid), pid, live_finder(pid, self._ways.folders))

    def _show_pins(self, pid: int) -> None:
        ways = self._ways
        taken = self._samples(pid)
        found = pins(placed(taken, pid), ways.sparse / 100)
        print_lines([pins_json(found, ways.rows)] if ways.as_json else pins_table(found, ways.rows))
        for note in found.notes if not ways.as_json else ():
            click.echo(f"hew profile: {note}", err=True)

    def _named(self, profile: Profile, finder: Finder) -> Profile:
        return selected(symbolise(profile, finder), self._wanted)

    def _read(self, path: Path) -> Profile:
        if not path.exists():
            raise HewError(f"{path}: there is no such file, nor is that a process id (a command goes behind --)")
        if path.is_dir():
            raise HewError(f"{path} is a folder, not a profile")
        written = path.stat().st_mtime if path.is_file() else None
        return self._named(read_profile(path), Finder(self._ways.root, folders=self._ways.folders, written=written))

    def _of_command(self, words: tuple[str, ...]) -> tuple[Profile, int]:
        keep = self._ways.keep
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
        with nullcontext(str(keep)) if keep else tempfile.TemporaryDirectory(prefix="hew-profile-") as folder:
            ran = profile_command(words, self._ways.conf, Path(folder), caller_environment())
            return self._named(ran.profile, Finder(folders=self._ways.folders)), ran.status
