/* SPDX-License-Identifier: MIT */
/* arena_table: see arena_table.h.  A separate file, so that a bin finds its arena without all dependencies of
 * arenas. */
#include "slab/arena_table.h"

_Atomic(struct hew_arena *) hew_arenas[HEW_ARENAS_MAX];
