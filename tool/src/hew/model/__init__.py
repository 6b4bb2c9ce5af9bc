# SPDX-License-Identifier: MIT
"""Frozen data that the other packages exchange. Imports nothing of ours."""
