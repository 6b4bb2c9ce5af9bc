/* SPDX-License-Identifier: MIT */
/*
 * lookup_plan: chooses the lookup method for a table of sizes, and its entry count.  Pure functions of the table.
 */
#ifndef HEW_POOL_LOOKUP_PLAN_H
#define HEW_POOL_LOOKUP_PLAN_H

#include "hew/pool_lookup.h"

#include "base/compiler.h"

#define HEW_POOL_DOUBLINGS 64

struct hew_pool_lookup_plan {
    enum hew_pool_lookup_method method; /* AUTO: this method is impossible for the table */
    bool direct;                        /* FLAT: sizes end stretches; none is inside one */
    unsigned shift;                     /* FLAT: a stretch is 2^shift sizes */
    uint32_t entries;                   /* FLAT and DOUBLING: including one that ends the last stretch */
    unsigned most;                      /* FLAT and DOUBLING: most declared sizes in one stretch */
    struct hew_pool_lookup_doubling doublings[HEW_POOL_DOUBLINGS]; /* DOUBLING */
};

void hew_pool_lookup_plan(struct hew_pool_lookup_plan *plan, const size_t *sizes, unsigned count,
                          enum hew_pool_lookup_method method);

#endif
