# SPDX-License-Identifier: MIT
"""Reads the statistics of a running jemalloc, which writes them itself while all its threads are stopped.

Not here: how that is done. holder.py does it, in a process of its own; docs/decisions/0047 says why it may be done.
"""

import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.known_allocators import CONF
from hew.model.lazy_dataclass import dataclass
from hew.model.statistics import Reading
from hew.sources.attach.moment import MOST_STOP
from hew.sources.attach.target import Target, find_target, has_jemalloc
from hew.sources.extras import need
from hew.sources.processes import PROC, read_text, value_of
from hew.sources.statistics.stream import find_reports

MOST_ARENAS = 24  # as machine_code.py has it
TIMEOUT = 5.0  # seconds in which a moment is looked for
HOLDER = "hew.sources.attach.holder"
YAMA = "/proc/sys/kernel/yama/ptrace_scope"
YAMA_SAYS = {
    "1": "kernel.yama.ptrace_scope is 1, so only root may attach",
    "2": "kernel.yama.ptrace_scope is 2, so only root may attach",
    "3": "kernel.yama.ptrace_scope is 3, so no process may attach before the machine is booted again",
}


@dataclass(frozen=True)
class Attached:
    """A report as the process wrote it, and what it cost: seconds of the longest stop, how many stops there were, and
    how long the thread that wrote it was held."""

    text: str
    title: str
    variable: str | None
    stop: float
    carried: float
    tries: int
    arenas: int
    whole: bool
    waited: bool


def can_be_attached(pid: int) -> bool:
    """Whether a process has a jemalloc. HewError when it may not be looked at."""
    try:
        Path(f"{PROC}/{pid}/maps").read_bytes()
    except PermissionError as error:
        raise HewError(f"process {pid} may not be attached to: {forbidden(pid, filtered=False)}") from error
    except OSError:
        return False
    return has_jemalloc(pid)


def read_attached(pid: int, timeout: float = TIMEOUT, stop: float = MOST_STOP) -> Reading:
    """The statistics now. HewError says why they cannot be had."""
    done = attach(pid, timeout, stop)
    tries = "" if done.tries == 1 else f", the last of {done.tries} tries"
    wrote = f", and the thread that wrote this for {done.carried * 1000:.1f} ms" if done.carried > done.stop else ""
    note = f"attached to process {pid}: it stood still for {done.stop * 1000:.1f} ms{tries}{wrote}"
    reading = find_reports(done.text, f"process {pid}")
    if not reading.snapshots:
        raise HewError(f"{done.title} in process {pid} wrote a report that cannot be read")
    notes = [f"this jemalloc reads its settings from {done.variable}, not from {CONF}"] if done.variable != CONF else []
    if done.arenas > MOST_ARENAS:
        notes.append(f"its {done.arenas} arenas were left out one by one, to keep the stop short: their sum is there")
    notes += [] if done.whole else ["there was no room for the whole report"]
    noted = (one.noted(*notes, whole=None if done.whole else False) for one in reading.snapshots)
    return replace(reading, attached=note, snapshots=tuple(noted))


def attach(pid: int, timeout: float = TIMEOUT, stop: float = MOST_STOP) -> Attached:
    """The report of its jemalloc, for which all its threads stand still for `stop` seconds at most at a time. HewError
    says why there is none."""
    need("numpy")
    target, filtered = allowed(pid)
    plan = {**asdict(target), "pid": pid, "timeout": timeout, "stop": stop, "filtered": filtered}
    answer, text = _held(plan)
    if answer["refusal"]:
        reason = forbidden(pid, filtered) if answer["forbidden"] else answer["refusal"]
        given_up = (
            f" (tried {answer['tries']} times in {timeout:g} s, and given up each time before it stood still for "
            f"{stop * 1000:g} ms; --timeout SECONDS tries for longer)"
        )
        reason += given_up if answer["busy"] else ""
        raise HewError(f"{target.title} in process {pid} cannot be asked: {reason}")
    found = {name: answer[name] for name in ("stop", "carried", "tries", "arenas", "whole", "waited")}
    return Attached(text.decode(errors="replace"), target.title, target.variable, **found)


def allowed(pid: int) -> tuple[Target, bool]:
    """What to call, and whether a filter watches its system calls. HewError when it is not to be tried at all."""
    check_calls(pid, "a running jemalloc is read", "such calls")
    try:
        target = find_target(pid)
    except PermissionError as error:
        raise HewError(f"process {pid} may not be attached to: {forbidden(pid, filtered=False)}") from error
    return target, bool(seccomp_modes(pid) - {"", "0"})


def check_calls(pid: int, done: str, calls: str) -> None:
    """HewError where no thread of the process can be stopped and made to call a function. `done` and `calls` say for
    what."""
    if platform.machine() != "x86_64":
        raise HewError(f"{done} on x86-64 only, this is {platform.machine()}")
    if pid == os.getpid():
        raise HewError("this is the process that asks")
    status = f"{PROC}/{pid}/status"
    tracer = value_of(status, "TracerPid")
    if tracer not in {"", "0"}:
        raise HewError(f"process {pid} is traced already, by process {tracer}")
    if value_of(status, "State").startswith(("T", "t")):
        raise HewError(f"process {pid} is stopped (as by SIGSTOP); SIGCONT lets it go on")
    if "shstk" in value_of(status, "x86_Thread_features"):
        raise HewError(f"process {pid} has a shadow stack, which forbids {calls}")


def seccomp_modes(pid: int) -> set[str]:
    """Of all its threads, as the system has them."""
    tasks = f"{PROC}/{pid}/task"
    return {value_of(f"{tasks}/{one}/status", "Seccomp") for one in os.listdir(tasks)}  # noqa: PTH208


def forbidden(pid: int, filtered: bool) -> str:
    """Why the system does not let us, and the cure."""
    mine, theirs = os.geteuid(), value_of(f"{PROC}/{pid}/status", "Uid").split()
    if mine and set(theirs) != {str(mine)}:
        return "run this as its user, or as root"
    scope = read_text(YAMA).strip()
    if mine and scope in YAMA_SAYS:
        return f"{YAMA_SAYS[scope]}: run this as root"
    if mine and not filtered:
        return "it may not be looked at (it runs with more rights than its user, or has said so): run this as root"
    if filtered:
        return "a seccomp filter watches its system calls, and only root of the machine may suspend it (Linux 4.3)"
    return YAMA_SAYS.get(scope, "root here lacks CAP_SYS_PTRACE, as in most containers: run this outside of it")


def _held(plan: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The holder's answer. It is never killed: it ends by itself, within its timeout, whatever becomes of us."""
    package = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": package}
    words = [sys.executable, "-P", "-m", HOLDER]  # -P: no module is taken from the folder that we are in
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as holder:
        output, _ = holder.communicate(json.dumps(plan).encode())
    head, _, text = output.partition(b"\n")
    if holder.returncode or not head:
        raise HewError(f"process {plan['pid']} was not read: the process that attaches to it ended early")
    return json.loads(head), text
