#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: commits.sh HOOKS COUNT
# Makes so many commits, each of three small files, in a repository with these hooks; prints what came of it.
set -eu
git init -q -b main repository
cd repository
git config core.hooksPath "$1"
git config user.name Nobody
git config user.email nobody@example.org
number=0
while [ "$number" -lt "$2" ]; do
    number=$((number + 1))
    for part in a b c; do
        echo "line $number of $part" >>"$part"
    done
    git add a b c
    GIT_AUTHOR_DATE="$((1600000000 + number)) +0000" GIT_COMMITTER_DATE="$((1600000000 + number)) +0000" \
        git commit -q -m "Change $number"
done
git log --format=%H | sort | uniq | wc -l
git rev-parse HEAD
