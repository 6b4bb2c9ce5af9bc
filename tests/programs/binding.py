# SPDX-License-Identifier: MIT
"""Which library the dynamic linker really gave a program for malloc and its relatives.

A preload is mapped even when the program does not use it: an executable that carries its own malloc wins over every
preload, and functions that the preload lacks (mallctl, say) still come from whatever allocator the program was linked
with. The linker's own account (LD_DEBUG=bindings) tells both.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ALLOCATION = (
    "malloc",
    "calloc",
    "realloc",
    "free",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "malloc_usable_size",
)
"""Functions that pass memory to each other: all must come from one library."""

CONTROL = (
    "mallctl",
    "mallctlnametomib",
    "mallctlbymib",
    "malloc_stats_print",
    "mallocx",
    "rallocx",
    "xallocx",
    "sallocx",
    "dallocx",
    "sdallocx",
    "nallocx",
    "mallopt",
    "mallinfo",
    "mallinfo2",
    "malloc_trim",
    "malloc_info",
    "malloc_stats",
)

LINE = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(\w+)'")


@dataclass(frozen=True)
class Binding:
    """The object `source` uses the function `name` that `target` defines."""

    source: str
    name: str
    target: str


def bindings(argv: list[str], preload: str, environment: Mapping[str, str]) -> set[Binding]:
    """Every binding of an allocation function while the command ran, over all its processes."""
    found = set()
    with tempfile.TemporaryDirectory(prefix="hew-bindings-") as directory:
        settings = {"LD_DEBUG": "bindings", "LD_BIND_NOW": "1", "LD_DEBUG_OUTPUT": f"{directory}/log"}
        if preload:
            settings["LD_PRELOAD"] = preload
        subprocess.run(
            argv,
            env={**environment, **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        for log in Path(directory).iterdir():
            for match in LINE.finditer(log.read_text(encoding="utf-8", errors="replace")):
                source, target, name = match.groups()
                if name in ALLOCATION + CONTROL and "ld-linux" not in source and source != target:
                    found.add(Binding(source, name, target))
    return found


def strangers(found: set[Binding], preload: str) -> dict[str, set[str]]:
    """Functions that did not come from the preloaded library, with the libraries they came from instead.

    An executable that takes the address of malloc is itself the target for others, as a stub that jumps to whatever the
    executable is bound to: if that is the preload, all is well.
    """
    stubs = {(binding.source, binding.name) for binding in found if binding.target == preload}
    others: dict[str, set[str]] = {}
    for binding in found:
        if binding.target != preload and (binding.target, binding.name) not in stubs:
            others.setdefault(binding.name, set()).add(binding.target)
    return others


def own_allocator(found: set[Binding]) -> str:
    """The library other than libc that a program gets its malloc from without any preload, or empty."""
    libraries = {binding.target for binding in found if binding.name == "malloc"}
    foreign = sorted(path for path in libraries if ".so" in path and not os.path.basename(path).startswith("libc.so"))
    return foreign[0] if foreign else ""


def libc_path() -> str:
    """The C library this system's programs run on."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            path = line.split()[-1]
            if os.path.basename(path).startswith(("libc.so", "libc-")):
                return path
    raise RuntimeError("this Python does not use a shared C library")
