# SPDX-License-Identifier: MIT
"""What the runs beside the base show of one candidate, and what a whole search comes to."""

from collections.abc import Sequence

from hew.analysis.summary import expected_output, paired_ratios
from hew.analysis.verification import figures_of
from hew.model.run import Run
from hew.model.search import Candidate, Proof, Tried


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


def verdict(storage: str | None, candidate: Candidate | None, interrupted: bool, proof: Proof) -> str:
    """What a search comes to, in one sentence. `candidate` was picked, if any; `proof` is what fresh runs say of it."""
    if interrupted:
        more = f"the same command with --storage {storage} goes on" if storage else "--storage FILE would have kept it"
        return f"interrupted: nothing was verified; {more}"
    if candidate is None:
        return "nothing better: no candidate beat the base without a loss elsewhere"
    if proof is Proof.CONFIRMED:
        return f"recommended: {candidate.label}"
    if proof is Proof.TOO_FEW:
        return f"undecided: {candidate.label} looked better in the search, and so few fresh runs cannot tell: --runs 6"
    return f"nothing better: {candidate.label} looked better in the search, and fresh runs did not confirm it"
