#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: minisat.sh PROBLEM ANSWER
# minisat's exit status says which answer it found, 10 or 20: both are right here.
minisat -verb=0 "$1" "$2" >&2
status=$?
[ "$status" -eq 10 ] || [ "$status" -eq 20 ]
