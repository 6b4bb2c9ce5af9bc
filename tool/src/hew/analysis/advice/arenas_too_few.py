# SPDX-License-Identifier: MIT
"""More threads than arenas, and they wait for each other.

Speaks when every automatic arena is in use, there are more threads than arenas (where reported),
and arena locks are waited for: 5 % of a thread's time, or 100 waits a second where times are not
reported. Silent where a few arenas do most of the work: see `hot-threads`.

A report from the program's end does not show the threads that have ended. Then the advice is
*likely*.

It advises four times the arenas, at most one a thread. Operators with 1,776 threads on 256 arenas
saved 4.5 % of the CPU for 10 % more memory.
"""

from hew.analysis.advice.basis import arena_evidence, arena_wait, basis, is_hew, threads_of
from hew.analysis.advice.hot_threads import hot_arenas
from hew.model.advice import Advice, Case, Certainty, Setting

NAME = "arenas-too-few"
FACTOR = 4
GONE = (
    "the threads had ended when this report was written: one from the middle of the program's life "
    "(stats_interval:BYTES; hew stats PID of a process on hew) tells how many wait"
)


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    most = base.snapshot.number_option("narenas") if base else None
    if base is None or most is None or len(base.snapshot.arenas) < most:
        return None
    threads = threads_of(case)
    wait = arena_wait(base.arena, base.seconds)
    gone = threads is None or (threads < most and case.process is None)
    enough = not gone and threads is not None and threads <= most
    if not wait.much or enough or hot_arenas(base.snapshot):
        return None
    wanted = most * FACTOR if gone or threads is None else min(most * FACTOR, threads)
    return Advice(
        rule=NAME,
        title=f"threads wait for {most} arena{'s' if most > 1 else ''}: give them more",
        subject=base.snapshot.subject,
        evidence=(*wait.evidence("arenas' locks"), *arena_evidence(base)),
        settings=(Setting("narenas", str(wanted)),),
        cpu="less: threads run instead of waiting; 4.5 % was seen with 1776 threads going from 256 to 1024 arenas",
        memory="more: each arena keeps its own partly used slabs and idle pages; 10 % was seen in the same case",
        risk="low; many arenas fragment"
        + ("" if is_hew(base.snapshot) else " and hold idle pages that nothing purges"),
        verify="the same report again: the waits should fall to a tenth; compare CPU time and RSS under load",
        change=GONE if gone else "if memory matters more, an arena for each of the busiest threads (see hot-threads)",
        certainty=Certainty.LIKELY if gone else Certainty.SURE,
    )
