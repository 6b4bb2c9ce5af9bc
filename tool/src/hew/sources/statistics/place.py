# SPDX-License-Identifier: MIT
"""Statistics from wherever the user points: a file, standard input, or a process."""

import os
from dataclasses import replace
from pathlib import Path

from hew.model.errors import HewError
from hew.model.statistics import Reading, Thread
from hew.sources.attach.reading import can_be_attached, read_attached
from hew.sources.attach.redis import ask_redis, is_redis
from hew.sources.code import conf_owner
from hew.sources.control import Control, connect, find_socket
from hew.sources.process_facts import read_provider
from hew.sources.processes import PROC, name_of, own_numbers
from hew.sources.statistics.stream import STDIN, find_reports, read_statistics


def process_named(place: str) -> int | None:
    """The process id that a place is, unless there is a file of that name."""
    return int(place) if place.isdigit() and not Path(place).exists() else None


def read_place(place: str, attach: float | None = None) -> Reading:
    """The reports of a file, of standard input, or of a process (`attach`: see `asked`)."""
    pid = process_named(place)
    if pid is not None:
        return asked(pid, attach)
    if place != STDIN and not (Path(place).is_file() or Path(place).is_fifo()):
        raise HewError(f"{place} is neither a file nor a process id: give a file of statistics, a process id, or -")
    return read_statistics(place)


def asked(pid: int, attach: float | None = None) -> Reading:
    """The statistics of a running process. If a jemalloc process does not answer, we attach to it for `attach`
    seconds at most; None: never."""
    if not Path(f"{PROC}/{pid}").is_dir():
        raise HewError(f"there is no process {pid}, and no file of that name")
    if find_socket(pid) is None and is_redis(pid):
        try:
            return find_reports(ask_redis(pid), f"process {pid}")
        except HewError:
            if attach is None:
                raise
    if find_socket(pid) is None and os.access(f"{PROC}/{pid}/fd", os.R_OK):
        if attach is not None and can_be_attached(pid):
            return read_attached(pid, attach)
        provider = read_provider(pid)
        if provider is not None and not conf_owner(provider.code):
            raise HewError(
                f"process {pid} is on {provider.code.kind or 'an allocator of its own'}, which has no statistics to "
                f"ask for: hew advise {pid} and hew top look at its memory from outside"
            )
        raise HewError(
            f"process {pid} has no control socket to be asked for its statistics: let it write them to a file "
            "(MALLOC_CONF=stats_print:true or stats_interval:BYTES), and give that file; or start it with hew run"
        )
    with connect(pid) as control:
        return answered(control)


def answered(control: Control) -> Reading:
    """A process's statistics, and its threads with their names."""
    reading = find_reports(control.stats(), f"process {control.pid}")
    known = own_numbers(control.pid)
    threads = tuple(
        Thread(one.number, name_of(control.pid, known[one.number]), str(one.arena), one.requests, one.cached)
        for one in control.threads()
        if one.number in known  # the others have ended
    )
    return replace(reading, snapshots=tuple(replace(one, threads=threads) for one in reading.snapshots))
