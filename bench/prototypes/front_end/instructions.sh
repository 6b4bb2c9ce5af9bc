#!/bin/sh
# SPDX-License-Identifier: MIT
# Instructions for each malloc and each free by callgrind, slow paths included: a Markdown table.
# usage: ./instructions.sh [build directory]
set -eu
build=${1:-build}
echo "| | lifo 64 B | 1000 x 128 B | random replacement <= 512 B, 1000 live |"
echo "|---|---|---|---|"
for front in array array-depot chain pages; do
    row="| $front |"
    for kind in lifo batch replace; do
        out=$build/callgrind.out
        valgrind --tool=callgrind --callgrind-out-file="$out" "$build/instructions-$front" $kind 2>/dev/null
        cost() {
            callgrind_annotate --inclusive=yes --threshold=100 "$out" | tr -d , |
                awk -v f="$1" '$2 ~ /%/ && $3 ~ "^[a-z_]*[.][ch]:" f "$" { n += $1 } END { printf "%.1f", n / 100000 }'
        }
        row="$row $(cost proto_malloc) + $(cost proto_free) |"
    done
    echo "$row"
done
