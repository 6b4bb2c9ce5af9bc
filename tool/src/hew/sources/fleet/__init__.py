# SPDX-License-Identifier: MIT
"""Where the series of a fleet come from: an engine with Prometheus's HTTP interface, or a folder of snapshots."""
