# SPDX-License-Identifier: MIT
"""check_layers: what points upwards or hides in conditionals is named with its place."""

from pathlib import Path

import check_layers
import pytest


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A src/ of four layers, the last with two rooms, all in order."""
    (tmp_path / "LAYERS").write_text("# bottom to top\nbase\nos\nslab\ncontrol\n  settings\n  remote\n")
    write(tmp_path, "base/text.h", "#ifndef HEW_BASE_TEXT_H\n#define HEW_BASE_TEXT_H\n#include <stddef.h>\n#endif\n")
    write(tmp_path, "slab/bin.c", '#include "base/text.h"\n#include "slab/bin.h"\n')
    write(tmp_path, "control/purger.c", '#include "slab/bin.h"\n')
    write(tmp_path, "control/remote/place.c", '#include "control/purger.h"\n#include "control/settings/conf.h"\n')
    return tmp_path


def write(source: Path, name: str, text: str) -> None:
    (source / name).parent.mkdir(parents=True, exist_ok=True)
    (source / name).write_text(text)


def test_a_tree_in_order_passes(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_layers.main(["--source", str(source)]) == 0
    assert capsys.readouterr().out == "check_layers: every include points down\n"


@pytest.mark.parametrize(
    ("name", "text", "breach"),
    [
        ("base/bits.c", '#include "slab/bin.h"\n', "src/base/bits.c:1: includes slab/bin.h: base lies below slab"),
        ("slab/all.c", '\n#include "slab/bin.c"\n', "src/slab/all.c:2: includes slab/bin.c: no file includes a source"),
        ("slab/bin2.c", '#include "bin.h"\n', "src/slab/bin2.c:1: includes bin.h: write the layer as well, slab/bin.h"),
        ("slab/bin3.c", "#ifdef __linux__\n#endif\n", "src/slab/bin3.c:1: #ifdef: only os/"),
        ("base/bits.h", "#ifndef A\n#define A\n#if B\n#else\n#endif\n#endif\n", "src/base/bits.h:3: #if: only os/"),
        (
            "control/remote/reply.h",
            "#ifndef HEW_CONTROL_REPLY_H\n#define HEW_CONTROL_REPLY_H\n#endif\n",
            "src/control/remote/reply.h: its guard is to be HEW_CONTROL_REMOTE_REPLY_H",
        ),
        ("base/bits.h", "#ifndef A\n#define B\n#endif\n", "src/base/bits.h:1: #ifndef: only os/"),
        (
            "control/settings/conf.c",
            '#include "control/remote/place.h"\n',
            "includes control/remote/place.h: control/settings lies below control/remote",
        ),
        (
            "control/purger.c",
            '#include "control/settings/conf.h"\n',
            "src/control/purger.c:1: includes control/settings/conf.h: control lies below control/settings",
        ),
        ("control/mallctl/ctl.c", "", "src/control/mallctl/ctl.c: control/mallctl is no room of src/LAYERS"),
        ("heap/x.c", "", "src/heap/x.c: heap is no layer of src/LAYERS"),
    ],
)
def test_a_breach_is_named(source: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, breach: str) -> None:
    write(source, name, text)
    assert check_layers.main(["--source", str(source)]) == 1
    assert breach in capsys.readouterr().out


@pytest.mark.parametrize("name", ["os/map.c", "base/compiler.h"])
def test_the_system_may_be_asked_in_few_files(source: Path, name: str) -> None:
    guard = "HEW_BASE_COMPILER_H"
    system = "#if defined(__x86_64__)\n#elif defined(__aarch64__)\n#else\n#endif\n"
    write(source, name, f"#ifndef {guard}\n#define {guard}\n{system}#endif\n")
    assert check_layers.main(["--source", str(source)]) == 0


def test_the_default_of_a_build_constant_is_no_condition(source: Path) -> None:
    write(source, "slab/conf.c", '#ifndef HEW_CONF\n#define HEW_CONF ""\n#endif\n')
    assert check_layers.main(["--source", str(source)]) == 0


def test_a_directory_without_layers_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_layers.main(["--source", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"check_layers: no file {tmp_path}/LAYERS\n"
