# SPDX-License-Identifier: MIT
"""Lets the tests of scripts/ import the scripts by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
