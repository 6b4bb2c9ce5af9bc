#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the wheel, tag it for glibc 2.17, and see that it works: `hew run` in an environment of its own.

    .venv/bin/python scripts/build_wheel.py [--output build/wheels]

auditwheel says whether the tag is true: it reads what libhew.so in the wheel needs.  Exits 1 when it is not.
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
TAG = f"manylinux_2_{NEWEST_GLIBC}_{platform.machine()}"


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


def tagged(wheel: Path) -> Path:
    """The wheel under its new name, after auditwheel has looked at it."""
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    needs = re.search(rf'"manylinux_2_(\d+)_{platform.machine()}"', said)
    if needs is None or int(needs[1]) > NEWEST_GLIBC:
        raise WheelError(f"not {TAG}: {said}")
    run(sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", TAG, wheel)
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
    output = parser.parse_args(arguments).output
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-C", "cmake.define.HEW_REPLAY=OFF"]
            run(*words, "-w", folder / "made", ROOT)
            wheel = tagged(only_wheel(folder / "made"))
            try_out(wheel, folder / "environment")
            output.mkdir(parents=True, exist_ok=True)
            shutil.copy(wheel, output)
    except WheelError as error:
        print(f"build_wheel: {error}", file=sys.stderr)
        return 1
    print(f"build_wheel: {wheel.name}: {TAG} by auditwheel, and hew run works from it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
