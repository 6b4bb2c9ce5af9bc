# SPDX-License-Identifier: MIT
"""The order of runs: every round runs each allocator once, and each round starts one allocator later.

Interleaving spreads a slow drift of the machine (heat, a neighbour's load) over all allocators alike; rotation keeps
any of them from always running first or always behind the same neighbour's leftovers.
"""

from collections.abc import Sequence

from hew.model.run import Step


def rotated_schedule(allocators: Sequence[str], runs: int, warmup: int) -> list[Step]:
    """All steps. Rounds 1 to `runs` count; 0, -1 ... are the warm-up and come first."""
    return [
        Step(allocators[(place + turn) % len(allocators)], number)
        for turn, number in enumerate(range(1 - warmup, runs + 1))
        for place in range(len(allocators))
    ]
