# SPDX-License-Identifier: MIT
"""Stacks as a tree from the outside in, without what is too small to be seen."""

from collections.abc import Iterable

from hew.analysis.profile.names import named
from hew.model.profile import NOTHING, Kind, Profile, Values, sum_of
from hew.model.profile_view import Tree

SMALLEST = 1 / 5000  # of the whole: a fifth of a pixel on a page of 1,000
MOST_NODES = 30_000  # of a page: some megabytes
MOST_DEPTH = 512


class _Node:
    __slots__ = ("before", "children", "values")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.values = self.before = NOTHING


def tree(profile: Profile, older: Profile | None, by_line: bool) -> Tree:
    """The tree of a profile; of two, each node with what the older has."""
    root = _Node()
    for names, values in named(profile, by_line):
        for node in _path(root, names):
            node.values = sum_of(node.values, values)
    for names, values in named(older, by_line) if older else ():
        for node in _path(root, names):
            node.before = sum_of(node.before, values)
    least = [max(root.values[kind], root.before[kind]) * SMALLEST for kind in Kind]
    while (found := _rows(root, least, older is not None)) is None:
        least = [2 * one for one in least]
    return found


def _path(root: _Node, names: tuple[str, ...]) -> Iterable[_Node]:
    yield root
    node = root
    for name in names[: -MOST_DEPTH - 1 : -1]:
        node = node.children.setdefault(name, _Node())
        yield node


def _size(node: _Node, least: list[float]) -> float:
    """How large a node is beside the smallest one that is shown, in whichever kind it is largest."""
    pairs = (max(node.values[kind], node.before[kind]) / least[kind] for kind in Kind if least[kind])
    return max(pairs, default=0)


def _rows(root: _Node, least: list[float], with_older: bool) -> Tree | None:
    """The nodes that are shown, parents before children; None when they are too many."""
    numbers: dict[str, int] = {}
    found: list[tuple[int, int, Values, Values]] = []
    waiting = [("all", -1, root)]
    left_out = 0
    while waiting:
        name, parent, node = waiting.pop()
        if parent >= 0 and _size(node, least) < 1:
            left_out += 1
            continue
        if len(found) == MOST_NODES:
            return None
        found.append((numbers.setdefault(name, len(numbers)), parent, node.values, node.before))
        here = len(found) - 1
        waiting += [(child, here, one) for child, one in sorted(node.children.items(), reverse=True)]
    return Tree(
        names=tuple(numbers),
        name=[one[0] for one in found],
        parent=[one[1] for one in found],
        values=[one[2] for one in found],
        before=[one[3] for one in found] if with_older else [],
        left_out=left_out,
    )
