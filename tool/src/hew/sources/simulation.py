# SPDX-License-Identifier: MIT
"""Runs hew-simulate, which reads traces, and takes its document in."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.simulation import Moment, Simulated, Simulation, SizeClass, Sizes, SizeUse, Trace
from hew.sources.library import find_part
from hew.sources.trace.plain import plain_trace

PROGRAM = "hew-simulate"
PROGRESS = "progress "
Told = Callable[[str, int], None]  # what was found so far, and how many operations are done


def simulate(trace: Path, policies: Sequence[str], classes: Sequence[str], told: Told | None = None) -> Simulation:
    """The trace under these policies (all when none is named) and classes, `NAME=SIZE,SIZE`; `told` hears how far it
    is."""
    words = [word for one in policies for word in ("--policy", one)]
    words += [word for one in classes for word in ("--classes", one)]
    document = _asked(trace, words, told)
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


def _asked(trace: Path, words: Sequence[str], told: Told | None = None) -> Any:
    """What the program says of the trace."""
    with plain_trace(trace) as plain:
        return _run([str(plain), *words], trace, told)


def _run(words: Sequence[str], named: Path | None, told: Told | None = None) -> Any:
    environment = {**os.environ, **({"HEW_SIMULATE_PROGRESS": "1"} if told else {})}
    lines = []
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            [str(find_part(PROGRAM)), *words], stdout=output, stderr=subprocess.PIPE, env=environment
        ) as program,
    ):
        assert program.stderr is not None  # noqa: S101 - it is a pipe
        try:
            for raw in program.stderr:
                line = raw.decode(errors="replace")
                if told and line.startswith(PROGRESS):
                    _tell(line, told)
                else:
                    lines.append(line)
        except BaseException:
            program.kill()
            raise
        status = program.wait()
        output.seek(0)
        document = output.read()
    if status != 0:
        said = "".join(lines).strip().removeprefix(f"{PROGRAM}: ").removeprefix(f"{words[0]}: ")
        said = said or f"{PROGRAM} ended with status {status}"
        raise HewError(f"{named}: {said}" if named else said)
    return json.loads(document)


def _tell(line: str, told: Told) -> None:
    """`progress DONE POLICY PEAK LIVE`, in words."""
    done, policy, peak, live = line.removeprefix(PROGRESS).split()
    ratio = f", {int(peak) / int(live):.2f} of live" if int(live) else ""
    told(f"least so far: {policy}{ratio}", int(done))
