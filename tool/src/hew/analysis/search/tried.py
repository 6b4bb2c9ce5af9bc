# SPDX-License-Identifier: MIT
"""From the runs of one candidate beside the base to what came of it."""

from collections.abc import Sequence

from hew.analysis.summary import expected_output, paired_ratios
from hew.analysis.verification import figures_of
from hew.model.run import Run
from hew.model.search import Candidate, Tried


def medians(ours: Sequence[Run], theirs: Sequence[Run]) -> dict[str, float]:
    """The ratio of every figure, paired by round."""
    return {key: ratio.value for key, ratio in paired_ratios(ours, theirs, figures_of(ours)).items()}


def tried_of(candidate: Candidate, runs: Sequence[Run], theirs: Sequence[Run]) -> Tried:
    """What the candidate's runs have shown beside the base's good ones. Other output than the base's, where that is
    always the same, is a failure."""
    failed = next((run.failure for run in runs if run.failure), None)
    mine = [run for run in runs if run.failure is None]
    if failed is not None or not mine:
        return Tried(candidate, failure=failed.reason if failed else "was not run")
    expected, _ = expected_output(theirs)
    if expected is not None and len(theirs) > 1 and any(run.output != expected for run in mine):
        return Tried(candidate, failure="its output is not the base's")
    return Tried(candidate, medians(mine, theirs), len(mine))
