#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: lines.sh FILE
# Prints many coloured lines, then notes in the file that all were printed.
number=0
while [ "$number" -lt 20000 ]; do
    printf '\033[3%dm%06d the quick brown fox jumps over the lazy dog\033[0m\n' "$((number % 8))" "$number"
    number=$((number + 1))
done
echo "$number" >"$1"
