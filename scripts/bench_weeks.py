#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does resident memory follow live bytes over weeks?  bench/apps/weeks under every allocator here, side by side.

    python3 scripts/bench_weeks.py [--days 14] [--day 85] [--page docs/weeks.md] [--only-page]

Memory is measured and the load is light, so all run at the same time; ticks that came late are told.  What each run has
said is kept in build/bench/weeks; --only-page writes the page from there.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from generated import section_of, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tool/src"))

from hew.model.allocator import Allocator  # noqa: E402
from hew.sources.discovery import discover, without_allocators  # noqa: E402

PROGRAM = ROOT / "build/release/bench/apps/weeks"
FOLDER = ROOT / "build/bench/weeks"
SECTION = section_of("scripts/bench_weeks.py", "figures")
LATE = re.compile(r"; (\d+) late ticks")


@dataclass(frozen=True)
class Outcome:
    """What a run has said: `over` by day, resident for each live byte."""

    name: str
    over: list[float]
    mean: float
    peak: float
    late: int
    cpu: float
    faults: int

    @property
    def drift(self) -> float:
        """The second week's working days beside the first's; of short runs the last day beside the second."""
        if len(self.over) < 14:
            return self.over[-1] / self.over[min(1, len(self.over) - 1)]
        return sum(self.over[7:12]) / 5 / (sum(self.over[1:5]) / 4)


def read_outcome(path: Path) -> Outcome:
    text = path.read_text()
    records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    days, closing = [one for one in records if "day" in one], records[-1] if records else {}
    late = LATE.search(text)
    if not days or late is None or closing.get("status") != 0:
        raise SystemExit(f"bench_weeks: {path.stem} did not end well:\n{text[-400:]}")
    live, resident = sum(day["live_mib"] for day in days), sum(day["resident_mib"] for day in days)
    return Outcome(
        name=path.stem,
        over=[day["resident_mib"] / day["live_mib"] for day in days],
        mean=resident / live,
        peak=max(day["peak_resident_mib"] for day in days),
        late=int(late[1]),
        cpu=closing["cpu"],
        faults=closing["faults"],
    )


def run_all(allocators: list[Allocator], words: list[str]) -> None:
    """All at once; who ends badly is seen when its text is read."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    clean, _ = without_allocators(os.environ)
    running = {}
    for one in allocators:
        preload = [f"LD_PRELOAD={one.library}"] if one.library else []
        with (FOLDER / f"{one.name}.txt").open("w") as out:
            process = subprocess.Popen(["env", *preload, *words], stdout=subprocess.DEVNULL, stderr=out, env=clean)
        running[one.name] = process.pid
    for name, pid in running.items():
        _, status, usage = os.wait4(pid, 0)
        closing = {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "faults": usage.ru_minflt}
        with (FOLDER / f"{name}.txt").open("a") as out:
            print(json.dumps(closing), file=out)


def table_of(outcomes: list[Outcome]) -> list[str]:
    return table(
        ["allocator", "resident of live", "drift", "highest, MiB", "CPU, s", "page faults", "late ticks"],
        (
            [
                f"**{one.name}**" if one.name == "hew" else one.name,
                f"{one.mean:.2f}",
                f"{one.drift:.2f}",
                f"{one.peak:.0f}",
                f"{one.cpu:.0f}",
                f"{one.faults:,}",
                str(one.late),
            ]
            for one in sorted(outcomes, key=lambda outcome: outcome.mean)
        ),
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Does resident memory follow live bytes over weeks?")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--day", type=int, default=85, help="seconds a day")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/weeks.md")
    parser.add_argument("--only-page", action="store_true", help="from what the last run has left")
    options = parser.parse_args(arguments)
    if not options.only_page:
        found, missing = discover((), os.environ)
        for one in missing:
            print(f"bench_weeks: without {one.name}: {one.reason}", file=sys.stderr)
        run_all(found, [str(PROGRAM), "--days", str(options.days), "--day", str(options.day)])
    lines = table_of([read_outcome(path) for path in sorted(FOLDER.glob("*.txt"))])
    print("\n".join(lines))
    try:
        SECTION.write(options.page, lines)
    except (OSError, ValueError) as error:
        print(f"bench_weeks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
