/* SPDX-License-Identifier: MIT */
/* holes: when memory of slabs goes back, and what stays.  One arena for each test. */
#include "slab/holes.h"

#include "layers.h"
#include "slab/arena_life.h"
#include "slab/reserve.h"
#include "test.h"

#include <string.h>

#define CODE hew_code_of_size(1024) /* 16 in a slab of four pages */
#define SLABS 64
#define OBJECTS (SLABS * 16)
#define LIVE_MS 8000

static void *objects[OBJECTS];
static bool refuse_advice;
static unsigned calls;

static bool
refuse(const char *call)
{
    bool advice = strcmp(call, "madvise") == 0;
    calls += advice;
    return advice && refuse_advice;
}

/* An arena whose dirty pages live for LIVE_MS, with SLABS full slabs. */
static struct hew_arena *
full_arena(void)
{
    static unsigned next = 10;
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_os_faults.refuse = refuse;
    }
    struct hew_arena *arena = hew_arena_get(next++);
    hew_arena_set_decay_ms(arena, HEW_DECAY_DIRTY, LIVE_MS);
    hew_arena_set_decay_ms(arena, HEW_DECAY_MUZZY, 0);
    for (unsigned i = 0; i < OBJECTS; i++) {
        CHECK_EQUAL(hew_bin_take(&arena->bins[CODE], &arena->pages, CODE, &objects[i], 1), 1);
        memset(objects[i], 1, 1024);
    }
    return arena;
}

/* All but the first object of each slab: three pages of four are idle. */
static void
free_most(struct hew_arena *arena)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (i % 16 != 0) {
            CHECK_EQUAL(hew_bin_give(&arena->bins[CODE], arena->pages.heap, &objects[i], 1), 1);
        }
    }
}

static size_t
holes(const struct hew_arena *arena)
{
    return arena->bins[CODE].counts.holes / HEW_PAGE;
}

static size_t
resident(void)
{
    size_t pages = 0;
    for (unsigned i = 0; i < OBJECTS; i += 16) {
        pages += hew_os_resident(objects[i], 4 * HEW_PAGE) / HEW_PAGE;
    }
    return pages;
}

TEST(quiet_slabs_lose_the_memory_of_their_idle_pages_along_the_decay_curve)
{
    struct hew_arena *arena = full_arena();
    CHECK_EQUAL(hew_holes_return(arena, 100000, false), LIVE_MS / 8);
    CHECK_EQUAL(holes(arena), 0);
    free_most(arena);
    CHECK_EQUAL(resident(), 4 * SLABS);
    CHECK_EQUAL(hew_holes_return(arena, 101000, false), LIVE_MS / 8); /* seen from now on */
    CHECK_EQUAL(holes(arena), 0);
    CHECK_EQUAL(hew_holes_return(arena, 101400, false), LIVE_MS / 8 - 400);
    size_t before = 0;
    for (uint64_t now = 102000; now < 109000; now += 1000) {
        CHECK_EQUAL(hew_holes_return(arena, now, false), LIVE_MS / 8);
        CHECK(holes(arena) >= before && holes(arena) < 3 * SLABS);
        before = holes(arena);
        CHECK(now != 105000 ||
              (before > 3 * SLABS / 4 && before < 3 * SLABS * 3 / 4)); /* half of the time, about half */
    }
    hew_holes_return(arena, 109000, false);
    CHECK_EQUAL(holes(arena), 3 * SLABS);
    CHECK_EQUAL(resident(), SLABS);
    CHECK_EQUAL(hew_holes_return(arena, 110000, false), 0); /* nothing more to come */
    CHECK(hew_bin_valid(&arena->bins[CODE]));
    for (unsigned i = 0; i < OBJECTS; i += 16) {
        CHECK_EQUAL(*((unsigned char *)objects[i] + 1023), 1);
    }
}

TEST(a_slab_that_objects_come_to_is_not_quiet)
{
    struct hew_arena *arena = full_arena();
    free_most(arena);
    for (uint64_t now = 100000; now < 130000; now += 1000) {
        CHECK_EQUAL(hew_bin_give(&arena->bins[CODE], arena->pages.heap, &objects[0], 1), 1);
        hew_holes_return(arena, now, false);
        CHECK_EQUAL(hew_bin_take(&arena->bins[CODE], &arena->pages, CODE, &objects[0], 1), 1);
        hew_holes_return(arena, now + 500, false);
        if (now % 2000 == 0) { /* not the same count each time that it is looked at */
            CHECK_EQUAL(hew_bin_take(&arena->bins[CODE], &arena->pages, CODE, &objects[1], 1), 1);
        } else {
            CHECK_EQUAL(hew_bin_give(&arena->bins[CODE], arena->pages.heap, &objects[1], 1), 1);
        }
    }
    CHECK_EQUAL(hew_map_extent((uintptr_t)objects[0])->slab.absent, 0);
    CHECK_EQUAL(holes(arena), 3 * (SLABS - 1));
}

TEST(never_means_never_and_everything_means_at_once)
{
    struct hew_arena *arena = full_arena();
    free_most(arena);
    hew_arena_set_decay_ms(arena, HEW_DECAY_DIRTY, -1);
    CHECK_EQUAL(hew_holes_return(arena, 100000, false), 0);
    CHECK_EQUAL(hew_holes_return(arena, 900000, false), 0);
    CHECK_EQUAL(holes(arena), 0);
    hew_arena_decay(arena, true);
    CHECK_EQUAL(holes(arena), 3 * SLABS);
    CHECK_EQUAL(resident(), SLABS);
}

TEST(holes_wait_for_the_time_of_muzzy_pages_too)
{
    struct hew_arena *arena = full_arena();
    free_most(arena);
    hew_arena_set_decay_ms(arena, HEW_DECAY_MUZZY, LIVE_MS);
    hew_holes_return(arena, 100000, false);
    hew_holes_return(arena, 100000 + LIVE_MS, false);
    CHECK(holes(arena) < 3 * SLABS);
    hew_holes_return(arena, 100000 + 2 * LIVE_MS, false);
    CHECK_EQUAL(holes(arena), 3 * SLABS);
}

TEST(what_the_system_refuses_stays_and_is_asked_for_again)
{
    struct hew_arena *arena = full_arena();
    free_most(arena);
    refuse_advice = true;
    hew_arena_decay(arena, true);
    refuse_advice = false;
    CHECK_EQUAL(holes(arena), 0);
    CHECK_EQUAL(resident(), 4 * SLABS);
    CHECK_EQUAL(arena->bins[CODE].counts.nonfull + 1, SLABS);
    CHECK(hew_bin_valid(&arena->bins[CODE]));
    hew_arena_decay(arena, true);
    CHECK_EQUAL(holes(arena), 3 * SLABS);
}

TEST(a_bin_that_is_nearly_full_is_left_alone)
{
    struct hew_arena *arena = full_arena();
    for (unsigned i = 16; i < 3 * 16; i++) { /* two slabs of 64, but for an object each */
        if (i % 16 != 0) {
            CHECK_EQUAL(hew_bin_give(&arena->bins[CODE], arena->pages.heap, &objects[i], 1), 1);
        }
    }
    hew_holes_return(arena, 100000, false);
    hew_holes_return(arena, 200000, false);
    CHECK_EQUAL(holes(arena), 0);
    hew_arena_decay(arena, true);
    CHECK_EQUAL(holes(arena), 6);
}

TEST(an_object_on_a_page_without_memory_is_counted_and_others_come_first)
{
    struct hew_arena *arena = full_arena();
    struct hew_bin *bin = &arena->bins[CODE];
    free_most(arena);
    hew_arena_decay(arena, true);
    void *more[4];
    for (unsigned i = 0; i < 3; i++) { /* beside the first object of the lowest slab */
        CHECK_EQUAL(hew_bin_take(bin, &arena->pages, CODE, &more[i], 1), 1);
        CHECK((uintptr_t)more[i] == (uintptr_t)objects[0] + (i + 1) * 1024);
    }
    CHECK_EQUAL(bin->counts.holes_refaulted, 0);
    CHECK_EQUAL(hew_bin_take(bin, &arena->pages, CODE, &more[3], 1), 1);
    CHECK_EQUAL(bin->counts.holes_refaulted, HEW_PAGE);
    CHECK_EQUAL(holes(arena), 3 * SLABS - 1);
    CHECK_EQUAL(bin->counts.holes_purged, 3 * SLABS * HEW_PAGE);
    CHECK(hew_bin_valid(bin));
}

TEST(a_slab_that_becomes_free_takes_its_holes_with_it)
{
    struct hew_arena *arena = full_arena();
    free_most(arena);
    hew_arena_decay(arena, true);
    for (unsigned i = 0; i < OBJECTS; i += 16) {
        CHECK_EQUAL(hew_bin_give(&arena->bins[CODE], arena->pages.heap, &objects[i], 1), 1);
    }
    hew_arena_decay(arena, true);
    CHECK_EQUAL(arena->bins[CODE].counts.slabs, 0);
    CHECK_EQUAL(holes(arena), 0);
    struct hew_page_counts counts = hew_page_counts(arena->pages.heap);
    CHECK_EQUAL(counts.active + counts.dirty + counts.muzzy, 0);
}

TEST(an_arena_with_hooks_has_no_holes)
{
    struct hew_arena *arena = full_arena();
    free_most(arena);
    struct hew_extent_hooks hooks = hew_hooks_default;
    hew_arena_set_hooks(arena, &hooks);
    hew_arena_decay(arena, true);
    CHECK_EQUAL(holes(arena), 0);
    CHECK_EQUAL(resident(), 4 * SLABS);
}

TEST(who_comes_while_another_walks_through_the_bin_leaves_it_to_him_unless_everything_is_to_go)
{
    struct hew_arena *arena = full_arena();
    struct hew_bin *bin = &arena->bins[CODE];
    free_most(arena);
    hew_holes_return(arena, 100000, false);
    hew_heap_walk_begin(&bin->walk, &bin->nonfull); /* as if */
    bin->walker = objects;
    CHECK(hew_holes_return(arena, 200000, false) != 0);
    CHECK_EQUAL(holes(arena), 0);
    hew_arena_decay(arena, true);
    CHECK_EQUAL(holes(arena), 3 * SLABS);
    CHECK(bin->walk.at == NULL);
    hew_heap_walk_begin(&bin->walk, &bin->nonfull);
    hew_holes_after_fork(arena);
    CHECK(bin->walk.at == NULL);
}

TEST(one_slab_of_the_reserve_keeps_its_memory)
{
    full_arena();
    struct hew_arena *first = hew_arena_get(0);
    unsigned code = hew_code_of_size(2048);
    void *object;
    CHECK(hew_reserve_make(&first->pages, code, 1) >= 1);
    CHECK_EQUAL(hew_bin_take(&first->bins[code], &first->pages, code, &object, 1), 1);
    CHECK(hew_map_extent((uintptr_t)object)->slab.reserved);
    hew_arena_decay(first, true);
    CHECK_EQUAL(first->bins[code].counts.holes_purged, 0);
    CHECK_EQUAL(hew_bin_give(&first->bins[code], first->pages.heap, &object, 1), 1);
}
