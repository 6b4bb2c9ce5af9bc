# SPDX-License-Identifier: MIT
"""Reads a table of suites (bench/suites.toml) and says which of its workloads can run here."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hew.model.allocator import Unusable
from hew.model.bench import Suite, Workload
from hew.model.errors import HewError
from hew.model.run import CommandPlan, ServerPlan
from hew.sources.executable import find_command
from hew.sources.library import find_checkout

TABLE = "bench/suites.toml"
PLACES = {"{programs}": "build/release/bench", "{inputs}": "build/bench/inputs", "{root}": "."}
MAKE_INPUTS = "python3 bench/programs/make_inputs.py"


def default_table() -> Path:
    """The table of the checkout that the tool lies in."""
    checkout = find_checkout()
    if checkout is None:
        raise HewError(f"{TABLE} is in the source checkout, and this is an installed tool: name a table with --suites")
    return checkout / TABLE


def read_suite(table: Path, name: str, environment: Mapping[str, str]) -> Suite:
    """One suite of a table."""
    try:
        rows = tomllib.loads(table.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise HewError(f"{table}: {error}") from error
    suites = rows.get("suites", {})
    if name not in suites:
        raise HewError(f"{table} has no suite {name!r}, only {', '.join(suites)}")
    root = table.absolute().parent.parent
    places = {mark: str((root / folder).resolve()) for mark, folder in PLACES.items()}
    found, left_out = [], []
    for row in rows.get("workloads", []):
        if name not in row.get("in", {}):
            continue
        try:
            workload = _workload(row, name, suites[name], places)
            _require(workload.plan, _words(row, "needs", places), environment)
            found.append(workload)
        except HewError as error:
            left_out.append(Unusable(row.get("name", "?"), str(error)))
        except (KeyError, TypeError) as error:
            raise HewError(
                f"{table}: workload {row.get('name', '?')}: {error!r} is missing or of another kind"
            ) from error
    return Suite(name, tuple(found), tuple(left_out), frozenset(rows.get("slow_peers", ())))


def _words(row: Mapping[str, Any], key: str, places: Mapping[str, str]) -> tuple[str, ...]:
    """The words of one key, with the folders of this checkout in them."""
    found = []
    for word in map(str, row.get(key, ())):
        for mark, folder in places.items():
            word = word.replace(mark, folder)  # noqa: PLW2901
        found.append(word)
    return tuple(found)


def _require(plan: CommandPlan | ServerPlan, needs: Sequence[str], environment: Mapping[str, str]) -> None:
    """Complains of a program or an input that is not here."""
    commands = (plan.server, plan.client) if isinstance(plan, ServerPlan) else (plan.command,)
    for word in (*(words[0] for words in commands), *(one for one in needs if "/" not in one)):
        find_command(word, environment)
    for file in needs:
        if "/" in file and not Path(file).exists():
            raise HewError(f"{file} is not there: {MAKE_INPUTS} makes it if it can")


def _workload(row: Mapping[str, Any], suite: str, settings: Mapping[str, Any], places: Mapping[str, str]) -> Workload:
    def words(key: str) -> tuple[str, ...]:
        return _words(row, key, places)

    timeout = float(settings.get("timeout", 300))
    curve = row.get("curve", False)
    command = (*words("command"), *_words(row["in"], suite, places))
    plan: CommandPlan | ServerPlan
    if "server" in row:
        plan = ServerPlan(words("server"), words("ready") or None, command, timeout)
    else:
        plan = CommandPlan(command, Path(os.devnull), timeout, points=curve or row.get("points", False))
    runs, warmup = (settings["curve_runs"], 0) if curve else (settings["runs"], settings["warmup"])
    runs = row.get("runs", {}).get(suite, runs)
    return Workload(row["name"], row["group"], plan, curve, runs, warmup)
