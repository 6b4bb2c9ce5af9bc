/* SPDX-License-Identifier: MIT */
/*
 * recent: the words of a block whose objects were freed last on one processor.
 *
 * An object freed last is most likely still in that processor's cache, whichever thread allocates it next.  So the most
 * recent word is tried first.  This is a bounded stack that overwrites its oldest entries.  Entries are hints: threads
 * on one processor may overwrite each other's.
 */
#ifndef HEW_POOL_RECENT_H
#define HEW_POOL_RECENT_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEW_POOL_RECENT_WORDS 32

struct hew_pool_recent {
    _Atomic uint32_t top;                          /* increases without bound; index modulo the number of words */
    _Atomic uint32_t words[HEW_POOL_RECENT_WORDS]; /* word index + 1; 0: none */
} HEW_ALIGNED(HEW_CACHE_LINE);

/* The newest word; false: none. */
HEW_INLINE bool
hew_pool_recent_top(const struct hew_pool_recent *recent, size_t *word)
{
    uint32_t top = atomic_load_explicit(&recent->top, memory_order_relaxed);
    uint32_t entry = atomic_load_explicit(&recent->words[top % HEW_POOL_RECENT_WORDS], memory_order_relaxed);
    *word = entry - 1;
    return entry != 0;
}

HEW_INLINE void
hew_pool_recent_push(struct hew_pool_recent *recent, size_t word)
{
    uint32_t top = atomic_load_explicit(&recent->top, memory_order_relaxed), entry = (uint32_t)word + 1;
    if (atomic_load_explicit(&recent->words[top % HEW_POOL_RECENT_WORDS], memory_order_relaxed) != entry &&
        entry == word + 1) {
        atomic_store_explicit(&recent->words[(top + 1) % HEW_POOL_RECENT_WORDS], entry, memory_order_relaxed);
        atomic_store_explicit(&recent->top, top + 1, memory_order_relaxed);
    }
}

HEW_INLINE void
hew_pool_recent_pop(struct hew_pool_recent *recent)
{
    uint32_t top = atomic_load_explicit(&recent->top, memory_order_relaxed);
    atomic_store_explicit(&recent->words[top % HEW_POOL_RECENT_WORDS], 0, memory_order_relaxed);
    atomic_store_explicit(&recent->top, top - 1, memory_order_relaxed);
}

#endif
