# SPDX-License-Identifier: MIT
"""What a process is called in metrics and profiles: the label `service_name`."""

import re

from hew.sources.processes import PROC, name_of, read_text

LONGEST = 128
UNIT = re.compile(r"/([^/]+)\.service$", re.MULTILINE)
MANAGER = re.compile(r"user@\d+$")  # a user's own systemd: it says nothing of what runs under it


def service_of(pid: int) -> str:
    """OpenTelemetry's name where the process was given one, else its systemd unit, else what the process is called."""
    for entry in read_text(f"{PROC}/{pid}/environ").split("\0"):
        name, _, value = entry.partition("=")
        if name == "OTEL_SERVICE_NAME" and value.strip():
            return value.strip()[:LONGEST]
    unit = UNIT.search(read_text(f"{PROC}/{pid}/cgroup"))
    if unit is not None and not MANAGER.match(unit[1]):
        return unit[1].partition("@")[0][:LONGEST]
    return name_of(pid)[:LONGEST] or "unknown"
