# SPDX-License-Identifier: MIT
"""Where libhew.so is looked for."""

from pathlib import Path

import pytest

from hew.model.errors import HewError
from hew.sources.library import built_peers, find_hew


def place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package folder within a source checkout, nothing built."""
    place(tmp_path / "src" / "LAYERS")
    folder = tmp_path / "tool" / "src" / "hew"
    folder.mkdir(parents=True)
    return folder


def test_the_order_is_option_environment_wheel_checkout(package: Path, tmp_path: Path) -> None:
    built = place(tmp_path / "build" / "release" / "libhew.so")
    assert find_hew(None, {}, package) == built
    wheel = place(package / "lib" / "libhew.so")
    assert find_hew(None, {}, package) == wheel
    named = place(tmp_path / "named.so")
    assert find_hew(None, {"HEW_LIBRARY": str(named)}, package) == named
    option = place(tmp_path / "option.so")
    assert find_hew(option, {"HEW_LIBRARY": str(named)}, package) == option


def test_a_named_library_that_is_missing_is_an_error_and_not_skipped(package: Path, tmp_path: Path) -> None:
    place(package / "lib" / "libhew.so")
    with pytest.raises(HewError, match="HEW_LIBRARY names"):
        find_hew(None, {"HEW_LIBRARY": str(tmp_path / "gone.so")}, package)
    with pytest.raises(HewError, match="--lib names"):
        find_hew(tmp_path / "gone.so", {}, package)


def test_without_a_library_the_error_says_where_it_looked_in_one_line(package: Path, tmp_path: Path) -> None:
    with pytest.raises(HewError) as caught:
        find_hew(None, {}, package)
    message = str(caught.value)
    assert str(package / "lib") in message
    assert str(tmp_path / "build" / "release") in message
    assert "\n" not in message


def test_a_relative_name_becomes_absolute_for_commands_that_change_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path / "libhew.so")
    monkeypatch.chdir(tmp_path)
    assert find_hew(Path("libhew.so"), {}) == tmp_path / "libhew.so"


def test_peers_are_those_that_lie_in_the_checkout_s_build_folder(package: Path, tmp_path: Path) -> None:
    assert built_peers(package) == {}
    peer = place(tmp_path / "build" / "peers" / "libnewmalloc-1.2.so")
    place(tmp_path / "build" / "peers" / "probe")
    assert built_peers(package) == {"newmalloc-1.2": peer}
    assert built_peers(tmp_path / "elsewhere") == {}
