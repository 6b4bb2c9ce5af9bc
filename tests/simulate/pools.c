/* SPDX-License-Identifier: MIT */
/* pools: see pools.h. */
#include "pools.h"

#include "machine.h"
#include "operations.h"
#include "tested.h"

#include <hew/pool.h>

#define SIZES 5

static struct hew_pool_set *set;

void
pools_begin(void)
{
    static const size_t counts[] = {0, 1, 30, 500};
    struct hew_pool_size sizes[SIZES];
    struct hew_pool_options options = {
        .fixed_only = machine_below(4) == 0,
        .dynamic_count = machine_below(2) * (1 + machine_below(100)),
        .at_hand = machine_below(2) * (1 + machine_below(8)),
        .release_ms = machine_below(2) * 10,
        .check = (enum hew_pool_check)machine_below(3),
    };
    for (unsigned i = 0; i < SIZES; i++) {
        sizes[i] = (struct hew_pool_size){1 + machine_below(i == 0 ? 20000 : 600), counts[machine_below(4)]};
    }
    set = hew_pool_create(sizes, 1 + machine_below(SIZES), &options);
    operations_say("hew_pool_create -> %p", (void *)set);
}

bool
pools_there(void)
{
    return set != NULL;
}

void *
pools_take(size_t size, bool zero)
{
    void *object = zero ? hew_pool_calloc(set, 1, size) : hew_pool_malloc(set, size);
    if (object != NULL && hew_pool_of(object) != set) {
        hew_pool_free(set, object);
        object = NULL;
    }
    return object;
}

void
pools_give(void *object)
{
    if (machine_below(2) == 0) {
        tested_free(object);
    } else {
        hew_pool_free(set, object);
    }
}

void
pools_trim(void)
{
    if (set != NULL) {
        operations_say("hew_pool_trim -> %zu", hew_pool_trim(set));
    }
}

void
pools_end(void)
{
    int result = set == NULL ? 0 : hew_pool_destroy(set);
    if (result != 0) {
        machine_finding("pools: %d from hew_pool_destroy, though every object was freed", result);
    }
    set = NULL;
}
