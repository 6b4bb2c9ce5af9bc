# SPDX-License-Identifier: MIT
"""A recorded run over time, by stacks of names: what its page is drawn from."""

from collections.abc import Iterator

from hew.analysis.profile.names import Names, Wanted, named, selected
from hew.model.profile import Profile, Sample
from hew.model.whole_run import SUMS, OverTime, PartOfStacks, WholeRun, paths, rows_of

NOTHING = (0,) * SUMS


class _Tree:
    """Adds stacks of names."""

    def __init__(self, found: OverTime) -> None:
        self._found = found
        self._names: dict[str, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._stacks: dict[int, int] = {}

    def stack(self, names: Names) -> int:
        """The number of a stack, the innermost name first."""
        node = -1
        for text in reversed(names):
            node = self._child(node, text)
        if node not in self._stacks:
            self._stacks[node] = len(self._found.leaves)
            self._found.leaves.append(node)
        return self._stacks[node]

    def _child(self, parent: int, text: str) -> int:
        name = self._names.setdefault(text, len(self._names))
        if name == len(self._found.names):
            self._found.names.append(text)
        if (parent, name) not in self._nodes:
            self._nodes[parent, name] = len(self._found.name)
            self._found.name.append(name)
            self._found.parent.append(parent)
        return self._nodes[parent, name]


def over_time(run: WholeRun, wanted: Wanted) -> OverTime:
    """The run's parts. Stacks of the trace that have the same names are one here."""
    found = OverTime()
    stacks = _stacks_of_nodes(run, wanted, _Tree(found))
    sums = [NOTHING] * len(found.leaves)
    nodes: dict[int, tuple[int, ...]] = {}
    for part in run.parts:
        changed: dict[int, None] = {}
        for node, *row in rows_of(part.moment.stacks):
            if node in stacks:
                stack, before, after = stacks[node], nodes.get(node, NOTHING), tuple(row)
                sums[stack] = tuple(a + b - c for a, b, c in zip(sums[stack], after, before, strict=True))
                nodes[node] = after
                changed[stack] = None
        found.parts.append(PartOfStacks(part, [one for stack in changed for one in (stack, *sums[stack])]))
    return found


def _stacks_of_nodes(run: WholeRun, wanted: Wanted, tree: _Tree) -> dict[int, int]:
    """The number of the stack that each node of the trace stands for, where it is wanted."""
    nodes = sorted({row[0] for part in run.parts for row in rows_of(part.moment.stacks)})
    way = paths(run.parents, nodes)
    samples = tuple(Sample(way[node] or [0], (node, 0, 0, 0)) for node in nodes)
    bare = Profile(run.source, samples, run.locations, run.mappings, True)
    return {node: tree.stack(names) for node, names in _named(bare, wanted)}


def _named(bare: Profile, wanted: Wanted) -> Iterator[tuple[int, Names]]:
    """The nodes of the samples, with their stacks of names."""
    for names, values in named(selected(bare, wanted), wanted.by_line):
        yield values[0], names
