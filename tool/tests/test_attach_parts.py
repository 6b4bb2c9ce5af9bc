# SPDX-License-Identifier: MIT
"""Attaching without a process: what the system forbids, and the code that the other process is to run."""

import os
import platform
import signal

import pytest

from hew.model.errors import HewError
from hew.sources.attach import kernel, machine_code, reading, target
from hew.sources.attach.call import EVER, Carrier
from hew.sources.attach.crowd import Crowd
from hew.sources.attach.kernel import Registers
from hew.sources.attach.looks import follows_call
from hew.sources.attach.machine_code import Functions
from hew.sources.attach.target import Target

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="a running jemalloc is read on x86-64 only")


@pytest.mark.parametrize(
    ("user", "theirs", "scope", "filtered", "said"),
    [
        (1000, 1001, "0", False, "run this as its user, or as root"),
        (1000, 1000, "1", False, "kernel.yama.ptrace_scope is 1, so only root may attach: run this as root"),
        (1000, 1000, "0", False, "run this as root"),
        (1000, 1000, "0", True, "a seccomp filter watches its system calls"),
        (0, 0, "0", False, "CAP_SYS_PTRACE"),
        (0, 0, "3", False, "no process may attach"),
    ],
)
def test_what_the_system_forbids_is_told_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, user: int, theirs: int, scope: str, filtered: bool, said: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(reading, "value_of", lambda *_: "\t".join([str(theirs)] * 4))
    monkeypatch.setattr(reading, "read_text", lambda *_: f"{scope}\n")
    assert said in reading.forbidden(1, filtered)


@pytest.mark.parametrize(
    ("code", "follows"),
    [
        ("9090e8ffffffff", True),  # call somewhere
        ("9090909090ffd0", True),  # call rax
        ("90909041ff5308", True),  # call [r11+8]
        ("90ff1510000000", True),  # call [rip+16]
        ("ff942400010000", True),  # call [rsp+256]
        ("66900f1f440000", False),  # the filling before a function
        ("4883c4085bc390", False),  # a function's end
    ],
)
def test_return_addresses_are_told_from_other_words(code: str, follows: bool) -> None:
    assert follows_call(bytes.fromhex(code)) == follows


def test_the_code_ends_where_the_holder_looks_for_its_end() -> None:
    code = machine_code.CODE
    assert code[machine_code.RETURN - 2 : machine_code.RETURN] == target.SYSCALL
    assert len(code) < machine_code.CODE_BYTES
    functions = machine_code.Functions(*range(3))
    frame = machine_code.frame(1 << 20, Registers(), bytes(832), 0)
    assert len(machine_code.block(1 << 20, functions, frame)) <= machine_code.BLOCK_BYTES


STOPPED_BY_INTERRUPT = kernel.EVENT_STOP << 16 | signal.SIGTRAP << 8 | 0x7F


def test_the_others_go_on_when_they_have_stood_still_for_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the thread that works for us takes."""
    crowd = Crowd(7, 0, most=0.02)
    crowd.held = {7: 0, 8: 0, 9: 0}
    crowd.until = 100.0
    carrier = object.__new__(Carrier)
    carrier.crowd, carrier.thread, carrier.at = crowd, 7, "running"
    gone: list[tuple[int, int]] = []
    waits: list[tuple[float, int]] = []

    def next_stop(until: float) -> tuple[int, int] | None:
        waits.append((until, len(crowd.held)))
        return (7, STOPPED_BY_INTERRUPT) if len(crowd.held) == 1 else None

    monkeypatch.setattr(kernel, "next_stop", next_stop)
    monkeypatch.setattr(kernel, "request", lambda what, thread, *_: gone.append((what, thread)))
    assert carrier._wait(EVER)
    assert gone == [(kernel.DETACH, 8), (kernel.DETACH, 9)]
    assert waits == [(100.0, 3), (EVER, 1)]


def test_what_was_given_up_is_said_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Target("jemalloc 5", "MALLOC_CONF", Functions(1, 2, 3), [], [], [], [])
    answer = {"refusal": "its thread 8 did not stop in time (state R)", "forbidden": False, "busy": True, "tries": 30}
    monkeypatch.setattr(reading, "allowed", lambda _: (found, False))
    monkeypatch.setattr(reading, "_held", lambda _: (answer, b""))
    with pytest.raises(HewError) as refused:
        reading.attach(7, 5.0)
    assert str(refused.value) == (
        "jemalloc 5 in process 7 cannot be asked: its thread 8 did not stop in time (state R) (tried 30 times in 5 s, "
        "and given up each time before it stood still for 20 ms; --timeout SECONDS tries for longer)"
    )
