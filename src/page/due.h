/* SPDX-License-Identifier: MIT */
/*
 * due: signals that all page heaps share: that a purger is wanted, and how large the heaps are.
 */
#ifndef HEW_PAGE_DUE_H
#define HEW_PAGE_DUE_H

#include "base/compiler.h"

#include <stdatomic.h>

/* Bytes mapped by all heaps.  Relaxed: only a hint for proportional decisions. */
extern _Atomic size_t hew_page_mapped;

/* Some heap has grown by a 16th since the last scan of where its memory lies.  Relaxed. */
extern _Atomic bool hew_page_grown;
#define HEW_PAGE_PEAK_FROM ((size_t)1 << 20) /* smaller heaps are not scanned */
#define HEW_PAGE_PEAK_PART 16

/*
 * A page heap raises this from 0 to 1 when its idle memory justifies a purger, or when the heaps have become large.
 * control/purger.c does everything else, and lowers it.  An odd number means that a caller of malloc or free has
 * work to do there before it returns.
 */
extern _Atomic uint32_t hew_page_due;

/* Once all heaps together map this many bytes, an allocation calls for a purger. */
#define HEW_PAGE_PURGER_STEP ((size_t)8 << 20)
extern _Atomic size_t hew_page_purger_from;

/* In a fork's child: calls for a purger once the heaps have grown by what a new process may have without one. */
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
