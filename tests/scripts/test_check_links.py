# SPDX-License-Identifier: MIT
"""check_links: a link between pages that leads nowhere is reported."""

from pathlib import Path

import check_links
import pytest

GOOD = """# One: `two`

[there](docs/there.md) [below](docs/there.md#the-heading) [here](#one-two) [far](https://example.com/none)
`docs/there.md` `call[](size_t)`

    [in code](docs/none.md)

```
[in code](docs/none.md)
```
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two pages whose links are good."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/there.md").write_text("# Title\n\n## The heading\n\n[back](../README.md)\n")
    (tmp_path / "README.md").write_text(GOOD)
    return tmp_path


def test_good_links_and_code_pass(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_links.main(["--root", str(root)]) == 0
    assert "2 pages, 0 links" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("[x](docs/none.md)", "docs/none.md: no such file"),
        ("[x](docs/there.md#none)", "docs/there.md#none: no such heading"),
        ("[x](#none)", "#none: no such heading"),
        ("`docs/none.md`", "docs/none.md: no such page"),
    ],
)
def test_links_that_lead_nowhere_are_reported(
    root: Path, text: str, breach: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "README.md").write_text(f"{GOOD}{text}\n")
    assert check_links.main(["--root", str(root)]) == 1
    assert f"check_links: README.md: {breach}" in capsys.readouterr().out.splitlines()


def test_this_repository_passes() -> None:
    assert check_links.main([]) == 0
