# SPDX-License-Identifier: MIT
"""The reader of our standard output may close it before we are done: head, or a pager that the user leaves."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


def reader_has_gone() -> bool:
    """Whether standard output is a pipe or a socket whose reader has closed it."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
    except (OSError, ValueError, AttributeError):  # closed, or none at all
        return False


@contextmanager
def quiet_without_reader() -> Iterator[None]:
    """End as cat and grep do, by SIGPIPE (a shell says 141), when the reader goes. Python ignores the signal, and it
    has to: a client that hangs up on a server of ours is no reason to end."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None and not sys.stdout.closed:
                sys.stdout.flush()
    except BrokenPipeError:
        if not reader_has_gone():
            raise
        _end()


def _end() -> NoReturn:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPIPE})
    os.kill(os.getpid(), signal.SIGPIPE)
    os._exit(128 + signal.SIGPIPE)
