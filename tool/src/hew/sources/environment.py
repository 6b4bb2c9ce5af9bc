# SPDX-License-Identifier: MIT
"""The environment a command is started with: what our caller gave us, plus the preload."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from hew.model.errors import HewError

SEPARATORS = re.compile(r"[ :]+")


def caller_environment() -> dict[str, str]:
    """The environment this process was started with.

    Python may have added LC_CTYPE to it (locale coercion, PEP 538), which would change how a command behaves;
    /proc/self/environ still has what our caller wrote.
    """
    environment = dict(os.environ)
    try:
        original = Path("/proc/self/environ").read_bytes()
    except OSError:
        return environment
    if not any(entry.startswith(b"LC_CTYPE=") for entry in original.split(b"\0")):
        environment.pop("LC_CTYPE", None)
    return environment


def preload_entries(environment: Mapping[str, str]) -> list[str]:
    """The libraries that LD_PRELOAD names; the loader separates them by spaces or colons."""
    return [entry for entry in SEPARATORS.split(environment.get("LD_PRELOAD", "")) if entry]


def prepend_preload(library: Path, existing: list[str]) -> str:
    """LD_PRELOAD with `library` first, so that its malloc wins over any other."""
    path = str(library.absolute())
    if SEPARATORS.search(path):
        raise HewError(
            f"LD_PRELOAD cannot carry a path with a space or a colon: {path} (link it from elsewhere, pass the link)"
        )
    return ":".join([path, *(entry for entry in existing if entry != path)])
