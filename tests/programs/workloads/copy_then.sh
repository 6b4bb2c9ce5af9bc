#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: copy_then.sh FROM TO COMMAND...
# Copies a prepared data directory for this run, then becomes the command.
set -eu
cp -a "$1" "$2"
shift 2
exec "$@"
