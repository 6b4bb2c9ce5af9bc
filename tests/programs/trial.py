# SPDX-License-Identifier: MIT
"""One program under two allocators in turn, and the verdict.

Promises: runs alternate (which allocator goes first changes every round); the runs under the C library must agree with
each other before any run under the library is judged against them; every process is gone and every directory removed
when the verdict is given, unless the caller asked to keep the directories of failed programs.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import binding
import crash
import execute
import packages
from model import Allocator, Place, Program, RunResult, Step, Verdict
from server import Display, RunningServer, ServerFailed, free_port

DOUBTS = 4
"""Further runs under the C library when the library's output differs."""

WORKLOADS = Path(__file__).with_name("workloads")


@dataclass(frozen=True)
class Bench:
    """What all programs share."""

    root: Path
    """A directory that everybody may read, for inputs and runs."""
    launcher: Path
    library: str
    runs: int
    full: bool


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
        results: dict[str, list[RunResult]] = {baseline.label: [], library.label: []}
        for number in range(self.bench.runs):
            order = (baseline, library) if number % 2 == 0 else (library, baseline)
            for allocator in order:
                results[allocator.label].append(self.run_once(allocator, number))
        self.doubt(baseline, results[baseline.label], results[library.label])
        return self.compare(version, results[baseline.label], results[library.label])

    def doubt(self, baseline: Allocator, plain: list[RunResult], ours: list[RunResult]) -> None:
        """A difference may be the program's own: before the library is blamed, see if glibc ever shows one."""
        if not any(first_difference(plain[0].parts, run.parts) for run in ours):
            return
        for number in range(len(plain), len(plain) + DOUBTS):
            if any(run.problem or first_difference(plain[0].parts, run.parts) for run in plain):
                return
            plain.append(self.run_once(baseline, number))

    def place(self, name: str, port: int) -> Place:
        """A directory for one run (or for the inputs), owned by whoever the program runs as."""
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
        place = Place(directory, self.inputs, WORKLOADS, system_python(), port, sizes, environment, self.owner)
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

    def run_once(self, allocator: Allocator, number: int) -> RunResult:
        """One run in a fresh directory."""
        place = self.place(f"{allocator.label}-{number}", free_port())
        result = RunResult()
        server = RunningServer(self.program.server, place, allocator.preload) if self.program.server else None
        try:
            if server is not None:
                server.start()
            for step in self.program.steps:
                if not result.problem:
                    self.run_step(step, place, allocator, result)
            if server is not None:
                self.finish_server(server, result)
        except ServerFailed as failure:
            summary, _, trace = str(failure).partition("\n")
            result.problem = result.problem or summary
            result.evidence += trace + crash.tail(server.errors() if server else "")
        finally:
            if server is not None:
                server.discard()
        self.look_for_cores(place, result)
        if not result.problem:
            shutil.rmtree(place.run, ignore_errors=True)
        return result

    def run_step(self, step: Step, place: Place, allocator: Allocator, result: RunResult) -> None:
        argv = place.fill_all(step.argv)
        library = allocator.preload if step.under_library else ""
        stdin = place.fill(step.stdin) if step.stdin else None
        done = execute.run_command(self.bench.launcher, argv, place, library, stdin, self.program.timeout)
        label = os.path.basename(argv[0])
        if step.timed:
            result.seconds += step.cost(done.stdout) if step.cost else done.seconds
            result.cpu_seconds += done.cpu_seconds if self.program.server is None else 0.0
        if self.program.server is None and step.under_library:
            result.peak_kb = max(result.peak_kb, done.peak_kb)
            result.mapped = result.mapped or done.mapped
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
        result.peak_kb = server.peak_kb
        result.cpu_seconds = server.cpu_seconds
        result.mapped = server.mapped
        result.parts.append(("status of the server", str(status)))
        result.parts.append(("allocator messages of the server", allocator_messages(server.errors())))
        if status != 0:
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


def describe(functions: Mapping[str, set[str]]) -> str:
    """free and malloc from libfoo.so.1; mallctl from libbar.so"""
    by_library: dict[str, list[str]] = {}
    for name, targets in sorted(functions.items()):
        for target in targets:
            by_library.setdefault(os.path.basename(target), []).append(name)
    return "; ".join(f"{', '.join(names)} from {library}" for library, names in sorted(by_library.items()))


def allocator_messages(stderr: str) -> str:
    """Lines in which an allocator complains; there must be none, whatever else a program says on stderr."""
    return "\n".join(
        line for line in stderr.splitlines() if re.match(r"<?(lib)?(hew|jemalloc|mimalloc|tcmalloc)\b", line)
    )


def digest(path: Path) -> str:
    """SHA-256 of a file, or of all files of a directory with their names."""
    if not path.exists():
        return "missing"
    total = hashlib.sha256()
    files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
    for file in files:
        total.update(str(file.relative_to(path)).encode())
        with open(file, "rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def first_difference(expected: list[tuple[str, str]], got: list[tuple[str, str]]) -> str:
    """The first part that differs, with its first differing lines; empty if all are the same."""
    for (label, before), (_, after) in zip(expected, got, strict=False):
        if before != after:
            return f"{label}\n{first_lines(before, after)}"
    return "" if len(expected) == len(got) else "the number of steps that ran"


def first_lines(before: str, after: str) -> str:
    left, right = before.splitlines(), after.splitlines()
    for number in range(max(len(left), len(right))):
        one = left[number] if number < len(left) else "(end)"
        other = right[number] if number < len(right) else "(end)"
        if one != other:
            return f"line {number + 1}, expected: {one[:300]}\nline {number + 1}, got:      {other[:300]}"
    return "line ends differ"
