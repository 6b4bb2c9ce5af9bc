/* SPDX-License-Identifier: MIT */
#include "cache/route.h"

#include "meta/map.h"
#include "slab/describe.h"

#define AT_ONCE 64 /* objects looked up before the first lock is taken: their cache misses overlap */

/* Gives back those of `objects` that belong to the first one's arena; the others move to the front.  Returns how many
 * are left. */
static unsigned
give_one_arena(unsigned code, struct hew_bin_return *objects, unsigned count)
{
    struct hew_bin_return own[AT_ONCE];
    unsigned index = objects[0].slab->arena, owned = 0, left = 0;
    for (unsigned i = 0; i < count; i++) {
        if (objects[i].slab->arena == index) {
            own[owned++] = objects[i];
        } else {
            objects[left++] = objects[i];
        }
    }
    struct hew_arena *arena = hew_arena_at(index);
    enum hew_slab_verdict verdict;
    unsigned done = hew_bin_give(&arena->bins[code], &arena->pages, own, owned, &verdict);
    if (HEW_UNLIKELY(done < owned)) {
        hew_describe_bad_pointer("free", own[done].address);
    }
    return left;
}

static void
give_small(unsigned code, void **objects, unsigned count)
{
    struct hew_bin_return found[AT_ONCE];
    for (unsigned i = 0; i < count; i++) {
        found[i].address = (uintptr_t)objects[i];
        found[i].slab = hew_map_extent(found[i].address);
        __builtin_prefetch(&found[i].slab->inline_bits, 1);
    }
    for (unsigned i = 0; i < count; i++) {
        struct hew_extent *slab = found[i].slab;
        if (HEW_UNLIKELY(slab == NULL || slab->code != code || found[i].address - slab->address >= slab->size)) {
            hew_describe_bad_pointer("free", found[i].address);
        }
    }
    while (count > 0) {
        count = give_one_arena(code, found, count);
    }
}

static void
give_large(unsigned code, void *object)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    if (HEW_UNLIKELY(extent == NULL || extent->address != (uintptr_t)object || extent->code != code ||
            extent->state != HEW_EXTENT_ACTIVE)) {
        hew_describe_bad_pointer("free", (uintptr_t)object);
    }
    hew_arena_give_large(extent);
}

void
hew_route_give(unsigned code, void **objects, unsigned count)
{
    if (code > HEW_CODE_SMALL_LAST) {
        for (unsigned i = 0; i < count; i++) {
            give_large(code, objects[i]);
        }
        return;
    }
    while (count > 0) {
        unsigned some = count < AT_ONCE ? count : AT_ONCE;
        give_small(code, objects, some);
        objects += some;
        count -= some;
    }
}
