# SPDX-License-Identifier: MIT
"""The compiled parts of a release are the same bytes twice."""

from pathlib import Path

import pytest
from packaged import need

pytestmark = pytest.mark.timeout(7200)


@pytest.mark.parametrize("part", ["crates", "wheel", "debs", "rpms"])
def test_the_same_commit_gives_the_same_bytes(part: str, tmp_path: Path) -> None:
    need("git", *{"crates": ["cargo"], "wheel": [], "debs": ["dh", "lintian"], "rpms": ["rpmbuild"]}[part])
    import make_dist  # noqa: PLC0415

    for name in ("first", "second"):
        assert make_dist.main(["--output", str(tmp_path / name), "--only", part]) == 0
    assert (tmp_path / "first/SHA256SUMS").read_text() == (tmp_path / "second/SHA256SUMS").read_text()
