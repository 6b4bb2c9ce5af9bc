# SPDX-License-Identifier: MIT
"""Which allocators this machine has, and whether they can really be preloaded."""

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hew.model.allocator import BASELINE, Allocator, Request, Unusable
from hew.model.errors import HewError
from hew.sources.environment import preload_entries, prepend_preload
from hew.sources.executable import libraries_of, preload_obstacle
from hew.sources.library import built_peers, find_hew

MACHINE = platform.machine()

# The names that distributions give to the libraries, the best first.
PATTERNS = {
    "jemalloc": ("libjemalloc.so*",),
    "tcmalloc": ("libtcmalloc_minimal.so*", "libtcmalloc.so*"),
    "mimalloc": ("libmimalloc.so*",),
    "scudo": (f"libclang_rt.scudo_standalone-{MACHINE}.so", "libclang_rt.scudo_standalone.so", "libscudo.so*"),
}
HEW = "hew"
KNOWN = (BASELINE, *PATTERNS, HEW)

# A library of this name brings an allocator of its own.
ALLOCATOR_FILE = re.compile(r"lib(jemalloc|tcmalloc|mimalloc|hew|clang_rt\.scudo|scudo|hoard|rpmalloc|snmalloc).*\.so")

LIBRARY_FOLDERS = (
    f"/usr/local/lib/{MACHINE}-linux-gnu",
    f"/usr/lib/{MACHINE}-linux-gnu",
    f"/lib/{MACHINE}-linux-gnu",
    "/usr/local/lib64",
    "/usr/local/lib",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
)
COMPILER_FOLDERS = ("usr/lib/llvm-*/lib/clang/*/lib/*", "usr/lib/clang/*/lib/*", "usr/lib64/clang/*/lib/*")


def known_names() -> tuple[str, ...]:
    """Every name that needs no path."""
    return (*KNOWN, *built_peers())


def library_folders(environment: Mapping[str, str], root: Path = Path("/")) -> list[Path]:
    """Where to look, in order: LD_LIBRARY_PATH, the system's library folders, the compilers' run-time folders."""
    named = [Path(entry) for entry in environment.get("LD_LIBRARY_PATH", "").split(":") if entry]
    usual = [root / folder.lstrip("/") for folder in LIBRARY_FOLDERS]
    compilers = [folder for pattern in COMPILER_FOLDERS for folder in sorted(root.glob(pattern), reverse=True)]
    return [folder for folder in (*named, *usual, *compilers) if folder.is_dir()]


def find_library(name: str, folders: Sequence[Path]) -> Path | None:
    """The library of a known allocator: the first pattern, then the first folder, then the highest version."""
    for pattern in PATTERNS[name]:
        for folder in folders:
            found = [path for path in folder.glob(pattern) if path.is_file()]
            if found:
                return max(found, key=_version)
    return None


def _version(path: Path) -> tuple[list[int], int]:
    """Orders libx.so.2 before libx.so.1; of one file's names the shorter, steadier one."""
    numbers = [int(number) for number in re.findall(r"\d+", path.name.partition(".so")[2])]
    return numbers[:1], -len(path.name)


def is_allocator(path: Path) -> bool:
    """Whether a library's file name is one of the allocators that programs are linked with."""
    return ALLOCATOR_FILE.match(path.name) is not None


def discover(
    requests: Sequence[Request], environment: Mapping[str, str], folders: Sequence[Path] | None = None
) -> tuple[list[Allocator], list[Unusable]]:
    """The allocators to compare: those asked for, or all known ones. glibc is always among them, and first."""
    folders = library_folders(environment) if folders is None else folders
    wanted = list(requests) or [Request(name) for name in known_names()]
    found, unusable = [Allocator(BASELINE)], []
    for request in wanted:
        if request.name == BASELINE:
            continue
        try:
            found.append(Allocator(request.name, _locate(request, environment, folders)))
        except HewError as error:
            unusable.append(Unusable(request.name, str(error)))
    return found, unusable


def _locate(request: Request, environment: Mapping[str, str], folders: Sequence[Path]) -> Path:
    if request.path is not None:
        if not request.path.is_file():
            raise HewError(f"{request.path} is not a file")
        return request.path.absolute()
    if request.name == HEW:
        return find_hew(None, environment)
    library = built_peers().get(request.name) or find_library(request.name, folders)
    if library is None:
        raise HewError(f"not installed (no {' or '.join(PATTERNS[request.name])} in the library folders)")
    return library


def without_allocators(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The caller's environment without a preloaded allocator, which would be in every row; and a note of it."""
    entries = preload_entries(environment)
    dropped = [entry for entry in entries if is_allocator(Path(entry))]
    if not dropped:
        return dict(environment), []
    kept = ":".join(entry for entry in entries if entry not in dropped)
    return {**environment, "LD_PRELOAD": kept}, [f"LD_PRELOAD named {', '.join(dropped)}; it was left out of every row"]


def usable_under(
    found: Sequence[Allocator], command: Path, environment: Mapping[str, str]
) -> tuple[list[Allocator], list[Unusable]]:
    """Those of the allocators that can be preloaded into the command, and why the others cannot."""
    usable, refused = [], []
    for one in found:
        if one.library is None:
            continue
        reason = preload_obstacle(command, one.library, environment) or probe(one.library, environment)
        if reason:
            refused.append(Unusable(one.name, reason))
        else:
            usable.append(one)
    return usable, refused


def true_baseline(command: Path, environment: Mapping[str, str]) -> tuple[Allocator, str | None]:
    """glibc's malloc for this command, and a note when it takes more than leaving the command alone.

    A program that is linked with an allocator of its own (Debian's redis-server with jemalloc) gets glibc's only when
    libc.so.6 comes first in the search for symbols: it is preloaded too.
    """
    libraries = libraries_of(command, environment)
    own = next((path for path in libraries if is_allocator(path)), None)
    libc = next((path for path in libraries if path.name.startswith("libc.so")), None)
    if own is None or libc is None:
        return Allocator(BASELINE), None
    return Allocator(BASELINE, libc), f"{command} is linked with {own.name}; for the glibc row {libc.name} is preloaded"


def runs_today(command: Path, environment: Mapping[str, str], names: Sequence[str]) -> str:
    """Which of the compared allocators the command runs on without us: one that LD_PRELOAD names, one that it is
    linked with, else glibc."""
    preloaded = [Path(entry) for entry in preload_entries(environment)]
    for path in (*preloaded, *libraries_of(command, environment)):
        match = ALLOCATOR_FILE.match(path.name)
        name = match[1].removeprefix("clang_rt.") if match else ""
        if name in names:
            return name
    return BASELINE


def probe(library: Path, environment: Mapping[str, str]) -> str | None:
    """Preload the library into a small program that prints its own memory map; None when it is really there."""
    program = [shutil.which("cat") or sys.executable]
    if program == [sys.executable]:
        program += ["-c", "print(open('/proc/self/maps').read())"]
    else:
        program += ["/proc/self/maps"]
    try:
        preload = prepend_preload(library, [])
        outcome = subprocess.run(
            program, env={**environment, "LD_PRELOAD": preload}, capture_output=True, timeout=60, check=False
        )
    except HewError as error:
        return str(error)
    except subprocess.TimeoutExpired:
        return f"{program[0]} hangs under {library}"
    if outcome.returncode != 0:
        return f"{program[0]} fails under {library}: {describe_status(outcome.returncode)}"
    if os.fsencode(library.resolve()) in outcome.stdout:
        return None
    complaint = os.fsdecode(outcome.stderr).strip().splitlines()
    return complaint[0] if complaint else f"the loader did not take {library}"


def describe_status(status: int) -> str:
    """An exit status in words; negative is a signal, as in subprocess."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
