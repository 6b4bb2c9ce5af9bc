# SPDX-License-Identifier: MIT
"""Whether the allocator of a process can be changed. Nothing is touched here: HewError says in a line why not."""

import re
from pathlib import Path

from hew.model.errors import HewError
from hew.model.known_allocators import GLIBC, HEW, JEMALLOC, MIMALLOC, TCMALLOC
from hew.model.process import Code, ProcessFacts
from hew.sources.attach.contents import contents
from hew.sources.attach.reading import check_calls, forbidden, seccomp_modes
from hew.sources.process_facts import read_process
from hew.sources.processes import PROC, read_text, value_of

SWAPPED_FROM = {GLIBC, JEMALLOC, MIMALLOC, TCMALLOC}
COPIED = SWAPPED_FROM - {GLIBC}
SANITIZERS = re.compile(r"/lib(?:clang_rt\.)?(asan|tsan|msan|lsan|hwasan|ubsan)[.\-_]")
TRACERS = re.compile(r"/(?:libhewtrace\.so|vgpreload_|libheaptrack|libmemray)")
LEAST_SPACE = 256 << 20  # bytes of address space for the library and its first heaps
FILTER = "2"  # SECCOMP_MODE_FILTER


def checked(pid: int) -> ProcessFacts:
    """The facts of a process whose allocator can be changed."""
    check_calls(pid, "hew swap works", "the call of its loader")
    facts = read_process(pid, figures=False)
    _check_rights(pid, facts)
    check_program(pid, facts)
    _check_limits(pid, facts)
    return facts


def _check_rights(pid: int, facts: ProcessFacts) -> None:
    if facts.secure or len(set(value_of(f"{PROC}/{pid}/status", "Uid").split())) > 1:
        raise HewError(
            f"process {pid} runs with other rights than its user's (setuid or file capabilities), and may not load a "
            "user's library: link its program with hew"
        )
    try:
        Path(f"{PROC}/{pid}/auxv").read_bytes()
    except OSError as error:
        raise HewError(f"process {pid} may not be changed: {forbidden(pid, filtered=False)}") from error
    if FILTER in seccomp_modes(pid):
        raise HewError(
            f"process {pid} has a seccomp filter, which may forbid what the new allocator needs: start it with hew run"
        )


def check_program(pid: int, facts: ProcessFacts) -> None:
    """HewError when its program, or what it has loaded, forbids a swap."""
    program = facts.program
    if program is None:
        raise HewError(f"the program of process {pid} cannot be read")
    if program.runtime is not None and program.runtime.startswith("Go"):
        raise HewError(f"process {pid} is a Go program: its heap is the Go runtime's own")
    if program.interpreter is None:
        raise HewError(f"process {pid} is a static program, into which no library can be loaded: link it with libhew.a")
    if "/ld-musl" in program.interpreter:
        raise HewError(f"process {pid} runs on musl, whose loader is not known here: hew swap needs glibc 2.34")
    maps = read_text(f"{PROC}/{pid}/maps")
    sanitizer = SANITIZERS.search(maps)
    if sanitizer or _has_sanitizer(pid, program.path):
        name = sanitizer[1] if sanitizer else "a sanitizer"
        raise HewError(f"process {pid} runs under a sanitizer ({name}), whose malloc must stay")
    tracer = TRACERS.search(maps)
    if tracer:
        raise HewError(f"process {pid} has {tracer[0][1:]} loaded, which watches its malloc")
    provider = facts.provider
    if provider is None:
        raise HewError(f"the malloc of process {pid} is none that other code can see")
    if provider.code.kind == HEW:
        raise HewError(f"process {pid} has been on {provider.code.title} since it started")
    if provider.code.kind not in SWAPPED_FROM:
        raise HewError(f"process {pid} brings a malloc of its own ({provider.code.path}) that is not known here")


def _has_sanitizer(pid: int, program: Path) -> bool:
    """Whether the program has one linked into it."""
    try:
        return contents(Path(f"{PROC}/{pid}/exe"), program).has_sanitizer
    except (OSError, ValueError):
        return False


def copies_in(facts: ProcessFacts) -> list[Code]:
    """Allocators under names of their own, as with a prefix: their callers do not call malloc, and stay with them."""
    codes = (facts.program, *facts.others)
    return [code for code in codes if code is not None and code.kind in COPIED and not code.serves]


def named(code: Code) -> str:
    """A copy, for people."""
    return f"{code.title} ({code.prefix}malloc in {code.path})" if code.prefix else f"{code.title} (in {code.path})"


def _check_limits(pid: int, facts: ProcessFacts) -> None:
    if facts.memory.locked:
        raise HewError(
            f"process {pid} has locked {facts.memory.locked >> 10} KiB of its memory (mlock), and could lock the new "
            "allocator's maps: start it with hew run"
        )
    limit = facts.limits.address_space
    if limit is not None and limit - facts.memory.virtual < LEAST_SPACE:
        raise HewError(f"process {pid} has less than {LEAST_SPACE >> 20} MiB left below its limit of address space")
    data = facts.limits.data
    if data is not None and data - facts.memory.anonymous < LEAST_SPACE:
        raise HewError(f"process {pid} has less than {LEAST_SPACE >> 20} MiB left below its limit of data")
