# SPDX-License-Identifier: MIT
"""Starts the process that attaches to another one (holder.py), and gives it plans.

It is started once, at the first plan, and ends with this process: then its standard input ends.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = (sys.executable, "-P", "-m", "hew.sources.swap.holder")  # -P: no module is taken from the folder that we are in


class Holder:
    """The process. ptrace belongs to a thread, and nothing may interrupt it."""

    def __init__(self, words: Sequence[str] = WORDS) -> None:
        self._words = words
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """Start it, unless it runs: it gets ready while this process goes on."""
        if self._process is None or self._process.poll() is not None:
            package = str(Path(__file__).resolve().parents[3])
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": package}
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
                start_new_session=True,
            )
            atexit.register(self.end)
        return self._process

    def carry_out(self, plan: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None if it has been killed."""
        process = self.start()
        assert process.stdin is not None  # noqa: S101 - a pipe
        assert process.stdout is not None  # noqa: S101 - a pipe
        try:
            process.stdin.write(json.dumps(plan) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        except BaseException:
            self.end()  # its answer would be taken for the next plan's
            raise
        if not line.endswith("\n"):
            self.end()
            return None
        answer: dict[str, Any] = json.loads(line)
        if answer["left"]:
            self.end()
        return answer

    def end(self) -> None:
        """End it. A swap that is cut short leaves a process that works."""
        atexit.unregister(self.end)
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with process:  # its pipes are closed, and it is waited for
                pass


HOLDER = Holder()
