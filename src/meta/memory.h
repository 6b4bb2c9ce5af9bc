/* SPDX-License-Identifier: MIT */
/*
 * memory: allocates hew's own metadata, apart from the program's memory.
 *
 * Owns      chunks of the metadata address space (space.h), never returned; freed pieces are kept by size and reused.
 * Promises  zero-filled memory aligned to a cache line; freed pieces stay mapped, so that a stale reader never faults.
 * The first chunk is a variable.  In libhew.so it lies behind pages of code, which are not writable; in a static
 * program among its other variables.  Thread-safe: hew_meta_lock, and one lock per CPU under contention.
 */
#ifndef HEW_META_MEMORY_H
#define HEW_META_MEMORY_H

#include "base/compiler.h"
#include "meta/piece.h"

#include <stdatomic.h>

/* NULL when the system has no more memory. */
void *hew_meta_take(size_t size);

/* The same, with undefined contents. */
void *hew_meta_take_raw(size_t size);

/* `size` is the requested size.  Above 32 KiB the piece's memory returns to the system; its addresses wait for the next
 * one. */
void hew_meta_give(void *piece, size_t size);

/* Whole pages, zero-filled, in no piece and no count, never freed.  NULL when the system refused. */
HEW_INLINE void *
hew_meta_take_pages(size_t size)
{
    return hew_piece_take_pages(size);
}

/* Whether so much is reserved already.  Not so where address space is limited. */
HEW_INLINE bool
hew_meta_has_pages(size_t size)
{
    return hew_piece_has_pages(size);
}

/* Unmaps what is reserved and unused, because address space has become scarce. */
HEW_INLINE void
hew_meta_narrow(void)
{
    hew_piece_narrow();
}

/* For statistics. */
struct hew_meta_usage hew_meta_usage(void);

/* True once threads have waited for hew_meta_lock: each CPU then has its own free pieces.  Never false again. */
extern HEW_HIDDEN _Atomic bool hew_meta_crowded;

/* Calls `act` with every lock of this layer's memory, in the order of ranks. */
void hew_meta_each_mutex(void (*act)(struct hew_mutex *mutex));

#endif
