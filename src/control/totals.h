/* SPDX-License-Identifier: MIT */
/*
 * totals: the process's memory in a few numbers, summed over all arenas.
 */
#ifndef HEW_CONTROL_TOTALS_H
#define HEW_CONTROL_TOTALS_H

#include "base/compiler.h"
#include "base/text.h"

struct hew_totals { /* bytes, but for arenas and threads */
    size_t allocated; /* in objects that the program or a thread cache holds */
    size_t cached;    /* of these, in thread caches */
    size_t active;    /* in pages that hold slabs and large objects */
    size_t dirty, muzzy, retained;
    size_t mapped;   /* address space of all regions */
    size_t metadata; /* hew's own data */
    unsigned arenas, threads;
    uint64_t purged;
};

/* Takes every lock in turn: each number is right, their sum is as of about now. */
struct hew_totals hew_totals_read(void);

/* The same for people. */
void hew_totals_describe(struct hew_text *text);

#endif
