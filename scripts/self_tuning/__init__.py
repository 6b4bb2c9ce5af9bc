# SPDX-License-Identifier: MIT
"""What gen_self_tuning.py measures, judges and shows. Its modules use the tool's sources as they lie here."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tool/src"))
