/* SPDX-License-Identifier: MIT */
/* Unit tests of page/grow: how much is mapped and where from, and each system call refused in turn. */
#include "page/grow.h"

#include "meta/memory.h"
#include "page/move.h"

#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"
#include "page_fixture.h"

#include <unistd.h>

TEST(each_mapping_is_twice_the_last_one_up_to_64_mebibytes)
{
    static struct hew_extent *extents[9];
    page_begin();
    size_t expected = 0;
    for (unsigned i = 0; i < 9; i++) {
        size_t step = i < 6 ? MIB << i : 64 * MIB;
        extents[i] = page_take(step); /* all of it */
        expected += step;
        CHECK_EQUAL(page_counts().mapped, expected);
        CHECK_EQUAL(page_counts().maps, i + 1);
    }
    for (unsigned i = 0; i < 9; i++) {
        page_give(extents[i]);
    }
    page_end();
}

TEST(a_large_request_maps_the_huge_pages_that_it_needs)
{
    page_begin();
    struct hew_extent *extent = page_take(10 * MIB + HEW_PAGE);
    CHECK_EQUAL(page_counts().mapped, 12 * MIB);
    page_give(extent);
    page_end();
}

TEST(without_retain_a_large_request_maps_just_what_it_needs)
{
    page_begin();
    hew_options.retain = false;
    struct hew_extent *extent = page_take(10 * MIB + HEW_PAGE);
    CHECK_EQUAL(page_counts().mapped, 10 * MIB + HEW_GRAIN);
    page_give(extent);
    page_end();
}

TEST(large_mappings_begin_at_a_huge_page)
{
    page_begin();
    struct hew_extent *extent = page_take(3 * MIB);
    CHECK_EQUAL(extent->address % (2 * MIB), 0);
    page_give(extent);
    page_end();
}

TEST(without_retain_each_mapping_is_as_large_as_its_request)
{
    page_begin();
    hew_options.retain = false;
    struct hew_extent *extent = page_take(20 * KIB);
    CHECK_EQUAL(page_counts().mapped, 32 * KIB);
    page_give(extent);
    page_end();
}

TEST(the_total_of_all_heaps_follows_every_mapping)
{
    page_begin();
    size_t before = atomic_load(&hew_page_mapped);
    struct hew_extent *small = page_take(64 * KIB), *large = page_take(5 * MIB);
    CHECK_EQUAL(atomic_load(&hew_page_mapped), before + page_counts().mapped);
    page_give(small);
    page_give(large);
    hew_page_release(&page_heap);
    CHECK_EQUAL(atomic_load(&hew_page_mapped), before);
    page_end();
}

TEST(heaps_that_have_become_large_call_the_purger_once)
{
    page_begin();
    struct hew_extent *few = page_take(MIB);
    CHECK_EQUAL(atomic_load(&hew_page_due), 0);
    struct hew_extent *many = page_take(16 * MIB);
    CHECK_EQUAL(atomic_load(&hew_page_due), 1);
    atomic_store(&hew_page_due, 0);
    struct hew_extent *more = page_take(16 * MIB);
    CHECK_EQUAL(atomic_load(&hew_page_due), 0);
    page_give(few);
    page_give(many);
    page_give(more);
    page_end();
}

TEST(when_the_usual_step_is_refused_the_request_itself_is_tried)
{
    page_begin();
    page_give(page_take(64 * KIB)); /* afterwards only the pages themselves need a mapping */
    hew_page_release(&page_heap);
    faults_refuse("mmap", 0, 1);
    struct hew_extent *small = hew_page_take(&page_heap, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW);
    faults_end();
    CHECK(small != NULL && page_counts().mapped == 64 * KIB);
    faults_refuse("mmap", 0, 1); /* of 4 MiB, aligned to a huge page */
    struct hew_extent *large = hew_page_take(&page_heap, 4 * MIB, HEW_PAGE, HEW_CODE_SLOW);
    faults_end();
    CHECK(large != NULL && page_counts().mapped == 4 * MIB + 64 * KIB);
    faults_refuse("mmap", 0, 2);
    CHECK(hew_page_take(&page_heap, 4 * MIB, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    faults_end();
    page_give(small);
    if (large != NULL) {
        page_give(large);
    }
    page_end();
}

static bool
in_data_segment(const struct hew_extent *extent)
{
    return extent->address < (uintptr_t)sbrk(0) && extent->address + 64 * MIB > (uintptr_t)sbrk(0);
}

TEST(with_dss_primary_pages_come_from_the_data_segment)
{
    page_begin();
    page_heap.dss = HEW_DSS_PRIMARY;
    struct hew_extent *extent = page_take(64 * KIB), *other = page_take(64 * KIB);
    CHECK(in_data_segment(extent) && extent->data_segment && other->data_segment);
    CHECK(extent->zeroed && page_filled(extent, 0));
    CHECK(hew_page_move(&page_heap, extent, &page_heap, other) == HEW_OS_NOT_MOVED);
    page_fill(extent, 7);
    page_give(extent);
    hew_page_decay(&page_heap, page_now, true);
    extent = page_take(64 * KIB);
    CHECK(extent->zeroed && page_filled(extent, 0));
    page_give(extent);
    page_give(other);
    hew_page_release(&page_heap); /* what came from sbrk stays, for the next request */
    CHECK_EQUAL(page_counts().retained, page_counts().mapped);
    CHECK(page_counts().mapped >= 128 * KIB);
}

TEST(what_an_ended_heap_leaves_to_another_merges_with_none_of_its_neighbours)
{
    static struct hew_page_heap heir;
    page_begin();
    hew_page_heap_begin(&heir, 0, page_now);
    page_heap.dss = HEW_DSS_PRIMARY;
    struct hew_extent *extent = page_take(64 * KIB), *other = page_take(64 * KIB);
    page_give(extent);
    hew_page_decay(&page_heap, page_now, true);
    page_give(other);
    size_t extents = page_heap.dirty.extents + page_heap.retained.extents, bytes = page_counts().mapped;
    CHECK(extents >= 2);
    hew_page_heap_end(&page_heap, &heir);
    CHECK_EQUAL(page_counts().mapped, 0);
    CHECK_EQUAL(heir.dirty.extents, extents);
    CHECK_EQUAL(heir.dirty.bytes, bytes);
    CHECK(hew_page_heap_valid(&heir));
}

TEST(what_the_system_does_not_take_back_from_an_ended_heap_goes_on_in_another)
{
    static struct hew_page_heap heir;
    page_begin();
    memset(&heir, 0, sizeof heir);
    hew_page_heap_begin(&heir, 0, page_now);
    page_give(page_take(64 * KIB));
    size_t bytes = page_counts().mapped;
    faults_refuse("munmap", 0, FAULTS_ALL);
    hew_page_heap_end(&page_heap, &heir);
    faults_refuse("mmap", 0, FAULTS_ALL);
    struct hew_extent *extent = hew_page_take(&heir, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW);
    faults_end();
    CHECK_EQUAL(page_counts().mapped, 0);
    CHECK_EQUAL(hew_page_counts(&heir).mapped, bytes);
    CHECK(extent != NULL && hew_page_heap_valid(&heir));
    hew_page_give(&heir, extent);
    hew_page_release(&heir);
    CHECK_EQUAL(hew_page_counts(&heir).mapped, 0);
}

TEST(with_dss_primary_and_sbrk_refused_pages_are_mapped)
{
    page_begin();
    page_heap.dss = HEW_DSS_PRIMARY;
    faults_refuse("brk", 0, FAULTS_ALL);
    struct hew_extent *extent = page_take(64 * KIB);
    faults_end();
    CHECK(!in_data_segment(extent) && !extent->data_segment);
    page_give(extent);
    page_end();
}

/* No piece of our own memory is left, of any size. */
static void
exhaust_meta(void)
{
    faults_refuse("mprotect", 0, FAULTS_ALL);
    for (unsigned code = HEW_CODE_SMALL_LAST; code != 0; code--) {
        while (hew_meta_take(hew_class_size(code - 1)) != NULL) {
        }
    }
}

static void
segment_without_bookkeeping(void)
{
    page_begin();
    page_heap.dss = HEW_DSS_PRIMARY;
    uintptr_t before = (uintptr_t)sbrk(0);
    exhaust_meta();
    CHECK(hew_page_take(&page_heap, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    faults_end();
    uintptr_t after = (uintptr_t)sbrk(0);
    CHECK(after >= before + 64 * KIB);
    *(volatile char *)(after - 64 * KIB) = 1; /* it is the program's to use: it would never be mapped again */
}

TEST(a_part_of_the_data_segment_that_cannot_be_written_down_stays_mapped)
{
    CHECK_EQUAL(child_run(segment_without_bookkeeping).status, 0);
}

TEST(with_dss_secondary_the_data_segment_helps_out_when_mapping_is_refused)
{
    page_begin();
    page_heap.dss = HEW_DSS_SECONDARY;
    struct hew_extent *mapped = page_take(MIB);
    CHECK(!mapped->data_segment);
    CHECK(hew_map_cover((uintptr_t)sbrk(0), 64 * MIB));
    faults_refuse("mmap", 0, FAULTS_ALL);
    struct hew_extent *extent = page_take(64 * KIB);
    faults_end();
    CHECK(extent->data_segment && in_data_segment(extent));
    page_give(mapped);
    page_give(extent);
    hew_page_release(&page_heap);
    CHECK_EQUAL(page_counts().retained, page_counts().mapped);
}

TEST(with_dss_disabled_a_refused_mapping_is_the_end)
{
    page_begin();
    faults_refuse("mmap", 0, FAULTS_ALL);
    CHECK(hew_page_take(&page_heap, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    faults_end();
    CHECK_EQUAL(page_counts().mapped, 0);
    page_give(page_take(64 * KIB));
    page_end();
}

static size_t
count_advice(enum hew_thp thp)
{
    page_begin();
    page_heap.thp = thp;
    faults_count("madvise");
    struct hew_extent *extent = page_take(64 * KIB);
    size_t asked = (size_t)faults_asked;
    faults_end();
    page_give(extent);
    page_end();
    return asked;
}

TEST(advice_on_huge_pages_is_given_once_a_mapping_and_only_by_choice)
{
    count_advice(HEW_THP_DEFAULT); /* may open a window of the map, which has advice of its own */
    CHECK_EQUAL(count_advice(HEW_THP_DEFAULT), 0);
    CHECK_EQUAL(count_advice(HEW_THP_ALWAYS), 1);
    CHECK_EQUAL(count_advice(HEW_THP_NEVER), 1);
}

/* A small life of a heap, in which any step may be refused: contents must hold all the same. */
static void
live(void)
{
    static const size_t sizes[] = {64 * KIB, 2 * MIB, 16 * KIB, 700 * KIB, 3 * MIB};
    struct hew_extent *extents[5];
    for (unsigned i = 0; i < 5; i++) {
        extents[i] = hew_page_take(&page_heap, sizes[i], i == 3 ? MIB : HEW_PAGE, HEW_CODE_SLOW);
        if (extents[i] != NULL) {
            CHECK(!extents[i]->zeroed || page_filled(extents[i], 0));
            page_fill(extents[i], (unsigned char)(i + 1));
        }
        CHECK(hew_page_heap_valid(&page_heap));
    }
    for (unsigned i = 0; i < 5; i++) {
        if (extents[i] == NULL) {
            continue;
        }
        CHECK(page_filled(extents[i], (unsigned char)(i + 1)));
        if (sizes[i] > 16 * KIB && hew_page_shrink(&page_heap, extents[i], 16 * KIB)) {
            CHECK(page_filled(extents[i], (unsigned char)(i + 1)));
        }
        hew_page_grow(&page_heap, extents[i], extents[i]->size + 16 * KIB);
        page_give(extents[i]);
        hew_page_decay(&page_heap, page_now, true);
        CHECK(hew_page_heap_valid(&page_heap));
    }
}

/* Refuses the first, the second ... call of a name until a whole life passes without reaching it. */
static void
live_through_refusals(const char *call, enum hew_dss dss, int refuse)
{
    bool reached = true;
    for (int turn = 0; reached; turn++) {
        page_begin();
        page_heap.dss = dss;
        page_heap.thp = HEW_THP_NEVER;
        faults_refuse(call, turn, refuse);
        live();
        reached = faults_refused > 0;
        faults_end();
        if (dss == HEW_DSS_DISABLED) {
            page_end();
        }
        CHECK(turn < 1000);
    }
}

TEST(each_system_call_may_be_refused_in_turn)
{
    static const char *const calls[] = {"mmap", "mprotect", "madvise", "brk", NULL};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        live_through_refusals(calls[i], HEW_DSS_DISABLED, 1);
        live_through_refusals(calls[i], HEW_DSS_DISABLED, FAULTS_ALL);
        live_through_refusals(calls[i], HEW_DSS_PRIMARY, 1);
        live_through_refusals(calls[i], HEW_DSS_SECONDARY, FAULTS_ALL);
    }
}
