/* SPDX-License-Identifier: MIT */
/* bin: over a page heap of its own for each test. */
#include "slab/arena.h"

#include "layers.h"
#include "page/due.h"
#include "test.h"

#define CODE hew_code_of_size(1024)
#define OBJECTS_MAX 2048

struct bench {
    struct hew_page_heap pages;
    struct hew_bin bin;
    void *objects[OBJECTS_MAX];
    unsigned a_slab; /* regions in a slab */
};

static struct bench benches[32];
static uint16_t benches_used;

static struct bench *
new_bench(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
    }
    CHECK(benches_used < sizeof benches / sizeof benches[0]);
    struct bench *bench = &benches[benches_used];
    hew_page_heap_begin(&bench->pages, benches_used++, 0);
    bench->a_slab = hew_slab_shapes[CODE].regions;
    return bench;
}

/* One at a time, so that a new slab is made whenever the older ones are full. */
static void
take(struct bench *bench, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++) {
        CHECK_EQUAL(hew_bin_take(&bench->bin, LAYERS_CLIENT(&bench->pages), CODE, &bench->objects[i], 1), 1);
    }
}

static unsigned
give(struct bench *bench, unsigned from, unsigned count)
{
    return hew_bin_give(&bench->bin, &bench->pages, bench->objects + from, count);
}

static void
give_good(struct bench *bench, unsigned from, unsigned count)
{
    CHECK_EQUAL(give(bench, from, count), count);
    CHECK(hew_bin_valid(&bench->bin));
}

/* The distance of two slabs: the next one lies right behind. */
static size_t
active(struct bench *bench)
{
    return hew_page_counts(&bench->pages).active / (hew_slab_shapes[CODE].pages * HEW_PAGE);
}

/* First, since a class stays open. */
TEST(eight_slabs_of_a_coarse_class_open_the_fine_one_below)
{
    struct bench *bench = new_bench();
    take(bench, 0, 7 * bench->a_slab);
    CHECK_EQUAL(hew_code_for(960), CODE);
    take(bench, 7 * bench->a_slab, 1);
    CHECK_EQUAL(hew_code_for(960), CODE - 1);
    CHECK_EQUAL(hew_code_for(961), CODE);
    CHECK_EQUAL(hew_code_for(896), CODE - 2);
    give_good(bench, 0, 7 * bench->a_slab + 1);
}

TEST(where_many_threads_allocate_a_slab_for_each_opens_the_fine_class)
{
    unsigned code = hew_code_of_size(512), a_slab = hew_slab_shapes[code].regions, count = 0;
    void *objects[20 * 32];
    CHECK(layers_boot());
    struct hew_arena *arena = hew_arena_get(40); /* no bench's number */
    CHECK(arena != NULL && 19 * a_slab < sizeof objects / sizeof *objects);
    atomic_store(&arena->threads, 20);
    for (; count < 19 * a_slab; count++) {
        CHECK_EQUAL(hew_bin_take(&arena->bins[code], &arena->pages, code, &objects[count], 1), 1);
    }
    CHECK_EQUAL(arena->bins[code].counts.slabs, 19);
    CHECK_EQUAL(hew_code_for(480), code);
    CHECK_EQUAL(hew_bin_take(&arena->bins[code], &arena->pages, code, &objects[count++], 1), 1);
    CHECK_EQUAL(hew_code_for(480), code - 1);
    CHECK_EQUAL(hew_bin_give(&arena->bins[code], arena->pages.heap, objects, count), count);
    atomic_store(&arena->threads, 0);
}

TEST(objects_leave_in_rising_order_from_the_lowest_slab)
{
    struct bench *bench = new_bench();
    CHECK_EQUAL(hew_bin_take(&bench->bin, LAYERS_CLIENT(&bench->pages), CODE, bench->objects, 7), 7);
    take(bench, 7, 3 * bench->a_slab - 7);
    for (unsigned i = 1; i < 3 * bench->a_slab; i++) { /* the first seven came together, the lowest one last */
        CHECK((bench->objects[i] > bench->objects[i - 1]) == (i >= 7));
    }
    CHECK(bench->objects[0] < bench->objects[7]);
    CHECK_EQUAL(bench->bin.counts.slabs, 3);
    CHECK_EQUAL(bench->bin.counts.nmalloc, 3 * bench->a_slab);
    CHECK(hew_bin_valid(&bench->bin));
}

TEST(what_is_at_hand_is_handed_out_rather_than_a_second_slab_made)
{
    struct bench *bench = new_bench();
    CHECK_EQUAL(hew_bin_take(&bench->bin, LAYERS_CLIENT(&bench->pages), CODE, bench->objects, OBJECTS_MAX),
                bench->a_slab);
    CHECK_EQUAL(bench->bin.counts.slabs, 1);
    CHECK_EQUAL(hew_bin_take(&bench->bin, LAYERS_CLIENT(&bench->pages), CODE, bench->objects + bench->a_slab, 1), 1);
    CHECK_EQUAL(bench->bin.counts.slabs, 2);
}

TEST(bin_hands_out_a_freed_object_before_a_new_slab)
{
    struct bench *bench = new_bench();
    take(bench, 0, 2 * bench->a_slab); /* both slabs are full */
    void *freed = bench->objects[5];
    give_good(bench, 5, 1);
    take(bench, 5, 1);
    CHECK(bench->objects[5] == freed);
    CHECK_EQUAL(bench->bin.counts.slabs_ever, 2);
}

TEST(the_lowest_slab_with_room_is_used_first)
{
    struct bench *bench = new_bench();
    unsigned slab = bench->a_slab;
    take(bench, 0, 4 * slab);
    void *third = bench->objects[2 * slab], *first = bench->objects[3], *second = bench->objects[slab + 1];
    give_good(bench, 2 * slab, 1);
    give_good(bench, 3, 1);
    give_good(bench, slab + 1, 1);
    void *got[4];
    CHECK_EQUAL(hew_bin_take(&bench->bin, LAYERS_CLIENT(&bench->pages), CODE, got, 4), 3);
    CHECK(got[2] == first && got[1] == second && got[0] == third);
    CHECK_EQUAL(bench->bin.counts.slabs, 4);
}

TEST(a_wholly_free_slab_goes_back_to_the_pages)
{
    struct bench *bench = new_bench();
    unsigned slab = bench->a_slab;
    take(bench, 0, 3 * slab);
    CHECK_EQUAL(active(bench), 3);
    give_good(bench, slab, slab - 1);
    CHECK_EQUAL(active(bench), 3);
    give_good(bench, 2 * slab - 1, 1);
    /* The second slab became the current one when its first region came back, as the lowest with room. */
    CHECK_EQUAL(active(bench), 3);
    give_good(bench, 2 * slab, slab);
    CHECK_EQUAL(active(bench), 2);
    CHECK_EQUAL(bench->bin.counts.slabs, 2);
    CHECK(hew_page_heap_valid(&bench->pages));
}

TEST(the_current_slab_stays_when_it_is_wholly_free)
{
    struct bench *bench = new_bench();
    take(bench, 0, bench->a_slab);
    void *lowest = bench->objects[0];
    give_good(bench, 0, bench->a_slab);
    CHECK_EQUAL(active(bench), 1);
    take(bench, 0, 1);
    CHECK(bench->objects[0] == lowest);
    CHECK_EQUAL(bench->bin.counts.slabs_ever, 1);
}

TEST(a_current_slab_that_is_wholly_free_goes_back_when_a_lower_one_takes_its_place)
{
    struct bench *bench = new_bench();
    take(bench, 0, bench->a_slab + 1);
    give_good(bench, bench->a_slab, 1); /* the second slab: current, wholly free */
    CHECK_EQUAL(active(bench), 2);
    give_good(bench, 0, 1); /* the first becomes the current one */
    CHECK_EQUAL(active(bench), 1);
    CHECK_EQUAL(bench->bin.counts.slabs, 1);
    CHECK_EQUAL(bench->bin.counts.nonfull, 0);
    give_good(bench, 1, bench->a_slab - 1);
    CHECK_EQUAL(active(bench), 1);
}

TEST(many_slabs_that_become_free_in_one_batch_all_go_back)
{
    struct bench *bench = new_bench();
    unsigned slabs = OBJECTS_MAX / bench->a_slab;
    CHECK(slabs > 2 * 16); /* more than the bin collects before it hands them on, twice */
    take(bench, 0, slabs * bench->a_slab);
    CHECK_EQUAL(active(bench), slabs);
    give_good(bench, 0, slabs * bench->a_slab);
    CHECK_EQUAL(active(bench), 1);
    CHECK_EQUAL(bench->bin.counts.slabs, 1);
    CHECK_EQUAL(bench->bin.counts.nmalloc, bench->bin.counts.ndalloc);
    CHECK(hew_page_heap_valid(&bench->pages));
}

/* Sixteen slabs are collected at a time: the bin is not chosen anew when the batch goes on. */
TEST(another_arenas_object_ends_the_batch_right_behind_many_slabs_that_became_free)
{
    struct bench *bench = new_bench(), *other = new_bench();
    unsigned count = 16 * bench->a_slab;
    take(bench, 0, count + 1); /* the current slab is the seventeenth */
    take(other, 0, 1);
    bench->objects[count] = other->objects[0];
    CHECK_EQUAL(hew_bin_give(&bench->bin, &bench->pages, bench->objects, count + 1), count);
    CHECK_EQUAL(bench->bin.counts.ndalloc, count);
    CHECK(hew_bin_valid(&bench->bin) && hew_bin_valid(&other->bin));
    CHECK(hew_slab_is_taken(hew_map_extent((uintptr_t)other->objects[0]), 0));
}

TEST(a_bad_object_ends_the_batch_before_anything_of_it_changes)
{
    struct bench *bench = new_bench();
    take(bench, 0, 10);
    bench->objects[10] = bench->objects[2]; /* twice in one batch */
    CHECK_EQUAL(give(bench, 0, 11), 10);
    take(bench, 0, 10);
    bench->objects[4] = (char *)bench->objects[4] + 16;
    CHECK_EQUAL(give(bench, 0, 10), 4);
    CHECK_EQUAL(bench->bin.counts.ndalloc, 14);
    CHECK(hew_bin_valid(&bench->bin));
    give_good(bench, 5, 5);
}

TEST(what_lies_in_no_slab_of_the_bin_ends_a_give)
{
    struct bench *bench = new_bench(), *other = new_bench();
    struct hew_bin larger = {0};
    static char nowhere;
    void *object, *wrong[] = {&nowhere, NULL, NULL, NULL};
    take(bench, 0, 6);
    take(other, 0, 1);
    CHECK_EQUAL(hew_bin_take(&larger, LAYERS_CLIENT(&bench->pages), CODE + 1, &object, 1), 1);
    wrong[1] = object;            /* another class */
    wrong[2] = other->objects[0]; /* another arena */
    wrong[3] = (void *)UINTPTR_MAX;
    for (unsigned i = 0; i < 4; i++) {
        void *back[] = {bench->objects[i], wrong[i], bench->objects[5]};
        CHECK_EQUAL(hew_bin_give(&bench->bin, &bench->pages, back, 3), 1);
    }
    CHECK_EQUAL(bench->bin.counts.ndalloc, 4);
    CHECK(hew_bin_valid(&bench->bin));
}

TEST(whoever_frees_while_64_slabs_have_free_regions_calls_the_purger)
{
    struct bench *bench = new_bench();
    unsigned slabs = OBJECTS_MAX / bench->a_slab;
    CHECK(slabs > 70);
    take(bench, 0, slabs * bench->a_slab);
    for (unsigned i = 0; i < slabs && bench->bin.counts.nonfull < 66; i++) {
        atomic_store(&hew_page_due, 0);
        give_good(bench, i * bench->a_slab, 1);
        CHECK_EQUAL(atomic_load(&hew_page_due), bench->bin.counts.nonfull >= 64);
    }
    atomic_store(&hew_page_due, 0);
    CHECK_EQUAL(bench->bin.counts.nonfull, 66);
}

TEST(valid_says_no_when_a_listed_slab_has_no_room)
{
    struct bench *bench = new_bench();
    take(bench, 0, 3 * bench->a_slab);
    give_good(bench, 2 * bench->a_slab, 1);
    give_good(bench, 0, 1);
    CHECK_EQUAL(bench->bin.counts.nonfull, 1);
    struct hew_extent *listed = HEW_CONTAINER(hew_heap_lowest(&bench->bin.nonfull), struct hew_extent, slab.node);
    CHECK(listed == hew_map_extent((uintptr_t)bench->objects[2 * bench->a_slab]));
    void *region;
    CHECK_EQUAL(hew_slab_take(listed, &region + 1, 1), 1);
    CHECK(!hew_bin_valid(&bench->bin));
}

TEST(a_trim_gives_the_current_slab_back_when_it_is_wholly_free_and_only_then)
{
    struct bench *bench = new_bench();
    hew_bin_trim(&bench->bin, &bench->pages);
    take(bench, 0, 2);
    hew_bin_trim(&bench->bin, &bench->pages);
    CHECK_EQUAL(active(bench), 1);
    give_good(bench, 0, 2);
    hew_bin_trim(&bench->bin, &bench->pages);
    CHECK_EQUAL(active(bench), 0);
    CHECK(bench->bin.counts.slabs == 0 && hew_bin_valid(&bench->bin));
    take(bench, 0, 2);
    CHECK_EQUAL(active(bench), 1);
    give_good(bench, 0, 2);
}

TEST(bin_without_pages_returns_nothing_and_stays_valid)
{
    struct bench *bench = new_bench();
    hew_os_faults.refuse = layers_refuse_everything;
    CHECK_EQUAL(hew_bin_take(&bench->bin, LAYERS_CLIENT(&bench->pages), CODE, bench->objects, 1), 0);
    CHECK(hew_bin_valid(&bench->bin));
    CHECK_EQUAL(bench->bin.counts.nmalloc, 0);
    CHECK_EQUAL(bench->bin.counts.slabs, 0);
    hew_os_faults.refuse = NULL;
    take(bench, 0, bench->a_slab);
    hew_os_faults.refuse = layers_refuse_everything;
    give_good(bench, 3, 1);
    void *freed = bench->objects[3];
    take(bench, 3, 1); /* what it has, it still hands out */
    CHECK(bench->objects[3] == freed);
    hew_os_faults.refuse = NULL;
    give_good(bench, 0, bench->a_slab);
}

TEST(bin_without_memory_for_a_slabs_bits_gives_the_pages_back)
{
    struct bench *bench = new_bench();
    unsigned code = hew_code_of_size(8);
    take(bench, 0, 1); /* a region of addresses and spare extents are there */
    size_t before = hew_page_counts(&bench->pages).active;
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    struct hew_bin bin = {0};
    void *object;
    CHECK_EQUAL(hew_bin_take(&bin, LAYERS_CLIENT(&bench->pages), code, &object, 1), 0);
    CHECK_EQUAL(hew_page_counts(&bench->pages).active, before);
    hew_os_faults.refuse = NULL;
    CHECK_EQUAL(hew_bin_take(&bin, LAYERS_CLIENT(&bench->pages), code, &object, 1), 1);
    CHECK(hew_page_heap_valid(&bench->pages));
}
