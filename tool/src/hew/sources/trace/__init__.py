# SPDX-License-Identifier: MIT
"""Trace files: how they are made, packed and prepared (docs/trace.md)."""
