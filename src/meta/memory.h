/* SPDX-License-Identifier: MIT */
/*
 * memory: where hew's own data lives, apart from the program's.
 *
 * Owns      chunks of the address space of our own (space.h), never given back; freed pieces are kept by size and reused.
 * Promises  zero-filled memory aligned to a cache line; freed pieces stay mapped, so that a stale reader never faults.
 * The first chunk is a variable.  In libhew.so it lies behind pages of code that nobody can write; in a static program among its other
 * variables.
 * Thread-safe: hew_meta_lock, and one lock a CPU in a crowd.
 */
#ifndef HEW_META_MEMORY_H
#define HEW_META_MEMORY_H

#include "base/compiler.h"
#include "meta/piece.h"

#include <stdatomic.h>

/* NULL when the system has no more memory. */
void *hew_meta_take(size_t size);

/* The same with anything in it. */
void *hew_meta_take_raw(size_t size);

/* `size` is what was asked for.  Above 32 KiB the piece's memory goes back to the system; its addresses wait for the next one. */
void hew_meta_give(void *piece, size_t size);

/* Whole pages, zero-filled, in no piece and no count, for good.  NULL when the system refused. */
HEW_INLINE void *
hew_meta_take_pages(size_t size)
{
    return hew_piece_take_pages(size);
}

/* Address space has become scarce: what is reserved and not used goes back. */
HEW_INLINE void
hew_meta_narrow(void)
{
    hew_piece_narrow();
}

/* For statistics. */
struct hew_meta_usage hew_meta_usage(void);

/* Threads have waited for hew_meta_lock: each CPU has pieces of its own at hand.  Never false again. */
extern HEW_HIDDEN _Atomic bool hew_meta_crowded;

/* Calls `act` with every lock of the layer's memory, in the order of ranks. */
void hew_meta_each_mutex(void (*act)(struct hew_mutex *mutex));

#endif
