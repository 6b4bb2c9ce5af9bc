# SPDX-License-Identifier: MIT
"""Inputs made by rule: the same bytes every time, nothing large in the repository."""
