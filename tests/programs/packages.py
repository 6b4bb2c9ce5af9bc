# SPDX-License-Identifier: MIT
"""Which commands a program needs, which of them are missing, and apt to bring them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""The distribution's own programs come first: version managers put scripts and static builds in front of them."""

POLICY = Path("/usr/sbin/policy-rc.d")
PATIENT = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3", "-o", "Acquire::http::Timeout=30"]
"""Another apt-get may be installing; a mirror may stall."""


def search_path() -> str:
    """Where commands are looked for, in this order."""
    extra = sorted(str(path) for path in Path("/usr/lib/postgresql").glob("*/bin"))
    return ":".join([SYSTEM_PATH, *extra[-1:], "/usr/games", "/usr/local/bin"])


def present(requirement: str) -> bool:
    """A command on the search path, or an absolute path or pattern of a file."""
    if requirement.startswith("/"):
        return any(Path("/").glob(requirement.lstrip("/")))
    return shutil.which(requirement, path=search_path()) is not None


def missing(packages: Mapping[str, str]) -> dict[str, str]:
    """Command -> package, for the commands that are not here."""
    return {command: package for command, package in packages.items() if not present(command)}


def install(names: Iterable[str]) -> str:
    """Install Debian packages without letting them start services; returns what went wrong, or nothing."""
    wanted = sorted(set(names))
    if not wanted:
        return ""
    if shutil.which("apt-get") is None:
        return "no apt-get here"
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    print(f"installing {' '.join(wanted)}", file=sys.stderr)
    made_policy = False
    if not POLICY.exists():
        made_policy = forbid_services(prefix)
    try:
        apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "timeout", "900", "apt-get", "-q", *PATIENT]
        subprocess.run([*apt, "update"], capture_output=True, check=False)
        install = [*apt, "install", "-y", "--no-install-recommends", *wanted]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr.strip()[-500:] or "apt-get install failed"
    finally:
        if made_policy:
            subprocess.run([*prefix, "rm", "-f", str(POLICY)], check=False)
    return ""


def wheels(names: Iterable[str], folder: Path) -> str:
    """A virtual environment of the system's Python with these packages; returns what went wrong, or nothing."""
    wanted = sorted(set(names))
    stamp = folder / "wheels"
    if not wanted:
        return ""
    if stamp.exists() and stamp.read_text(encoding="ascii").split() == wanted:
        return ""
    python = shutil.which("python3", path=SYSTEM_PATH) or sys.executable
    for command in (
        [python, "-m", "venv", str(folder)],
        [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if done.returncode != 0:
            return done.stderr.strip()[-500:] or f"{command[0]} failed"
    stamp.write_text("\n".join(wanted) + "\n", encoding="ascii")
    return ""


def forbid_services(prefix: list[str]) -> bool:
    """A policy-rc.d that keeps freshly installed servers from starting by themselves."""
    with tempfile.NamedTemporaryFile("w", suffix=".policy") as policy:
        policy.write("#!/bin/sh\nexit 101\n")
        policy.flush()
        command = ["install", "-m", "0755", policy.name, str(POLICY)]
        return subprocess.run([*prefix, *command], check=False).returncode == 0
