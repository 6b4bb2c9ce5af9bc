# SPDX-License-Identifier: MIT
"""What a mistyped name was probably meant to be."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Words to put behind a message: ` (did you mean NAME?)`, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f" (did you mean {near[0]}?)" if near else ""
