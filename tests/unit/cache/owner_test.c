/* SPDX-License-Identifier: MIT */
#include "cache/owner.h"

#include "layers.h"
#include "test.h"

#define CODE hew_code_of_size(320)
#define ARENAS 3
#define OBJECTS 450 /* several batches of the route, the last one not whole */

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        for (unsigned index = 0; index < ARENAS; index++) {
            CHECK(hew_arena_get(index) != NULL);
        }
    }
}

static void *
take_from(unsigned index)
{
    void *object = NULL;
    struct hew_arena *arena = hew_arena_at(index);
    CHECK_EQUAL(hew_bin_take(&arena->bins[CODE], &arena->pages, CODE, &object, 1), 1);
    return object;
}

TEST(objects_of_several_arenas_in_one_batch_all_go_home)
{
    boot_once();
    void *objects[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = take_from(i * 7 / 3 % ARENAS);
    }
    hew_owner_give(CODE, objects, OBJECTS);
    for (unsigned index = 0; index < ARENAS; index++) {
        const struct hew_bin_counts *counts = &hew_arena_at(index)->bins[CODE].counts;
        CHECK_EQUAL(counts->nmalloc, OBJECTS / ARENAS);
        CHECK_EQUAL(counts->ndalloc, OBJECTS / ARENAS);
    }
    CHECK(layers_settled());
}

TEST(an_arena_is_visited_once_for_a_batch_however_its_objects_are_mixed_but_for_the_first)
{
    boot_once();
    void *objects[60];
    uint64_t before[ARENAS];
    for (unsigned i = 0; i < 60; i++) {
        objects[i] = take_from(i % ARENAS);
    }
    for (unsigned index = 0; index < ARENAS; index++) {
        before[index] = hew_arena_at(index)->bins[CODE].counts.flushes;
    }
    hew_owner_give(CODE, objects, 60);
    for (unsigned index = 0; index < ARENAS; index++) {
        CHECK_EQUAL(hew_arena_at(index)->bins[CODE].counts.flushes, before[index] + 1 + (index == 0));
    }
}

TEST(nothing_to_give_is_fine)
{
    boot_once();
    hew_owner_give(CODE, NULL, 0);
    hew_owner_give(hew_code_of_size(65536), NULL, 0);
    CHECK(layers_settled());
}

TEST(large_objects_go_home_too)
{
    boot_once();
    void *objects[ARENAS * 2];
    unsigned code = hew_code_of_size(65536);
    for (unsigned i = 0; i < ARENAS * 2; i++) {
        struct hew_extent *extent = hew_large_take(hew_arena_at(i % ARENAS), 65000, HEW_PAGE, code);
        CHECK(extent != NULL);
        objects[i] = (void *)extent->address;
    }
    hew_owner_give(code, objects, ARENAS * 2);
    for (unsigned index = 0; index < ARENAS; index++) {
        CHECK_EQUAL(layers_large(hew_arena_at(index)).ndalloc, 2);
    }
    CHECK(layers_settled());
}
