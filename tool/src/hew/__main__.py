# SPDX-License-Identifier: MIT
"""`python -m hew` is `hew`."""

from hew.cli import main

main(prog_name="hew")
