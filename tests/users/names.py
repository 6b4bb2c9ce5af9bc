#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ask mallctl for every name in names.tsv, in the ways that a careless program would, and compare the answers.

For each name: a read of the right length, of a length too short, a write of a wrong length, a call with nothing at all.
names.tsv holds what jemalloc 5.3.1 answered, without and with prof:true; where hew decided otherwise, the line says
why in its last column.  Runs with the library preloaded; --record writes what this library answers to stdout.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path

TABLE = Path(__file__).with_name("names.tsv")
CODES = {0: "0", errno.ENOENT: "ENOENT", errno.EINVAL: "EINVAL", errno.EPERM: "EPERM", errno.EFAULT: "EFAULT"}
SCRATCH = ctypes.create_string_buffer(256)
ctl = ctypes.CDLL(None).mallctl
ctl.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p, ctypes.c_size_t]


def call(name: str, reads: int | None, writes: int | None) -> str:
    """The code for a read and a write of so many bytes."""
    place, value = ctypes.create_string_buffer(256), ctypes.create_string_buffer(256)
    length = ctypes.c_size_t(reads or 0)
    ctypes.c_void_p.from_buffer(place).value = ctypes.addressof(SCRATCH)  # arena.<i>.name reads into what it finds
    code = ctl(
        name.encode(),
        None if reads is None else place,
        None if reads is None else ctypes.byref(length),
        None if writes is None else value,
        writes or 0,
    )
    return CODES.get(code, str(code))


def answers(name: str, size: int) -> list[str]:
    concrete = name.replace("<i>", "0").replace("<j>", "0")
    return [
        call(concrete, size, None) if size else "-",
        call(concrete, size - 1 if size > 1 else 2, None),
        call(concrete, None, 3),
        call(concrete, None, None),
    ]


def in_a_child(name: str, size: int) -> list[str]:
    """The same from a process that may crash, as jemalloc does for some."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, " ".join(answers(name, size)).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as stream:
        return stream.read().split() or ["crash"]


def rows() -> list[list[str]]:
    lines = TABLE.read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def main() -> int:
    profiling = "prof:true" in os.environ.get("MALLOC_CONF", "")
    wrong = 0
    for name, size, without, with_profiling, *_ in rows():
        found = " ".join(in_a_child(name, int(size)))
        if "--record" in sys.argv:
            print(name, size, found, sep="\t")
        elif found != (with_profiling if profiling else without):
            wrong += 1
            print(f"{name}: {found}; expected {with_profiling if profiling else without}")
    print(f"names: {len(rows())} names, {wrong} wrong", file=sys.stderr)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
