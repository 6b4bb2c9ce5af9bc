# SPDX-License-Identifier: MIT
"""Heap profiles: their formats, and how a process or a command comes to write one."""
