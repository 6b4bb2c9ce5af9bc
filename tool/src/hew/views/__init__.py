# SPDX-License-Identifier: MIT
"""How results look: terminal table, JSON, HTML page. Imports model only, never sources."""
