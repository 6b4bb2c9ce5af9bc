# SPDX-License-Identifier: MIT
"""One module per command: parse, call sources and analysis, hand the result to a view."""
