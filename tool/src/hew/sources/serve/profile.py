# SPDX-License-Identifier: MIT
"""Heap profiles of processes, by way of their control sockets: for pprof's tools, and to be shown."""

from dataclasses import replace

from hew.model.live_samples import LiveSamples
from hew.model.profile import Profile
from hew.sources.control import Control, connect
from hew.sources.processes import name_of
from hew.sources.profile.read import read_bytes
from hew.sources.profile.samples import named_samples, take_samples
from hew.sources.serve.words import AnswerError
from hew.sources.symbols.live import live_finder
from hew.sources.symbols.symbolise import symbolise

PPROF, HEAP_V2 = "pprof", "heap_v2"
FORMS = {PPROF: "application/octet-stream", HEAP_V2: "text/plain; charset=utf-8"}
ON = "prof:true"


def profile_of(pid: int, allocations: bool, form: str) -> tuple[str, bytes]:
    """The format that the process writes, and its profile: of live objects, and of all that were ever made where that
    is counted. Only pprof's can be made of the other."""
    if form not in FORMS:
        raise AnswerError(400, "format is pprof or heap_v2")
    with connect(pid) as control:
        _must_sample(control, pid, allocations)
        kind, body = control.heap()
    if kind != form and form == HEAP_V2:
        raise AnswerError(409, f"process {pid} writes {kind} (prof_format): ask with format={kind}")
    return kind, body


def named_profile(pid: int) -> Profile:
    """What the process has now, with names. Takes seconds where there is much debug information."""
    with connect(pid) as control:
        _must_sample(control, pid, allocations=False)
        active = control.get("prof.active") is True
        _, body = control.heap()
    notes = () if active else ("It takes no samples at the moment (prof.active is off): this is what it took before.",)
    return named_bytes(pid, body, notes)


def samples_of(pid: int) -> LiveSamples:
    """The live samples one by one, with names."""
    return named_samples(take_samples(pid), pid, live_finder(pid))


def named_bytes(pid: int, body: bytes, notes: tuple[str, ...] = ()) -> Profile:
    """A process's profile in either format, with names."""
    taken = replace(read_bytes(body, f"{name_of(pid)} ({pid})"), pid=pid)
    found = symbolise(taken, live_finder(pid))
    return replace(found, notes=(*found.notes, *notes))


def _must_sample(control: Control, pid: int, allocations: bool) -> None:
    wanted = f"{ON},prof_accum:true" if allocations else ON
    how = f"start it with hew run --conf {wanted} -- COMMAND, or with MALLOC_CONF={wanted}"
    if control.get("opt.prof") is not True:
        raise AnswerError(409, f"process {pid} takes no samples of its heap: {how}")
    if allocations and control.get("opt.prof_accum") is not True:
        raise AnswerError(409, f"process {pid} counts live objects only (prof_accum is off): {how}")
