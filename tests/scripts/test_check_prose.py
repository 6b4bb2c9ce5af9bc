# SPDX-License-Identifier: MIT
"""check_prose: impersonal actors, private words and long sentences are reported; code is not prose."""

from pathlib import Path

import check_prose
import pytest

GOOD = """# A page

The purger returns memory. `nobody` and `shelf` are names of variables.

    somebody gives back the shelf

```
whoever
```

| a table | has no sentences |
"""
LONG = " ".join(["word"] * 41) + "."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A page and a module of the tool that keep the rules."""
    (tmp_path / "README.md").write_text(GOOD)
    (tmp_path / "tool/src/hew").mkdir(parents=True)
    (tmp_path / "tool/src/hew/cli.py").write_text('"""The purger returns memory."""\n')
    return tmp_path


def test_code_and_good_prose_pass(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_prose.main(["--root", str(root)]) == 0
    assert "1 pages, 0 places" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Whoever frees it pays.", "README.md:13: 'Whoever'"),
        ("The purger gives back pages.", "README.md:13: 'gives back'"),
        ("The shelf holds extents.", "README.md:13: 'shelf': large-extent cache"),
        (LONG, "README.md:a sentence of 41 words: word word"),
        (LONG.replace("word. ", "word, `code` "), "README.md:a sentence of 41 words"),
    ],
)
def test_each_breach_is_reported(root: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "README.md").write_text(f"{GOOD}\n{text}\n")
    assert check_prose.main(["--root", str(root)]) == 1
    assert f"check_prose: {said}" in capsys.readouterr().out


def test_a_sentence_of_forty_words_passes(root: Path) -> None:
    (root / "README.md").write_text(f"{GOOD}\n{LONG.removeprefix('word ')}\n")
    assert check_prose.main(["--root", str(root)]) == 0


def test_messages_of_the_tool_are_read(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "tool/src/hew/cli.py").write_text('MESSAGE = "nobody answers"\n')
    assert check_prose.main(["--root", str(root)]) == 1
    assert "tool/src/hew/cli.py:1: 'nobody'" in capsys.readouterr().out


def test_comments_of_the_library_name_the_actor(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "src/page").mkdir(parents=True)
    (root / "src/page/shelf.c").write_text("/* Somebody closes the shelf. */\n")
    assert check_prose.main(["--root", str(root)]) == 1
    said = capsys.readouterr().out
    assert "src/page/shelf.c:1: 'Somebody'" in said
    assert "1 places against the rules" in said


def test_this_repository_passes() -> None:
    assert check_prose.main([]) == 0
