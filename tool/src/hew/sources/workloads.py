# SPDX-License-Identifier: MIT
"""One run of one workload of a suite."""

from dataclasses import replace

from hew.model.bench import Workload
from hew.model.figures import CLIENT_WALL, CPU, PEAK_RSS, SERVER_CPU, SERVER_RSS, TAIL_LATENCY, TAIL_MARK, WALL
from hew.model.run import Run, ServerPlan, Step
from hew.sources.measure import Place, measure_command
from hew.sources.server import measure_server

# Maps a server's figures to those of commands, so that one mean covers both.
SERVER_AS_COMMAND = {WALL.key: CLIENT_WALL.key, CPU.key: SERVER_CPU.key, PEAK_RSS.key: SERVER_RSS.key}


def measure_workload(workload: Workload, place: Place, step: Step) -> Run:
    """Run it once. A server's RSS after the load counts as its peak RSS."""
    if not isinstance(workload.plan, ServerPlan):
        return measure_command(workload.plan, place, step)
    run = measure_server(workload.plan, place, step)
    named = {ours: run.figures[theirs] for ours, theirs in SERVER_AS_COMMAND.items() if theirs in run.figures}
    tails = [value for key, value in run.figures.items() if key.endswith(f".{TAIL_MARK}_seconds")]
    return replace(run, figures=named | ({TAIL_LATENCY.key: tails[0]} if tails else {}))
