# SPDX-License-Identifier: MIT
"""One program under several allocators in turn, and the verdict.

Promises: runs alternate (the order is reversed every round); the runs under the C library must agree with each other
before any run under the library is judged against them; a peer that fails is named and left out of later rounds; every
process is gone and every directory removed when the verdict is given, unless the caller asked to keep the directories
of failed programs.

Rounds are of two kinds.  Sampled ones come first and give memory and system calls; a server then stays for a while
after its load, all allocators' servers at the same time.  The others give times: nothing else runs or reads meanwhile.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import binding
import crash
import execute
import packages
from comparing import allocator_messages, digest, first_difference
from model import Allocator, Place, Program, RunResult, Step, Verdict
from samples import Memory, mean_of
from server import Display, RunningServer, ServerFailed, free_port

DOUBTS = 4
"""Further runs under the C library when the library's output differs."""

WORKLOADS = Path(__file__).with_name("workloads")


@dataclass(frozen=True)
class Bench:
    """What all programs share."""

    root: Path
    """A directory that all users may read, for inputs and runs."""
    launcher: Path
    library: str
    runs: int
    """Rounds that are timed."""
    full: bool
    sampled: int = 0
    """Rounds before them whose memory is sampled."""
    peers: tuple[Allocator, ...] = ()
    idle_seconds: float = 0.0
    """How long a sampled server stays after its load has ended."""
    venv: Path = Path("/nonexistent")


@dataclass
class Running:
    """A run whose steps have ended; its server, if it has one, is still there."""

    place: Place
    result: RunResult
    server: RunningServer | None = None
    memories: list[Memory] = field(default_factory=list)
    ended_at: float = 0.0


def base_environment(home: Path) -> dict[str, str]:
    """The same small environment for every program: nothing of the caller's settings leaks in."""
    return {
        "PATH": packages.search_path(),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "TMPDIR": str(home),
        "NO_AT_BRIDGE": "1",
    }


def system_python() -> str:
    return shutil.which("python3", path=packages.SYSTEM_PATH) or sys.executable


def owner_of(program: Program) -> tuple[int, int] | None:
    if not program.unprivileged or os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


class Trial:
    """A program, the directories of its runs, and its allocators."""

    def __init__(self, program: Program, bench: Bench) -> None:
        self.program = program
        self.bench = bench
        self.inputs = bench.root / program.name / "inputs"
        self.owner = owner_of(program)
        self.display = ""
        self.notes: list[str] = [program.note] if program.note else []

    def judge(self) -> Verdict:
        """Everything: prepare, look at the bindings, run, compare."""
        display = Display() if self.program.display else None
        try:
            self.display = display.name if display else ""
            return self.judge_with_display()
        except (ServerFailed, subprocess.SubprocessError, OSError) as error:
            detail = getattr(error, "stderr", None) or b""
            text = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
            return Verdict(self.program, "failed", f"could not be set up: {error}", evidence=crash.tail(text))
        finally:
            if display is not None:
                display.discard()

    def judge_with_display(self) -> Verdict:
        preparing = self.place("inputs", free_port())
        if self.program.prepare is not None:
            self.program.prepare(preparing)
        version = self.version(preparing)
        baseline, problem = self.look_at_bindings(preparing)
        if problem:
            return Verdict(self.program, "failed", problem, version=version, notes=self.notes)
        library = Allocator(Path(self.bench.library).name, self.bench.library)
        allocators = [baseline, library, *self.bench.peers]
        results: dict[str, list[RunResult]] = {allocator.label: [] for allocator in allocators}
        for number in range(self.bench.sampled + self.bench.runs):
            order = allocators if number % 2 == 0 else allocators[::-1]
            for allocator, result in self.round(order, number, number < self.bench.sampled):
                results[allocator.label].append(result)
            broken = {
                peer.label for peer in self.bench.peers if results[peer.label] and results[peer.label][-1].problem
            }
            allocators = [allocator for allocator in allocators if allocator.label not in broken]
        plain, ours = results.pop(baseline.label), results.pop(library.label)
        self.doubt(baseline, plain, ours)
        verdict = self.compare(version, plain, ours)
        verdict.runs = {baseline.label: plain, "hew": ours, **results}
        verdict.peers = self.blame(plain, results)
        return verdict

    def blame(self, plain: list[RunResult], peers: Mapping[str, list[RunResult]]) -> dict[str, str]:
        """What went wrong under each peer, where something did: it is said, and judges nothing."""
        found = {}
        for label, runs in peers.items():
            for run in runs:
                problem = run.problem or first_difference(plain[0].parts, run.parts)
                if problem and label not in found:
                    found[label] = problem.partition("\n")[0].partition(": (cd ")[0]
        return found

    def round(self, order: list[Allocator], number: int, sampled: bool) -> list[tuple[Allocator, RunResult]]:
        """One run under each."""
        begun: list[tuple[Allocator, Running]] = []
        try:
            for allocator in order:
                begun.append((allocator, self.begin(allocator, number, sampled)))
                if not (sampled and self.bench.idle_seconds):
                    self.end(begun[-1][1])
            if sampled and self.bench.idle_seconds:
                for _, running in begun:
                    self.stay(running)
                    self.end(running)
        finally:
            for _, running in begun:
                if running.server is not None:
                    running.server.discard()
        return [(allocator, running.result) for allocator, running in begun]

    def doubt(self, baseline: Allocator, plain: list[RunResult], ours: list[RunResult]) -> None:
        """A difference may be the program's own: before the library is blamed, see if glibc ever shows one."""
        if not any(first_difference(plain[0].parts, run.parts) for run in ours):
            return
        for number in range(len(plain), len(plain) + DOUBTS):
            if any(run.problem or first_difference(plain[0].parts, run.parts) for run in plain):
                return
            plain.extend(result for _, result in self.round([baseline], number, sampled=False))

    def place(self, name: str, port: int) -> Place:
        """A directory for one run (or for the inputs), owned by the user that the program runs as."""
        directory = self.bench.root / self.program.name / name
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)
        if self.owner is not None:
            os.chown(directory, *self.owner)
        index = 1 if self.bench.full else 0
        sizes = {key: pair[index] for key, pair in self.program.sizes.items()}
        environment = base_environment(directory)
        if self.display:
            environment["DISPLAY"] = self.display
        place = Place(
            directory, self.inputs, WORKLOADS, system_python(), self.bench.venv, port, sizes, environment, self.owner
        )
        environment.update({key: place.fill(value) for key, value in self.program.environment.items()})
        return place

    def version(self, place: Place) -> str:
        argv = place.fill_all(self.program.version)
        done = subprocess.run(
            argv,
            env=dict(place.environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        found = re.search(r"\d+(\.\d+)+|\d{3,}", done.stdout + done.stderr)
        return found.group(0) if found else "?"

    def look_at_bindings(self, place: Place) -> tuple[Allocator, str]:
        """Choose the baseline (always the C library's malloc) and make sure that the preload reaches the program."""
        argv = place.fill_all(self.program.probe or self.program.version)
        plain = binding.bindings(argv, "", place.environment)
        own = binding.own_allocator(plain)
        baseline = Allocator("glibc", binding.libc_path() if own else "")
        if own:
            self.notes.append(f"linked with {os.path.basename(own)}: glibc means libc.so.6 preloaded")
        try:
            found = binding.bindings(argv, self.bench.library, place.environment)
        except subprocess.TimeoutExpired:
            return baseline, f"hung: LD_PRELOAD={self.bench.library} {' '.join(argv)}"
        if not found:
            return (
                baseline,
                "the dynamic linker bound no allocation function: a static program, which no preload reaches",
            )
        others = binding.strangers(found, self.bench.library)
        mixed = {name: targets for name, targets in others.items() if name in binding.ALLOCATION}
        if mixed:
            return baseline, f"allocation functions from elsewhere: {describe(mixed)}"
        left = {name: targets for name, targets in others.items() if name in binding.CONTROL and own in targets}
        if left:
            self.notes.append(f"{describe(left)}: the program's own memory reports describe that idle allocator")
        return baseline, ""

    def begin(self, allocator: Allocator, number: int, sampled: bool) -> Running:
        """One run in a fresh directory, up to the end of its last step."""
        place = self.place(f"{allocator.label}-{number}", free_port())
        running = Running(place, RunResult(sampled=sampled))
        result = running.result
        try:
            if self.program.server is not None:
                server = RunningServer(self.program.server, place, allocator.preload, self.bench.launcher, sampled)
                running.server = server
                server.start()
            for step in self.program.steps:
                if not result.problem:
                    self.run_step(step, allocator, running)
            if running.server is not None:
                running.memories = [running.server.memory()]
        except ServerFailed as failure:
            self.note_failure(failure, running)
        except BaseException:
            if running.server is not None:
                running.server.discard()
            raise
        running.ended_at = time.monotonic()
        return running

    def stay(self, running: Running) -> None:
        """Let a server be idle, and note what it has then."""
        if running.server is None or running.result.problem:
            return
        time.sleep(max(0.0, running.ended_at + self.bench.idle_seconds - time.monotonic()))
        running.result.idle_kb = running.server.memory().last_kb

    def end(self, running: Running) -> None:
        """Stop the server, if there is one, and finish the figures."""
        result = running.result
        if running.server is not None:
            try:
                if not result.problem:
                    self.finish_server(running.server, result)
            except ServerFailed as failure:
                self.note_failure(failure, running)
            finally:
                running.server.discard()
                running.server = None
        result.mean_kb = mean_of(running.memories)
        result.peak_kb = max([result.peak_kb, *(memory.peak_kb for memory in running.memories)])
        self.look_for_cores(running.place, result)
        if not result.problem:
            shutil.rmtree(running.place.run, ignore_errors=True)

    def note_failure(self, failure: ServerFailed, running: Running) -> None:
        summary, _, trace = str(failure).partition("\n")
        running.result.problem = running.result.problem or summary
        running.result.evidence += trace + crash.tail(running.server.errors() if running.server else "")

    def run_step(self, step: Step, allocator: Allocator, running: Running) -> None:
        place, result = running.place, running.result
        argv = place.fill_all(step.argv)
        library = allocator.preload if step.under_library else ""
        stdin = place.fill(step.stdin) if step.stdin else None
        alone = self.program.server is None and step.under_library
        sampled = result.sampled and alone
        done = execute.run_command(self.bench.launcher, argv, place, library, stdin, self.program.timeout, sampled)
        label = os.path.basename(argv[0])
        if step.timed:
            result.seconds += step.cost(done.stdout) if step.cost else done.taken.seconds
        if alone:
            add(result, done.taken, step.timed)
            result.mapped = result.mapped or done.mapped
            running.memories.extend([done.memory] if done.memory else [])
        result.parts.append((f"status of {label}", str(done.status)))
        result.parts.append((f"output of {label}", step.normalise(done.stdout)))
        if step.messages is not None:
            result.parts.append((f"stderr of {label}", step.messages(done.stderr)))
        for artifact in step.artifacts:
            result.parts.append((artifact, digest(place.run / place.fill(artifact))))
        result.parts.append((f"allocator messages of {label}", allocator_messages(done.stderr)))
        if done.hang or done.status != 0:
            what = "hung" if done.hang else f"ended with status {done.status}"
            shown = " ".join(argv)
            preload = f"LD_PRELOAD={library} " if library else ""
            result.problem = f"{label} {what}: (cd {place.run}; {preload}{shown})"
            result.evidence += "\n".join(text for text in (crash.tail(done.stderr or done.stdout), done.hang) if text)

    def finish_server(self, server: RunningServer, result: RunResult) -> None:
        status = server.stop()
        if server.taken is not None:
            add(result, server.taken, timed=True)
        result.mapped = server.mapped
        result.parts.append(("status of the server", str(status)))
        result.parts.append(("allocator messages of the server", allocator_messages(server.errors())))
        if status != server.server.ends_with:
            result.problem = result.problem or f"the server ended with status {status}"
            result.evidence += crash.tail(server.errors())

    def look_for_cores(self, place: Place, result: RunResult) -> None:
        cores = crash.core_files(place.run)
        if cores:
            result.problem = result.problem or f"{len(cores)} core file(s) in {place.run}"
            result.evidence += "\n" + (crash.backtrace_of_core(cores[0]) or "a core file, but no gdb to read it")

    def compare(self, version: str, plain: list[RunResult], ours: list[RunResult]) -> Verdict:
        verdict = Verdict(self.program, "failed", version=version, notes=self.notes)
        if not self.program.waits:
            verdict.seconds = median(run.seconds for run in plain), median(run.seconds for run in ours)
        if not any(step.cost for step in self.program.steps):
            verdict.cpu_seconds = median(run.cpu_seconds for run in plain), median(run.cpu_seconds for run in ours)
        verdict.peak_kb = median(run.peak_kb for run in plain), median(run.peak_kb for run in ours)
        for side, runs in (("under glibc", plain), ("under the library", ours)):
            for run in runs:
                if run.problem:
                    verdict.reason, verdict.evidence = f"{side}: {run.problem}", run.evidence
                    return verdict
        for side, runs in (("two runs under glibc differ", plain[1:]), ("differs from glibc", ours)):
            for run in runs:
                difference = first_difference(plain[0].parts, run.parts)
                if difference:
                    verdict.reason, _, verdict.evidence = f"{side}: {difference}".partition("\n")
                    return verdict
        if not all(run.mapped for run in ours):
            verdict.reason = "the library was not mapped by the main process"
            return verdict
        verdict.state = "passed"
        return verdict


def add(result: RunResult, taken: execute.Taken, timed: bool) -> None:
    """A command's or the server's part of a run's figures."""
    if timed:
        result.user += taken.user
        result.system += taken.system
        result.faults += taken.faults
        if taken.calls >= 0:
            result.calls = max(result.calls, 0) + taken.calls
    result.peak_kb = max(result.peak_kb, taken.peak_kb)


def describe(functions: Mapping[str, set[str]]) -> str:
    """free and malloc from libfoo.so.1; mallctl from libbar.so"""
    by_library: dict[str, list[str]] = {}
    for name, targets in sorted(functions.items()):
        for target in targets:
            by_library.setdefault(os.path.basename(target), []).append(name)
    return "; ".join(f"{', '.join(names)} from {library}" for library, names in sorted(by_library.items()))
