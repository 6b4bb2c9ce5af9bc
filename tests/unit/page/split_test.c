/* SPDX-License-Identifier: MIT */
/* Unit tests of page/split: which free neighbours merge, the marks they leave in the map, and reuse of structs. */
#include "page/split.h"

#include "meta/memory.h"
#include "test.h"

#include "page_fixture.h"

/* Three neighbours of 64 KiB at the start of a mapping that is otherwise taken. */
static struct hew_extent *three[3];
static struct hew_extent *rest;
static uintptr_t start;

static void
take_three(void)
{
    page_begin();
    for (unsigned i = 0; i < 3; i++) {
        three[i] = page_take(64 * KIB);
    }
    rest = page_take(MIB - 192 * KIB);
    start = three[0]->address;
    CHECK_EQUAL(page_counts().retained, 0);
}

TEST(three_neighbours_given_in_any_order_become_one)
{
    static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (unsigned order = 0; order < 6; order++) {
        take_three();
        for (unsigned i = 0; i < 3; i++) {
            page_give(three[orders[order][i]]);
            page_counts();
        }
        CHECK_EQUAL(page_heap.dirty.extents, 3);
        page_merge();
        CHECK_EQUAL(page_heap.dirty.extents, 1);
        struct hew_extent *merged = hew_stock_oldest(&page_heap.dirty);
        CHECK(merged->address == start && merged->size == 192 * KIB);
        page_give(rest);
        page_merge();
        CHECK_EQUAL(page_heap.dirty.extents, 1);
        page_end();
    }
}

TEST(neighbours_with_an_active_one_between_them_stay_apart)
{
    take_three();
    page_give(three[0]);
    page_give(three[2]);
    CHECK_EQUAL(page_heap.dirty.extents, 2);
    page_give(three[1]);
    page_give(rest);
    page_end();
}

TEST(neighbours_in_different_states_stay_apart_until_both_are_purged)
{
    take_three();
    page_give(three[0]);
    hew_page_decay(&page_heap, page_now, true);
    page_give(three[1]);
    CHECK_EQUAL(page_heap.dirty.extents, 1);
    CHECK_EQUAL(page_heap.retained.extents, 1);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_heap.dirty.extents, 0);
    CHECK_EQUAL(page_heap.retained.extents, 1);
    CHECK_EQUAL(page_heap.retained.bytes, 128 * KIB);
    page_give(three[2]);
    page_give(rest);
    page_end();
}

TEST(mappings_that_the_system_lays_side_by_side_become_one)
{
    static struct hew_extent *extents[32];
    page_begin();
    hew_options.retain = false; /* one mapping each */
    unsigned side_by_side = 0;
    for (unsigned i = 0; i < 32; i++) {
        extents[i] = page_take(64 * KIB);
        bool touches = i != 0 && hew_extent_end(extents[i]) == extents[i - 1]->address;
        side_by_side += touches;
        CHECK(!touches || hew_split_joinable(extents[i], extents[i - 1]));
    }
    CHECK(side_by_side > 0);
    CHECK_EQUAL(page_counts().maps, 32);
    for (unsigned i = 0; i < 32; i++) {
        page_give(extents[i]);
    }
    page_merge();
    CHECK_EQUAL(page_heap.dirty.extents, 32 - side_by_side);
    page_end();
}

TEST(neighbours_of_different_heaps_stay_apart)
{
    static struct hew_page_heap other;
    static struct hew_extent *own[16], *foreign[16];
    page_begin();
    hew_options.retain = false;
    hew_page_heap_begin(&other, 4, page_now);
    unsigned side_by_side = 0;
    for (unsigned i = 0; i < 16; i++) {
        own[i] = page_take(64 * KIB);
        foreign[i] = hew_page_take(&other, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW);
        side_by_side += hew_extent_end(foreign[i]) == own[i]->address;
        for (unsigned j = 0; j <= i; j++) {
            CHECK(!hew_split_joinable(own[i], foreign[j]) && !hew_split_joinable(foreign[i], own[j]));
        }
    }
    CHECK(side_by_side > 0);
    for (unsigned i = 0; i < 16; i++) {
        page_give(own[i]);
        hew_page_give(&other, foreign[i]);
    }
    hew_page_release(&other);
    page_end();
}

TEST(nothing_joins_with_nothing_or_with_a_struct_that_is_unused)
{
    take_three();
    struct hew_extent unused = {.address = start, .size = 64 * KIB};
    CHECK(!hew_split_joinable(three[0], NULL));
    CHECK(!hew_split_joinable(three[0], &unused));
    CHECK(hew_split_joinable(three[0], three[1]));
    for (unsigned i = 0; i < 3; i++) {
        page_give(three[i]);
    }
    page_give(rest);
    page_end();
}

TEST(both_ends_of_a_free_extent_lead_to_it)
{
    take_three();
    page_give(three[0]);
    page_give(three[1]);
    page_merge();
    struct hew_extent *merged = hew_stock_oldest(&page_heap.dirty);
    CHECK(hew_map_extent(start) == merged);
    CHECK(hew_map_extent(start + 128 * KIB - 1) == merged);
    hew_split_forget_ends(merged);
    CHECK(hew_map_extent(start) == NULL);
    CHECK(hew_map_extent(start + 128 * KIB - 1) == NULL);
    hew_split_mark_ends(merged);
    page_give(three[2]);
    page_give(rest);
    page_end();
}

TEST(a_new_struct_inherits_from_where_it_was_cut_and_knows_nothing_else)
{
    page_begin();
    struct hew_extent *from = page_take(64 * KIB);
    struct hew_extent *cut = hew_split_new_extent(&page_heap, from, from->address + HEW_GRAIN, HEW_PAGE);
    CHECK(cut->region == from->region && cut->arena == 3 && cut->state == from->state);
    CHECK(cut->code == HEW_CODE_NONE && !cut->data_segment);
    CHECK(cut->address == from->address + HEW_GRAIN && cut->size == HEW_PAGE);
    hew_split_drop_extent(&page_heap, cut);
    CHECK(cut->state == HEW_EXTENT_UNUSED && cut->region == 0);
    CHECK(hew_split_new_extent(&page_heap, from, from->address, HEW_PAGE) == cut); /* used again first */
    hew_split_drop_extent(&page_heap, cut);
    page_give(from);
    page_end();
}

TEST(splitting_and_merging_for_long_needs_no_more_structs)
{
    take_three();
    size_t used = 0;
    for (unsigned turn = 0; turn < 1000; turn++) {
        for (unsigned i = 0; i < 3; i++) {
            page_give(three[i]);
        }
        for (unsigned i = 0; i < 3; i++) {
            three[i] = page_take(64 * KIB);
        }
        used = turn == 0 ? hew_meta_usage().used : used;
    }
    CHECK_EQUAL(hew_meta_usage().used, used);
    for (unsigned i = 0; i < 3; i++) {
        page_give(three[i]);
    }
    page_give(rest);
    page_end();
}

/* Cuts the second quarter out of a free extent; whether what lies behind it counts as one that may have neighbours. */
static bool
cut_and_look(struct hew_extent *extent, bool unmerged)
{
    size_t quarter = extent->size / 4;
    hew_mutex_lock(&page_heap.lock);
    CHECK_EQUAL(extent->free.unmerged.next != NULL, unmerged);
    struct hew_extent *taken = hew_split_cut(&page_heap, &page_heap.dirty, extent, extent->address + quarter, quarter);
    struct hew_extent *tail = hew_map_extent(hew_extent_end(taken));
    CHECK(tail != extent && tail->address == hew_extent_end(taken) && tail->size == 2 * quarter);
    bool marked = tail->free.unmerged.next != NULL;
    hew_split_insert(&page_heap, &page_heap.dirty, taken, HEW_EXTENT_DIRTY);
    hew_mutex_unlock(&page_heap.lock);
    return marked;
}

TEST(what_is_cut_off_behind_may_have_neighbours_where_the_whole_might)
{
    take_three();
    page_give(three[1]);
    CHECK(cut_and_look(three[1], true));
    page_merge();
    struct hew_extent *whole = hew_stock_oldest(&page_heap.dirty);
    CHECK_EQUAL(whole->size, 64 * KIB);
    CHECK(!cut_and_look(whole, false));
    page_give(three[0]);
    page_give(three[2]);
    page_give(rest);
    page_end();
}
