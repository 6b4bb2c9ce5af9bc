/* SPDX-License-Identifier: MIT */
#include "cache/route.h"

#include "meta/map.h"
#include "slab/describe.h"
#include "slab/large.h"

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
give_large(unsigned code, void **objects, unsigned count)
{
    struct hew_extent *extents[AT_ONCE];
    for (unsigned i = 0; i < count; i++) {
        extents[i] = hew_map_extent((uintptr_t)objects[i]);
        __builtin_prefetch(extents[i], 1);
    }
    unsigned begin = 0;
    for (unsigned i = 0; i < count; i++) {
        struct hew_extent *extent = extents[i];
        if (HEW_UNLIKELY(extent == NULL || extent->address != (uintptr_t)objects[i] || extent->code != code ||
                extent->state != HEW_EXTENT_ACTIVE)) {
            hew_describe_bad_pointer("free", (uintptr_t)objects[i]);
        }
        if (extent->arena != extents[begin]->arena) {
            hew_large_give_some(extents + begin, i - begin);
            begin = i;
        }
    }
    hew_large_give_some(extents + begin, count - begin);
}

void
hew_route_give(unsigned code, void **objects, unsigned count)
{
    while (count > 0) {
        unsigned some = count < AT_ONCE ? count : AT_ONCE;
        if (code > HEW_CODE_SMALL_LAST) {
            give_large(code, objects, some);
        } else {
            give_small(code, objects, some);
        }
        objects += some;
        count -= some;
    }
}
