/* SPDX-License-Identifier: MIT */
/*
 * sets: pool sets below api/, as their tests use them.
 */
#ifndef HEW_TESTS_UNIT_POOL_SETS_H
#define HEW_TESTS_UNIT_POOL_SETS_H

#include "layers_alloc.h"
#include "pool/fast.h"
#include "pool/life.h"
#include "pool/serve.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MANY 20000

static void *objects[MANY];

static inline struct hew_pool_set *
begin(const struct hew_pool_size *sizes, size_t count, const struct hew_pool_options *options)
{
    int error;
    static bool booted;
    booted = booted || layers_boot();
    return hew_pool_life_begin(sizes, count, options, &error);
}

static inline void *
take(struct hew_pool_set *set, size_t size)
{
    void *object = hew_pool_fast_take(set, size);
    return object != NULL ? object : hew_pool_serve(set, size, false);
}

static inline void
give(struct hew_pool_set *set, void *object)
{
    if (!hew_pool_fast_give(set, object) && !hew_pool_fast_give_dynamic(set, object)) {
        hew_pool_serve_free(set, "free", object);
    }
}

static inline struct hew_pool_figures
figures_of(struct hew_pool_set *set, unsigned number)
{
    struct hew_pool_figures figures[HEW_POOL_SIZES_MAX];
    hew_pool_life_figures(set, NULL, figures, HEW_POOL_SIZES_MAX);
    return figures[number];
}

static inline void
take_many(struct hew_pool_set *set, size_t size, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        objects[i] = take(set, size);
    }
}

static inline void
give_many(struct hew_pool_set *set, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        give(set, objects[i]);
    }
}

static const struct hew_pool_size hundred[] = {{64, 100}};

#endif
