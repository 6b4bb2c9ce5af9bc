# SPDX-License-Identifier: MIT
"""glibc's malloc, read in the memory of another process: nothing in that process runs, stops or changes."""
