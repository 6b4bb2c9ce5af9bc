# SPDX-License-Identifier: MIT
"""The processes of a systemd service, by its control group."""

import subprocess
from pathlib import Path

from hew.model.errors import HewError

GROUPS = Path("/sys/fs/cgroup")
WORDS = ("systemctl", "show", "--property=ControlGroup", "--value")


def processes_of(service: str, groups: Path = GROUPS) -> list[int]:
    """Their numbers, the oldest first. HewError when there are none."""
    try:
        done = subprocess.run([*WORDS, "--", service], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise HewError("there is no systemctl here; name processes by their numbers") from error
    group = done.stdout.strip()
    if done.returncode or not group:
        raise HewError(done.stderr.strip() or f"the service {service} does not run")
    folder = groups / group.removeprefix("/")
    found = {int(word) for file in folder.rglob("cgroup.procs") for word in file.read_text().split()}
    if not found:
        raise HewError(f"the service {service} has no processes")
    return sorted(found)
