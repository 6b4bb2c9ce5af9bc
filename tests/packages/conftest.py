# SPDX-License-Identifier: MIT
"""hew.c for all tests of packages; and the scripts, to be imported by name."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))


@pytest.fixture(scope="session")
def amalgamation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hew.c and hew.h."""
    import amalgamate  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("amalgamation")
    assert amalgamate.main(["--output", str(folder)]) == 0
    return folder
