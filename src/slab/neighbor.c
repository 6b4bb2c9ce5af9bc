/* SPDX-License-Identifier: MIT */
#include "slab/neighbor.h"

#define ASKED_MOST 4u                 /* arenas, for one slab */
#define SLABS_LEFT 4u                 /* with free regions: who has fewer keeps them for its own threads */
#define SLAB_BYTES ((size_t)64 << 10) /* of dirty pages: enough for most slabs */

/* It is one of the automatic arenas that lend pages to each other. */
static bool
takes_part(const struct hew_arena *arena)
{
    return arena->pages.lender != 0;
}

static bool
has_pages(const struct hew_arena *arena)
{
    return __atomic_load_n(&arena->pages.dirty.bytes, __ATOMIC_RELAXED) >= SLAB_BYTES;
}

static HEW_UNCHECKED_THREADS bool
has_regions(const struct hew_arena *arena, unsigned code)
{
    return arena->bins[code].counts.nonfull >= SLABS_LEFT;
}

unsigned
hew_neighbor_take(struct hew_arena *arena, unsigned code, void **regions, unsigned wanted)
{
    if (!takes_part(arena) || has_pages(arena)) {
        return 0;
    }
    unsigned most = hew_arena_limit(), got = 0;
    unsigned at = atomic_load_explicit(&arena->neighbor, memory_order_relaxed), before = at;
    for (unsigned asked = 0; asked < ASKED_MOST && asked < most; asked++) {
        at = at < most ? at : 0;
        struct hew_arena *other = hew_arena_at(at);
        if (other != NULL && other != arena && takes_part(other) && hew_lend_are_alike(&arena->pages, &other->pages) &&
            has_regions(other, code)) {
            got = hew_bin_take(&other->bins[code], NULL, code, regions, wanted);
            if (got != 0) {
                break;
            }
        }
        at++;
    }
    if (at != before) {
        atomic_store_explicit(&arena->neighbor, at, memory_order_relaxed);
    }
    return got;
}
