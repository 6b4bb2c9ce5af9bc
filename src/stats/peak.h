/* SPDX-License-Identifier: MIT */
/*
 * peak: where the memory was when the heaps held most, by cause.
 *
 * Promises  a look at each growth by a 16th of the heap that grows: the peak is missed by that at most.  What the parts show is of one
 *           moment as far as no other thread works meanwhile.
 * Locks     hew_stats_lock; who finds it held leaves the look to the next one.
 * Not here  when a heap has grown by so much: page/heap.c.
 */
#ifndef HEW_STATS_PEAK_H
#define HEW_STATS_PEAK_H

#include "stats/fields.h"

/* Looks, when a heap has grown.  By any thread, without any lock of ours. */
void hew_stats_peak_look(void);

/* All 0 while no heap has held HEW_PAGE_PEAK_FROM bytes. */
struct hew_stats_peak hew_stats_peak(void);

#endif
