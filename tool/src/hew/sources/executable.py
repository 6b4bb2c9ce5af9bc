# SPDX-License-Identifier: MIT
"""What a command really is: its file, the ELF program behind a script, and whether a preload can reach that.

The header is read here by struct: `hew run` needs nothing else of the file, and to import pyelftools takes half a
second. Whatever reads symbols or segments uses pyelftools (code.py).
"""

import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hew.model.errors import CommandNotExecutableError, CommandNotFoundError

ELF_MAGIC = b"\x7fELF"
PROGRAM_INTERPRETER = 3  # PT_INTERP
SCRIPT_DEPTH = 4  # the kernel's own limit on scripts run by scripts


@dataclass(frozen=True)
class Elf:
    """The part of an ELF header that decides whether a library can be preloaded."""

    bits: int
    machine: int
    interpreter: Path | None


def find_command(name: str, environment: Mapping[str, str]) -> Path:
    """The file that exec would run for `name`, or the error that a shell would give (127 and 126)."""
    if "/" in name:
        candidates = [Path(name)]
    else:
        search = environment.get("PATH", os.defpath)
        candidates = [Path(folder or ".") / name for folder in search.split(os.pathsep)]
    refused = None
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
        if candidate.exists():
            refused = refused or candidate
    if refused is not None:
        kind = "is a directory" if refused.is_dir() else "is not executable"
        raise CommandNotExecutableError(f"{refused} {kind}")
    raise CommandNotFoundError(f"{name}: command not found")


def read_elf(path: Path) -> Elf | None:
    """The ELF header of a file, or None when it is no ELF file or cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if head[:4] != ELF_MAGIC or len(head) < 52:
                return None
            wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
            machine = struct.unpack_from(order + "H", head, 18)[0]
            offset = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)[0]
            size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
            file.seek(offset)
            table = file.read(size * count)
            for start in range(0, len(table) - size + 1, size or 1):
                if struct.unpack_from(order + "I", table, start)[0] == PROGRAM_INTERPRETER:
                    at, length = _segment(table, start, order, wide)
                    file.seek(at)
                    name = file.read(length).rstrip(b"\0")
                    return Elf(64 if wide else 32, machine, Path(os.fsdecode(name)))
            return Elf(64 if wide else 32, machine, None)
    except (OSError, struct.error):
        return None


def _segment(table: bytes, start: int, order: str, wide: bool) -> tuple[int, int]:
    """File offset and length of a program header's segment."""
    kind, offset, length = ("Q", 8, 32) if wide else ("I", 4, 16)
    at: int = struct.unpack_from(order + kind, table, start + offset)[0]
    size: int = struct.unpack_from(order + kind, table, start + length)[0]
    return at, size


def program_behind(path: Path, environment: Mapping[str, str]) -> Path:
    """The ELF program that the kernel loads for `path`: itself, or what its `#!` lines lead to."""
    for _ in range(SCRIPT_DEPTH):
        try:
            with path.open("rb") as file:
                first = file.readline(512)
        except OSError:
            return path
        if not first.startswith(b"#!"):
            return path
        words = os.fsdecode(first[2:]).split()
        if words and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(words[0], path=environment.get("PATH")) if words else None
        if found is None:
            return path
        path = Path(found)
    return path


def preload_obstacle(command: Path, library: Path, environment: Mapping[str, str]) -> str | None:
    """Why a preloaded library cannot reach this command, or None when nothing is in its way."""
    program = program_behind(command, environment)
    elf = read_elf(program)
    if elf is None:
        return None
    if elf.interpreter is None:
        return f"{program} is statically linked, so a preloaded library cannot reach it"
    privilege = _gained_privilege(program)
    if privilege:
        return f"{program} is {privilege}, so the loader ignores LD_PRELOAD"
    own = read_elf(library)
    if own is not None and (own.bits, own.machine) != (elf.bits, elf.machine):
        return f"{program} is for another architecture than {library}"
    return None


def _gained_privilege(program: Path) -> str | None:
    """How running this file raises privileges, which makes the loader ignore the environment."""
    facts = program.stat()
    if facts.st_mode & stat.S_ISUID and facts.st_uid != os.getuid():
        return "setuid"
    if facts.st_mode & stat.S_ISGID and facts.st_gid != os.getgid():
        return "setgid"
    if os.getuid() != 0 and "security.capability" in os.listxattr(program):
        return "given file capabilities"
    return None


def libraries_of(command: Path, environment: Mapping[str, str]) -> list[Path]:
    """The shared libraries that the command's program is linked with, as the loader itself lists them.

    `ld.so --list PROGRAM` resolves without running the program. Empty when there is no loader or it cannot tell.
    """
    program = program_behind(command, environment)
    elf = read_elf(program)
    if elf is None or elf.interpreter is None:
        return []
    clean = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    try:
        listed = subprocess.run(
            [str(elf.interpreter), "--list", str(program)], capture_output=True, env=clean, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = [line.split() for line in os.fsdecode(listed.stdout).splitlines()]
    return [Path(paths[0]) for words in lines if (paths := [word for word in words if word.startswith("/")])]
