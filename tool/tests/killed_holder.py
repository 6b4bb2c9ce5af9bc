# SPDX-License-Identifier: MIT
"""The holder of `hew swap`, which ends by SIGKILL before a step of a plan: `python killed_holder.py PLAN STEP`.

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
    """Counts down to the last step, in the plan that it is about."""

    def __init__(self, plan: int, step: int) -> None:
        self.plan, self.left = plan, step

    def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, as a step."""

        def step(*arguments: Any) -> Any:
            if self.plan == 0:
                if self.left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.left -= 1
            return call(*arguments)

        return step

    def carry_out(self, plan: dict[str, Any]) -> dict[str, Any]:
        """One plan."""
        answer = usual(plan)
        self.plan -= 1
        return answer


if __name__ == "__main__":
    steps, usual = Steps(int(sys.argv[1]), int(sys.argv[2])), holder.carry_out
    kernel.request = steps(kernel.request)
    os.pwrite = steps(os.pwrite)
    holder.carry_out = steps.carry_out
    holder.main()
