# SPDX-License-Identifier: MIT
"""Where the series of a fleet come from: an engine with the Prometheus HTTP interface, or a folder of recorded snapshots."""
