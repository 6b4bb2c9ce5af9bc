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

#define HEW_PAGE_BOUND_PARTS 64

/* All relaxed: numbers that need not agree with each other.  Without a limit only `known` is ever looked at. */
struct hew_page_bound {
    _Atomic bool known;     /* some limit is: the next one is kept */
    _Atomic ptrdiff_t held; /* bytes of all heaps that are in use, dirty or muzzy; put right at each look */
    _Atomic ptrdiff_t look; /* so many are a reason to look how near the limit is */
    _Atomic ptrdiff_t most; /* a heap refuses to take more */
    _Atomic size_t
        caches; /* all caches together should hold no more: SIZE_MAX where no limit was near at the last look */
    _Atomic uint8_t calls;  /* a thread that finds another number here than last time returns what its magazines hold */
    _Atomic unsigned parts; /* of HEW_PAGE_BOUND_PARTS: so much of what decay would keep may stay */
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

/* Whether `size` bytes more leave a quarter of every limit, as of the last look. */
HEW_INLINE bool
hew_page_bound_is_far(size_t size)
{
    return !hew_page_is_bounded() ||
           (atomic_load_explicit(&hew_page_bound.parts, memory_order_relaxed) == HEW_PAGE_BOUND_PARTS &&
            atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed) + (ptrdiff_t)size <
                atomic_load_explicit(&hew_page_bound.look, memory_order_relaxed));
}

/* What is left of `amount`, bytes or time that idle memory may stay by decay, as a limit comes nearer. */
HEW_INLINE size_t
hew_page_bound_part(size_t amount)
{
    unsigned parts = atomic_load_explicit(&hew_page_bound.parts, memory_order_relaxed);
    return HEW_LIKELY(parts == HEW_PAGE_BOUND_PARTS) ? amount : amount / HEW_PAGE_BOUND_PARTS * parts;
}

/* Memory was touched for the first time since it came from the system (bytes > 0), or went back. */
void hew_page_bound_count(ptrdiff_t bytes);

#endif
