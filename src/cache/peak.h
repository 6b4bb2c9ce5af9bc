/* SPDX-License-Identifier: MIT */
/*
 * peak: the most bytes that a thread has held since it began to measure.
 *
 * Promises  a rise of up to 64 KiB between two looks may be missed.  Costs nothing before somebody asks.
 * Called    by the owning thread.
 */
#ifndef HEW_CACHE_PEAK_H
#define HEW_CACHE_PEAK_H

#include "cache/cache.h"

/* From now on, from zero. */
void hew_peak_begin(const struct hew_cache *cache);

/* Looks again; for hew_upcalls.attend when HEW_DUE_BYTES has come. */
void hew_peak_look(const struct hew_cache *cache);

/* A thread that has never begun begins here, with all that it holds. */
uint64_t hew_peak_read(const struct hew_cache *cache);

#endif
