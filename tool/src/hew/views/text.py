# SPDX-License-Identifier: MIT
"""Numbers, commands and verdicts as people read them. Shared by the table and the page."""

import shlex
from collections.abc import Sequence

from hew.model.figures import Figure
from hew.model.report import AllocatorResult, FailedRun, Ratio, Report, Setup, Verdict
from hew.model.verification import Verification

WIDE = 0.25  # an interval wider than this could hide a difference that matters


def times(value: float) -> str:
    """A ratio."""
    return f"{value:.2f}×" if value < 9.995 else f"{value:.1f}×"


def interval(ratio: Ratio) -> str:
    """The confidence interval of a ratio; three decimals when two would hide it."""
    digits = 2 if ratio.high - ratio.low >= 0.02 or ratio.value > 2 else 3
    return f"{ratio.low:.{digits}f} – {ratio.high:.{digits}f}"


def judgement(ratio: Ratio, figure: Figure) -> str:
    """What a ratio means, in words."""
    if ratio.verdict is Verdict.NO_DIFFERENCE:
        return "no difference" if ratio.high - ratio.low <= WIDE else "no difference shown"
    if ratio.verdict is Verdict.TOO_FEW_RUNS:
        return "too few runs to tell"
    if ratio.value >= 2:
        return f"{times(ratio.value)} {'the rate' if figure.more_is_better else 'as much'}"
    percent = abs(ratio.value - 1) * 100
    amount = f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"
    return f"{amount} {'more' if ratio.value > 1 else 'less'}"


def command_line(words: Sequence[str]) -> str:
    """A command as one would type it; `{port}` needs no quotes."""
    return shlex.join(words).replace("'{port}'", "{port}")


def what_ran(setup: Setup | Verification) -> str:
    """The measured command, and the server it loads."""
    client = command_line(setup.command)
    return f"{command_line(setup.server)}  ⟵  {client}" if setup.server else client


def failure_line(result: AllocatorResult, failed: FailedRun) -> str:
    """One failed run in one line."""
    when = "in the warm-up" if failed.round <= 0 else f"in round {failed.round}"
    return f"{result.allocator.name}: failed {when}: {failed.failure.reason}"


def remarks(report: Report) -> list[str]:
    """Everything that a reader of the figures must know besides them, one line each."""
    lines = [f"{one.name}: left out: {one.reason}" for one in report.unusable]
    for result in report.results:
        if result.output_differs:
            lines.append(f"{result.allocator.name}: its output differs from glibc's")
        lines += [f"{result.allocator.name}: {note}" for note in result.notes]
    load, cpus = report.setup.machine.load_average, report.setup.machine.cpus_usable
    if load > cpus:
        lines.append(f"the machine was busy (load {load:.1f} on {cpus} CPUs): times are noisy")
    return lines + list(report.notes)
