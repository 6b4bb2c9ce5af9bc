# SPDX-License-Identifier: MIT
"""Statistics of running processes that have no control socket of hew's."""
