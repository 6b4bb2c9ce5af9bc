/* SPDX-License-Identifier: MIT */
/*
 * stats_due: reports that nobody calls for: at the end of the program, and each time so many bytes were allocated.
 */
#ifndef HEW_API_STATS_DUE_H
#define HEW_API_STATS_DUE_H

#include "base/compiler.h"

/* jemalloc's: `write` NULL is malloc_message, and that NULL standard error. */
void malloc_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters);

/* The whole report, once the library runs; `write` is not NULL. */
void hew_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters);

/* Once settings are known: what they ask for happens from now on.  May call malloc. */
void hew_stats_begin(void);

/* The calling thread has allocated `bytes` more.  Called without any lock of ours. */
void hew_stats_passed(uint64_t bytes);

/* In a fork's child: the thread that was printing is not here. */
void hew_stats_after_fork(void);

#endif
