# SPDX-License-Identifier: MIT
"""Runs hew-simulate, which reads traces, and takes its document in."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.simulation import Moment, Simulated, Simulation, SizeClass, Sizes, SizeUse, Trace
from hew.sources.library import PACKAGE, find_checkout

PROGRAM = "hew-simulate"


def find_program(environment: Mapping[str, str], package: Path = PACKAGE) -> Path:
    """Where it is: named by HEW_SIMULATE, in the wheel, or in a checkout's release build."""
    named = environment.get("HEW_SIMULATE")
    if named:
        if not Path(named).is_file():
            raise HewError(f"HEW_SIMULATE names {named}, which is not a file")
        return Path(named).absolute()
    checkout = find_checkout(package)
    places = [package / "lib" / PROGRAM, *([checkout / "build" / "release" / PROGRAM] if checkout else [])]
    found = next((one for one in places if one.is_file()), None)
    if found is None:
        raise HewError(f"{PROGRAM} is not in {' or '.join(map(str, places))}: make release builds it")
    return found


def simulate(trace: Path, policies: Sequence[str], classes: Sequence[str]) -> Simulation:
    """The trace under these policies (all when none is named) and classes, `NAME=SIZE,SIZE`."""
    words = [word for one in policies for word in ("--policy", one)]
    words += [word for one in classes for word in ("--classes", one)]
    document = _asked(trace, words)
    simple = ("peak_live", "mean_live", "largest", "allocated", "reallocations", "left_out")
    return Simulation(
        source=str(trace),
        trace=Trace(**document["trace"]),
        moments=tuple(Moment(at, elapsed / 1e6, live, objects) for at, elapsed, live, objects in document["moments"]),
        policies=tuple(_policy(one) for one in document["policies"]),
        **{name: document[name] for name in simple},
    )  # fmt: skip


def _policy(document: dict[str, Any]) -> Simulated:
    fields: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in document.items()}
    return Simulated(**fields)


def sizes_of(trace: Path) -> Sizes:
    """Which sizes the trace asks for."""
    document = _asked(trace, ["--sizes"])
    found = Trace(**document["trace"])
    tables = {name: tuple(SizeClass(*row) for row in rows) for name, rows in document["tables"].items()}
    return Sizes(str(trace), tuple(SizeUse(*row) for row in document["sizes"]), found.threads, tables, found.notes())


def _asked(trace: Path, words: Sequence[str]) -> Any:
    """What the program says of the trace."""
    with trace.open("rb"):  # so that what the system says of a missing file is told as everywhere
        pass
    program = find_program(os.environ)
    done = subprocess.run([str(program), str(trace.absolute()), *words], capture_output=True, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        raise HewError(said.removeprefix(f"{PROGRAM}: ") or f"{PROGRAM} ended with status {done.returncode}")
    return json.loads(done.stdout)
