# SPDX-License-Identifier: MIT
"""What a search may try, and what its findings say."""
