/* SPDX-License-Identifier: MIT */
/*
 * bound: how much memory all page heaps may hold when the process has a memory limit.
 *
 * Not here  which limits exist, and what happens near one: alloc/pressure.c.
 */
#ifndef HEW_PAGE_BOUND_H
#define HEW_PAGE_BOUND_H

#include "base/compiler.h"

#include <stdatomic.h>

#define HEW_PAGE_BOUND_PARTS 64

/* All fields are relaxed: they need not agree with each other.  Without a limit only `known` is read. */
struct hew_page_bound {
    _Atomic bool known;      /* a limit exists: the other fields are maintained */
    _Atomic ptrdiff_t held;  /* bytes in use, dirty or muzzy in all heaps; each check corrects it */
    _Atomic ptrdiff_t look;  /* from this many bytes on, check how near the limit is */
    _Atomic ptrdiff_t most;  /* above this a heap refuses allocations */
    _Atomic size_t caches;   /* target for all caches together; SIZE_MAX if the last check found no limit near */
    _Atomic uint8_t calls;   /* changes: each thread then flushes its magazines */
    _Atomic unsigned parts;  /* of HEW_PAGE_BOUND_PARTS: the part of decay's allowance that may stay */
    _Atomic uint32_t raised; /* 1: `look` was reached, and no check has run since */
};
extern struct hew_page_bound hew_page_bound;

HEW_INLINE bool
hew_page_is_bounded(void)
{
    return HEW_UNLIKELY(atomic_load_explicit(&hew_page_bound.known, memory_order_relaxed));
}

/* Returns whether the heaps may allocate `size` more bytes. */
bool hew_page_bound_allows(size_t size);

/* Returns whether a quarter of every limit stays free after `size` more bytes, as of the last check. */
HEW_INLINE bool
hew_page_bound_is_far(size_t size)
{
    return !hew_page_is_bounded() ||
           (atomic_load_explicit(&hew_page_bound.parts, memory_order_relaxed) == HEW_PAGE_BOUND_PARTS &&
            atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed) + (ptrdiff_t)size <
                atomic_load_explicit(&hew_page_bound.look, memory_order_relaxed));
}

/* Scales `amount`, the bytes or the time that decay allows idle memory to stay, down as a limit comes nearer. */
HEW_INLINE size_t
hew_page_bound_part(size_t amount)
{
    unsigned parts = atomic_load_explicit(&hew_page_bound.parts, memory_order_relaxed);
    return HEW_LIKELY(parts == HEW_PAGE_BOUND_PARTS) ? amount : amount / HEW_PAGE_BOUND_PARTS * parts;
}

/* Counts memory that is touched for the first time since it came from the system (bytes > 0), or that went back. */
void hew_page_bound_count(ptrdiff_t bytes);

#endif
