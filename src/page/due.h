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

/* Raised to 1 when some heap holds enough idle memory for a purger to be worth its while, and when the heaps have become
 * large; lowered by the purger. */
extern _Atomic uint32_t hew_page_due;

HEW_INLINE void
hew_page_raise_due(void)
{
    uint32_t quiet = 0;
    if (atomic_load_explicit(&hew_page_due, memory_order_relaxed) == quiet) {
        atomic_compare_exchange_strong(&hew_page_due, &quiet, 1);
    }
}

#endif
