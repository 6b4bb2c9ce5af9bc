# SPDX-License-Identifier: MIT
"""What machine the figures come from."""

import os
import platform

from hew.model.report import Machine
from hew.sources.processes import PAGE, value_of


def describe_machine() -> Machine:
    """The facts that a reader of the figures needs."""
    model = value_of("/proc/cpuinfo", "model name") or value_of("/proc/cpuinfo", "Model") or platform.machine()
    return Machine(
        cpu=model,
        cpus_usable=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * PAGE,
        kernel=f"{platform.system()} {platform.release()}",
        libc=" ".join(platform.libc_ver()).strip(),
        load_average=os.getloadavg()[0],
    )
