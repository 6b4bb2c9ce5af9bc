# SPDX-License-Identifier: MIT
"""Records a process that runs already: hew's control socket loads libhewtrace.so into it."""

import contextlib
import ctypes
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hew.model.control import RefusedError
from hew.model.errors import HewError
from hew.model.simulation import Sizes
from hew.model.trace import TraceSummary
from hew.sources.control import Control, connect
from hew.sources.library import find_part
from hew.sources.simulation import sizes_of
from hew.sources.trace.recorder import LIBRARY, PROGRAM, Recording, check_place, finish

MOST = 1 << 40
MOST_FOR_SIZES = 1 << 30  # bytes on disk for a moment
LOOKS = 1.0  # seconds between two: what has been loaded meanwhile is recorded from then on
SETTLES = 0.2  # seconds in which threads that are amid a record have written it
PUNCH_HOLE = 3  # with the file's size kept


def record_process(pid: int, recording: Recording, rest: Callable[[float], bool]) -> TraceSummary:
    """Records until `rest` returns False, the process ends, or the disk is full. `rest` sleeps for a time at most.
    Afterwards the process runs as before."""
    find_part(PROGRAM)  # without which nothing can be made of what was recorded
    library = find_part(LIBRARY)
    check_place(recording.output)
    with connect(pid) as control:
        _check_same_files(pid)
        _begin(control, library, recording)
        try:
            _wait(control, rest)
        finally:
            with contextlib.suppress(HewError):  # it has ended, or the recording has
                control.record("stop")
    if not recording.output.exists():
        raise HewError(
            f"process {pid} has written nothing: it allocated nothing meanwhile, or may not write to {recording.output}"
        )
    time.sleep(SETTLES)
    return _finished(recording.output)


def sizes_asked_for(pid: int, seconds: float) -> Sizes:
    """The requests of a process during some seconds. Older objects are not included."""
    end = time.monotonic() + seconds

    def rest(most: float) -> bool:
        left = min(most, end - time.monotonic())
        if left > 0:
            time.sleep(left)
        return left > 0

    with tempfile.TemporaryDirectory(prefix="hew-advise-") as folder:
        trace = Path(folder) / "trace"
        record_process(pid, Recording(trace, MOST_FOR_SIZES, 1, 0, False, None), rest)
        return sizes_of(trace)


def _check_same_files(pid: int) -> None:
    """The process opens the trace, by our name for it."""
    for of in ("ns/mnt", "root"):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/{of}").readlink() != Path(f"/proc/self/{of}").readlink():
                raise HewError(f"process {pid} sees other files than we do (a container, or chroot): run hew there")


def _begin(control: Control, library: Path, recording: Recording) -> None:
    how = (recording.most or MOST, recording.threads, recording.stacks, 0, recording.sample)
    numbers = (*how, len(os.fsencode(library)))
    try:
        control.record(f"{','.join(map(str, numbers))} {library} {recording.output.absolute()}")
    except RefusedError as error:
        if error.kind == "malformed" and "record" not in str(error):
            raise HewError(f"process {control.pid} runs a hew that cannot be recorded so: start it again") from error
        raise


def _wait(control: Control, rest: Callable[[float], bool]) -> None:
    """Until it is over, with a look now and then, without which the recording would end."""
    while rest(LOOKS):
        try:
            control.record("look")
        except HewError:
            return


def _finished(output: Path) -> TraceSummary:
    """Packed, and what the process still has of the file in its memory taken off the disk."""
    with output.open("r+b") as before:
        summary = finish(output)
        if os.fstat(before.fileno()).st_ino != output.stat().st_ino:
            size = ctypes.c_long(os.fstat(before.fileno()).st_size)
            ctypes.CDLL(None).fallocate(before.fileno(), PUNCH_HOLE, ctypes.c_long(0), size)
    return summary
