/* SPDX-License-Identifier: MIT */
/* neighbor: whose slabs a thread's objects come from where another arena has many with free regions. */
#include "one_thread.h"

#include "slab/arena_life.h"

#define FIRST hew_code_of_size(512)
#define SECOND hew_code_of_size(1024)
#define SLABS 8u

static void *kept[2][4096];
static struct hew_cache *first, *second;

/* The first arena gets slabs of the class of which most have one free region. */
static void
open_slabs(unsigned code, void **into)
{
    struct hew_arena *arena = hew_arena_get(0);
    unsigned regions = hew_slab_shapes[code].regions, wanted = SLABS * regions + 1;
    layers_take_regions(arena, code, into, wanted);
    for (unsigned slab = 0; slab < SLABS - 1; slab++) {
        CHECK_EQUAL(hew_bin_give(&arena->bins[code], &arena->pages, &into[slab * regions], 1), 1);
    }
}

static unsigned
arena_of(const void *object)
{
    return hew_map_extent((uintptr_t)object)->arena;
}

TEST(a_thread_takes_regions_of_another_arena_unless_it_is_bound_to_its_own)
{
    CHECK(layers_boot());
    hew_options.narenas = 2;
    hew_options.tuning = HEW_TUNING_OFF;
    first = hew_thread_birth(true);
    second = hew_thread_birth(true);
    CHECK(first->arena->index == 0 && second->arena->index == 1);
    open_slabs(FIRST, kept[0]);
    open_slabs(SECOND, kept[1]);
    CHECK_EQUAL(arena_of(take(second, FIRST)), 0);
    CHECK(hew_thread_bind(second, second->arena));
    CHECK_EQUAL(arena_of(take(second, SECOND)), 1);
    CHECK_EQUAL(second->arena->bins[FIRST].counts.slabs, 0);
}
