#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: filled.sh CONFIGURATION RUN_DIRECTORY INPUTS PORT COMMAND...
# Writes the configuration into the run directory, its @RUN@, @INPUTS@ and @PORT@ filled in, then becomes the command.
set -eu
sed -e "s|@RUN@|$2|g" -e "s|@INPUTS@|$3|g" -e "s|@PORT@|$4|g" "$1" >"$2/${1##*/}"
shift 4
exec "$@"
