# SPDX-License-Identifier: MIT
"""A heap profile as one page: a flame graph, a table of functions, stacks that grew. It fetches nothing.

Names come from files that cannot be trusted. The page holds them only as JSON, with < escaped, and its script inserts
them as text. The page's content security policy lets no other script run.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

from hew.model.profile import Kind
from hew.model.profile_view import Growth, Row, Shown, Tree
from hew.views.profile.text import summary

MOST_ROWS = 300
MOST_STACKS = 100
PLACE = re.compile(r"@(policy|title|style|summary|notes|others|flame|data|script)@")
FLAME_SCRIPTS = ("flame.js", "page.js")


def profile_page(shown: Shown, tree: Tree, found: Sequence[Row]) -> str:
    """The whole page."""
    parts = {
        "title": escape(f"hew profile: {shown.profile.source}"),
        "summary": escape(summary(shown)),
        "notes": notes_of(shown.profile.notes),
        "data": embedded(page_data(shown, tree, found)),
    }
    return filled("page.html", ("page.css", "flame.css"), FLAME_SCRIPTS, parts)


def notes_of(notes: Sequence[str]) -> str:
    """The items of a list."""
    return "".join(f"<li>{escape(note)}</li>" for note in notes)


def filled(frame: str, styles: Sequence[str], scripts: Sequence[str], parts: dict[str, str]) -> str:
    """A frame with its styles, its scripts, which alone may run, and these parts."""
    style, script = ("".join(map(_resource, files)) for files in (styles, scripts))
    policy = f"default-src 'none'; style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'"
    parts = {**parts, "policy": policy, "style": style, "flame": _resource("flame.html"), "script": script}
    # In one pass: a name in the profile is never mistaken for a placeholder of the frame.
    return PLACE.sub(lambda found: parts[found[1]], _resource(frame))


def _resource(name: str) -> str:
    return resources.files("hew.views.profile").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded(document: object) -> str:
    """JSON that can stand in a page: neither a tag nor a comment can begin in it."""
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def page_data(shown: Shown, tree: Tree, found: Sequence[Row]) -> dict[str, Any]:
    """What flame.js draws."""
    kinds = shown.profile.kinds
    return {
        "kinds": [{"title": shown.profile.title(kind), "bytes": kind.in_bytes} for kind in kinds],
        "first": kinds.index(shown.kind),
        "base": shown.base,
        "sample": shown.profile.period if shown.profile.period > 1 else 0,
        "names": tree.names,
        "name": list(tree.name),
        "parent": list(tree.parent),
        "values": [[one[kind] for one in tree.values] for kind in kinds],
        "before": [[one[kind] for one in tree.before] for kind in kinds] if tree.before else None,
        "leftOut": tree.left_out,
        "rows": [_row(row, kinds) for row in _largest(found, kinds)],
        "growth": [_grown(one, kinds) for one in _extremes(shown.growth)],
    }


def _row(row: Row, kinds: Sequence[Kind]) -> list[Any]:
    return [row.name, [row.flat[kind] for kind in kinds], [row.cum[kind] for kind in kinds]]


def _largest(found: Sequence[Row], kinds: Sequence[Kind]) -> list[Row]:
    """Those that are among the first of some kind, by what they allocated themselves or with what they called."""
    kept: dict[str, Row] = {}
    for kind in kinds:
        for flat in (True, False):
            sizes = [(-abs((one.flat if flat else one.cum)[kind]), place) for place, one in enumerate(found)]
            kept.update((found[place].name, found[place]) for size, place in sorted(sizes)[:MOST_ROWS] if size)
    return list(kept.values())


def _extremes(found: Sequence[Growth]) -> Sequence[Growth]:
    """Those that grew most and those that shrank most."""
    return found if len(found) <= 2 * MOST_STACKS else (*found[:MOST_STACKS], *found[-MOST_STACKS:])


def _grown(one: Growth, kinds: Sequence[Kind]) -> list[Any]:
    return [list(one.stack), [one.before[kind] for kind in kinds], [one.after[kind] for kind in kinds]]
