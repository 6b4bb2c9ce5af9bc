/* SPDX-License-Identifier: MIT */
/* The plain names stand for those of a prefixed library. */
#define JEMALLOC_MANGLE
#define COMPAT(name) name
#include "header_all.h"
