# SPDX-License-Identifier: MIT
"""prepare: an environment with the extras that a target needs is left as it is."""

from pathlib import Path

import prepare
import pytest


@pytest.mark.parametrize(
    ("there", "target", "serves"),
    [
        ("abc", "compare", True),
        ("abc", "demo", False),
        ("abc inspect search top", "demo", True),
        ("abc dev", "demo", True),
        ("abc dev", "packages", False),
        ("abc dev docs", "docs", True),
        ("other dev", "compare", False),
        ("", "compare", False),
    ],
)
def test_what_is_installed_is_not_installed_again(there: str, target: str, serves: bool, tmp_path: Path) -> None:
    stamp = tmp_path / prepare.STAMP
    stamp.write_text(f"{there}\n")
    found = prepare.installed_extras(stamp, "abc")
    assert (found is not None and prepare.EXTRAS[target] <= found) == serves


def test_dev_brings_what_its_users_expect() -> None:
    project = (prepare.ROOT / "pyproject.toml").read_text()
    dev = project.partition("\ndev = [")[2].partition("]\n")[0]
    whole = project.partition("\nall = [")[2].partition("\n")[0]
    assert "hewmalloc[all]" in dev
    assert all(name in whole for name in prepare.IN_DEV)
