# SPDX-License-Identifier: MIT
"""A heap profile as text, collapsed stacks, profile.proto, or one page."""
