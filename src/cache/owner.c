/* SPDX-License-Identifier: MIT */
/*
 * owner: sorting a batch by whom its objects belong to, so that each bin's and each page heap's lock is taken once
 * for many of them.  Sorting begins at the first object of another arena: batches of one arena pay nothing.
 */
#include "cache/owner.h"

#include "meta/map.h"
#include "slab/describe.h"
#include "slab/large.h"

#include <string.h>

#define AT_ONCE 256 /* objects that are handed on together: under one lock, where they are of one bin */

/* The slab that an object lies in.  NULL after a misuse: it cannot be of class `code`. */
static struct hew_extent *
home_of(unsigned code, void *object)
{
    struct hew_extent *slab = hew_map_extent((uintptr_t)object);
    if (HEW_UNLIKELY(slab == NULL || slab->code != code)) {
        hew_describe_bad_pointer("free", (uintptr_t)object);
        return NULL;
    }
    return slab;
}

/* Moves the objects of an arena to the front, in order.  Returns how many there are. */
static HEW_NOINLINE unsigned
gather_arena(unsigned arena, void **objects, unsigned count)
{
    void *others[AT_ONCE];
    unsigned own = 0, left = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct hew_extent *slab = hew_map_extent((uintptr_t)objects[i]);
        if (slab != NULL && slab->arena == arena) {
            objects[own++] = objects[i];
        } else {
            others[left++] = objects[i];
        }
    }
    memcpy(objects + own, others, left * sizeof *objects);
    return own;
}

/* A bin has refused the object: because it is another arena's, or, a misuse, no object that is out. */
static HEW_NOINLINE bool
is_misused(unsigned code, void *object, const struct hew_arena *arena)
{
    const struct hew_extent *slab = home_of(code, object);
    bool own = slab != NULL && slab->arena == arena->index;
    if (own) {
        hew_describe_bad_pointer("free", (uintptr_t)object);
    }
    return slab == NULL || own;
}

/* Sorts only from the first object of another arena on. */
static void
give_small(unsigned code, void **objects, unsigned count)
{
    bool mixed = false;
    while (count > 0) {
        const struct hew_extent *home = home_of(code, objects[0]);
        if (HEW_UNLIKELY(home == NULL)) {
            objects++;
            count--;
            continue;
        }
        struct hew_arena *arena = hew_arena_at(home->arena);
        unsigned some = HEW_LIKELY(!mixed) ? count : gather_arena(arena->index, objects, count);
        unsigned done = hew_bin_give(&arena->bins[code], arena->pages.heap, objects, some);
        if (HEW_UNLIKELY(done < some)) {
            done += is_misused(code, objects[done], arena);
            mixed = true;
        }
        objects += done;
        count -= done;
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
        if (HEW_UNLIKELY(!hew_extent_is_out(extent, (uintptr_t)objects[i], code))) {
            hew_describe_and_end("free", (uintptr_t)objects[i]);
        }
        if (extent->arena != extents[begin]->arena) {
            hew_large_give_some(extents + begin, i - begin);
            begin = i;
        }
    }
    hew_large_give_some(extents + begin, count - begin);
}

void
hew_owner_give(unsigned code, void **objects, unsigned count)
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
