# SPDX-License-Identifier: MIT
"""What `hew export` reads and writes: many processes at once, dumps, its web server, remote write and the queue."""
