#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bring what a target of the Makefile needs: system packages, and the virtual environment .venv with the tool.

    python3 scripts/prepare.py build|test|demo|bench

What is missing is installed with apt-get when we are root and apt-get is there; else one line says what to install.
Exits 1 when something that the target cannot do without is still missing.  A second run takes no time.
"""

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST_PYTHON = (3, 11)
OLDEST_CMAKE = (3, 21)
STAMP = "hew-prepared"
EXTRAS = {"test": "[dev]", "demo": "", "bench": ""}


@dataclass(frozen=True)
class Need:
    """Something that has to be there, how to see whether it is, and the Debian package that brings it."""

    what: str
    present: Callable[[], bool]
    package: str
    why: str = ""


class PrepareError(Exception):
    """What stops us, in words for the user."""


def command(name: str, package: str) -> Need:
    """A need for a command on the path."""
    return Need(name, lambda: shutil.which(name) is not None, package)


def library(name: str, package: str, why: str) -> Need:
    """A need for a shared library where the dynamic linker looks."""
    return Need(name, lambda: name in run(["/sbin/ldconfig", "-p"], quiet=True), package, why)


def cmake_is_new_enough() -> bool:
    match = re.search(r"version (\d+)\.(\d+)", run(["cmake", "--version"], quiet=True))
    return match is not None and (int(match[1]), int(match[2])) >= OLDEST_CMAKE


def venv_works() -> bool:
    return importlib.util.find_spec("ensurepip") is not None and importlib.util.find_spec("venv") is not None


def scudo_is_there() -> bool:
    return any(Path("/usr/lib").glob("llvm-*/lib/clang/*/lib/*/libclang_rt.scudo_standalone-*.so"))


BUILD = [
    command("gcc", "gcc"),
    command("g++", "g++"),
    command("make", "make"),
    Need("cmake, 3.21 or newer", cmake_is_new_enough, "cmake"),
    command("objdump", "binutils"),
]
VENV = Need("Python's venv", venv_works, "python3-venv")
WHY_PEER = "hew compare leaves out the allocators that are not here"
PEERS = [
    library("libjemalloc.so.2", "libjemalloc2", WHY_PEER),
    library("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4", WHY_PEER),
    library("libmimalloc.so.2", "libmimalloc2.0", WHY_PEER),
    Need("scudo", scudo_is_there, "libclang-rt-14-dev", WHY_PEER),
]
WHY_PROGRAM = "hew bench leaves out its workload"


def program(name: str, package: str) -> Need:
    """A real program that the suites of bench/suites.toml run."""
    return Need(name, lambda: shutil.which(name) is not None, package, WHY_PROGRAM)


PROGRAMS = [
    program("sqlite3", "sqlite3"),
    program("xz", "xz-utils"),
    program("redis-server", "redis-server"),
    program("gs", "ghostscript"),
    program("z3", "z3"),
    program("jq", "jq"),
    program("lua5.4", "lua5.4"),
    program("node", "nodejs"),
    program("javac", "default-jdk-headless"),
    program("db_bench", "rocksdb-tools"),
    program("mariadbd", "mariadb-server"),
    program("mysqlslap", "mariadb-client"),
]


def run(arguments: list[str], quiet: bool = False) -> str:
    """The output of a command; when quiet, nothing rather than an error."""
    try:
        return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        if quiet:
            return ""
        raise PrepareError(f"failed: {' '.join(arguments)}") from error


def apt_install(packages: list[str]) -> bool:
    """Whether all packages could be installed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    print(f"prepare: apt-get install {' '.join(packages)}", flush=True)
    for arguments in (["apt-get", "update", "-q"], install):
        done = subprocess.run(arguments, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            return False
    return True


def bring(needs: list[Need], may_install: bool) -> list[Need]:
    """Installs what is missing if it can, and returns what still is."""
    missing = [need for need in needs if not need.present()]
    if missing and may_install:
        packages = sorted({need.package for need in missing})
        if not apt_install(packages) and len(packages) > 1:  # one that this distribution lacks holds up the others
            for package in packages:
                apt_install([package])
        missing = [need for need in missing if not need.present()]
    return missing


def require(needs: list[Need], may_install: bool) -> None:
    """Stops with one line when something cannot be brought."""
    missing = bring(needs, may_install)
    if missing:
        names = ", ".join(need.what for need in missing)
        packages = " ".join(sorted({need.package for need in missing}))
        raise PrepareError(f"missing: {names}.  On Debian and Ubuntu: sudo apt-get install {packages}")


def make_venv(extras: str) -> None:
    """Creates .venv and installs the tool into it, unless that was done for this pyproject.toml."""
    venv = ROOT / ".venv"
    python = venv / "bin" / "python"
    stamp = venv / STAMP
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    done = dict(line.split(" ") for line in stamp.read_text().splitlines()) if stamp.is_file() else {}
    if python.is_file() and wanted in {done.get(extras or "-"), done.get("[dev]")}:
        return
    if not python.is_file():
        print("prepare: making .venv", flush=True)
        run([sys.executable, "-m", "venv", str(venv)])
    print(f"prepare: installing the tool and what it needs into .venv: pip install -e .{extras}", flush=True)
    run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f".{extras}"])
    stamp.write_text(f"{extras or '-'} {wanted}\n")


def prepare(target: str) -> None:
    """Everything for one target."""
    if sys.version_info < OLDEST_PYTHON:
        raise PrepareError(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: make PYTHON=python3.11")
    may_install = os.geteuid() == 0 and shutil.which("apt-get") is not None
    require(BUILD if target == "build" else [*BUILD, VENV], may_install)
    if target == "build":
        return
    for need in bring([*PEERS, *(PROGRAMS if target == "bench" else [])], may_install):
        print(f"prepare: {need.what} is not here (package {need.package}): {need.why}", flush=True)
    make_venv(EXTRAS[target])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Bring what a target of the Makefile needs.")
    parser.add_argument("target", choices=["build", "test", "demo", "bench"])
    try:
        prepare(parser.parse_args(arguments).target)
    except (PrepareError, OSError) as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
