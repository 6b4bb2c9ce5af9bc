# SPDX-License-Identifier: MIT
"""The holder of `hew swap`, which ends by SIGKILL before its N-th step: `python killed_holder.py N`.

A step is a call that stops, changes or resumes the other process. Between two of them nothing there depends on this
process, so these are all the moments at which it can be killed.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from hew.sources.attach import kernel
from hew.sources.swap import holder


class Steps:
    """Counts down to the last one."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, as a step."""

        def step(*arguments: Any) -> Any:
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
            return call(*arguments)

        return step


if __name__ == "__main__":
    steps = Steps(int(sys.argv[1]))
    kernel.request = steps(kernel.request)  # type: ignore[assignment]
    os.pwrite = steps(os.pwrite)
    holder.main()
