# SPDX-License-Identifier: MIT
"""docs/fleet_rules.yml, from tool/src/hew/analysis/fleet/recorded.py."""

import importlib
import sys
from pathlib import Path

from pages.page import Page


def page(root: Path) -> str:
    """The whole text."""
    sys.path.insert(0, str(root / "tool/src"))
    try:
        return str(importlib.import_module("hew.analysis.fleet.recorded").rules())
    finally:
        sys.path.pop(0)


PAGE = Page("fleet-rules", "docs/fleet_rules.yml", page)
