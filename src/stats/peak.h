/* SPDX-License-Identifier: MIT */
/*
 * peak: a breakdown of the memory at the moment when the heaps held most.
 *
 * Promises  a sample each time a heap grows by a 16th, so the peak is missed by at most that.  The parts are of one
 *           moment only if no other thread works meanwhile.
 * Locks     hew_stats_lock; a thread that finds it held skips its sample.
 * Not here  detecting that a heap has grown by a 16th: page/heap.c.
 */
#ifndef HEW_STATS_PEAK_H
#define HEW_STATS_PEAK_H

#include "stats/fields.h"

/* Takes a sample after a heap has grown.  Any thread may call it, without holding a lock of hew. */
void hew_stats_peak_look(void);

/* All zeros until a heap has held HEW_PAGE_PEAK_FROM bytes. */
struct hew_stats_peak hew_stats_peak(void);

#endif
