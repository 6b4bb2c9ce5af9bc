# SPDX-License-Identifier: MIT
"""Every program that is run, in the order of the table."""

from __future__ import annotations

from catalogue import builds, media, runtimes, servers, tools, windows

PROGRAMS = [
    *servers.PROGRAMS,
    *runtimes.PROGRAMS,
    *builds.PROGRAMS,
    *tools.PROGRAMS,
    *media.PROGRAMS,
    *windows.PROGRAMS,
]
