#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: redis_checks.sh PORT DIRECTORY
# Reads back what the script of commands has built; saves it from a forked child; reloads it; asks for memory reports.
set -eu
ask() { redis-cli -p "$port" "$@"; }
port=$1
ask dbsize
ask debug digest
ask bgsave >/dev/null
while [ "$(ask info persistence | tr -d '\r' | sed -n 's/^rdb_bgsave_in_progress://p')" != 0 ]; do sleep 0.1; done
ask info persistence | tr -d '\r' | grep '^rdb_last_bgsave_status'
test -s "$2/dump.rdb" && echo saved
ask debug reload
ask debug digest
ask memory purge
ask memory stats >/dev/null && echo memory stats answered
ask memory malloc-stats >/dev/null && echo malloc stats answered
ask config set activedefrag yes 2>&1 | cut -c 1-60
ask bgrewriteaof
ask debug change-repl-id
ask --eval /dev/stdin <<'LUA'
local total = 0
for number = 1, 20000 do
    local name = 'lua:' .. (number % 500)
    redis.call('SET', name, string.rep(tostring(number), number % 300))
    total = total + redis.call('STRLEN', name)
end
return total
LUA
ask debug digest
