# SPDX-License-Identifier: MIT
"""The web server of `hew serve`, and the looks that it needs."""
