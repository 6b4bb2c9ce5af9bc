# SPDX-License-Identifier: MIT
"""Changes the allocator of a running process: docs/swap.md."""
