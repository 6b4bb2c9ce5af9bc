# SPDX-License-Identifier: MIT
"""hew.c for all tests of packages; and the scripts, to be imported by name."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bare import Bare, leave, make_bare
from packaged import need

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))


@pytest.fixture(scope="session")
def amalgamation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hew.c and hew.h."""
    import amalgamate  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("amalgamation")
    assert amalgamate.main(["--output", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    """A bare Debian with Python, for the whole run: what a test installs there it removes again."""
    need("debootstrap", "chroot")
    if os.geteuid() != 0:
        pytest.skip("only root may make a Debian in a folder")
    bare = make_bare(tmp_path_factory.mktemp("bare") / "debian")
    yield bare
    leave(bare)
