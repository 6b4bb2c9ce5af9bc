/* SPDX-License-Identifier: MIT */
/*
 * sizes: which sizes and alignments a program asks for, how many objects of each live over time and at its peak.
 *
 * Owns      a table of 8-byte steps up to the largest size that slabs serve, for each alignment from 16 to 4096.
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
    uint64_t at_peak; /* when most bytes lived, within 1/256 */
    uint64_t since;   /* the operation up to which the area is */
    double area;      /* objects times operations */
};

struct sizes {
    struct sizes_row (*rows)[SIZES_STEPS];
    uint8_t *aligns; /* by slot: the row's alignment, so that a free finds it */
    uint64_t room;
    uint64_t operation;
    uint64_t live;   /* bytes */
    uint64_t marked; /* bytes when the last peak was taken */
};

bool sizes_begin(struct sizes *sizes);
void sizes_end(struct sizes *sizes);

/* One operation of the merge.  False: no memory. */
bool sizes_take(struct sizes *sizes, const struct hew_trace_operation *operation);

/* Brings every row's area up to the last operation. */
void sizes_finish(struct sizes *sizes);

#endif
