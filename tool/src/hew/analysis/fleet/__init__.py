# SPDX-License-Identifier: MIT
"""Computes a fleet's savings, its advice, and a rollout's effect: pure functions over the answers of a source."""
