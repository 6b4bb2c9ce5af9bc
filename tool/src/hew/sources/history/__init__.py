# SPDX-License-Identifier: MIT
"""What `hew watch` records: looks at processes, as lines of a file that stays within its bytes."""
