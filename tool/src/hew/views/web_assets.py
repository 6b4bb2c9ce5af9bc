# SPDX-License-Identifier: MIT
"""The files of the page of `hew serve`: each has its path, and no other path leads to a file."""

from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "web"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FRONT = "index.html"


def web_assets() -> Iterator[tuple[str, str, bytes]]:
    """Path, type of content, bytes."""
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in KINDS:
            name = path.relative_to(FOLDER).as_posix()
            yield "/" if name == FRONT else f"/assets/{name}", KINDS[path.suffix], path.read_bytes()
