# SPDX-License-Identifier: MIT
"""Heap profiles for pprof's tools, by way of a process's control socket."""

from hew.sources.control import connect
from hew.sources.serve.app import AnswerError

FORMS = {"pprof": "application/octet-stream", "heap_v2": "text/plain; charset=utf-8"}
ON = "prof:true,prof_format:pprof"


def profile_of(pid: int, allocations: bool, form: str) -> tuple[str, bytes]:
    """Type of content, and the profile: of live objects, and of all that were ever made where that is counted."""
    if form not in FORMS:
        raise AnswerError(400, "format is pprof or heap_v2")
    with connect(pid) as control:
        wanted = f"{ON},prof_accum:true" if allocations else ON
        how = f"start it with hew run --conf {wanted} -- COMMAND, or with MALLOC_CONF={wanted}"
        if control.get("opt.prof") is not True:
            raise AnswerError(409, f"process {pid} takes no samples of its heap: {how}")
        if allocations and control.get("opt.prof_accum") is not True:
            raise AnswerError(409, f"process {pid} counts live objects only (prof_accum is off): {how}")
        kind, body = control.heap()
    if kind != form:
        raise AnswerError(409, f"process {pid} writes {kind} (prof_format): ask with format={kind}, or {how}")
    return FORMS[kind], body
