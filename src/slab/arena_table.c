/* SPDX-License-Identifier: MIT */
/* arena_table: see arena_table.h.  A file of its own, so that a bin finds its arena without all that arenas are made of. */
#include "slab/arena_table.h"

_Atomic(struct hew_arena *) hew_arenas[HEW_ARENAS_MAX];
