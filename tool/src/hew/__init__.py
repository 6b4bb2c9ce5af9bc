# SPDX-License-Identifier: MIT
"""The tool around the hew allocator: runs a program under it, and shows what that changes."""
