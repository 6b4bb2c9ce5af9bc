# SPDX-License-Identifier: MIT
"""The rules of `hew advise`, one module each. A module's docstring is its chapter in docs/advice.md: what it looks
for, from which numbers on and why from there; `RULE` is the function. rules.py lists them."""
