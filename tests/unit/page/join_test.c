/* SPDX-License-Identifier: MIT */
/* Unit tests of page/join: requests that dirty pages serve together with the address space around them. */
#include "page/join.h"

#include "meta/memory.h"
#include "test.h"

#include "fakes/faults.h"
#include "page_fixture.h"

/* The first MiB: [0, 256 KiB) in the state that the test wants, [256, 512) dirty, the rest retained. */
static uintptr_t
lay_out(bool first_retained)
{
    page_begin();
    struct hew_extent *first = page_take(256 * KIB), *second = page_take(256 * KIB);
    uintptr_t start = first->address;
    CHECK_EQUAL(second->address, start + 256 * KIB);
    page_fill(second, 7);
    if (first_retained) {
        page_give(first);
        hew_page_decay(&page_heap, page_now, true);
    }
    page_give(second);
    CHECK_EQUAL(page_counts().dirty, 256 * KIB);
    return start;
}

TEST(dirty_pages_and_what_is_retained_behind_them_serve_one_request)
{
    uintptr_t start = lay_out(false);
    struct hew_extent *taken = page_take(512 * KIB);
    CHECK_EQUAL(taken->address, start + 256 * KIB);
    CHECK(!taken->zeroed);
    CHECK_EQUAL(taken->large.fresh, 256 * KIB);
    CHECK_EQUAL(*(unsigned char *)taken->address, 7);
    CHECK(page_counts().dirty == 0 && page_counts().retained == 256 * KIB);
    page_give(taken);
    page_give(hew_map_extent(start));
    page_end();
}

TEST(what_is_retained_on_both_sides_is_used_when_one_side_is_too_small)
{
    uintptr_t start = lay_out(true);
    struct hew_extent *taken = page_take(896 * KIB);
    CHECK_EQUAL(taken->address, start + 128 * KIB);
    CHECK_EQUAL(hew_extent_end(taken), start + MIB);
    CHECK_EQUAL(((unsigned char *)taken->address)[200 * KIB], 7);
    CHECK(page_counts().dirty == 0 && page_counts().retained == 128 * KIB && page_counts().maps == 1);
    page_give(taken);
    page_end();
}

/* Quarters of the first MiB in turn: address space, and dirty pages full of 7. */
static uintptr_t
lay_out_in_turn(void)
{
    page_begin();
    struct hew_extent *quarters[4];
    for (unsigned i = 0; i < 4; i++) {
        quarters[i] = page_take(256 * KIB);
        page_fill(quarters[i], 7);
    }
    uintptr_t start = quarters[0]->address;
    page_give(quarters[0]);
    page_give(quarters[2]);
    hew_page_decay(&page_heap, page_now, true);
    page_give(quarters[1]);
    page_give(quarters[3]);
    CHECK(page_counts().dirty == 512 * KIB && page_counts().retained == 512 * KIB);
    return start;
}

TEST(free_pages_in_several_states_serve_one_request)
{
    uintptr_t start = lay_out_in_turn();
    struct hew_extent *taken = page_take(MIB);
    CHECK_EQUAL(taken->address, start);
    CHECK(!taken->zeroed && taken->large.fresh == 0);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQUAL(((unsigned char *)start)[i * 256 * KIB], i % 2 == 0 ? 0 : 7);
    }
    CHECK(page_counts().dirty == 0 && page_counts().retained == 0 && page_counts().maps == 1);
    page_give(taken);
    page_end();
}

TEST(both_ends_of_what_serves_a_request_are_cut)
{
    uintptr_t start = lay_out_in_turn();
    struct hew_extent *taken = page_take(640 * KIB);
    CHECK_EQUAL(taken->address, start + 384 * KIB);
    CHECK_EQUAL(taken->large.fresh, 0);
    CHECK(page_counts().dirty == 128 * KIB && page_counts().retained == 256 * KIB);
    page_give(taken);
    page_end();
}

TEST(address_space_around_few_dirty_pages_is_used_before_more_is_mapped)
{
    page_begin();
    struct hew_extent *parts[40];
    for (unsigned i = 0; i < 40; i++) { /* half of them are more than are looked at, each alone */
        parts[i] = page_take(8 * KIB);
    }
    struct hew_extent *low = page_take(256 * KIB), *little = page_take(4 * KIB), *high = page_take(256 * KIB);
    uintptr_t start = low->address;
    page_give(low);
    page_give(high);
    hew_page_decay(&page_heap, page_now, true);
    page_give(little);
    for (unsigned i = 0; i < 40; i += 2) {
        page_give(parts[i]);
    }
    struct hew_extent *taken = page_take(516 * KIB);
    CHECK(taken->address > start && taken->address < start + 256 * KIB && !taken->zeroed);
    CHECK_EQUAL(page_counts().maps, 1);
    page_give(taken);
    for (unsigned i = 1; i < 40; i += 2) {
        page_give(parts[i]);
    }
    page_end();
}

TEST(the_dirty_pages_before_an_aligned_start_stay_where_they_are)
{
    page_begin();
    struct hew_extent *odd = page_take(4 * KIB), *dirty = page_take(24 * KIB);
    uintptr_t aligned = hew_bits_round_up(dirty->address, HEW_GRAIN);
    page_give(dirty);
    struct hew_extent *slab = hew_page_take(&page_heap, 64 * KIB, HEW_GRAIN, SLAB_CODE);
    CHECK_EQUAL(slab->address, aligned);
    CHECK_EQUAL(page_counts().dirty, aligned - hew_extent_end(odd));
    page_give(slab);
    page_give(odd);
    page_end();
}

TEST(without_room_around_them_dirty_pages_stay)
{
    page_begin();
    struct hew_extent *first = page_take(64 * KIB), *second = page_take(64 * KIB);
    page_give(first);
    struct hew_extent *taken = page_take(128 * KIB);
    CHECK(taken->zeroed);
    CHECK_EQUAL(page_counts().dirty, 64 * KIB);
    page_give(taken);
    page_give(second);
    page_end();
}

TEST(without_memory_for_a_struct_everything_stays_as_it_was)
{
    size_t fresh;
    lay_out(true);
    faults_refuse("mmap", 0, FAULTS_ALL);
    while (hew_meta_take(HEW_CACHE_LINE) != NULL) {
    }
    page_heap.spare = NULL;
    hew_mutex_lock(&page_heap.lock);
    CHECK(hew_join_take(&page_heap, &page_heap.dirty, 640 * KIB, HEW_PAGE, &fresh) ==
          NULL); /* of what is behind, only a part is wanted */
    CHECK(hew_join_take(&page_heap, &page_heap.dirty, 896 * KIB, HEW_PAGE, &fresh) == NULL); /* of what is before */
    hew_mutex_unlock(&page_heap.lock);
    CHECK(page_counts().dirty == 256 * KIB && page_counts().retained == 768 * KIB);
    faults_end();
    page_end();
}

TEST(an_alignment_that_cannot_be_met_around_dirty_pages_is_not)
{
    size_t fresh;
    lay_out(true);
    hew_mutex_lock(&page_heap.lock);
    CHECK(hew_join_take(&page_heap, &page_heap.dirty, 640 * KIB, (size_t)1 << 46, &fresh) == NULL);
    hew_mutex_unlock(&page_heap.lock);
    page_end();
}
