/* SPDX-License-Identifier: MIT */
/* reserve: two heaps and their bins over one reserve; a class of its own for each test, since what is reserved stays. */
#include "slab/reserve.h"

#include "layers.h"
#include "slab/bin.h"
#include "test.h"

#define OBJECTS_MAX 4096

static struct hew_page_heap first, second;
static struct hew_bin bins[2][HEW_CODE_SMALL_LAST + 1];
static void *objects[OBJECTS_MAX];

static void
begin(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_page_heap_begin(&first, 0, 0);
        hew_page_heap_begin(&second, 1, 0);
    }
}

static size_t
slab_bytes(unsigned code)
{
    return (size_t)hew_slab_shapes[code].pages * HEW_PAGE;
}

static struct hew_page_heap *
heap_of(unsigned arena)
{
    return arena == 0 ? &first : &second;
}

static size_t
active(unsigned arena)
{
    CHECK(hew_page_heap_valid(heap_of(arena)));
    return hew_page_counts(heap_of(arena)).active;
}

static void
take(unsigned arena, unsigned code, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQUAL(hew_bin_take(&bins[arena][code], LAYERS_CLIENT(heap_of(arena)), code, &objects[i], 1), 1);
        CHECK_EQUAL(hew_map_extent((uintptr_t)objects[i])->arena, arena);
    }
}

static void
give(unsigned arena, unsigned code, unsigned count)
{
    CHECK_EQUAL(hew_bin_give(&bins[arena][code], heap_of(arena), objects, count), count);
    hew_bin_trim(&bins[arena][code], heap_of(arena));
}

TEST(slabs_for_what_is_declared_are_there_at_once)
{
    begin();
    unsigned code = hew_code_of_size(1024), a_slab = hew_slab_shapes[code].regions;
    size_t before = active(0);
    CHECK_EQUAL(hew_reserve_make(LAYERS_CLIENT(&first), code, 3 * a_slab - 1), 3 * a_slab - 1);
    CHECK_EQUAL(active(0), before + 3 * slab_bytes(code));
    take(0, code, 3 * a_slab);
    CHECK_EQUAL(active(0), before + 3 * slab_bytes(code));
    CHECK_EQUAL(bins[0][code].counts.slabs, 3);
    give(0, code, 3 * a_slab);
}

TEST(what_is_wholly_free_stays_in_the_reserve_and_does_not_decay)
{
    begin();
    unsigned code = hew_code_of_size(512), a_slab = hew_slab_shapes[code].regions;
    hew_reserve_make(LAYERS_CLIENT(&first), code, 2 * a_slab);
    size_t before = active(0);
    take(0, code, 2 * a_slab);
    void *low = objects[0];
    memset(low, 1, 512);
    give(0, code, 2 * a_slab);
    hew_page_decay(&first, 100000, true);
    CHECK_EQUAL(active(0), before);
    CHECK_EQUAL(bins[0][code].counts.slabs, 0);
    CHECK_EQUAL(*(char *)low, 1);
}

TEST(any_arena_takes_all_of_it_and_is_where_it_counts)
{
    begin();
    unsigned code = hew_code_of_size(2048), a_slab = hew_slab_shapes[code].regions;
    hew_reserve_make(LAYERS_CLIENT(&first), code, 2 * a_slab);
    size_t here = active(0), there = active(1), reserved = 2 * slab_bytes(code);
    take(1, code, 2 * a_slab);
    CHECK_EQUAL(active(0), here - reserved);
    CHECK_EQUAL(active(1), there + reserved);
    give(1, code, 2 * a_slab);
    CHECK_EQUAL(active(0), here);
    CHECK_EQUAL(active(1), there);
    take(0, code, 2 * a_slab);
    CHECK_EQUAL(active(0), here);
    give(0, code, 2 * a_slab);
}

TEST(beyond_the_reserve_slabs_come_from_the_pages_and_go_back_there)
{
    begin();
    unsigned code = hew_code_of_size(320), a_slab = hew_slab_shapes[code].regions;
    hew_reserve_make(LAYERS_CLIENT(&first), code, a_slab);
    size_t before = active(1);
    take(1, code, 2 * a_slab);
    CHECK_EQUAL(active(1), before + 2 * slab_bytes(code));
    give(1, code, 2 * a_slab);
    CHECK_EQUAL(active(1), before);
    CHECK(hew_reserve_take(LAYERS_CLIENT(&second), code) != NULL);
    CHECK(hew_reserve_take(LAYERS_CLIENT(&second), code) == NULL);
}

TEST(a_heap_of_the_programs_own_gets_nothing_of_it)
{
    static struct hew_page_heap own;
    begin();
    unsigned code = hew_code_of_size(4096);
    hew_page_heap_begin(&own, 2, 0);
    own.is_private = true;
    hew_reserve_make(LAYERS_CLIENT(&first), code, 1);
    CHECK(hew_reserve_take(LAYERS_CLIENT(&own), code) == NULL);
    CHECK(hew_reserve_take(LAYERS_CLIENT(&second), code) != NULL);
}

TEST(without_memory_it_says_for_how_many_objects_there_is)
{
    begin();
    unsigned code = hew_code_of_size(8192);
    hew_os_faults.refuse = layers_refuse_everything;
    size_t made = hew_reserve_make(LAYERS_CLIENT(&first), code, 1000000);
    hew_os_faults.refuse = NULL;
    CHECK(made < 1000000);
    CHECK_EQUAL(made % hew_slab_shapes[code].regions, 0);
}
