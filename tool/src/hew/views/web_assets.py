# SPDX-License-Identifier: MIT
"""The files of the page of `hew serve`: each has its path, and no other path leads to a file."""

from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "web"
FLAME = Path(__file__).parent / "profile"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FRONT = "index.html"
SHARED = ("flame.css", "flame.js")  # with the page of `hew profile`


def web_assets() -> Iterator[tuple[str, str, bytes]]:
    """Path, type of content, bytes."""
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in KINDS:
            name = path.relative_to(FOLDER).as_posix()
            body = path.read_bytes()
            if name == FRONT:
                body = body.replace(b"@flame@", (FLAME / "flame.html").read_bytes())
            yield "/" if name == FRONT else f"/assets/{name}", KINDS[path.suffix], body
    for name in SHARED:
        yield f"/assets/{name}", KINDS[Path(name).suffix], (FLAME / name).read_bytes()
