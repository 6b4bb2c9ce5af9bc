# SPDX-License-Identifier: MIT
"""The process that changes another one: `python -m hew.sources.swap.holder`, started by swapping.py.

Two steps. `call` has one thread call functions, as dlopen(); only that thread is held. `switch`
stops all threads, writes bytes into the process and lets them go; it executes nothing there. Whatever is written is
sound by itself at every moment: if this process is killed between two writes, frees already understand objects of
both allocators, and requests go to one of the two.
"""

import gc
import json
import os
import signal
import struct
import sys
import time
from contextlib import suppress
from typing import Any

from hew.sources.attach import kernel
from hew.sources.attach.crowd import Crowd, Refusal
from hew.sources.attach.looks import Judge, has_frame
from hew.sources.swap.carry import Carried
from hew.sources.swap.chooser import Watch, candidates, is_able, stacks_of

FIRST_WAIT, MOST_WAIT, GROWTH = 0.001, 0.1, 1.5  # seconds between two tries
SETTLE = 5.0
FIRST_STOP = 2.0  # seconds until the first thread has stopped: it may wait for a processor
# Of the longest stop: until all threads must have stopped, and until the first byte is written.
SHARE, SHARE_LATE = 0.75, 0.85


def main() -> None:
    """Plans from standard input, an answer to standard output for each: a line of JSON."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    gc.disable()
    has_frame(b"", frozenset())  # what it needs is loaded before a process is stopped
    for line in sys.stdin:
        answer = carry_out(json.loads(line))
        try:
            print(json.dumps(answer), flush=True)
        except BrokenPipeError:
            os._exit(0)  # what started this is gone
        if answer["left"]:
            os._exit(0)  # the kernel lets go a thread that has not stopped yet
        gc.collect()


def carry_out(plan: dict[str, Any]) -> dict[str, Any]:
    """What came of it: the longest stop in seconds, and why it was given up."""
    answer: dict[str, Any] = {"tries": 0, "stop": 0.0, "refusal": "", "forbidden": False, "left": False}
    until = time.monotonic() + plan["timeout"]
    wait, memory = FIRST_WAIT, -1
    try:
        memory = os.open(f"/proc/{plan['pid']}/mem", os.O_RDWR | os.O_CLOEXEC)
        judge = _judge(plan, memory)
        while True:
            answer["tries"] += 1
            try:
                if judge is not None:
                    _call(plan, judge, answer, until)
                else:
                    _switch(plan, memory, answer)
                return answer
            except Refusal as refusal:
                if refusal.final or time.monotonic() + wait > until:
                    raise
            time.sleep(wait)
            wait = min(wait * GROWTH, MOST_WAIT)
    except Refusal as refusal:
        answer["refusal"] = str(refusal)
    except OSError as error:
        answer["forbidden"] = isinstance(error, PermissionError)
        gone = isinstance(error, ProcessLookupError | FileNotFoundError)
        answer["refusal"] = "it has ended" if gone else error.strerror or str(error)
    finally:
        if memory >= 0:
            os.close(memory)
    return answer


def _stop(crowd: Crowd, longest: float) -> None:
    """Stop all, or refuse when they have not stopped in time for the rest: then they go on, and it is tried again."""
    crowd.seize()
    crowd.within = longest * SHARE
    crowd.stop(time.monotonic() + FIRST_STOP)


def _let_go(crowd: Crowd, answer: dict[str, Any]) -> None:
    crowd.release()
    crowd.send_kept()
    if crowd.first:
        answer["stop"] = max(answer["stop"], (crowd.together or crowd.ended) - crowd.first)
    crowd.settle(time.monotonic() + SETTLE)
    if crowd.moving:
        answer["left"] = True
        raise Refusal(f"its thread {min(crowd.moving)} cannot be stopped")


def _judge(plan: dict[str, Any], memory: int) -> Judge | None:
    """For a plan that calls functions: it remembers between the tries which threads sleep."""
    if plan["step"] != "call":
        return None
    restorers = frozenset(plan["restorers"])
    return Judge(plan["pid"], memory, plan["code"], plan["calls"], plan["loader"], restorers, forks=plan["forks"])


def _call(plan: dict[str, Any], judge: Judge, answer: dict[str, Any], until: float) -> None:
    """Have one thread call some functions, one after the other, while all others run."""
    memory = judge.memory
    crowd, thread = _take(plan, judge, answer)
    try:
        carried = Carried(crowd, memory, thread, plan["restorers"][0], until)
        del crowd.held[thread]
        error = carried.saved.fs_base + plan["errno"]
        kept = os.pread(memory, 4, error)
        os.pwrite(memory, bytes.fromhex(plan["text"]), carried.scratch)
        for address, text in plan["writes"]:
            os.pwrite(memory, bytes.fromhex(text), address)
        for function, *arguments in plan["functions"]:
            carried.call(function, *(_value(one, carried, memory) for one in arguments))
        os.pwrite(memory, kept, error)
        carried.release()
    finally:
        _let_go(crowd, answer)


def _take(plan: dict[str, Any], judge: Judge, answer: dict[str, Any]) -> tuple[Crowd, int]:
    """Stop one thread that can call. Each is stopped for itself, and goes on if it cannot."""
    stacks = stacks_of(plan["pid"])
    judge.stacks = [(start, end) for start, end, _ in stacks.areas]
    for thread in candidates(plan["pid"]):
        crowd, taken = Crowd(plan["pid"], kernel.TRACESYSGOOD, only=thread), False
        try:
            _stop(crowd, plan["longest"])
            taken = is_able(crowd, judge, thread, stacks)
            if taken:
                return crowd, thread
        except Refusal as refusal:
            if refusal.final:
                raise
        finally:
            if not taken:
                _let_go(crowd, answer)
    raise Refusal("none of its threads can load a library now", final=False)


def _value(argument: int | str, carried: Carried, memory: int) -> int:
    """An argument: a number, the address of the scratch memory, or the word that a call has left there."""
    if isinstance(argument, int):
        return argument
    if argument == "scratch":
        return carried.scratch
    (word,) = struct.unpack("<Q", os.pread(memory, 8, carried.scratch))
    return int(word)


def _switch(plan: dict[str, Any], memory: int, answer: dict[str, Any]) -> None:
    """Write, while all threads are stopped and none stands within the changed bytes."""
    crowd = Crowd(plan["pid"], 0)
    watch = Watch(memory, plan["places"], frozenset(plan["restorers"]), stacks_of(plan["pid"]))
    crowd.seen = watch.note
    writes = [(address, bytes.fromhex(text)) for address, text in plan["writes"]]
    try:
        _stop(crowd, plan["longest"])
        thread = watch.found(crowd)
        if thread is not None:
            raise Refusal(f"its thread {thread} stands in the first instructions of malloc", final=False)
        if time.monotonic() > crowd.first + plan["longest"] * SHARE_LATE:
            raise Refusal("its threads would stand still for too long", final=False)
        for address, data in writes:
            if os.pwrite(memory, data, address) != len(data):
                raise Refusal("its memory cannot be written")
    finally:
        _let_go(crowd, answer)


if __name__ == "__main__":
    main()
