#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays a fleet for a simulated day into a store or an engine, and checks what `hew fleet` says of it.

    run.py [--hosts N,N...] [--every SECONDS] [--seed N] [--within SECONDS] [--asked N] [--page FILE]
           store|prometheus|victoria-metrics...

For each back end and size: loads the day, asks so many times (5), and prints how long the ranking took at best. Each
planted problem must be found, ranked by what it costs, and nothing else; with --within that of up to 2,000 hosts must
not take longer, and its processor time must not grow faster than the number of series, from one size to the next.
--page writes the table of docs/fleet.md. An engine that is not installed is left out, and said.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "tests/engines")]

from check import problems  # noqa: E402
from engines import ENGINES, Engine, wait_until  # noqa: E402
from load import to_engine, to_store  # noqa: E402
from page import Measured, write  # noqa: E402
from play import Fleet  # noqa: E402

from hew.commands.fleet_query import Wanted, fleet_of  # noqa: E402
from hew.model.fleet import Source  # noqa: E402
from hew.sources.fleet.engine import EngineSource  # noqa: E402
from hew.sources.fleet.store import StoreSource  # noqa: E402

PAUSE = 2.0  # seconds between: an engine that was just loaded puts its blocks in order
LATER = 1.25  # times as long for each series as at the smaller size: what noise may do
MEANT = 2000  # hosts: up to here --within holds
STORE = "store"


@contextmanager
def store_with(fleet: Fleet, folder: Path) -> Iterator[Source]:
    """A store that has the day."""
    store = StoreSource(folder / "fleet.duckdb")
    to_store(fleet, store)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def engine_with(engine: Engine, fleet: Fleet, folder: Path) -> Iterator[Source]:
    """An engine that has the day, and shows it."""
    (folder / "scrape.yml").write_text("{}")
    engine.port = 0
    engine.start(folder)
    try:
        wait_until(lambda: engine.ask("vector(1)"), f"{engine.name} does not answer")
        to_engine(fleet, f"http://127.0.0.1:{engine.port}{engine.write}")
        hosts = sum(len(one.hosts) for one in fleet.services)
        wait_until(lambda: _count(engine, fleet) >= hosts, f"{engine.name} does not show the last samples")
        assert engine.process is not None  # noqa: S101 - it was started above
        status = Path(f"/proc/{engine.process.pid}/status").read_text()
        held = int(status.partition("VmRSS:")[2].split()[0]) / 1024
        print(f"fleet: {engine.name}: {held:.0f} MiB resident with {fleet.series} series", flush=True)
        source = EngineSource(f"http://127.0.0.1:{engine.port}", timeout=120)
        yield source
        source.close()
    finally:
        engine.end(signal.SIGTERM)


def _count(engine: Engine, fleet: Fleet) -> float:
    rows = engine.ask("count(hew_allocated_bytes)", float(fleet.times[-1]))
    return float(rows[0]["value"][1]) if rows else 0.0  # type: ignore[index]


def one_size(name: str, hosts: int, given: argparse.Namespace) -> tuple[list[str], Measured]:
    """What does not hold, and what was measured."""
    begun, every = time.monotonic(), given.every
    fleet = Fleet(hosts, every, time.time() // every * every, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        engine = next((one for one in ENGINES if one.name == name), None)
        whole = store_with(fleet, Path(folder)) if engine is None else engine_with(engine, fleet, Path(folder))
        with whole as source:
            loaded = time.monotonic() - begun
            found, _ = problems(fleet, source)
            disk = sum(one.stat().st_size for one in Path(folder).rglob("*") if one.is_file())
            asked = [_ranked(fleet, source, engine) for _ in range(given.asked)]
    best, cpu = (min(one) for one in zip(*asked, strict=True))
    print(
        f"fleet: {name}: {hosts} hosts, {fleet.series} series x {len(fleet.times)} samples loaded in {loaded:.0f} s, "
        f"{disk / fleet.series / len(fleet.times):.1f} bytes each on disk; ranked in {best:.2f} s, {cpu:.2f} s of CPU; "
        f"{len(fleet.truth.costs)} planted costs, {len(found)} findings",
        flush=True,
    )
    return found, Measured(name, hosts, fleet.series, best, cpu, len(found))


def _ranked(fleet: Fleet, source: Source, engine: Engine | None) -> tuple[float, float]:
    """Seconds of one ranking, and of processor time, the engine's and ours."""
    time.sleep(PAUSE)
    begun = _cpu(engine)
    seconds = fleet_of(source, Wanted(end=float(fleet.times[-1]))).seconds
    return seconds, _cpu(engine) - begun


def _cpu(engine: Engine | None) -> float:
    """Processor time so far."""
    theirs = 0.0
    if engine is not None and engine.process is not None:
        fields = Path(f"/proc/{engine.process.pid}/stat").read_text().rpartition(")")[2].split()
        theirs = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return theirs + time.process_time()


def one_engine(name: str, given: argparse.Namespace, measured: list[Measured]) -> bool:
    """Whether all holds at all sizes. What is measured is added to the list."""
    well, before, within = True, None, given.within
    for hosts in given.hosts:
        found, one = one_size(name, hosts, given)
        measured.append(one)
        each = one.cpu / one.series
        if within is not None and hosts <= MEANT and one.seconds > within:
            found.append(f"the ranking took {one.seconds:.2f} s, and may take {within:g}")
        if within is not None and before is not None and each > LATER * before:
            found.append(f"a series costs {each * 1e6:.1f} µs of CPU, at the smaller size {before * 1e6:.1f}")
        before = each
        for said in found:
            print(f"fleet: {name}: {hosts} hosts: FAILED: {said}", flush=True)
        well = well and not found
    return well


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ends", nargs="+", choices=[STORE, *(one.name for one in ENGINES)])
    parser.add_argument("--hosts", default="2000", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--every", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float)
    parser.add_argument("--asked", type=int, default=5, help="the best counts")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the engine ends with us
    well, measured = True, list[Measured]()
    for name in given.ends:
        if name != STORE and shutil.which(name) is None:
            print(f"fleet: {name} is not here (package {name}): left out")
            continue
        well = one_engine(name, given, measured) and well
    if given.page is not None and measured:
        write(given.page, measured)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
