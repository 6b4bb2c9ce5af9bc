# SPDX-License-Identifier: MIT
"""The process that holds another one for a moment: `python -m hew.sources.attach.holder`, started by reading.py.

A process of its own, since ptrace belongs to a thread, and nothing may interrupt it: no signal reaches it but SIGKILL
and SIGSTOP, no garbage is collected, and no other thread of it exists. It reads a plan (JSON) from standard input, and
writes a line of JSON and the report to standard output.
"""

import errno
import gc
import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from hew.sources.attach import kernel
from hew.sources.attach.call import Report, take_report
from hew.sources.attach.crowd import Crowd, Refusal
from hew.sources.attach.looks import Judge
from hew.sources.attach.machine_code import Functions
from hew.sources.attach.moment import SHARE, SHARE_LATE, gather

FIRST_WAIT, MOST_WAIT, GROWTH = 0.002, 0.2, 1.5  # seconds between two tries
SETTLE = 20.0  # seconds for a thread that does not stop to stop after all, so that it can be let go; the others run


def main() -> None:
    """One plan, one answer."""
    shield()
    answer, text = attach(json.load(sys.stdin))
    with suppress(OSError):  # the parent may have ended
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + text)
        sys.stdout.buffer.flush()


def shield() -> None:
    """Let nothing come between: no signal, no garbage collection and, where root allows it, no other process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    gc.disable()


def attach(plan: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What came of it, with the report."""
    answer: dict[str, Any] = {"tries": 0, "stop": 0.0, "carried": 0.0, "refusal": "", "busy": False, "forbidden": False}
    until = time.monotonic() + plan["timeout"]
    wait = FIRST_WAIT
    memory = -1
    try:
        memory = os.open(f"/proc/{plan['pid']}/mem", os.O_RDWR | os.O_CLOEXEC)
        judge = Judge(
            plan["pid"], memory, plan["code"], plan["calls"], plan["loader"], frozenset(plan["restorers"])
        )  # fmt: skip
        while True:
            answer["tries"] += 1
            try:
                share = SHARE if time.monotonic() < until - plan["timeout"] / 2 else SHARE_LATE
                report = _try(plan, judge, answer, plan["stop"] * share)
                return {**answer, "arenas": report.arenas, "whole": report.whole, "waited": report.waited}, report.text
            except Refusal as refusal:
                if refusal.final or time.monotonic() + wait > until:
                    raise
            time.sleep(random.uniform(wait / 2, wait))  # noqa: S311 - so as not to keep step with the process
            wait = min(wait * GROWTH, MOST_WAIT)
    except Refusal as refusal:
        answer["refusal"], answer["busy"] = str(refusal), not refusal.final
    except OSError as error:
        no_filters = plan["filtered"] and error.errno == errno.EINVAL  # this kernel cannot suspend them
        answer["forbidden"] = no_filters or error.errno in {errno.EPERM, errno.EACCES}
        gone = error.errno in {errno.ESRCH, errno.ENOENT}
        answer["refusal"] = "it has ended" if gone else error.strerror or str(error)
    finally:
        if memory >= 0:
            os.close(memory)
    return answer, b""


def _try(plan: dict[str, Any], judge: Judge, answer: dict[str, Any], longest: float) -> Report:
    """One stop, of which `longest` seconds may go by before the call."""
    judge.stacks = _writable(plan["pid"])
    options = kernel.TRACESYSGOOD | (kernel.SUSPEND_SECCOMP if plan["filtered"] else 0)
    crowd = Crowd(plan["pid"], options, plan["stop"])
    functions = Functions(**plan["functions"])
    try:
        crowd.seize()
        return take_report(crowd, gather(crowd, judge, longest), functions, judge.memory, plan["timeout"])
    finally:
        crowd.release()
        crowd.send_kept()
        if crowd.began:
            answer["stop"] = max(answer["stop"], (crowd.together or crowd.ended) - crowd.began)
            answer["carried"] = crowd.ended - crowd.began
        crowd.settle(time.monotonic() + SETTLE)
        if crowd.moving:  # the kernel lets it go at our end
            raise Refusal(f"its thread {min(crowd.moving)} cannot be stopped")


def _writable(pid: int) -> list[tuple[int, int]]:
    """Where stacks may be."""
    found = []
    with open(f"/proc/{pid}/maps", "rb") as file:  # noqa: PTH123 - for each try
        for line in file:
            place, rights = line.split(maxsplit=2)[:2]
            if rights.startswith(b"rw"):
                start, _, end = place.partition(b"-")
                found.append((int(start, 16), int(end, 16)))
    return found


if __name__ == "__main__":
    main()
