# SPDX-License-Identifier: MIT
"""Where facts come from: the file system, processes, the output of other programs. Imports model only."""
