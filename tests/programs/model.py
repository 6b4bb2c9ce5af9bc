# SPDX-License-Identifier: MIT
"""What a program is and what a run of it gave: the words that every other module here speaks.

A Program is data. Its strings may hold placeholders, filled in by Place.fill():
    {run}        a fresh directory of this run, also the working directory
    {inputs}     a directory filled once by `prepare`, shared by all runs
    {workloads}  our own scripts and sources (tests/programs/workloads)
    {port}       a free TCP port on 127.0.0.1
    {python}     the system's Python, which links libc dynamically like any other program
    {venv}       a virtual environment of that Python with the wheels that programs name
    {NAME}       the quick or the full value of a size that the program declares
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


def exact(text: str) -> str:
    """The strictest comparison: the output as it is."""
    return text


@dataclass(frozen=True)
class Step:
    """One command of a program, run to its end."""

    argv: tuple[str, ...]
    stdin: str | None = None
    normalise: Callable[[str], str] = exact
    messages: Callable[[str], str] | None = None
    """Normaliser of stderr, for programs that say there what they did; else only an allocator's complaints count."""
    artifacts: tuple[str, ...] = ()
    """Files (or directories) left in the run directory whose content is part of what is compared."""
    timed: bool = True
    under_library: bool = True
    cost: Callable[[str], float] | None = None
    """Reads the cost (lower is better) from the output of a step that runs for a fixed time."""


@dataclass(frozen=True)
class Server:
    """A process that the steps talk to. It is the main process: its mapping counts, and the memory and the processor
    time of it and its children."""

    argv: tuple[str, ...]
    ready: tuple[str, ...] = ()
    """A command that exits 0 once the server answers; without one, a TCP connection to {port} is enough."""
    ends_with: int = 0
    """Its status after SIGTERM: some end by the signal itself, -15."""


@dataclass(frozen=True)
class Program:
    """One row of the table."""

    name: str
    what: str
    packages: Mapping[str, str]
    """Command that must exist -> Debian package that brings it."""
    version: tuple[str, ...]
    """Prints the version."""
    steps: tuple[Step, ...]
    wheels: tuple[str, ...] = ()
    """Python packages, each at its exact version."""
    probe: tuple[str, ...] = ()
    """Short command whose symbol bindings are looked at, when `version` does not start the program itself."""
    server: Server | None = None
    prepare: Callable[[Place], None] | None = None
    sizes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False
    unprivileged: bool = False
    """Run as nobody when the harness is root: for servers that refuse root."""
    display: bool = False
    waits: bool = False
    """Most of the time is spent on timers: only CPU time means something."""
    note: str = ""
    timeout: float = 300.0


@dataclass(frozen=True)
class Place:
    """Where one run happens, and the values of the placeholders."""

    run: Path
    inputs: Path
    workloads: Path
    python: str
    venv: Path
    port: int
    sizes: Mapping[str, str]
    environment: Mapping[str, str]
    owner: tuple[int, int] | None
    """User and group to run as, or None to stay who we are."""

    def fill(self, text: str) -> str:
        values = {
            "run": self.run,
            "inputs": self.inputs,
            "workloads": self.workloads,
            "python": self.python,
            "venv": self.venv,
            "port": self.port,
        }
        for name, value in {**values, **self.sizes}.items():
            text = text.replace("{" + name + "}", str(value))
        return text

    def fill_all(self, argv: tuple[str, ...]) -> list[str]:
        return [self.fill(word) for word in argv]


@dataclass(frozen=True)
class Allocator:
    """One side of the comparison."""

    label: str
    preload: str
    """Path given to LD_PRELOAD; empty for none."""


@dataclass
class RunResult:
    """What one run of a program under one allocator gave."""

    seconds: float = 0.0
    """Wall time of the timed steps, or what they say that they cost."""
    user: float = 0.0
    system: float = 0.0
    peak_kb: int = 0
    """The larger of the largest process's own high-water mark and the highest sample of all processes together."""
    faults: int = 0
    """Minor page faults of all processes."""
    calls: int = -1
    """System calls of all processes, -1 when they were not counted."""
    mean_kb: float = 0.0
    """Over the run, 0 when it was not sampled."""
    idle_kb: int = 0
    """Of a server, half a minute after the last step has ended."""
    parts: list[tuple[str, str]] = field(default_factory=list)
    """(label, normalised text or digest) of everything that must be the same."""
    mapped: bool = False
    """The preloaded library was seen in /proc/PID/maps of the main process."""
    problem: str = ""
    """Why the run itself failed (crash, hang, server that did not start), empty if it did not."""
    evidence: str = ""
    """Tail of stderr and backtrace that belong to the problem."""
    sampled: bool = False

    @property
    def cpu_seconds(self) -> float:
        return self.user + self.system


@dataclass
class Verdict:
    """The row of the table."""

    program: Program
    state: str
    """passed, failed or skipped."""
    reason: str = ""
    version: str = ""
    evidence: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: tuple[float, float] = (0.0, 0.0)
    """Here and below: under glibc, under the library; 0 when there is nothing to compare."""
    cpu_seconds: tuple[float, float] = (0.0, 0.0)
    peak_kb: tuple[float, float] = (0.0, 0.0)
    runs: dict[str, list[RunResult]] = field(default_factory=dict)
    """Every run under each allocator."""
    peers: dict[str, str] = field(default_factory=dict)
    """Another allocator -> what went wrong under it."""
