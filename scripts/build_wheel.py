#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the wheel, tag it for glibc 2.17 and musl 1.1, and see that it works: `hew run` in an environment of its own.

    .venv/bin/python scripts/build_wheel.py [--output build/wheels] [--machine aarch64]

auditwheel says whether the tag for glibc is true: it reads what libhew.so in the wheel needs.  Exits 1 when it is not.
One wheel serves both libcs: no part of it is loaded into Python, and libhew.so asks libc only for what both have.  A
wheel for another machine needs its cross compilers, and is tried by tests/packages/test_wheel.py.
"""

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEWEST_GLIBC = 17  # the second part of the newest glibc that the wheel may need
MUSL = "musllinux_1_1"
TOOLCHAIN = "cmake/{}-linux-gnu.cmake"  # for another machine than this


class WheelError(Exception):
    """What is wrong with the wheel."""


def run(*words: str | Path) -> str:
    """What a command says, on both of its outputs."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise WheelError(f"{' '.join(map(str, words))} failed:\n{done.stdout}")
    return done.stdout


def only_wheel(folder: Path) -> Path:
    """The one wheel in a folder."""
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise WheelError(f"{len(wheels)} wheels in {folder}")
    return wheels[0]


def tag(machine: str) -> str:
    """The platforms of a wheel."""
    return f"manylinux_2_{NEWEST_GLIBC}_{machine}.{MUSL}_{machine}"


def tagged(wheel: Path, machine: str) -> Path:
    """The wheel under its new name, after auditwheel has looked at it."""
    named = ("wheel", "tags", "--remove", "--platform-tag")
    run(sys.executable, "-m", *named, f"linux_{machine}", wheel)  # auditwheel believes the name
    wheel = only_wheel(wheel.parent)
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    needs = re.search(rf'"manylinux_2_(\d+)_{machine}"', said)
    if needs is None or int(needs[1]) > NEWEST_GLIBC:
        raise WheelError(f"not {tag(machine)}: {said}")
    run(sys.executable, "-m", *named, tag(machine), wheel)
    return only_wheel(wheel.parent)


def try_out(wheel: Path, folder: Path) -> None:
    """Installs it into an environment of its own, with what `hew run` imports, and runs a program under it."""
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", "--quiet", "--no-deps", wheel)
    run(folder / "bin" / "pip", "install", "--quiet", "click")
    said = run(folder / "bin" / "hew", "run", "--conf", "stats_print:true", "--", sys.executable, "-c", "pass")
    if "hew" not in said:
        raise WheelError(f"hew run from the wheel printed no statistics of hew's: {said[:200]}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "wheels")
    parser.add_argument("--machine", default=platform.machine())
    options = parser.parse_args(arguments)
    output, machine = options.output, options.machine
    foreign = machine != platform.machine()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-C", "cmake.define.HEW_REPLAY=OFF"]
            if foreign:
                words += ["-C", f"cmake.define.CMAKE_TOOLCHAIN_FILE={ROOT / TOOLCHAIN.format(machine)}"]
                words += ["-C", f"build-dir={folder / 'build'}"]
            run(*words, "-w", folder / "made", ROOT)
            wheel = tagged(only_wheel(folder / "made"), machine)
            if not foreign:
                try_out(wheel, folder / "environment")
            output.mkdir(parents=True, exist_ok=True)
            shutil.copy(wheel, output)
    except WheelError as error:
        print(f"build_wheel: {error}", file=sys.stderr)
        return 1
    tried = "" if foreign else ", and hew run works from it"
    print(f"build_wheel: {wheel.name}: glibc 2.{NEWEST_GLIBC} by auditwheel{tried}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
