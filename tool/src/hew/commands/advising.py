# SPDX-License-Identifier: MIT
"""The advice of `hew advise` for a file or a process. `hew serve` shows the same."""

from collections.abc import Sequence
from dataclasses import replace

from hew.analysis.advice.over_time import advise_over_time
from hew.analysis.advice.rules import advise
from hew.analysis.coverage import coverage
from hew.analysis.series import last_of_each
from hew.model.advice import Advice, Case
from hew.model.coverage import Coverage
from hew.model.errors import HewError
from hew.model.growth import Growth
from hew.model.history import Recording
from hew.model.known_allocators import MUSL
from hew.model.lazy_dataclass import dataclass
from hew.model.process import ProcessFacts
from hew.model.simulation import Sizes
from hew.model.statistics import Reading
from hew.sources.glibc.heap import with_heap
from hew.sources.history.recording import told_last
from hew.sources.statistics.place import asked, process_named, read_place
from hew.sources.statistics.requested import with_samples, with_sizes


@dataclass(frozen=True)
class Advised:
    """The advice, the notes on it, what it rests on, and how a process was held for it."""

    found: list[Advice]
    notes: list[str]
    seen: Coverage
    attached: list[str]


def advised_of(
    place: str, process: ProcessFacts | None, attach: float | None, cpus: float | None, sizes: Sizes | None = None
) -> Advised:
    """Reads a process or file, and runs all rules. `sizes`: the requested sizes, if a trace has them."""
    reading, silence = _reading(place, process, attach)
    if reading is not None and sizes is not None:
        reading = with_sizes(reading, sizes)
    return _advised(reading, silence, process, cpus)


def over_time_of(
    recording: Recording, grown: Sequence[Growth], process: ProcessFacts | None, cpus: float | None
) -> Advised:
    """The growth of each track of a recording, and the advice for the last sample."""
    reading, silence = told_last(recording)
    last = _advised(reading, silence, process, cpus)
    leaks = [advise_over_time(one, track.last) for one, track in zip(grown, recording.tracks, strict=True)]
    found = [one for one in leaks if one is not None]
    read = (*last.seen.read, f"{sum(one.looks for one in grown)} samples of hew watch")
    seen = replace(last.seen, rules=last.seen.rules + 1, spoke=last.seen.spoke + len(found), read=read)
    return replace(last, found=[*found, *last.found], notes=[*last.notes, *recording.notes], seen=seen)


def _advised(reading: Reading | None, silence: str, process: ProcessFacts | None, cpus: float | None) -> Advised:
    if process is not None and (reading is None or reading.attached):  # a jemalloc may be there beside glibc's
        process = with_heap(process)
    cases, notes = _cases(reading, process, cpus)
    found = [one for case in cases for one in advise(case)]
    attached = [reading.attached] if reading is not None and reading.attached else []
    return Advised(found, notes, coverage(cases, len(found), silence), attached)


def _reading(place: str, process: ProcessFacts | None, attach: float | None) -> tuple[Reading | None, str]:
    """The reports, if there are any, and why not. A process need not be able to report: its outside is looked at."""
    if process is None or process_named(place) is None:
        return read_place(place), ""
    try:
        return with_samples(asked(process.pid, attach), process.pid), ""
    except HewError as error:
        return None, without_settings(process) or str(error)


def without_settings(process: ProcessFacts) -> str:
    """Why MALLOC_CONF means nothing to a process, or nothing: it would be wrong advice to set it there."""
    runtimes = [code.runtime for code in (process.program, *process.others) if code is not None and code.runtime]
    if process.provider is not None and process.provider.code.kind == MUSL:
        return "musl's malloc keeps none, and reads no settings"
    if process.provider is None and any(one.startswith("Go") for one in runtimes):
        return "Go's heap is its own and reads no malloc's settings (GODEBUG=gctrace=1 tells of it)"
    return ""


def _cases(reading: Reading | None, process: ProcessFacts | None, cpus: float | None) -> tuple[list[Case], list[str]]:
    """The input of the rules, one case for each process, and remarks on the reports."""
    if process is not None and cpus is None:
        limits = process.limits
        cpus = min(limits.cpus_of_group or limits.cpus_allowed, limits.cpus_allowed)
    if reading is None:
        return [Case(None, process, cpus)], []
    snapshots, notes = last_of_each(reading.snapshots)
    beside = [Case(None, process, cpus)] if process is not None and process.heap is not None else []
    process = replace(process, heap=None, regions=()) if process is not None and beside else process
    cases = [Case(snapshot, process, cpus) for snapshot in snapshots]
    for case, snapshot in zip(cases, snapshots, strict=True):
        if not snapshot.whole or advise(case):
            notes += snapshot.notes
    return beside + cases, list(dict.fromkeys(notes))
