# SPDX-License-Identifier: MIT
"""Runs a command with libhewtrace.so before its allocator, and looks after the files that come of it."""

import contextlib
import itertools
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hew.model.errors import CommandNotExecutableError, CommandNotFoundError, HewError
from hew.model.trace import TraceSummary
from hew.sources.environment import preload_entries, prepend_preload
from hew.sources.executable import find_command, preload_obstacle
from hew.sources.library import find_part
from hew.sources.trace.blocks import pack

LIBRARY = "libhewtrace.so"
PROGRAM = "hew-replay"
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them, and an ignored signal stays so across exec


@dataclass(frozen=True)
class Recording:
    """What is to be recorded, and how much of it."""

    output: Path
    most: int | None  # bytes of each file
    threads: int  # one of so many
    stacks: int  # a stack for one allocation of so many; 0: none
    children: bool
    allocator: Path | None  # preloaded behind the recorder
    sample: int = 0  # one byte of so many; 0: every allocation


def environment_of(recording: Recording, environment: Mapping[str, str]) -> dict[str, str]:
    """What the command is started with."""
    existing = preload_entries(environment)
    if recording.allocator is not None:
        existing = prepend_preload(recording.allocator, existing).split(":")
    changed = {
        **environment,
        "LD_PRELOAD": prepend_preload(find_part(LIBRARY), existing),
        "HEW_TRACE": str(recording.output.absolute()),
        "HEW_TRACE_THREADS": str(recording.threads),
        "HEW_TRACE_STACKS": str(recording.stacks),
        "HEW_TRACE_SAMPLE": str(recording.sample),
        "HEW_TRACE_CHILDREN": str(int(recording.children)),
    }
    if recording.most is not None:
        changed["HEW_TRACE_MAX"] = str(recording.most)
    return changed


def check_place(output: Path) -> None:
    """Refuses an output that is there already, or that cannot be made, before the command runs."""
    for place in (output, others_of(output)):
        if os.path.lexists(place):
            raise HewError(f"{place} is there already: remove it, or name another file")
    if not output.parent.is_dir():
        raise HewError(f"{output.parent} is no folder")
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise HewError(f"{output.parent} cannot be written")


def record(
    words: Sequence[str], recording: Recording, environment: Mapping[str, str], output: int | None = None
) -> int:
    """Runs the command to its end with our streams, or with `output` as its standard output. Its status as subprocess
    gives it."""
    find_part(PROGRAM)  # without which nothing can be made of what was recorded
    path = find_command(words[0], environment)
    obstacle = preload_obstacle(path, find_part(LIBRARY), environment)
    if obstacle:
        raise HewError(f"{obstacle}: nothing of it can be recorded")
    check_place(recording.output)
    given = environment_of(recording, environment)
    try:
        started = subprocess.Popen(
            words,
            executable=path.absolute(),
            env=given,
            stdout=output,
            preexec_fn=_restore,  # noqa: PLW1509 - no threads here
        )
    except FileNotFoundError as error:
        raise CommandNotFoundError(f"{path}: its interpreter is missing") from error
    except OSError as error:
        raise CommandNotExecutableError(f"{path}: {error.strerror}") from error
    with _passing_on(started):
        return started.wait()


def _restore() -> None:
    for number in (*RESTORED, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def _passing_on(started: subprocess.Popen[bytes]) -> Iterator[None]:
    """The terminal's signals reach the command by themselves; one sent to us is sent on. We stay for the files."""

    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            started.send_signal(number)

    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    before |= {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def files_of(output: Path) -> list[Path]:
    """The traces that processes of the command have made: FILE, then FILE.PID and FILE.PID.N."""
    pattern = re.compile(re.escape(output.name) + r"(\.\d+){0,2}")
    return sorted(path for path in output.parent.iterdir() if pattern.fullmatch(path.name) and path.is_file())


def others_of(output: Path) -> Path:
    """The folder for the traces of a recording's other processes."""
    return output.with_name(f"{output.name}.others")


def arranged(found: Sequence[TraceSummary], output: Path) -> list[TraceSummary]:
    """The finished traces, that with most operations first: it is FILE in the end, since the first process is often a
    shell. The others go to FILE.others, as PROGRAM.PID; those that recorded nothing go."""
    ordered = sorted(found, key=lambda one: -one.operations)
    if not ordered:
        return ordered
    kept = [one for one in ordered if one.operations] or ordered[:1]
    for one in ordered[len(kept) :]:
        Path(one.path).unlink()
    main, *others = kept
    others = [_aside(one, output) for one in others]
    if not os.path.lexists(output):  # else a process still writes it, or it could not be finished
        Path(main.path).rename(output)
        main = replace(main, path=str(output))
    return [main, *others]


def _aside(one: TraceSummary, output: Path) -> TraceSummary:
    """A smaller trace, in the folder beside."""
    folder = others_of(output)
    folder.mkdir(exist_ok=True)
    name = f"{Path(one.program).name or 'program'}.{one.pid}"
    names = (folder / f"{name}{f'.{more}' if more else ''}" for more in itertools.count())
    place = next(name for name in names if not os.path.lexists(name))
    Path(one.path).rename(place)
    return replace(one, path=str(place))


def finish(path: Path) -> TraceSummary:
    """Closes what the end of its process left open, and packs it."""
    done = subprocess.run([find_part(PROGRAM), "finish", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HewError(done.stderr.strip() or f"{PROGRAM} finish {path}: status {done.returncode}")
    return pack(path)
