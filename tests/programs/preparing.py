# SPDX-License-Identifier: MIT
"""Commands that prepare a program's inputs: unmeasured, under the C library's own malloc, as the program's user."""

from __future__ import annotations

import subprocess
from pathlib import Path

from model import Place


def run(place: Place, *argv: str, stdin: Path | None = None) -> None:
    """Run a command in the inputs directory; it must succeed."""
    identity: dict[str, object] = {}
    if place.owner is not None:
        identity = {"user": place.owner[0], "group": place.owner[1], "extra_groups": []}
    with open(stdin or "/dev/null", "rb") as source:
        subprocess.run(
            place.fill_all(argv),
            env=dict(place.environment),
            cwd=place.inputs,
            stdin=source,
            check=True,
            capture_output=True,
            timeout=600,
            **identity,
        )  # type: ignore[call-overload]
