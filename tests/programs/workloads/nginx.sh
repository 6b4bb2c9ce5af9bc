#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: nginx.sh CONFIGURATION RUN_DIRECTORY SITE PORT
# Becomes nginx, with the configuration's @RUN@, @SITE@ and @PORT@ filled in.
set -eu
sed -e "s|@RUN@|$2|g" -e "s|@SITE@|$3|g" -e "s|@PORT@|$4|g" "$1" >"$2/nginx.conf"
exec nginx -c "$2/nginx.conf" -p "$2" -e "$2/error.log"
