# SPDX-License-Identifier: MIT
"""The pages that are made from the tables of the code, one module a page; scripts/gen_pages.py runs them."""
