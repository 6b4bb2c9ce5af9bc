# SPDX-License-Identifier: MIT
"""What a heap profile says: by function, by stack, as a tree, against an older one."""
