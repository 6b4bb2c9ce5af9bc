# SPDX-License-Identifier: MIT
"""Sessions on a terminal, recorded in tool/tests/sessions: what a user types and what the terminal then shows.

A line that begins with `$ ` is typed; what follows was shown, on a terminal of 100 columns. Figures, and the room that
they take, differ from run to run and are not compared; a line `…` stands for any lines.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

NAMES = ((str(Path(__file__).resolve().parents[2]), "/src/hew"),)  # the paths of this machine do not matter
ROWS, COLUMNS = 50, 100
TYPED = "$ "
ANY = "…"
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()][AB0]|\x1b[=>78]|\r")
UNITS = r"(?: ?(?:[KMGT]iB(?:/[hs])?|[KMGT]B|B|%|[nµum]?s|min|h|k|M)\b|%)?"
FIGURE = re.compile(rf"[-+]?\b\d(?:[\d.,:]*\d)?{UNITS}|not reported")
RUNS = (
    (re.compile(r"[─━═╌┄]+"), "─"),
    (re.compile(r"[▁▂▃▄▅▆▇█▉▊▋▌▍▎▏░▒▓]+"), "█"),
    (re.compile(r"(# ?)+"), "# "),
    (re.compile(r"\s+"), " "),
)


def sessions_of(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a session, each with the lines that were shown."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(TYPED):
            found.append((line.removeprefix(TYPED), []))
        elif found:
            found[-1][1].append(line)
    return found


def typed(command: str, folder: Path, variables: Mapping[str, str]) -> str:
    """What a terminal shows of a command."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with subprocess.Popen(
        ["/bin/bash", "-c", command], stdin=other, stdout=other, stderr=other, cwd=folder, env=dict(variables),
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(other)
        shown = b""
        while block := _read(main):
            shown += block
        process.wait()
    os.close(main)
    text = STEERING.sub("", shown.decode(errors="replace"))
    for place, name in ((str(folder), "~"), *NAMES):
        text = text.replace(place, name)
    return text


def _read(main: int) -> bytes:
    try:
        return os.read(main, 1 << 16)
    except OSError:  # EIO: the program on the terminal has ended
        return b""


def plain(line: str) -> str:
    """A line without its figures and their room."""
    line = FIGURE.sub("# ", line)
    for runs, one in RUNS:
        line = runs.sub(one, line)
    return line.strip()


def shows(recorded: Sequence[str], shown: Sequence[str]) -> bool:
    """Whether these are the recorded lines, but for figures."""
    if not recorded:
        return not shown
    if recorded[0].strip() == ANY:
        return any(shows(recorded[1:], shown[at:]) for at in range(len(shown) + 1))
    return bool(shown) and plain(recorded[0]) == plain(shown[0]) and shows(recorded[1:], shown[1:])
