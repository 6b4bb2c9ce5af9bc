/* SPDX-License-Identifier: MIT */
/* Unit tests of page/huge: which memory asks for huge pages, and what giving it back does to that. */
#include "page/huge.h"

#include "test.h"

#include "fakes/faults.h"
#include "page_fixture.h"

#define PIECE (256 * KIB)
#define PIECES_MOST 256

static struct hew_extent *pieces[PIECES_MOST];
static unsigned piece_count;

static void
begin(size_t threshold)
{
    page_begin();
    hew_options.thp_threshold = threshold;
    piece_count = 0;
}

/* Takes pieces until the heap's mappings hold `bytes`, and writes them or not. */
static void
take_until(size_t bytes, bool write)
{
    for (size_t active = page_counts().active; active < bytes; active += PIECE) {
        CHECK(piece_count < PIECES_MOST);
        pieces[piece_count] = page_take(PIECE);
        if (write) {
            page_fill(pieces[piece_count], 1);
        }
        piece_count++;
    }
}

static unsigned
count_huge(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < piece_count; i++) {
        count += pieces[i]->state == HEW_EXTENT_ACTIVE && pieces[i]->huge;
    }
    return count;
}

static void
give_from(unsigned first)
{
    while (piece_count > first) {
        page_give(pieces[--piece_count]);
    }
}

static void
end(void)
{
    give_from(0);
    page_end();
}

TEST(a_small_heap_asks_for_no_huge_pages)
{
    begin(32 * MIB);
    take_until(15 * MIB, true);
    CHECK_EQUAL(count_huge(), 0);
    CHECK(!page_heap.huge);
    end();
}

TEST(a_heap_past_the_threshold_whose_memory_is_dense_asks_for_huge_pages)
{
    begin(7 * MIB);
    take_until(7 * MIB, true); /* mapped as 1, 2 and 4 */
    CHECK(!page_heap.huge);
    faults_count("madvise");
    take_until(15 * MIB, true); /* once for this region of 8 */
    CHECK_EQUAL(faults_asked, 1);
    faults_end();
    CHECK_EQUAL(count_huge(), 8 * MIB / PIECE);
    CHECK_EQUAL(page_heap.probe.size, 2 * MIB);
    end();
}

TEST(huge_pages_begin_in_the_middle_of_a_region_where_the_threshold_lies_there)
{
    begin(10 * MIB);
    take_until(15 * MIB, true);
    CHECK(page_heap.huge);
    CHECK_EQUAL(page_heap.probe.size, 4 * MIB); /* 3 MiB until the threshold, up to the next huge page */
    end();
}

TEST(a_heap_whose_memory_is_not_touched_asks_for_no_huge_pages)
{
    begin(7 * MIB);
    take_until(31 * MIB, false);
    CHECK(!page_heap.huge && !page_heap.dense);
    end();
}

TEST(memory_that_is_no_longer_dense_ends_the_asking)
{
    begin(7 * MIB);
    take_until(15 * MIB, true); /* the last 8 are huge, but for the probe */
    take_until(31 * MIB, false);
    take_until(32 * MIB, false);
    CHECK(page_heap.huge && !page_heap.dense);
    CHECK(!pieces[piece_count - 1]->huge);
    end();
}

TEST(no_huge_pages_are_made_for_one_request_that_is_large_beside_the_heap)
{
    begin(7 * MIB);
    take_until(7 * MIB, true);
    struct hew_extent *large = page_take(4 * MIB);
    CHECK(!large->huge && !page_heap.huge);
    page_give(large);
    end();
}

TEST(no_threshold_and_any_choice_of_thp_end_the_heaps_own_asking)
{
    for (int kind = 0; kind < 3; kind++) {
        begin(kind == 0 ? 0 : 7 * MIB);
        page_heap.thp = kind == 0 ? HEW_THP_DEFAULT : kind == 1 ? HEW_THP_ALWAYS : HEW_THP_NEVER;
        take_until(15 * MIB, true);
        CHECK(!page_heap.huge);
        end();
    }
}

TEST(a_system_that_does_not_tell_what_is_resident_gives_small_pages)
{
    begin(7 * MIB);
    faults_refuse("mincore", 0, FAULTS_ALL);
    take_until(15 * MIB, true);
    CHECK(faults_refused > 0 && !page_heap.huge);
    faults_end();
    end();
}

TEST(with_background_thread_false_nobody_asks_what_is_resident)
{
    begin(7 * MIB);
    hew_options.background_thread = false;
    faults_refuse("mincore", 0, FAULTS_ALL);
    take_until(15 * MIB, true);
    CHECK(faults_refused == 0 && !page_heap.huge);
    faults_end();
    end();
}

TEST(the_huge_pages_within_an_extent_are_whole_and_its_highest)
{
    struct hew_extent extent = {.address = 3 * MIB, .size = 8 * MIB}; /* 4, 6 and 8 lie in it */
    uintptr_t start;
    CHECK_EQUAL(hew_huge_within(&extent, SIZE_MAX, &start), 6 * MIB);
    CHECK_EQUAL(start, 4 * MIB);
    CHECK_EQUAL(hew_huge_within(&extent, 5 * MIB, &start), 4 * MIB);
    CHECK_EQUAL(start, 6 * MIB);
    CHECK_EQUAL(hew_huge_within(&extent, 2 * MIB - 1, &start), 0);
    extent.size = 2 * MIB;
    CHECK_EQUAL(hew_huge_within(&extent, SIZE_MAX, &start), 0);
}

TEST(while_decay_goes_on_huge_pages_go_back_whole)
{
    begin(7 * MIB);
    page_decay_times(3200, 0);
    take_until(31 * MIB, true); /* the last region of 16 is huge */
    unsigned kept = piece_count - (unsigned)(9 * MIB / PIECE);
    give_from(kept);
    for (unsigned step = 1; step < 31; step++) {
        hew_page_decay(&page_heap, page_now + 100 * step, false);
        CHECK_EQUAL(page_counts().dirty_purged % (2 * MIB), 0);
    }
    CHECK(page_counts().dirty_purged >= 6 * MIB && page_heap.huge);
    CHECK_EQUAL(count_huge(), (8 + 16 - 9) * MIB / PIECE);
    hew_page_decay(&page_heap, page_now + 3500, false); /* all of it, and with it parts of huge pages */
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK(!pieces[kept - 1]->huge);
    end();
}

TEST(a_region_that_gives_part_of_a_huge_page_back_asks_no_more)
{
    begin(7 * MIB);
    take_until(15 * MIB, true);
    struct hew_extent *middle = pieces[piece_count - 3];
    pieces[piece_count - 3] = pieces[piece_count - 1];
    piece_count--;
    page_give(middle);
    faults_count("madvise");
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(faults_asked, 2); /* the pages, and the region */
    faults_end();
    CHECK_EQUAL(count_huge(), 0);
    end();
}

TEST(muzzy_pages_of_less_than_a_huge_one_wait_for_the_rest_and_go_with_everything)
{
    page_begin();
    page_decay_times(100, 3200);
    struct hew_extent *extent = page_take(MIB);
    page_fill(extent, 7);
    page_give(extent);
    hew_page_decay(&page_heap, page_now, false);
    for (uint64_t time = 4; time <= 104; time += 4) {
        hew_page_decay(&page_heap, page_now + time, false);
    }
    size_t muzzy = page_counts().muzzy;
    CHECK(muzzy > MIB / 2);
    page_heap.huge = true;
    for (struct hew_list *node = page_heap.muzzy.oldest.next; node != &page_heap.muzzy.oldest; node = node->next) {
        HEW_CONTAINER(node, struct hew_extent, free.age)->huge = true;
    }
    hew_page_decay(&page_heap, page_now + 2000, false);
    CHECK_EQUAL(page_counts().muzzy, muzzy);
    CHECK(page_heap.muzzy_decay.put_off > 0 && page_heap.muzzy_decay.put_off < muzzy);
    hew_page_decay(&page_heap, page_now + 2000, true);
    CHECK_EQUAL(page_counts().muzzy, 0);
    page_heap.huge = false;
    page_end();
}
