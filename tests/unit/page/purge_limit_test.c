/* SPDX-License-Identifier: MIT */
/* Unit tests of page/purge below a limit of memory: a part of the idle pages goes, and decay keeps less. */
#include "page/bound.h"
#include "page/heap.h"

#include "test.h"

#include "page_fixture.h"

TEST(who_wants_some_idle_pages_back_gets_the_oldest_of_them_and_others_stay)
{
    page_begin();
    page_decay_times(-1, 0);
    struct hew_extent *extents[6];
    for (unsigned i = 0; i < 6; i++) {
        extents[i] = page_take(256 * KIB);
        page_fill(extents[i], 7);
    }
    uintptr_t oldest = extents[1]->address, newest = extents[5]->address;
    page_give(extents[1]);
    page_give(extents[3]);
    page_give(extents[5]);
    CHECK_EQUAL(hew_page_idle(&page_heap), 768 * KIB);
    CHECK_EQUAL(hew_page_purge_some(&page_heap, 0), 0);
    CHECK_EQUAL(hew_page_purge_some(&page_heap, 300 * KIB), 300 * KIB);
    CHECK_EQUAL(hew_page_idle(&page_heap), 468 * KIB);
    CHECK_EQUAL(page_resident(oldest, 256 * KIB), 0);
    CHECK_EQUAL(page_resident(newest, 256 * KIB), 256 * KIB);
    CHECK_EQUAL(hew_page_purge_some(&page_heap, 4096 * KIB), 468 * KIB);
    CHECK_EQUAL(hew_page_idle(&page_heap), 0);
    for (unsigned i = 0; i < 6; i += 2) {
        page_give(extents[i]);
    }
    page_end();
}

TEST(near_a_limit_decay_keeps_a_part_of_what_it_would_keep_but_all_of_what_is_to_stay_for_ever)
{
    page_begin();
    page_decay_times(10000, 0);
    page_make_dirty(1024 * KIB);
    atomic_store(&hew_page_bound.parts, HEW_PAGE_BOUND_PARTS / 4);
    hew_page_decay(&page_heap, page_now + 1000, false);
    size_t kept = page_counts().dirty;
    CHECK(kept > 0 && kept <= 256 * KIB);
    atomic_store(&hew_page_bound.parts, 0);
    hew_page_decay(&page_heap, page_now + 2000, false);
    CHECK_EQUAL(page_counts().dirty, 0);
    page_decay_times(-1, 0);
    page_make_dirty(1024 * KIB);
    hew_page_decay(&page_heap, page_now + 30000, false);
    CHECK_EQUAL(page_counts().dirty, 1024 * KIB);
    atomic_store(&hew_page_bound.parts, HEW_PAGE_BOUND_PARTS);
    page_end();
}
