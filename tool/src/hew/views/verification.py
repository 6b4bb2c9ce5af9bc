# SPDX-License-Identifier: MIT
"""What advice was worth when measured: for the terminal and for programs."""

import json
import shlex
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hew.model.figures import Figure
from hew.model.quantity import quantity
from hew.model.report import Verdict
from hew.model.verification import WITHOUT, Outcome, Verification
from hew.views.document import ratio_document
from hew.views.table import STYLES, show_note
from hew.views.text import interval, judgement, times, what_ran

FORMAT = "hew-verification/1"
NOTHING = "the rules have nothing to say of it: nothing was measured"


def show_verification(result: Verification, console: Console) -> None:
    """Print each variant with its settings and what they changed."""
    console.print()
    console.print(f"[bold]{escape(what_ran(result))}[/]  [dim]{escape(result.subject)}[/]", soft_wrap=True)
    if not result.outcomes:
        console.print(NOTHING)
    else:
        console.print(
            f"{result.runs} rounds after {result.warmup} of warm-up; ratio to the command as it is, paired by round, "
            f"{result.confidence:.0%} interval",
            style="dim",
            soft_wrap=True,
        )
        console.print(_medians(result))
        for outcome in result.outcomes:
            if outcome.variant.name != WITHOUT:
                _show(result, outcome, console)
    for advice in result.unmeasured:
        show_note(f"{advice.title}: not a setting, so not measured", console)
        if advice.change:
            console.print(f"    → {escape(advice.change)}", soft_wrap=True)
    for note in result.notes:
        show_note(note, console)


def _medians(result: Verification) -> Text:
    """The command as it is, in one line."""
    own = result.outcomes[0].medians
    parts = [
        f"{figure.label} {quantity(own[figure.key], figure.unit)}" for figure in result.figures if figure.key in own
    ]
    return Text("as it is: " + ", ".join(parts))


def _show(result: Verification, outcome: Outcome, console: Console) -> None:
    """One variant."""
    variant = outcome.variant
    console.print()
    console.print(f"[bold]{escape(variant.name)}[/]  {escape(settings_of(outcome))}", soft_wrap=True)
    for advice in variant.advice if len(variant.advice) == 1 else ():
        console.print(
            f"    expected: CPU {escape(advice.cpu)}; memory {escape(advice.memory)}", style="dim", soft_wrap=True
        )
    for failed in outcome.failures[:1]:
        console.print(f"[red]✗[/] failed in round {failed.round}: {escape(failed.failure.reason)}", soft_wrap=True)
        console.print(f"    {escape(failed.failure.stderr_tail)}", style="dim", soft_wrap=True)
    if outcome.output_differs:
        console.print("[red]✗[/] its output differs from that of the command as it is")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2), show_header=False)
    for figure in result.figures:
        ratio = outcome.ratios.get(figure.key)
        if ratio is None:
            continue
        table.add_row(
            figure.label,
            quantity(outcome.medians[figure.key], figure.unit),
            times(ratio.value),
            Text(interval(ratio), style="dim"),
            Text(judgement(ratio, figure), style=STYLES[ratio.verdict]),
        )
    console.print(table)
    console.print(f"    {verdict(result, outcome)}", soft_wrap=True)


def settings_of(outcome: Outcome) -> str:
    """The changes of the environment as one would type them."""
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in outcome.variant.changes.items())


def verdict(result: Verification, outcome: Outcome) -> str:
    """The whole variant in one sentence."""
    if not outcome.good_runs:
        return "every run with it failed: do not use it"
    changed = []
    spoken = (*result.figures[:3], *(one for one in result.figures[3:] if tells_of_work(one)))
    for figure in spoken:
        ratio = outcome.ratios.get(figure.key)
        if ratio is not None and ratio.verdict in {Verdict.BETTER, Verdict.WORSE}:
            changed.append(f"{figure.label} {judgement(ratio, figure)}")
    # RSS × seconds, which is not spoken of, is missing from short runs.
    if any(one.key in outcome.ratios and outcome.ratios[one.key].verdict is Verdict.TOO_FEW_RUNS for one in spoken):
        return "too few rounds to tell: give --runs 6 or more"
    return (
        "; ".join(changed)
        if changed
        else "no difference in time, memory or what it prints of its work: leave it as it is"
    )


def tells_of_work(figure: Figure) -> bool:
    """Whether a figure is the program's own: how much it did, in a time that may be fixed."""
    return figure.key.startswith(("metric.", "client."))


def verification_json(result: Verification) -> str:
    """One document, in base units."""
    return json.dumps(verification_document(result), indent=2, ensure_ascii=False)


def verification_document(result: Verification) -> dict[str, Any]:
    """The document as plain lists and dictionaries."""
    return {
        "format": FORMAT,
        "started": result.started,
        "command": list(result.command),
        "server": list(result.server) if result.server else None,
        "subject": result.subject,
        "runs": result.runs,
        "warmup": result.warmup,
        "confidence": result.confidence,
        "machine": asdict(result.machine),
        "figures": [{"key": one.key, "label": one.label, "unit": one.unit.value} for one in result.figures],
        "variants": [_variant(result, one) for one in result.outcomes],
        "not_settings": [{"rule": one.rule, "title": one.title, "change": one.change} for one in result.unmeasured],
        "notes": list(result.notes),
    }


def _variant(result: Verification, outcome: Outcome) -> dict[str, Any]:
    variant = outcome.variant
    return {
        "name": variant.name,
        "rules": [one.rule for one in variant.advice],
        "changes": dict(variant.changes),
        "expected": [{"rule": one.rule, "cpu": one.cpu, "memory": one.memory} for one in variant.advice],
        "medians": dict(outcome.medians),
        "ratios": {key: ratio_document(ratio) for key, ratio in outcome.ratios.items()},
        "good_runs": outcome.good_runs,
        "failures": [{"round": one.round, "reason": one.failure.reason} for one in outcome.failures],
        "output_differs": outcome.output_differs,
        "verdict": None if variant.name == WITHOUT else verdict(result, outcome),
    }
