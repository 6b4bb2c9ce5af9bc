/* SPDX-License-Identifier: MIT */
/*
 * sizes: the sizes and alignments that a program requests, and the number of live objects of each over time and at the
 * peak.
 *
 * Owns      a table of 8-byte steps up to the largest slab size, for each alignment from 16 to 4096.
 */
#ifndef HEW_TRACE_SIMULATE_SIZES_H
#define HEW_TRACE_SIMULATE_SIZES_H

#include "format/reader.h"
#include "simulate/classes.h"

#define SIZES_STEPS (CLASSES_SIZE_MAX / 8 + 1)
#define SIZES_LG_ALIGN 4
#define SIZES_ALIGNS 9 /* 16 to 4096 */

struct sizes_row {
    uint64_t allocations;
    uint64_t live;
    uint64_t at_peak; /* objects at the peak of live bytes, within 1/256 */
    uint64_t since;   /* the operation up to which `area` is computed */
    double area;      /* objects times operations */
};

struct sizes {
    struct sizes_row (*rows)[SIZES_STEPS];
    uint8_t *aligns; /* by slot: the alignment's row, needed by a free */
    uint64_t room;
    uint64_t operation;
    uint64_t live;   /* bytes */
    uint64_t marked; /* live bytes at the last recorded peak */
};

bool sizes_begin(struct sizes *sizes);
void sizes_end(struct sizes *sizes);

/* One operation of the merge.  False: no memory. */
bool sizes_take(struct sizes *sizes, const struct hew_trace_operation *operation);

/* Updates every row's area to the last operation. */
void sizes_finish(struct sizes *sizes);

#endif
