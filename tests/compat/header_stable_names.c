/* SPDX-License-Identifier: MIT */
/* As Debian's Redis is compiled: je_malloc stands for whatever the function is called. */
#define JEMALLOC_NO_DEMANGLE
#define COMPAT(name) je_##name
#include "header_all.h"
