# SPDX-License-Identifier: MIT
"""A file that one process at a time has."""

import fcntl
import os
from pathlib import Path

from hew.model.errors import HewError


def locked(path: Path, taken: str) -> int:
    """The number of a file, opened to be written, made where there is none, for its owner alone. The lock lasts until
    the number is closed, which is the caller's to do. HewError with the words of `taken` when another process has it;
    OSError when it cannot be opened."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise HewError(taken) from error
    return file
