#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bring what a target of the Makefile needs: system packages, and the virtual environment .venv with the tool.

    python3 scripts/prepare.py build|ci|test|compare|demo|docs|bench|aarch64|engines|packages

For `build`, `compare` and `demo` nothing is installed into the system: one line says what is missing and which packages
bring it. The other targets are a developer's: as root with apt-get, what is missing is installed, after a line that
says what and why; HEW_APT=no in the environment leaves it out. Exits 1 when something that the target cannot do without
is still missing. A second run takes no time. What comes over the network is tried again, and has a time limit.
"""

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST_PYTHON = (3, 11)
OLDEST_CMAKE = (3, 21)
STAMP = "hew-prepared"
TRIES = 3
PAUSE = 10.0  # seconds between two tries
LIMIT = 600.0  # seconds that one of them may take
# Another apt-get may be installing; a mirror may stall.
APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3", "-o", "Acquire::http::Timeout=30"]
PIP = {"PIP_RETRIES": "10", "PIP_TIMEOUT": "30", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
# The extras of pyproject.toml that a target needs beside the tool itself, and those that [dev] brings.
EXTRAS = {
    "compare": frozenset[str](),
    "test": frozenset({"dev"}),
    "demo": frozenset({"inspect", "search", "top"}),
    "docs": frozenset({"docs"}),
    "bench": frozenset({"inspect", "search", "top"}),
    "engines": frozenset({"inspect"}),
    "packages": frozenset({"dev", "packages"}),
}
IN_DEV = frozenset({"inspect", "search", "top"})
OF_USERS = ("build", "compare", "demo")  # targets that change nothing but this folder


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
NINJA = Need("ninja", lambda: shutil.which("ninja") is not None, "ninja-build", "make builds as well, and slower")
CCACHE = Need("ccache", lambda: shutil.which("ccache") is not None, "ccache", "each run compiles everything anew")
MUSL = Need("musl-gcc", lambda: shutil.which("musl-gcc") is not None, "musl-tools", "no test of programs of musl's")
CHROMIUM = Need(
    "chromium", lambda: shutil.which("chromium") is not None, "chromium", "no test of hew serve's page in a browser"
)
AARCH64 = [
    command("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    command("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"),
    command("qemu-aarch64", "qemu-user"),
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


def program(name: str, package: str, why: str = WHY_PROGRAM) -> Need:
    """A real program that the suites of bench/suites.toml run, or another one that can be done without."""
    return Need(name, lambda: shutil.which(name) is not None, package, why)


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
WHY_ENGINE = "hew export and hew fleet are not tried with it"
ENGINES = [
    program("prometheus", "prometheus", WHY_ENGINE),
    program("victoria-metrics", "victoria-metrics", WHY_ENGINE),
]
WHY_PACKAGER = "its package is not tried"
PACKAGERS = [
    program("clang", "clang", WHY_PACKAGER),
    program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", WHY_PACKAGER),
    program("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", WHY_PACKAGER),
    program("qemu-aarch64", "qemu-user", WHY_PACKAGER),
    program("dh", "debhelper", WHY_PACKAGER),
    program("lintian", "lintian", WHY_PACKAGER),
    program("debootstrap", "debootstrap", WHY_PACKAGER),
    program("rpmbuild", "rpm", WHY_PACKAGER),
    program("rpmlint", "rpmlint", WHY_PACKAGER),
    program("bazel", "bazel-bootstrap", WHY_PACKAGER),
]


# What each target does without, too.
WELCOME = {
    "build": [],
    "ci": [NINJA, CCACHE, MUSL, CHROMIUM],
    "test": [*PEERS, ENGINES[1]],  # 23 MB; Prometheus brings as much again
    "compare": PEERS,
    "demo": [],
    "docs": [],
    "bench": [*PEERS, *PROGRAMS],
    "aarch64": [],
    "engines": ENGINES,
    "packages": [MUSL, *PACKAGERS],
}


def run(arguments: list[str], quiet: bool = False) -> str:
    """The output of a command; when quiet, nothing rather than an error."""
    environment = {**os.environ, **PIP}
    try:
        return subprocess.run(
            arguments, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment, timeout=LIMIT
        ).stdout
    except (FileNotFoundError, subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        if quiet:
            return ""
        raise PrepareError(f"failed: {' '.join(arguments)}") from error


def apt(*words: str) -> bool:
    """Whether apt-get could do it."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run([*APT, *words], env=environment, stdout=subprocess.DEVNULL, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def apt_install(packages: list[str]) -> bool:
    """Whether all packages could be installed."""
    return apt("install", "-y", "--no-install-recommends", *packages)


def packages_of(needs: list[Need]) -> str:
    """The Debian packages that bring them, as a command takes them."""
    return " ".join(sorted({need.package for need in needs}))


def bring(needs: list[Need], may_install: bool) -> list[Need]:
    """Installs what is missing if it may, after saying so, and returns what still is."""
    missing = [need for need in needs if not need.present()]
    if missing and may_install:
        packages = packages_of(missing)
        print(f"prepare: will run, as root: apt-get update; apt-get install {packages}", flush=True)
        print("prepare: HEW_APT=no in the environment leaves that out", flush=True)
        apt("update")  # one source that cannot be reached does not keep the others from serving
        if not apt_install(packages.split()) and " " in packages:  # one that does not exist here holds up the others
            for package in packages.split():
                apt_install([package])
        missing = [need for need in missing if not need.present()]
    return missing


def may_install_for(target: str) -> bool:
    """Whether system packages may be installed: a developer's target, as root, unless the environment forbids it."""
    if target in OF_USERS or os.environ.get("HEW_APT", "") == "no":
        return False
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def require(needs: list[Need], may_install: bool) -> None:
    """Stops with one line when something cannot be brought."""
    missing = bring(needs, may_install)
    if missing:
        names = ", ".join(need.what for need in missing)
        raise PrepareError(f"missing: {names}.  On Debian and Ubuntu: sudo apt-get install {packages_of(missing)}")


def installed_extras(stamp: Path, wanted: str) -> frozenset[str] | None:
    """The extras that .venv has, where it was made for this pyproject.toml; else None."""
    found = stamp.read_text(encoding="utf-8").split() if stamp.is_file() else []
    if not found or found[0] != wanted:
        return None
    return frozenset(found[1:]) | (IN_DEV if "dev" in found else frozenset())


def make_venv(extras: frozenset[str]) -> None:
    """Creates .venv and installs the tool with these extras into it, unless it has them for this pyproject.toml."""
    venv = ROOT / ".venv"
    python = venv / "bin" / "python"
    stamp = venv / STAMP
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    there = installed_extras(stamp, wanted)
    if python.is_file() and there is not None and extras <= there:
        return
    for left in reversed(range(TRIES)):
        try:
            install_tool(python, f"[{','.join(sorted(extras))}]" if extras else "")
        except PrepareError as error:
            if not left:
                raise
            print(f"prepare: {error}; once more", flush=True)
            time.sleep(PAUSE)
        else:
            break
    stamp.write_text(" ".join([wanted, *sorted(extras | (there or frozenset()))]) + "\n", encoding="utf-8")


def install_tool(python: Path, extras: str) -> None:
    """The tool and what it needs, into this Python's environment, which is made if it is not there, or half made."""
    if not (python.is_file() and run([str(python), "-m", "pip", "--version"], quiet=True)):
        print("prepare: making .venv", flush=True)
        run([sys.executable, "-m", "venv", "--clear", str(python.parent.parent)])
    print(f"prepare: installing the tool and what it needs into .venv: pip install -e .{extras}", flush=True)
    # Python compiles what it imports, which is little of that, unless it may not write what it has compiled.
    lazily = [] if sys.dont_write_bytecode else ["--no-compile"]
    run([str(python), "-m", "pip", "install", "--quiet", *lazily, "-e", f".{extras}"])


def tell(missing: list[Need]) -> None:
    """One line for all that is left out for the same reason, with the packages that would bring it."""
    for why in dict.fromkeys(need.why for need in missing):
        alike = [need for need in missing if need.why == why]
        names = ", ".join(need.what for need in alike)
        print(f"prepare: not here: {names}: {why} (apt-get install {packages_of(alike)})", flush=True)


def prepare(target: str) -> None:
    """Everything for one target."""
    if sys.version_info < OLDEST_PYTHON:
        raise PrepareError(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: make PYTHON=python3.11")
    may_install = may_install_for(target)
    require([*BUILD, *([VENV] if target in EXTRAS else []), *(AARCH64 if target == "aarch64" else [])], may_install)
    tell(bring(WELCOME[target], may_install))
    if target in EXTRAS:
        make_venv(EXTRAS[target])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Bring what a target of the Makefile needs.")
    parser.add_argument("target", choices=sorted(WELCOME))
    try:
        prepare(parser.parse_args(arguments).target)
    except (PrepareError, OSError) as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
