# SPDX-License-Identifier: MIT
"""Reads what malloc_stats_print writes, as JSON or text, of jemalloc 5.2 to 5.3 and of hew, whole or damaged."""
