/* SPDX-License-Identifier: MIT */
/*
 * arena_table: maps an arena's number to the arena, for every caller that has an extent.
 *
 * Its entries are atomic: release when made, acquire when read.  arena.c changes the table, under hew_arenas_lock.
 */
#ifndef HEW_SLAB_ARENA_TABLE_H
#define HEW_SLAB_ARENA_TABLE_H

#include "base/compiler.h"

#include <stdatomic.h>

#define HEW_ARENAS_MAX 4096

struct hew_arena;

extern _Atomic(struct hew_arena *) hew_arenas[HEW_ARENAS_MAX];

HEW_INLINE struct hew_arena *
hew_arena_at(unsigned index)
{
    return atomic_load_explicit(&hew_arenas[index], memory_order_acquire);
}

#endif
