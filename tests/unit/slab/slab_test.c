/* SPDX-License-Identifier: MIT */
/* slab: the extents here are made up, and so are their addresses: a slab never touches its regions. */
#include "slab/slab.h"

#include "layers.h"
#include "test.h"

#define PLACE ((uintptr_t)0x7f0000400000)
#define REGIONS_MAX 4096

static void *regions[REGIONS_MAX];

static struct hew_extent
made_up(unsigned code)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
    }
    size_t size = (size_t)hew_slab_shapes[code].pages * HEW_PAGE;
    return (struct hew_extent){.address = PLACE, .size = size, .state = HEW_EXTENT_ACTIVE, .code = (uint8_t)code};
}

static uintptr_t
region_address(const struct hew_extent *slab, unsigned region)
{
    return slab->address + (uintptr_t)region * hew_slab_shape(slab)->size;
}

/* Whether the region was taken back. */
static bool
give(struct hew_extent *slab, uintptr_t address)
{
    void *object = (void *)address;
    return hew_slab_give(slab, hew_slab_shape(slab), &object, &object + 1) == 1;
}

static unsigned
give_some(struct hew_extent *slab, void *const *objects, unsigned count)
{
    return hew_slab_give(slab, hew_slab_shape(slab), objects, objects + count);
}

/* Takes up to `wanted` regions, in rising order from `taken` on. */
static unsigned
take(struct hew_extent *slab, void **taken, unsigned wanted)
{
    static void *downwards[REGIONS_MAX];
    unsigned count = hew_slab_take(slab, downwards + REGIONS_MAX, wanted);
    for (unsigned i = 0; i < count; i++) {
        taken[i] = downwards[REGIONS_MAX - 1 - i];
    }
    return count;
}

TEST(every_class_hands_out_each_region_once_in_rising_order)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        struct hew_extent slab = made_up(code);
        CHECK(hew_slab_begin(&slab));
        unsigned count = hew_slab_shape(&slab)->regions, wrong = 0;
        CHECK(count <= REGIONS_MAX);
        CHECK_EQUAL(slab.slab.free_regions, count);
        CHECK_EQUAL(take(&slab, regions, REGIONS_MAX), count);
        for (unsigned region = 0; region < count; region++) {
            wrong += (uintptr_t)regions[region] != region_address(&slab, region) || !hew_slab_is_taken(&slab, region);
        }
        CHECK_EQUAL(wrong, 0);
        CHECK(region_address(&slab, count) <= hew_extent_end(&slab));
        CHECK(hew_slab_valid(&slab));
        hew_slab_end(&slab);
    }
}

TEST(every_byte_of_every_class_belongs_to_the_region_that_it_lies_in)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        struct hew_extent slab = made_up(code);
        size_t wrong = 0, size = hew_slab_shape(&slab)->size;
        for (size_t offset = 0; offset < slab.size; offset++) {
            wrong += hew_slab_region(&slab, slab.address + offset) != offset / size;
        }
        CHECK_EQUAL(wrong, 0);
    }
}

TEST(a_full_slab_hands_out_nothing)
{
    struct hew_extent slab = made_up(hew_code_of_size(1024));
    CHECK(hew_slab_begin(&slab));
    unsigned count = hew_slab_shape(&slab)->regions;
    CHECK_EQUAL(take(&slab, regions, count), count);
    CHECK_EQUAL(take(&slab, regions, 1), 0);
    CHECK_EQUAL(slab.slab.free_regions, 0);
    CHECK(hew_slab_valid(&slab));
}

TEST(no_more_regions_leave_than_are_wanted)
{
    struct hew_extent slab = made_up(hew_code_of_size(16));
    CHECK(hew_slab_begin(&slab));
    CHECK_EQUAL(take(&slab, regions, 0), 0);
    CHECK_EQUAL(take(&slab, regions, 65), 65);
    CHECK_EQUAL(take(&slab, regions + 65, 1), 1);
    CHECK_EQUAL((uintptr_t)regions[65], region_address(&slab, 65));
    CHECK_EQUAL(slab.slab.free_regions, hew_slab_shape(&slab)->regions - 66);
    hew_slab_end(&slab);
}

TEST(the_lowest_free_regions_leave_first_wherever_they_became_free)
{
    struct hew_extent slab = made_up(hew_code_of_size(16));
    CHECK(hew_slab_begin(&slab));
    unsigned count = hew_slab_shape(&slab)->regions;
    CHECK_EQUAL(take(&slab, regions, REGIONS_MAX), count);
    static const unsigned freed[] = {700, 3, 130, 64, 63, 1023};
    static const unsigned expected[] = {3, 63, 64, 130, 700, 1023};
    for (unsigned i = 0; i < 6; i++) {
        CHECK(give(&slab, region_address(&slab, freed[i])));
        CHECK(!hew_slab_is_taken(&slab, freed[i]));
        CHECK(hew_slab_valid(&slab));
    }
    CHECK_EQUAL(take(&slab, regions, REGIONS_MAX), 6);
    for (unsigned i = 0; i < 6; i++) {
        CHECK_EQUAL((uintptr_t)regions[i], region_address(&slab, expected[i]));
    }
    hew_slab_end(&slab);
}

TEST(a_slab_is_wholly_free_again_when_every_region_came_back)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        struct hew_extent slab = made_up(code);
        CHECK(hew_slab_begin(&slab));
        unsigned count = take(&slab, regions, REGIONS_MAX), refused = 0;
        for (unsigned i = 0; i < count; i++) { /* 7 and the counts have no common factor but for a few: then upwards */
            unsigned region = count % 7 == 0 ? i : i * 7 % count;
            refused += !give(&slab, region_address(&slab, region));
        }
        CHECK_EQUAL(refused, 0);
        CHECK_EQUAL(slab.slab.free_regions, count);
        CHECK(hew_slab_valid(&slab));
        hew_slab_end(&slab);
    }
}

TEST(a_region_given_twice_is_already_free)
{
    struct hew_extent slab = made_up(hew_code_of_size(192));
    CHECK(hew_slab_begin(&slab));
    take(&slab, regions, 10);
    CHECK(give(&slab, (uintptr_t)regions[4]));
    CHECK(!give(&slab, (uintptr_t)regions[4]));
    CHECK(!give(&slab, region_address(&slab, 10))); /* never taken */
    CHECK_EQUAL(slab.slab.free_regions, hew_slab_shape(&slab)->regions - 9);
    CHECK(hew_slab_valid(&slab));
}

TEST(what_is_not_the_start_of_a_region_is_refused_and_changes_nothing)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        struct hew_extent slab = made_up(code);
        CHECK(hew_slab_begin(&slab));
        unsigned count = take(&slab, regions, REGIONS_MAX);
        size_t size = hew_slab_shape(&slab)->size;
        const uintptr_t wrong[] = {slab.address + 1,
                                   slab.address + size - 1,
                                   region_address(&slab, count / 2) + size / 2,
                                   region_address(&slab, count - 1) + 1,
                                   region_address(&slab, count),
                                   hew_extent_end(&slab) - 1,
                                   hew_extent_end(&slab),
                                   slab.address - 1,
                                   slab.address - size,
                                   slab.address - slab.size,
                                   0,
                                   UINTPTR_MAX,
                                   slab.address + (uintptr_t)(UINT64_C(1) << 32) * size};
        for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            CHECK(!give(&slab, wrong[i]));
        }
        CHECK_EQUAL(slab.slab.free_regions, 0);
        hew_slab_end(&slab);
    }
}

/* Fills `given` with regions from `first` on, `step` apart. */
static void **
some_regions(const struct hew_extent *slab, unsigned first, int step, unsigned count)
{
    static void *given[REGIONS_MAX];
    for (unsigned i = 0; i < count; i++) {
        given[i] = (void *)region_address(slab, first + (unsigned)(step * (int)i));
    }
    return given;
}

TEST(regions_come_back_together_in_any_order)
{
    static const int steps[] = {1, -1, 3, -2};
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        for (unsigned i = 0; i < 4; i++) {
            struct hew_extent slab = made_up(code);
            CHECK(hew_slab_begin(&slab));
            unsigned all = take(&slab, regions, REGIONS_MAX), apart = (unsigned)(steps[i] > 0 ? steps[i] : -steps[i]);
            unsigned count = (all - 2) / apart, first = steps[i] > 0 ? 1 : all - 1;
            CHECK_EQUAL(give_some(&slab, some_regions(&slab, first, steps[i], count), count), count);
            CHECK_EQUAL(slab.slab.free_regions, count);
            CHECK(hew_slab_valid(&slab));
            CHECK(hew_slab_is_taken(&slab, 0) && !hew_slab_is_taken(&slab, first));
            CHECK_EQUAL(take(&slab, regions, REGIONS_MAX), count);
            unsigned lowest = steps[i] > 0 ? 1 : first - apart * (count - 1);
            CHECK_EQUAL((uintptr_t)regions[0], region_address(&slab, lowest));
            hew_slab_end(&slab);
        }
    }
}

TEST(of_several_regions_all_before_the_first_wrong_one_come_back)
{
    for (unsigned turn = 0; turn < 4; turn++) {
        struct hew_extent slab = made_up(hew_code_of_size(64));
        CHECK(hew_slab_begin(&slab));
        unsigned all = take(&slab, regions, REGIONS_MAX);
        void **given = some_regions(&slab, turn == 3 ? all - 20 : 10, 1, 30); /* in turn 3 past the last region */
        if (turn == 0) {
            CHECK(give(&slab, region_address(&slab, 30))); /* in the middle of a row */
        } else if (turn < 3) {
            given[20] = turn == 1 ? given[7] : (char *)given[20] + 16; /* twice; not a region */
        }
        CHECK_EQUAL(give_some(&slab, given, 30), 20);
        CHECK_EQUAL(slab.slab.free_regions, turn == 0 ? 21 : 20);
        CHECK(hew_slab_valid(&slab));
    }
}

TEST(valid_says_no_when_bits_and_counts_disagree)
{
    struct hew_extent slab = made_up(hew_code_of_size(64));
    CHECK(hew_slab_begin(&slab));
    take(&slab, regions, 100);
    CHECK(hew_slab_valid(&slab));
    slab.slab.free_regions++;
    CHECK(!hew_slab_valid(&slab));
    slab.slab.free_regions--;
    slab.slab.bits[0] |= 1; /* free, below where the search begins */
    slab.slab.bits[1] &= slab.slab.bits[1] - 1;
    CHECK(!hew_slab_valid(&slab));
}

TEST(a_slab_without_memory_for_its_bits_does_not_begin)
{
    struct hew_extent large = made_up(hew_code_of_size(8)), inside = made_up(hew_code_of_size(64));
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    CHECK(!hew_slab_begin(&large));
    CHECK(hew_slab_begin(&inside)); /* up to 256 regions need none */
    hew_os_faults.refuse = NULL;
    CHECK(hew_slab_begin(&large));
}

TEST(what_a_slab_needed_for_its_bits_comes_back_with_its_end)
{
    unsigned apart = 0;
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        struct hew_extent slab = made_up(code);
        size_t used = hew_meta_usage().used;
        CHECK(hew_slab_begin(&slab));
        apart += hew_meta_usage().used > used;
        hew_slab_end(&slab);
        CHECK_EQUAL(hew_meta_usage().used, used);
    }
    CHECK(apart > 0);
}
