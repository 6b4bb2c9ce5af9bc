# SPDX-License-Identifier: MIT
"""What `hew export` makes of statistics: one table a kind of subject, and the samples that follow from it."""
