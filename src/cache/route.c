/* SPDX-License-Identifier: MIT */
#include "cache/route.h"

#include "meta/map.h"
#include "slab/describe.h"
#include "slab/large.h"

#define AT_ONCE 64 /* objects looked up before the first lock is taken: their cache misses overlap */

/* Ends the process when one of `objects` cannot be of class `code`.  Returns whether they are all of one arena. */
static bool
examine(unsigned code, const struct hew_bin_return *objects, unsigned count)
{
    const struct hew_extent *last = NULL;
    unsigned arena = 0, strangers = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct hew_extent *slab = objects[i].slab;
        if (slab == last && last != NULL) {
            continue;
        }
        if (HEW_UNLIKELY(slab == NULL || slab->code != code)) {
            hew_describe_bad_pointer("free", objects[i].address);
        }
        arena = last == NULL ? slab->arena : arena;
        strangers += slab->arena != arena;
        last = slab;
    }
    return strangers == 0;
}

/* Moves the objects of the first one's arena to the front, in order.  Returns how many there are. */
static HEW_NOINLINE unsigned
gather_arena(struct hew_bin_return *objects, unsigned count)
{
    struct hew_bin_return others[AT_ONCE];
    unsigned arena = objects[0].slab->arena, own = 0, left = 0;
    for (unsigned i = 0; i < count; i++) {
        if (objects[i].slab->arena == arena) {
            objects[own++] = objects[i];
        } else {
            others[left++] = objects[i];
        }
    }
    for (unsigned i = 0; i < left; i++) {
        objects[own + i] = others[i];
    }
    return own;
}

static void
give_small(unsigned code, void **objects, unsigned count)
{
    struct hew_bin_return found[AT_ONCE], *rest = found;
    for (unsigned i = 0; i < count; i++) {
        found[i].address = (uintptr_t)objects[i];
        found[i].slab = hew_map_extent(found[i].address);
        __builtin_prefetch(&found[i].slab->inline_bits, 1);
    }
    bool together = examine(code, found, count);
    while (count > 0) {
        unsigned some = HEW_LIKELY(together) ? count : gather_arena(rest, count);
        struct hew_arena *arena = hew_arena_at(rest->slab->arena);
        enum hew_slab_verdict verdict;
        unsigned done = hew_bin_give(&arena->bins[code], &arena->pages, rest, some, &verdict);
        if (HEW_UNLIKELY(done < some)) {
            hew_describe_bad_pointer("free", rest[done].address);
        }
        rest += some;
        count -= some;
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
