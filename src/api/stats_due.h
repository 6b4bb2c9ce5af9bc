/* SPDX-License-Identifier: MIT */
/*
 * stats_due: prints reports automatically: at the end of the program, and after every interval of allocated bytes.
 */
#ifndef HEW_API_STATS_DUE_H
#define HEW_API_STATS_DUE_H

#include "base/compiler.h"

/* jemalloc's function.  `write` NULL means malloc_message; if that is NULL too, standard error. */
void malloc_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters);

/* Prints the whole report; call once the library runs.  `write` is not NULL. */
void hew_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters);

/* Call once the settings are known: starts the reports that they request.  May call malloc. */
void hew_stats_begin(void);

/* The calling thread has allocated `bytes` more.  Call without any of hew's locks. */
void hew_stats_passed(uint64_t bytes);

/* Call in a fork's child, where the thread that was printing does not exist. */
void hew_stats_after_fork(void);

#endif
