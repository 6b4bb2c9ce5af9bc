# SPDX-License-Identifier: MIT
"""Runs hew-simulate, which reads traces, and takes its document in."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.simulation import Moment, Simulated, Simulation, SizeClass, Sizes, SizeUse, Trace
from hew.sources.library import find_part
from hew.sources.trace.plain import plain_trace

PROGRAM = "hew-simulate"


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
    uses = tuple(SizeUse(*row) for row in document["sizes"])
    return Sizes(str(trace), uses, found.threads, _tables(document), found.notes())


def tables() -> dict[str, tuple[SizeClass, ...]]:
    """The tables of classes by name; `candidates` are all that a class of hew may be."""
    return _tables(_run(["--tables"], None))


def _tables(document: Any) -> dict[str, tuple[SizeClass, ...]]:
    return {name: tuple(SizeClass(*row) for row in rows) for name, rows in document["tables"].items()}


def _asked(trace: Path, words: Sequence[str]) -> Any:
    """What the program says of the trace."""
    with plain_trace(trace) as plain:
        return _run([str(plain), *words], trace)


def _run(words: Sequence[str], named: Path | None) -> Any:
    done = subprocess.run([str(find_part(PROGRAM)), *words], capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().removeprefix(f"{PROGRAM}: ").removeprefix(f"{words[0]}: ")
        said = said or f"{PROGRAM} ended with status {done.returncode}"
        raise HewError(f"{named}: {said}" if named else said)
    return json.loads(done.stdout)
