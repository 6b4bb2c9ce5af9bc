# SPDX-License-Identifier: MIT
"""Names, files and lines for the addresses of a profile."""
