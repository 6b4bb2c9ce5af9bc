# SPDX-License-Identifier: MIT
"""What a search comes to, in one sentence."""

from hew.model.search import Candidate, Proof


def verdict(storage: str | None, candidate: Candidate | None, interrupted: bool, proof: Proof) -> str:
    """The sentence: `candidate` was picked, if there was one, and `proof` is what fresh runs say of it."""
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
