# SPDX-License-Identifier: MIT
"""A page of docs/ that a script makes from the tables of the code: writing it, and telling when it is stale."""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent


def write_or_check(name: str, page: str, make: Callable[[Path], str], arguments: list[str] | None) -> int:
    """The whole command line of scripts/<name>.py, which makes docs/<page> of a project with `make`."""
    parser = argparse.ArgumentParser(description=f"Write docs/{page} from the tables of the code.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's directory")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args(arguments)
    target = options.root / "docs" / page
    try:
        text = make(options.root)
        current = target.read_text() if target.is_file() else ""
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    if options.check:
        if text != current:
            print(f"{name}: docs/{page} is not up to date: run scripts/{name}.py", file=sys.stderr)
        return 1 if text != current else 0
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)
    return 0
