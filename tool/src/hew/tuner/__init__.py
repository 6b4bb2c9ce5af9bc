# SPDX-License-Identifier: MIT
"""Proposes what to try next. Knows nothing of how it is measured."""
