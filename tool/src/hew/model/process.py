# SPDX-License-Identifier: MIT
"""Facts about a process, read from outside. Sizes are in bytes. None: it cannot be read; for a limit: there is none."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from hew.model.glibc_heap import GlibcHeap
from hew.model.known_allocators import CONF, HEW, OWN_CONF
from hew.model.lazy_dataclass import dataclass
from hew.model.statistics import MemoryLimit


@dataclass(frozen=True)
class Area:
    """One row of a process's memory map, with the figures of smaps (0 when that cannot be read)."""

    start: int
    end: int
    rights: str
    path: str
    resident: int = 0
    anonymous: int = 0
    huge: int = 0
    lazily_freed: int = 0
    swapped: int = 0
    inode: int = 0  # of its file; 0: it has none

    @property
    def size(self) -> int:
        """Of address space."""
        return self.end - self.start

    @property
    def nameless(self) -> bool:
        """Whether it is anonymous memory of no special kind (a name that the program gave it does not count)."""
        return not self.path or self.path.startswith("[anon:")


@dataclass(frozen=True)
class Memory:
    """What a process uses, all its areas together."""

    virtual: int
    resident: int
    peak: int
    anonymous: int
    locked: int
    huge: int | None
    lazily_freed: int | None
    swapped: int | None


@dataclass(frozen=True)
class Limits:
    """What the process may use: resource limits (None: none), CPUs, its control group."""

    address_space: int | None
    data: int | None
    locked: int | None
    cpus_allowed: int
    cpus_of_group: float | None
    memory_of_group: int | None
    memory_used_by_group: int | None  # without the pages of files, which the kernel takes first


@dataclass(frozen=True)
class System:
    """Settings of the kernel that decide what an allocator can do."""

    huge_pages: str
    huge_page_fill: int | None  # empty pages of 512 that khugepaged accepts
    overcommit: int | None
    commit_limit: int
    committed: int
    most_areas: int | None
    conf_link: str | None  # what the symbolic link /etc/malloc.conf says, in the process's own root


@dataclass(frozen=True)
class Code:
    """The allocator-related facts of a program or library that a process has mapped.

    `prefix` is the build's prefix of function names: "" replaces malloc itself, "je_" does not, None is unknown.
    `hidden`: it has a malloc that other libraries of the process cannot see.
    """

    path: Path
    kind: str | None
    version: str
    prefix: str | None
    variable: str | None
    serves: bool
    hidden: bool
    interpreter: str | None
    needed: tuple[str, ...]
    slots: tuple[int, ...]
    runtime: str | None
    base: int = 0
    also: tuple[str, ...] = ()  # further allocators in the same file

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of settings that it reads, later ones win."""
        if self.variable is None:
            return ()
        own = (self.variable.removesuffix(CONF) + OWN_CONF,) if self.kind == HEW else ()
        return (self.variable, *own)

    @property
    def title(self) -> str:
        """An allocator with its version, as far as they are known."""
        return " ".join(filter(None, (self.kind or self.path.name, self.version.removeprefix(f"{self.kind} "))))


@dataclass(frozen=True)
class HeapRegion:
    """One of glibc's 64 MiB regions. `arena` tells which arena's it is, where the region's head could be read."""

    start: int
    resident: int
    arena: int | None


@dataclass(frozen=True)
class Setting:
    """A variable of the environment that some allocator reads, and those of its names that this one does not know."""

    variable: str
    value: str
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Provider:
    """Where the process's malloc is, and how that was found: "slot" (read in the process), "order" (the loader's)."""

    code: Code
    found_by: str
    preloaded: bool


@dataclass(frozen=True)
class Inside:
    """What a process with a control socket says of itself: settings as they began and as they are now, arenas in use,
    threads that have allocated."""

    settings: Mapping[str, bool | int | str]
    now: Mapping[str, bool | int | str]
    arenas: int
    threads: int
    limit: MemoryLimit = field(default_factory=MemoryLimit)


@dataclass(frozen=True)
class ProcessFacts:
    """All of it. `inside` is None where the process cannot be asked, or was not; `silence` is why it did not answer."""

    pid: int
    name: str
    words: tuple[str, ...]
    threads: int
    secure: bool
    environment: Mapping[str, str] | None
    program: Code | None
    others: tuple[Code, ...]
    provider: Provider | None
    missing_preloads: tuple[str, ...]
    settings: tuple[Setting, ...]
    memory: Memory
    areas: int
    limits: Limits
    system: System
    regions: tuple[HeapRegion, ...]
    unreadable: tuple[str, ...]
    inside: Inside | None = None
    silence: str = ""
    heap: GlibcHeap | None = None
    heap_unread: str = ""  # why glibc's heap could not be read, where that was tried

    @property
    def conf(self) -> Mapping[str, str]:
        """The settings asked for in the variables that the malloc in use reads; of several with one name the last."""
        values = {setting.variable: setting.value for setting in self.settings}
        variables = self.provider.code.variables if self.provider else ()
        texts = [values[variable] for variable in variables if variable in values]
        pairs = (pair.partition(":") for text in texts for pair in text.split(",") if ":" in pair)
        return {name.strip(): value.strip() for name, _, value in pairs}
