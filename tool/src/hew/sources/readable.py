# SPDX-License-Identifier: MIT
"""Names from files of any origin, made safe to print."""

import re

LONGEST = 4096
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def readable(name: str) -> str:
    """A name without characters that would steer a terminal or turn a text around, and of bounded length."""
    return CONTROL.sub("?", name[:LONGEST])
