# SPDX-License-Identifier: MIT
"""The figures of a measurement as a JSON file: written after each program, so that what was measured is not lost.

    {"machine", "date", "set", "library", "rounds", "sampled", "idle_seconds", "programs": {NAME: {"kind", "what",
     "version", "state", "reason", "notes", "peers": {ALLOCATOR: what went wrong}, "runs": {ALLOCATOR: [RUN]},
     "instructions": {ALLOCATOR: {"all", "library"}}}}}

A RUN has "sampled", "wall", "user", "system" in seconds, "faults", "calls" (null: not counted), "peak_kb", and where it
was sampled "mean_kb" and, of servers, "idle_kb".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalogue import KINDS
from model import RunResult, Verdict

Row = dict[str, Any]


def kind_of(name: str) -> str:
    return next((kind for kind, programs in KINDS.items() if any(program.name == name for program in programs)), "")


def run_row(run: RunResult) -> Row:
    return {
        "sampled": run.sampled,
        "wall": round(run.seconds, 6),
        "user": round(run.user, 6),
        "system": round(run.system, 6),
        "faults": run.faults,
        "calls": run.calls if run.calls >= 0 else None,
        "peak_kb": run.peak_kb,
        "mean_kb": round(run.mean_kb),
        "idle_kb": run.idle_kb,
    }


def program_row(verdict: Verdict) -> Row:
    program = verdict.program
    return {
        "kind": kind_of(program.name),
        "what": program.what,
        "version": verdict.version,
        "state": verdict.state,
        "reason": verdict.reason,
        "notes": verdict.notes,
        "server": program.server is not None,
        "waits": program.waits,
        "fixed_time": any(step.cost for step in program.steps),
        "peers": verdict.peers,
        "runs": {label: [run_row(run) for run in runs] for label, runs in verdict.runs.items()},
    }


@dataclass
class Saved:
    """The file, and what stands in it."""

    path: Path
    head: Row
    programs: dict[str, Row] = field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path, head: Row, resume: bool) -> Saved:
        """Anew, or with the programs of an earlier run of the same kind that passed."""
        if resume and path.exists():
            document = json.loads(path.read_text(encoding="utf-8"))
            return cls(path, head, document["programs"])
        return cls(path, head)

    def has(self, name: str) -> bool:
        return name in self.programs and self.programs[name].get("state") == "passed"

    def add(self, name: str, row: Row) -> None:
        """What a program has from a measurement of another kind (its instructions, its times) stays."""
        self.programs[name] = {**self.programs.get(name, {}), **row}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".fresh")
        fresh.write_text(json.dumps({**self.head, "programs": self.programs}, indent=1) + "\n", encoding="utf-8")
        fresh.replace(self.path)
