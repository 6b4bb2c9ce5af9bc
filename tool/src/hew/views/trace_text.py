# SPDX-License-Identifier: MIT
"""What was recorded, and what a trace has in it, in words."""

import shlex
from pathlib import Path

from hew.model.quantity import size, three_digits
from hew.model.trace import FULL, OBJECTS, SAMPLED, TracePlan, TraceSummary


def count(value: int, thing: str) -> str:
    """1 thread, 2 threads."""
    return f"{value:,} {thing}{'' if value == 1 else 's'}"


def recorded(one: TraceSummary) -> str:
    """One line for one file: which program, and what there is of it."""
    rate = f", {three_digits(one.bytes_an_operation)} bytes an operation" if one.operations else ""
    end = "" if one.ended else "; the process was killed, called _exit or made way for another program"
    full = "; it stopped early: --max, or the disk is full" if one.full else ""
    return (
        f"{one.path}: {count(one.operations, 'operation')} of {count(one.threads, 'thread')} "
        f"of {Path(one.program).name or 'a program'} in {three_digits(one.seconds)} s, "
        f"{size(one.file_bytes)}{rate}{full}{end}"
    )


def still_written(path: Path, pid: int) -> str:
    """A process of the command outlives it, as daemons do."""
    name = shlex.quote(str(path))
    return (
        f"{path}: process {pid} still records into it; it can be replayed as it is; when the process has ended, "
        f"`hew record --from {name} -o PACKED` packs it"
    )


def what_to_replay(one: TraceSummary) -> str:
    """The next step."""
    return f"hew replay {shlex.quote(one.path)}"


def planned_text(name: str, plan: TracePlan) -> list[str]:
    """What the trace has in it, and what it lacks."""
    lines = [
        f"{name}: {count(plan.operations, 'operation')} of {count(plan.threads, 'thread')}, "
        f"{count(plan.allocations, 'allocation')} of {size(plan.requested)} in all, at most {size(plan.live_bytes)} "
        f"in {count(plan.live_objects, 'object')} at once; {three_digits(plan.microseconds / 1e6)} s recorded"
    ]
    if plan.flags & FULL:
        lines.append("the recording stopped before the program did: --max, or a full disk")
    if plan.flags & SAMPLED:
        lines.append("it is a sample: large objects are more likely to be in it than small ones")
    if plan.flags & OBJECTS:
        lines.append(
            "it has the objects of CPython's own allocator, which malloc never saw: record without --stacks all to "
            "compare allocators"
        )
    if plan.damaged or plan.missing or plan.cut_off:
        lines.append(
            f"damaged: {count(plan.damaged, 'block')} unreadable, {plan.missing:,} missing, "
            f"{size(plan.cut_off)} at its end belong to no block"
        )
    if plan.unknown:
        lines.append(f"{count(plan.unknown, 'operation')} left out, on objects that are not in the trace")
    return lines
