/* SPDX-License-Identifier: MIT */
/*
 * stats: reports that nobody calls for: at the end of the program, and each time so many bytes were allocated.
 */
#ifndef HEW_API_STATS_H
#define HEW_API_STATS_H

#include "base/compiler.h"

/* jemalloc's: `write` NULL is malloc_message, and that NULL standard error. */
void malloc_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters);

/* Once settings are known: what they ask for happens from now on.  May call malloc. */
void hew_stats_begin(void);

/* The calling thread has allocated `bytes` more.  Called without any lock of ours. */
void hew_stats_passed(uint64_t bytes);

#endif
