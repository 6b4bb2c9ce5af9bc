# SPDX-License-Identifier: MIT
"""Reads a table of suites (bench/suites.toml) and says which of its workloads can run here."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hew.model.allocator import Unusable
from hew.model.bench import Suite, Workload
from hew.model.errors import HewError
from hew.model.run import CommandPlan, ServerPlan
from hew.sources.executable import find_command
from hew.sources.library import find_checkout

TABLE = "bench/suites.toml"
PROGRAMS = "build/release/bench"


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
    programs = table.absolute().parent.parent / PROGRAMS
    found, left_out = [], []
    for row in rows.get("workloads", []):
        if name not in row.get("in", {}):
            continue
        try:
            workload = _workload(row, name, suites[name], programs)
            plan = workload.plan
            needed = (plan.server, plan.client) if isinstance(plan, ServerPlan) else (plan.command,)
            for words in needed:
                find_command(words[0], environment)
            found.append(workload)
        except HewError as error:
            left_out.append(Unusable(row.get("name", "?"), str(error)))
        except (KeyError, TypeError) as error:
            raise HewError(
                f"{table}: workload {row.get('name', '?')}: {error!r} is missing or of another kind"
            ) from error
    return Suite(name, tuple(found), tuple(left_out), frozenset(rows.get("slow_peers", ())))


def _workload(row: Mapping[str, Any], suite: str, settings: Mapping[str, Any], programs: Path) -> Workload:
    def words(key: str) -> tuple[str, ...]:
        return tuple(str(word).replace("{programs}", str(programs)) for word in row.get(key, ()))

    timeout = float(settings.get("timeout", 300))
    curve = row.get("curve", False)
    command = (*words("command"), *map(str, row["in"][suite]))
    plan: CommandPlan | ServerPlan
    if "server" in row:
        plan = ServerPlan(words("server"), words("ready") or None, command, timeout)
    else:
        plan = CommandPlan(command, Path(os.devnull), timeout, points=curve or row.get("points", False))
    runs, warmup = (settings["curve_runs"], 0) if curve else (settings["runs"], settings["warmup"])
    return Workload(row["name"], row["group"], plan, curve, runs, warmup)
