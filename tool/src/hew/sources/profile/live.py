# SPDX-License-Identifier: MIT
"""The heap profile of a running process on hew, through its control socket."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from hew.model.errors import HewError
from hew.model.profile import Profile
from hew.sources.control import Control, connect
from hew.sources.processes import name_of
from hew.sources.profile.read import read_bytes

ACTIVE = "prof.active"


def take_profile(pid: int, seconds: float, say: Callable[[str], None]) -> Profile:
    """The live memory now. A process that does not sample is made to sample for some seconds; then the profile has only
    allocations of that time."""
    with connect(pid) as control:
        if control.get("opt.prof") is not True:
            raise HewError(
                f"process {pid} was started without heap profiling, which cannot be switched on later: start it with "
                "prof:true, or prof:true,prof_active:false to have it at hand (hew run --conf prof:true -- command)"
            )
        with _sampling(control, seconds, say) as notes:
            _, profile = control.heap()
    taken = read_bytes(profile, f"{name_of(pid)} ({pid})")
    return replace(taken, pid=pid, notes=(*taken.notes, *notes))


@contextmanager
def _sampling(control: Control, seconds: float, say: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """With a process that has sampled for a while; however this ends, it is left as it was."""
    if control.get(ACTIVE):
        yield ()
        return
    control.set(ACTIVE, "true")
    try:
        say(f"process {control.pid} samples for {seconds:g} s")
        time.sleep(seconds)
        yield (f"process {control.pid} did not sample: what it allocated in {seconds:g} s of sampling is shown",)
    finally:
        with suppress(HewError):
            control.set(ACTIVE, "false")
