# SPDX-License-Identifier: MIT
"""A Python that has some memory and waits, for tests that look at a process."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conftest import environment, wait_until
from hew.sources.control import find_socket

CLEAN = {"LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None}


def waits(objects: int = 2000, size: int = 1000) -> list[str]:
    """Words to run one with so many objects, which says "ready" and ends with its standard input."""
    held = f"kept = [bytes({size}) for _ in range({objects})]"
    return [sys.executable, "-c", f"import sys; {held}; print('ready', flush=True); sys.stdin.read()"]


@contextmanager
def waiting(words: list[str], changes: Mapping[str, str | None]) -> Iterator[subprocess.Popen[str]]:
    """Any program that says so, once it waits."""
    with subprocess.Popen(
        words, env=environment({**CLEAN, **changes}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            yield child
        finally:
            child.kill()


@contextmanager
def waiting_on_hew(
    library: Path, folder: Path, conf: str = "", words: list[str] | None = None, **changes: str | None
) -> Iterator[subprocess.Popen[str]]:
    """The same on hew, once its control socket, in the folder, is there. `conf`: more settings, with a comma first."""
    changes |= {"LD_PRELOAD": str(library), "HEW_CONF": f"control:{folder}/socket.%p{conf}"}
    with waiting(words or waits(), changes) as child:
        wait_until(lambda: find_socket(child.pid) is not None, "no control socket has come up")
        yield child
