# SPDX-License-Identifier: MIT
"""From advice to the ways of running a command, and from the runs of those to what the advice is worth."""

import statistics
from collections.abc import Mapping, Sequence

from hew.analysis.summary import expected_output, paired_ratios
from hew.model.advice import MALLOC_CONF, Advice, Setting
from hew.model.figures import COMMAND_FIGURES, SERVER_RSS, SOMETIMES_FIGURES, Figure, client_figures, server_figures
from hew.model.report import FailedRun
from hew.model.run import Run
from hew.model.verification import WITHOUT, Outcome, Variant

ALL = "all together"


def variants(
    advice: Sequence[Advice], variable: str, environment: Mapping[str, str]
) -> tuple[list[Variant], list[str]]:
    """The command as it is, with each advice that is a setting, and with all of those; and what cannot be combined.

    `variable` is what the program's malloc reads settings from: a build with a prefix has another than MALLOC_CONF.
    """
    usable = [one for one in advice if one.settings]
    found = [Variant(WITHOUT, (), {})]
    found += [Variant(one.rule, (one,), changes_of([one], variable, environment)) for one in usable]
    if len(usable) < 2:
        return found, []
    clashes = _clashes(usable)
    if clashes:
        return found, [
            f"the advice was not tried all together: it gives {name} more than one value" for name in clashes
        ]
    return [*found, Variant(ALL, tuple(usable), changes_of(usable, variable, environment))], []


def changes_of(advice: Sequence[Advice], variable: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What the advice changes in the environment."""
    return changed([setting for one in advice for setting in one.settings], variable, environment)


def changed(settings: Sequence[Setting], variable: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What the settings change in the environment. They go behind those already there: the later one wins."""
    conf = [one.text for one in settings if one.variable == MALLOC_CONF]
    changes = {variable: ",".join(filter(None, (environment.get(variable), *conf)))} if conf else {}
    return changes | {one.variable: one.value for one in settings if one.variable != MALLOC_CONF}


def _clashes(advice: Sequence[Advice]) -> list[str]:
    """Settings to which the advice gives different values."""
    values: dict[str, set[str]] = {}
    for one in advice:
        for setting in one.settings:
            values.setdefault(setting.name, set()).add(setting.value)
    return sorted(name for name, given in values.items() if len(given) > 1)


def figures_of(runs: Sequence[Run]) -> tuple[Figure, ...]:
    """What the runs have been measured by."""
    keys = {key for run in runs for key in run.figures}
    if SERVER_RSS.key in keys:
        return server_figures(keys) + client_figures(keys)
    own = tuple(figure for figure in COMMAND_FIGURES + SOMETIMES_FIGURES if figure.key in keys)
    return own + client_figures(keys)


def outcomes(found: Sequence[Variant], runs: Sequence[Run]) -> list[Outcome]:
    """Medians of every variant, and its ratios to the command as it is, paired by round."""
    figures = figures_of(runs)
    good = {
        one.name: [run for run in runs if run.allocator == one.name and run.round > 0 and run.failure is None]
        for one in found
    }
    expected, _ = expected_output(good[WITHOUT])
    return [
        Outcome(
            variant=one,
            medians={
                figure.key: statistics.median(values)
                for figure in figures
                if (values := [run.figures[figure.key] for run in good[one.name] if figure.key in run.figures])
            },
            ratios={} if one.name == WITHOUT else paired_ratios(good[one.name], good[WITHOUT], figures),
            good_runs=len(good[one.name]),
            failures=tuple(
                FailedRun(run.round, run.failure) for run in runs if run.allocator == one.name and run.failure
            ),
            output_differs=expected is not None and any(run.output != expected for run in good[one.name]),
        )
        for one in found
    ]
