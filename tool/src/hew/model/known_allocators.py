# SPDX-License-Identifier: MIT
"""How to tell an allocator from its file: texts and symbols that only it has, and the variables it reads."""

import re
from dataclasses import field

from hew.model.lazy_dataclass import dataclass

GLIBC, MUSL, HEW, JEMALLOC, MIMALLOC, TCMALLOC = "glibc", "musl", "hew", "jemalloc", "mimalloc", "tcmalloc"
CONF = "MALLOC_CONF"  # the variable of hew and jemalloc, behind the prefix they were built with
OWN_CONF = "HEW_CONF"  # read by hew alone, after CONF, so it wins


@dataclass(frozen=True)
class Known:
    """One allocator. `entry` is a function that every build of it has, behind the build's prefix if it may have one."""

    name: str
    markers: tuple[bytes, ...]
    entry: bytes
    version: re.Pattern[bytes]
    variables: re.Pattern[str] = field(default_factory=lambda: re.compile(r"(?!)"))

    @property
    def reads_conf(self) -> bool:
        """Whether it takes jemalloc's settings."""
        return self.name in {HEW, JEMALLOC}


NEVER = re.compile(rb"(?!)")

# Those that may have another's text in them come first: hew speaks of jemalloc.
KNOWN = (
    Known(
        HEW,
        (b"-ghew",),
        b"mallctlnametomib",
        re.compile(rb"-ghew(\d+\.\d+\.\d+)"),
        re.compile(r"\w*(?:MALLOC|HEW)_CONF"),
    ),
    Known(
        JEMALLOC,
        (b"<jemalloc>: Abort (abort_conf:true)", b"<jemalloc>: Malformed conf string"),
        b"mallctlnametomib",
        re.compile(rb"\0(\d+\.\d+\.\d+)-\d+-g[0-9a-f]+\0"),
        re.compile(r"\w*MALLOC_CONF"),
    ),
    Known(MIMALLOC, (b"mimalloc: warning: ",), b"mi_malloc", NEVER, re.compile(r"MIMALLOC_\w+")),
    Known(
        TCMALLOC,
        (b"tcmalloc: large alloc", b"gperftools "),
        b"tc_malloc",
        re.compile(rb"(gperftools \d+[.\d]*)"),
        re.compile(r"TCMALLOC_\w+"),
    ),
    Known("snmalloc", (b"_ZN8snmalloc",), b"sn_malloc", NEVER),
    Known("rpmalloc", (b"rpmalloc_thread_initialize",), b"rpmalloc", NEVER),
    Known("scudo", (b"Scudo ERROR",), b"scudo_malloc", NEVER, re.compile("SCUDO_OPTIONS")),
    Known(
        GLIBC,
        (b"malloc(): corrupted top size",),
        b"__libc_malloc",
        re.compile(rb"GNU C Library \(.*?(\d+\.\d+[-+.\w]*)\)"),
        re.compile(r"GLIBC_TUNABLES|MALLOC_(?:ARENA_(?:MAX|TEST)|(?:MMAP_MAX|MMAP_THRESHOLD|TOP_PAD|TRIM_THRESHOLD)_)"),
    ),
    Known(MUSL, (b"musl libc (", b"__malloc_allzerop"), b"__libc_malloc_impl", re.compile(rb"\0(1\.\d+\.\d+)\0")),
)
BY_NAME = {one.name: one for one in KNOWN}
