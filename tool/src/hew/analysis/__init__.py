# SPDX-License-Identifier: MIT
"""Pure functions over the model: schedules, statistics, verdicts. No clock, no file, no process."""
