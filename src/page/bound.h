/* SPDX-License-Identifier: MIT */
/*
 * bound: how much memory all page heaps hold, where somebody has set a limit to it.
 *
 * Not here  which limits there are, and what is done near one: alloc/pressure.c.
 */
#ifndef HEW_PAGE_BOUND_H
#define HEW_PAGE_BOUND_H

#include "base/compiler.h"

#include <stdatomic.h>

/* All relaxed: numbers that need not agree with each other.  Without a limit only `known` is ever looked at. */
struct hew_page_bound {
    _Atomic bool known;      /* some limit is: the next one is kept */
    _Atomic ptrdiff_t held;  /* bytes of all heaps that are in use, dirty or muzzy; put right at each look */
    _Atomic ptrdiff_t look;  /* so many are a reason to look how near the limit is */
    _Atomic ptrdiff_t most;  /* a heap refuses to take more */
    _Atomic bool near;       /* as of the last look, little is left of some limit: caches should hold little */
    _Atomic uint32_t raised; /* 1: `look` was reached, and nobody has looked yet */
};
extern struct hew_page_bound hew_page_bound;

HEW_INLINE bool
hew_page_is_bounded(void)
{
    return HEW_UNLIKELY(atomic_load_explicit(&hew_page_bound.known, memory_order_relaxed));
}

/* Whether `size` bytes more are allowed. */
bool hew_page_bound_allows(size_t size);

/* Memory was touched for the first time since it came from the system (bytes > 0), or went back. */
void hew_page_bound_count(ptrdiff_t bytes);

#endif
