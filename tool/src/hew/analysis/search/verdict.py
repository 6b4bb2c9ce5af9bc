# SPDX-License-Identifier: MIT
"""What a search comes to, in one sentence."""

from hew.model.search import Candidate


def verdict(storage: str | None, candidate: Candidate | None, interrupted: bool, won: bool) -> str:
    """The sentence: `candidate` was picked, if there was one, and `won` when fresh runs have confirmed it."""
    if interrupted:
        more = f"the same command with --storage {storage} goes on" if storage else "--storage FILE would have kept it"
        return f"interrupted: nothing was verified; {more}"
    if candidate is None:
        return "nothing better: no candidate beat the base without a loss elsewhere"
    if won:
        return f"recommended: {candidate.label}"
    return f"nothing better: {candidate.label} looked better in the search, and fresh runs did not confirm it"
