# SPDX-License-Identifier: MIT
"""Limits of memory: from where on a process is near one, and what happens beyond it."""

NEAR = 0.9  # of the limit; hew begins to return at 15/16


def beyond(source: str | None) -> str:
    """What happens at the limit. hew enforces its own limits, the kernel those of control groups."""
    if source == "limit_hard":
        return "beyond it malloc returns NULL, as if the machine had no memory left"
    if source == "limit":
        return "this limit is soft: hew returns what is unused each time it grows, and then goes beyond it"
    return "at the limit the kernel takes pages of files, slows the group down (memory.high) or ends a process"
