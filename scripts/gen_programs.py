#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write docs/programs.md and its picture from a saved run of tests/programs/run.py.

    python3 scripts/gen_programs.py build/programs/full.json [docs/programs.md]
    python3 scripts/gen_programs.py build/programs/quick.json --print

The picture goes into img/ beside the page.  What stands outside the two marks in the page is left as it is.  Why hew is
not among the best in a program stands in tests/programs/causes.toml.  Exits 1 when the file has no figures.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generated import section_of, table
from program_figures import (
    ALIKE,
    BASELINE,
    CALLS,
    CPU,
    FAULTS,
    IDLE,
    MEAN,
    PEAK,
    REPEATING,
    SUBJECT,
    WALL,
    Figure,
    Place,
    Ratio,
    Row,
    allocators_of,
    geometric,
    instructions,
    mean,
    measured,
    place,
    ratio,
    runs_of,
    sureness,
)
from program_picture import picture_of

ROOT = Path(__file__).resolve().parent.parent
CAUSES = ROOT / "tests/programs/causes.toml"
SECTION = section_of("scripts/gen_programs.py", "tables")
JUDGED = (CPU, PEAK, MEAN)
NONE = "–"


def shown(found: Ratio | None) -> str:
    """0.93, or 0.93 (0.90 to 0.97) where the figure does not repeat."""
    if found is None:
        return NONE
    text = f"{found.value:.2f}"
    return text if found.low == found.high else f"{text} ({found.low:.2f} to {found.high:.2f})"


def quantity(figure: Figure, value: float) -> str:
    if figure in (PEAK, MEAN, IDLE):
        mebibytes = value / 1024
        return f"{mebibytes:.0f} MiB" if mebibytes >= 100 else f"{mebibytes:.1f} MiB"
    if figure.timed:
        return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
    return f"{value:,.0f}"


def of_glibc(program: Row, figure: Figure) -> str:
    values = sorted(runs_of(program, BASELINE, figure))
    return quantity(figure, values[len(values) // 2]) if values else NONE


def head(found: Mapping[str, Any], programs: Mapping[str, Row]) -> list[str]:
    """What was measured, and how."""
    rounds = {len(runs_of(program, BASELINE, CPU)) for program in programs.values()} - {0}
    sampled = sum(any(run["sampled"] for run in program["runs"][BASELINE]) for program in programs.values())
    lines = [
        "## What was measured",
        "",
        f"{len(programs)} programs, {found['date']}, {found['machine']}.",
        f"Inputs of the set `{found['set']}`.",
        "Every ratio is an allocator's figure divided by glibc's: below 1 is faster or leaner.",
    ]
    if rounds:
        least, most = min(rounds), max(rounds)
        lines += [
            f"Times are medians of {least if least == most else f'{least} to {most}'} rounds.",
            "In a round every allocator has one run, and the next round has the order reversed.",
            f"In brackets is the interval of the median, which holds it with {sureness(least):.0%}.",
            "Two allocators tie in time when the interval of their ratio holds 1.",
        ]
    if sampled:
        lines += [
            f"Two allocators tie in memory when they are within {ALIKE:.0%}.",
            "Memory is the proportional set size of all processes together: a page that several share counts once.",
            "The peak is the highest sample, or the largest process's own high-water mark where that is higher.",
            "The mean is over the whole run, by time.",
            f"Of servers the page also has the memory {found['idle_seconds']:.0f} s after the load has ended.",
            "Memory and system calls come from rounds of their own, which give no times.",
            "System calls of programs with threads hold their waits for each other, and repeat less.",
        ]
    return lines


def means(programs: Mapping[str, Row], allocators: list[str]) -> list[str]:
    """All programs as one: what repeats first."""
    figures = [*REPEATING, CPU, WALL]
    figures = [figure for figure in figures if any(mean(programs, name, figure) for name in allocators[1:])]
    counted = [name for name, program in programs.items() if instructions(program, SUBJECT)]
    rows = []
    for name in allocators[1:]:
        row = [f"**{name}**" if name == SUBJECT else name]
        if counted:
            row.append(instruction_mean(programs, name))
        for figure in figures:
            of_all = mean(programs, name, figure)
            most = max(len(programs) - len(named_missing(programs, figure)), 1)
            fewer = f", {of_all[1]} of {most} programs" if of_all and of_all[1] < most else ""
            row.append((shown(of_all[0]) + fewer) if of_all else NONE)
        rows.append(row)
    titles = (["instructions"] if counted else []) + [figure.title for figure in figures]
    return ["## All programs", "", "Geometric means of the ratios to glibc:", "", *table(["", *titles], rows)]


def named_missing(programs: Mapping[str, Row], figure: Figure) -> list[str]:
    """Programs that have no such figure under glibc."""
    return [name for name, program in programs.items() if not runs_of(program, BASELINE, figure)]


def instruction_mean(programs: Mapping[str, Row], allocator: str) -> str:
    ratios = []
    for program in programs.values():
        ours, base = instructions(program, allocator), instructions(program, BASELINE)
        if ours and base:
            ratios.append(ours / base)
    return f"{geometric(ratios):.3f}, {len(ratios)} programs" if ratios else NONE


def kinds(programs: Mapping[str, Row], allocators: list[str]) -> list[str]:
    """The means of each kind under hew, and the best peer's."""
    rows = []
    for kind in dict.fromkeys(program["kind"] for program in programs.values()):
        some = {name: program for name, program in programs.items() if program["kind"] == kind}
        row = [kind, str(len(some))]
        for figure in JUDGED:
            found = {name: mean(some, name, figure) for name in allocators[1:]}
            values = {
                name: one[0].value
                for name, one in found.items()
                if one and one[1] >= len(some) - len(named_missing(some, figure))
            }
            peers = {name: value for name, value in values.items() if name != SUBJECT}
            best = min(peers, key=lambda name: peers[name]) if peers else ""
            row.append(f"{values[SUBJECT]:.2f}" if SUBJECT in values else NONE)
            row.append(f"{best} {peers[best]:.2f}" if best else NONE)
        rows.append(row)
    titles = [title for figure in JUDGED for title in (f"{figure.title}: hew", "best peer")]
    return ["## By kind", "", *table(["kind", "programs", *titles], rows)]


def places(programs: Mapping[str, Row], allocators: list[str]) -> dict[str, dict[str, Place]]:
    """Program -> figure -> where hew stands, for the figures that decide."""
    found: dict[str, dict[str, Place]] = {}
    for name, program in programs.items():
        stands = {figure.key: place(program, allocators, figure) for figure in JUDGED}
        found[name] = {key: one for key, one in stands.items() if one is not None}
    return found


def order(stands: Mapping[str, Place]) -> tuple[int, float]:
    """First where hew is among the best in everything, last where in nothing; within that by the distance."""
    lost = sum(not one.among for one in stands.values())
    return lost, geometric([one.to_best.value for one in stands.values()] or [1.0])


def winner(one: Place | None) -> str:
    if one is None:
        return NONE
    return f"**{one.best}**" if len(one.ties) == 1 else "tie: " + ", ".join(one.ties)


def program_table(programs: Mapping[str, Row], allocators: list[str]) -> list[str]:
    """A row for each program, those where hew wins first."""
    stands = places(programs, allocators)
    rows = []
    for name in sorted(programs, key=lambda name: order(stands[name])):
        program = programs[name]
        row = [name]
        for figure in (CPU, PEAK, MEAN):
            row += [
                of_glibc(program, figure),
                shown(ratio(program, SUBJECT, BASELINE, figure)),
                winner(stands[name].get(figure.key)),
            ]
        row += [shown(ratio(program, SUBJECT, BASELINE, figure)) for figure in (IDLE, FAULTS, CALLS)]
        rows.append(row)
    titles = [title for figure in (CPU, PEAK, MEAN) for title in (f"{figure.title}, glibc", "hew", "lowest")]
    rest = ["after the load: hew", "page faults: hew", "system calls: hew"]
    said = "Sorted by which allocator is ahead: first the programs in which hew is among the best."
    return ["## Each program", "", said, "", *table(["program", *titles, *rest], rows)]


def lost(programs: Mapping[str, Row], allocators: list[str]) -> list[str]:
    """One line for each program in which hew is not among the best."""
    causes = tomllib.loads(CAUSES.read_text(encoding="utf-8")) if CAUSES.is_file() else {}
    stands, lines = places(programs, allocators), []
    for name in sorted(programs, key=lambda name: order(stands[name]), reverse=True):
        behind = [
            f"{figure.title} {shown(one.to_best)} of {one.best}'s"
            for figure in JUDGED
            if (one := stands[name].get(figure.key)) is not None and not one.among
        ]
        if behind:
            lines.append(f"- **{name}**: {'; '.join(behind)}. {causes.get(name, 'Cause not found yet.')}")
    return ["## Where hew is not among the best", "", *(lines or ["Nowhere."])]


def instruction_table(programs: Mapping[str, Row], allocators: list[str]) -> list[str]:
    """Instructions of whole programs, and of those in the allocator itself."""
    rows = []
    for name, program in programs.items():
        base = instructions(program, BASELINE)
        if base:
            row = [name, f"{base / 1e6:,.0f} million"]
            for allocator in allocators[1:]:
                ours, inside = instructions(program, allocator), instructions(program, allocator, "library")
                row.append(f"{ours / base:.3f} ({(inside or 0) / 1e6:,.1f})" if ours else NONE)
            rows.append(row)
    if not rows:
        return []
    said = [
        "All processes of a program at its small size, without the kernel's, counted by callgrind;",
        "in brackets, in millions, those inside the allocator's library.",
    ]
    return ["## Instructions", "", *said, "", *table(["program", "glibc", *allocators[1:]], rows)]


def described(found: Mapping[str, Row]) -> list[str]:
    """What each program does, and those without figures with the reason."""
    rows = []
    for name, program in found.items():
        notes = [
            *program.get("notes", []),
            *(f"{peer}: {problem}" for peer, problem in program.get("peers", {}).items()),
        ]
        if program.get("state") != "passed":
            notes.insert(0, f"**{program.get('state')}**: {program.get('reason')}")
        rows.append(
            [name, program.get("kind", ""), program.get("version", ""), program.get("what", ""), "; ".join(notes)]
        )
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [
        "| " + " | ".join(row) + " |"
        for row in [["program", "kind", "version", "what runs", "notes"], ["---"] * 5, *cells]
    ]
    return ["## The programs", "", *lines]


def page(found: Mapping[str, Any], picture: str) -> list[str]:
    programs = measured(found["programs"])
    allocators = allocators_of(programs)
    parts = [
        head(found, programs),
        means(programs, allocators),
        [f"![Time against memory, a dot for each program and allocator, the means large]({picture})"]
        if picture
        else [],
        kinds(programs, allocators),
        program_table(programs, allocators),
        lost(programs, allocators),
        instruction_table(programs, allocators),
        described(found["programs"]),
    ]
    return [line for part in parts if part for line in [*part, ""]]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    parser.add_argument("saved", type=Path)
    parser.add_argument("page", type=Path, nargs="?", default=ROOT / "docs/programs.md")
    parser.add_argument("--print", action="store_true", help="print the tables instead of writing the page")
    chosen = parser.parse_args(arguments)
    found = json.loads(chosen.saved.read_text(encoding="utf-8"))
    programs = measured(found["programs"])
    if not programs:
        print(f"{chosen.saved}: no program with figures", file=sys.stderr)
        return 1
    if chosen.print:
        print("\n".join(page(found, "")))
        return 0
    drawn = picture_of(programs, allocators_of(programs))
    file = chosen.page.parent / "img" / f"{chosen.page.stem}.svg"
    if drawn:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(drawn, encoding="utf-8")
    SECTION.write(chosen.page, page(found, f"img/{file.name}" if drawn else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
