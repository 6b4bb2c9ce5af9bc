# SPDX-License-Identifier: MIT
"""What few commands need is not installed with the rest: extras of the package, and how to get one."""

import importlib.util
import shlex
import sys
from pathlib import Path

from hew.model.errors import HewError
from hew.sources.library import find_checkout

# The extra of pyproject.toml that brings a module.
EXTRA_OF = {
    "duckdb": "fleet",
    "numpy": "inspect",
    "optuna": "search",
    "sqlalchemy": "search",
    "textual": "top",
    "zstandard": "heaptrack",
}


def lacking(module: str) -> str | None:
    """What to say where a module of an extra cannot be imported: one line with the command that brings it."""
    extra = EXTRA_OF.get(module.partition(".")[0])
    if extra is None:
        return None
    checkout = find_checkout()
    what = shlex.quote(f"{checkout}[{extra}]" if checkout else f"hewmalloc[{extra}]")
    pip = Path(sys.prefix) / "bin" / "pip"
    command = f"{pip if checkout and pip.is_file() else 'pip'} install {'-e ' if checkout else ''}{what}"
    return f"this needs {module}, which is not installed: {command}"


def need(module: str) -> None:
    """HewError, before anything is begun, where a module of an extra is not there."""
    if importlib.util.find_spec(module) is None:
        raise HewError(lacking(module) or f"{module} is not installed")
