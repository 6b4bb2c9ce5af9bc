# SPDX-License-Identifier: MIT
"""The client of a process's control socket (docs/control.md): values, statistics, heap profiles, settings."""

import contextlib
import os
import re
import socket
import stat
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from hew.model.control import (
    LIVE,
    Applied,
    Name,
    Outcome,
    Purged,
    RefusedError,
    ThreadUse,
    Value,
    nearest,
    read_conf,
    value_of,
)
from hew.model.errors import HewError
from hew.model.known_allocators import OWN_CONF
from hew.model.nearest import did_you_mean
from hew.sources.processes import PROC, name_of, read_text, resident, stat_fields, threads

THREAD = "hew-control"  # what the library calls the thread that serves
LISTENS = 0x10000  # flag of /proc/net/unix
READINGS = 3  # of the kernel's table of sockets, until one that is open stands in it
PATIENCE = 15.0  # seconds: statistics of many arenas take a while to write
MOST_ANSWER = 1 << 30


class Control:
    """A connection to one process. Raises HewError when it ends, RefusedError when the process says no."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self.pid = pid
        self._connection = connection
        self._stream = connection.makefile("rb")

    def __enter__(self) -> "Control":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._stream.close()
        self._connection.close()

    def get(self, name: str) -> Value:
        """A value, typed."""
        return value_of(*self._ask_text(f"get {name}"))

    def set(self, name: str, value: str) -> None:
        """Set a value, written as docs/control.md says."""
        self._ask(f"set {name} {value}")

    def do(self, name: str) -> None:
        """Do what a name without a value stands for."""
        self._ask(f"do {name}")

    def stats(self, letters: str = "J") -> str:
        """The statistics, as JSON unless the letters are without J."""
        return self._ask_text(f"stats {letters}".rstrip())[1]

    def heap(self) -> tuple[str, bytes]:
        """The format of the heap profile (heap_v2, pprof), and its bytes."""
        return self._ask("heap")

    def samples(self) -> str:
        """Every sampled object that is live, a line each below its stack's."""
        return self._ask_text("samples")[1]

    def record(self, request: str) -> int:
        """`look`, `stop`, or how to begin (docs/control.md). Bytes of the trace, or words of the program changed."""
        return int(self._ask_text(f"record {request}")[1])

    def names(self) -> tuple[Name, ...]:
        """Every name that can be used."""
        rows = (line.split(" ") for line in self._ask_text("names")[1].splitlines())
        return tuple(Name(name, kind, frozenset(access.split(","))) for name, kind, access in rows)

    def settings(self) -> tuple[str, ...]:
        """The settings that MALLOC_CONF may have."""
        return tuple(self._ask_text("settings")[1].split())

    def threads(self) -> list[ThreadUse]:
        """Which thread uses which arena; empty for a library that does not report it."""
        try:
            rows = [[int(word) for word in line.split()] for line in self._ask_text("threads")[1].splitlines()]
        except RefusedError:
            return []
        return [ThreadUse(*row) for row in rows]

    def _ask_text(self, request: str) -> tuple[str, str]:
        kind, body = self._ask(request)
        return kind, body.decode(errors="replace")

    def _ask(self, request: str) -> tuple[str, bytes]:
        if re.search(r"[\x00-\x1f\x7f]", request):
            raise HewError("a name or a value may have no control characters")
        try:
            self._connection.sendall(f"{request}\n".encode())
            head = self._stream.readline(256)
            match = re.fullmatch(rb"(ok|error) (\S+) (\d+)\n", head)
            if match is None or int(match[3]) > MOST_ANSWER:
                raise HewError(f"process {self.pid} has ended, or hung up" if not head else f"not an answer: {head!r}")
            body = self._stream.read(int(match[3]) + 1)
        except TimeoutError as error:
            raise HewError(f"process {self.pid} does not answer (is it stopped?)") from error
        except OSError as error:
            raise HewError(f"process {self.pid} has ended, or hung up: {error.strerror}") from error
        if len(body) != int(match[3]) + 1:
            raise HewError(f"process {self.pid} has ended in the middle of its answer")
        if match[1] == b"error":
            raise RefusedError(match[2].decode(), body[:-1].decode(errors="replace"))
        return match[2].decode(), body[:-1]


def connect(pid: int) -> Control:
    """A connection to a process on hew with a control socket. Raises HewError with the reason if there is none."""
    state = stat_fields(pid)
    if not state:
        raise HewError(f"there is no process {pid}")
    if state[0] in "Tt":
        raise HewError(f"process {pid} is stopped, and cannot answer: kill -CONT {pid} lets it go on")
    path = find_socket(pid)
    if path is None:
        raise HewError(_why_none(pid))
    try:
        return Control(open_socket(pid, path), pid)
    except PermissionError as error:
        raise HewError(
            f"the control socket of process {pid} is another user's: run this as its user, or root"
        ) from error
    except OSError as error:
        raise HewError(f"the control socket of process {pid} cannot be reached: {path}: {error.strerror}") from error


def find_socket(pid: int) -> str | None:
    """The path of a process's control socket, as the process named it; None when there is none, or none we may see."""
    for thread in threads(pid):
        if name_of(pid, thread) == THREAD:
            return _listens_at(pid, f"{PROC}/{pid}/task/{thread}/fd")
    return None


def _listens_at(pid: int, folder: str) -> str | None:
    """Where one of a folder's sockets listens. The kernel's table is read in pieces, and a socket may be left out when
    others go meanwhile: it is looked for again."""
    for _ in range(READINGS):
        own = sockets(folder)
        places = listening(pid)
        found = next((places[inode] for inode in own if inode in places), None)
        if found or not own:
            return found
    return None


def stale_sockets() -> list[Path]:
    """What processes of ours that were killed have left where `control:auto` puts its sockets."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "hew" if runtime else Path(f"/tmp/hew-{os.geteuid()}")  # noqa: S108 - checked below
    try:
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            return []
        found = [path for path in folder.iterdir() if path.name.isdigit() and path.is_socket()]
    except OSError:
        return []
    return [path for path in found if not stat_fields(int(path.name)) and not _is_heard(path)]


def remove_stale_sockets() -> int:
    """Take them away; how many."""
    stale = stale_sockets()
    for path in stale:
        with contextlib.suppress(OSError):
            path.unlink()
    return len(stale)


def _is_heard(path: Path) -> bool:
    """Whether a process listens there. The PID in the name does not tell: it may be of another PID namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True


def sockets(folder: str) -> list[int]:
    """The inodes of the sockets in a folder of descriptors. One that is closed meanwhile is none."""
    found = []
    with contextlib.suppress(OSError):
        for number in os.listdir(folder):  # noqa: PTH208
            with contextlib.suppress(OSError):
                match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"{folder}/{number}"))  # noqa: PTH115
                found += [int(match[1])] if match else []
    return found


def listening(pid: int) -> dict[int, str]:
    """By inode, the paths of the local sockets on which processes of its network namespace listen."""
    rows = (line.split(maxsplit=7) for line in read_text(f"{PROC}/{pid}/net/unix").splitlines()[1:])
    return {int(row[6]): row[7] for row in rows if len(row) == 8 and int(row[3], 16) & LISTENS}


def open_socket(pid: int, path: str, patience: float = PATIENCE) -> socket.socket:
    """Connect by way of the process's own root, and of a folder's descriptor: paths may have 107 bytes only.

    With a patience of 0 nothing on the connection waits: BlockingIOError says that there is no place just now.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(patience)
    for root in (f"{PROC}/{pid}/root", ""):
        place = Path(root + path)
        try:
            folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            connection.connect(f"{PROC}/self/fd/{folder}/{place.name}")
            return connection
        except FileNotFoundError:
            continue
        except OSError:
            connection.close()
            raise
        finally:
            os.close(folder)
    connection.close()
    raise FileNotFoundError(2, "the file has been taken away")


def _why_none(pid: int) -> str:
    """Why a process has no control socket that we can find, and what to do."""
    if not os.access(f"{PROC}/{pid}/fd", os.R_OK):
        return f"process {pid} is another user's: run this as its user, or as root"
    if "libhew" not in read_text(f"{PROC}/{pid}/maps"):
        return f"process {pid} does not run on hew: `hew doctor {pid}` says on what, `hew run` starts a program on hew"
    return f"process {pid} runs on hew without a control socket: {_cure(pid)}"


def _cure(pid: int) -> str:
    """How it would have a socket: `hew run` is no answer where it has already set what it can."""
    environment = dict(entry.partition("=")[::2] for entry in read_text(f"{PROC}/{pid}/environ").split("\0"))
    if "control:" not in environment.get(OWN_CONF, ""):
        return f"start it with {OWN_CONF}=control:auto (`hew run` sets that)"
    return f"{OWN_CONF}={environment[OWN_CONF]} asks for one: the first lines of its standard error say why it has none"


def set_or_do(control: Control, name: str, value: str | None) -> Value:
    """What `hew ctl PID NAME [VALUE]` means: reads, sets and reads again, or does what has no value. An unknown name
    gets a suggestion."""
    try:
        return _set_or_do(control, name, value)
    except RefusedError as error:
        if error.kind != "unknown":
            raise
        near = did_you_mean(name, (one.name for one in control.names()))
        raise RefusedError(error.kind, f"{error}{near}") from error


def _set_or_do(control: Control, name: str, value: str | None) -> Value:
    if value is not None:
        control.set(name, value)
    try:
        return control.get(name)
    except RefusedError as error:
        if error.kind != "not-permitted":
            raise
    if value is None:
        control.do(name)
    return None


def purge_all(control: Control) -> Purged:
    """Has the process return all free memory that no other thread of it keeps at hand."""
    before = resident(control.pid)
    control.do("arena.4096.purge")
    returned = control.get("experimental.purged")
    return Purged(int(returned or 0), before, resident(control.pid))


def apply_conf(control: Control, text: str) -> list[Applied]:
    """Every setting of a text that can change in a running process; the others with what they need."""
    known: Sequence[str] = control.settings()
    results = []
    for name, value in read_conf(text):
        if name not in known:
            results.append(Applied(name, value, Outcome.UNKNOWN, nearest(name, known)))
        elif name not in LIVE:
            remark = f"put {name}:{value} into MALLOC_CONF"
            results.append(Applied(name, value, Outcome.RESTART, remark))
        else:
            results.append(_apply(control, name, value))
    return results


def _apply(control: Control, name: str, value: str) -> Applied:
    way = LIVE[name]
    done = 0
    try:
        for target in way.names:
            control.set(target, value)
        if way.each_arena is not None:
            arenas = [index for index in range(_arenas(control)) if control.get(f"arena.{index}.initialized")]
            for index in arenas:
                control.set(f"arena.{index}.{way.each_arena}", value)
            done = len(arenas)
    except RefusedError as error:
        return Applied(name, value, Outcome.REFUSED, str(error))
    counted = f"{done} arena{'' if done == 1 else 's'}" if way.each_arena else ""
    return Applied(name, value, Outcome.APPLIED, "; ".join(filter(None, (counted, way.remark))))


def _arenas(control: Control) -> int:
    count = control.get("arenas.narenas")
    return count if isinstance(count, int) else 0
