/* SPDX-License-Identifier: MIT */
/*
 * classes: tables of size classes: hew's own, jemalloc's, the textbooks', and user-defined ones.
 *
 * Owns      each table, by malloc, until classes_end().
 */
#ifndef HEW_TRACE_SIMULATE_CLASSES_H
#define HEW_TRACE_SIMULATE_CLASSES_H

#include "simulate/policy.h"

#define CLASSES_MAX 1024
#define CLASSES_SIZE_MAX UINT64_C(14336) /* largest size that hew and jemalloc allocate from slabs */

/* Each returns NULL without memory. */
struct policy_classes *classes_hew(bool fine);
struct policy_classes *classes_jemalloc(void);
struct policy_classes *classes_slab(void);
struct policy_classes *classes_powers(void);

/* All sizes that hew could use as classes, each with its slab: 8, and the multiples of 16 (malloc's alignment). */
struct policy_classes *classes_candidates(void);

/* Parses `NAME=SIZE,SIZE,...`: ascending sizes, multiples of 8 up to 14336.  NULL with a one-line message in `why`. */
struct policy_classes *classes_of_text(const char *text, char *why, size_t size);

void classes_end(struct policy_classes *classes);

#endif
