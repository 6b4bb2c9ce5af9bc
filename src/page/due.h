/* SPDX-License-Identifier: MIT */
/*
 * due: what all page heaps say together: that a purger is wanted, and how large they are.
 */
#ifndef HEW_PAGE_DUE_H
#define HEW_PAGE_DUE_H

#include "base/compiler.h"

#include <stdatomic.h>

/* Bytes of all heaps' mappings: relaxed, a hint for what is in proportion. */
extern _Atomic size_t hew_page_mapped;

/* A heap has grown by a 16th since somebody last looked where its memory is; relaxed. */
extern _Atomic bool hew_page_grown;
#define HEW_PAGE_PEAK_FROM ((size_t)1 << 20) /* a smaller heap is not looked at */
#define HEW_PAGE_PEAK_PART 16

/*
 * Raised from 0 to 1 when some heap holds enough idle memory for a purger to be worth its while, and when the heaps have
 * become large.  All else is up to control/purger.c, which lowers it: an odd number means that a caller of malloc or free
 * has something to do there before it returns.
 */
extern _Atomic uint32_t hew_page_due;

/* The size of all heaps' mappings from which on a purger is called for while memory is taken. */
#define HEW_PAGE_PURGER_STEP ((size_t)8 << 20)
extern _Atomic size_t hew_page_purger_from;

/* In a fork's child: a purger is called for once the heaps have grown by as much as a new process may have without one. */
void hew_page_await_purger(void);

HEW_INLINE void
hew_page_raise_due(void)
{
    uint32_t quiet = 0;
    if (atomic_load_explicit(&hew_page_due, memory_order_relaxed) == quiet) {
        atomic_compare_exchange_strong(&hew_page_due, &quiet, 1);
    }
}

#endif
