/* SPDX-License-Identifier: MIT */
#define COMPAT(name) name
#include "header_all.h"

/* The numbers that are compiled into programs, and the layout that they hand over. */
_Static_assert(MALLOCX_ALIGN(1) == 0 && MALLOCX_ALIGN(4096) == 12 && MALLOCX_ALIGN((size_t)1 << 40) == 40, "alignment");
_Static_assert(MALLOCX_ZERO == 0x40 && MALLOCX_TCACHE_NONE == 0x100 && MALLOCX_TCACHE(0) == 0x200, "cache");
_Static_assert(MALLOCX_ARENA(0) == 0x100000 && MALLOCX_ARENA(4094u) == (int)0xfff00000, "arena");
_Static_assert(MALLCTL_ARENAS_ALL == 4096 && MALLCTL_ARENAS_DESTROYED == 4097, "indices");
_Static_assert(sizeof(extent_hooks_t) == 9 * sizeof(void *), "hooks");
_Static_assert(offsetof(extent_hooks_t, merge) == 8 * sizeof(void *), "hooks");
