# SPDX-License-Identifier: MIT
"""What a fleet can get back, what to change, what a rollout did: pure functions over the answers of a source."""
