# SPDX-License-Identifier: MIT
"""How long a suite will take: each workload once under glibc, times its rounds and allocators."""

import time
from collections.abc import Mapping
from dataclasses import replace

import click

from hew.model.allocator import BASELINE
from hew.model.bench import Suite
from hew.model.figures import CPU
from hew.model.run import Step
from hew.sources.measure import Place
from hew.sources.workloads import measure_workload

UNSTARTED = 0.05  # what the tool itself needs around a run


def estimate(suite: Suite, allocators: int, environment: Mapping[str, str]) -> None:
    """Print it, the longest first."""
    rows = []
    for workload in suite.workloads:
        began = time.monotonic()
        run = measure_workload(replace(workload, runs=1), Place(None, environment), Step(BASELINE, 1))
        once = time.monotonic() - began + UNSTARTED
        rounds = (workload.runs + workload.warmup) * allocators
        rows.append((once * rounds, once, run.figures.get(CPU.key, 0.0), rounds, workload.name, run.failure))
    click.echo(f"{'':28} {'one run':>9}  {'of it CPU':>9}  {'runs':>4}  {'in all':>9}")
    for whole, once, cpu, rounds, name, failure in sorted(rows, key=lambda row: -row[0]):
        said = f"  FAILED: {failure.reason}" if failure else ""
        click.echo(f"{name:28} {once:7.2f} s  {cpu:7.2f} s  {rounds:4}  {whole / 60:5.1f} min{said}")
    for one in suite.left_out:
        click.echo(f"{one.name}: left out: {one.reason}")
    total, busy = sum(row[0] for row in rows), sum(row[2] * row[3] for row in rows)
    click.echo(
        f"suite {suite.name}: {total / 60:.1f} minutes, {busy / 60:.1f} of them of one processor, "
        f"if each of {allocators} allocators takes as long as glibc"
    )
