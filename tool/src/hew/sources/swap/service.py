# SPDX-License-Identifier: MIT
"""A systemd service: its processes, by its control group, and the drop-in that starts it on hew."""

import subprocess
from pathlib import Path

from hew.model.errors import HewError

GROUPS = Path("/sys/fs/cgroup")
DROP_INS = Path("/etc/systemd/system")
DROP_IN = "hew.conf"
HEAD = "# Written by hew swap --keep. To go back, remove this file and restart the service.\n"
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


def keep(service: str, library: Path, settings: str, folder: Path = DROP_INS) -> Path:
    """Have the service start on hew from now on; which file says so."""
    file = _drop_in(service, folder)
    conf = f"Environment=HEW_CONF={settings}\n" if settings else ""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{HEAD}[Service]\nEnvironment=LD_PRELOAD={library}\n{conf}")
    _reload()
    return file


def forget(service: str, folder: Path = DROP_INS) -> Path | None:
    """Take that back; None if there was nothing."""
    file = _drop_in(service, folder)
    if not file.exists():
        return None
    file.unlink()
    _reload()
    return file


def _drop_in(service: str, folder: Path) -> Path:
    """HewError when the file is another's."""
    unit = service if "." in service else f"{service}.service"
    file = folder / f"{unit}.d" / DROP_IN
    if file.exists() and not file.read_text().startswith(HEAD):
        raise HewError(f"{file} was not written by hew swap: change it by hand")
    return file


def _reload() -> None:
    done = subprocess.run(["systemctl", "daemon-reload"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise HewError(f"systemctl daemon-reload failed: {done.stderr.strip()}")
