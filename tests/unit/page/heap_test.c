/* SPDX-License-Identifier: MIT */
/* Unit tests of page/heap: taking, giving, growing, shrinking and moving. */
#include "page/heap.h"
#include "page/move.h"

#include "meta/memory.h"
#include "test.h"

#include "fakes/faults.h"
#include "page_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(a_new_heap_holds_nothing_and_asks_for_nothing)
{
    page_begin();
    struct hew_page_counts counts = page_counts();
    CHECK(counts.active == 0 && counts.mapped == 0 && counts.maps == 0);
    page_end();
}

TEST(a_fresh_extent_is_zero_active_and_known_by_both_maps)
{
    page_begin();
    struct hew_extent *extent = page_take(48 * KIB);
    CHECK(extent->zeroed && page_filled(extent, 0));
    CHECK_EQUAL(extent->state, HEW_EXTENT_ACTIVE);
    CHECK_EQUAL(extent->arena, 3);
    CHECK_EQUAL(extent->size, 48 * KIB);
    CHECK_EQUAL(hew_map_code(extent->address), HEW_CODE_SLOW);
    CHECK_EQUAL(hew_map_code(extent->address + HEW_GRAIN), HEW_CODE_NONE);
    CHECK(hew_map_extent(extent->address) == extent);
    CHECK(hew_map_extent(hew_extent_end(extent) - 1) == extent);
    page_give(extent);
    page_end();
}

TEST(a_slab_is_known_on_all_its_pages_until_it_is_given)
{
    page_begin();
    struct hew_extent *slab = hew_page_take(&page_heap, 64 * KIB, HEW_GRAIN, SLAB_CODE);
    uintptr_t start = slab->address, end = hew_extent_end(slab);
    CHECK_EQUAL(start % HEW_GRAIN, 0);
    for (uintptr_t page = start; page < end; page += HEW_PAGE) {
        CHECK_EQUAL(hew_map_code(page), SLAB_CODE);
        CHECK(hew_map_extent(page + 100) == slab);
    }
    page_give(slab);
    for (uintptr_t page = start; page < end; page += HEW_PAGE) {
        CHECK_EQUAL(hew_map_code(page), HEW_CODE_NONE);
    }
    page_end();
}

TEST(any_alignment_up_to_64_mebibytes_is_met_at_any_size)
{
    page_begin();
    for (size_t alignment = HEW_PAGE; alignment <= 64 * MIB; alignment *= 2) {
        for (size_t size = 16 * KIB; size <= 4 * MIB; size = size * 5 + HEW_PAGE) {
            struct hew_extent *first = hew_page_take(&page_heap, size, alignment, HEW_CODE_SLOW);
            struct hew_extent *second = hew_page_take(&page_heap, size, alignment, HEW_CODE_SLOW);
            CHECK(first->address % alignment == 0 && second->address % alignment == 0);
            CHECK(first->size == size && second->size == size);
            CHECK(first->address >= hew_extent_end(second) || second->address >= hew_extent_end(first));
            *(char *)first->address = *(char *)(hew_extent_end(second) - 1) = 1;
            page_counts();
            page_give(first);
            page_give(second);
        }
    }
    page_end();
}

TEST(what_is_given_is_the_first_to_be_taken_again)
{
    page_begin();
    struct hew_extent *extent = page_take(64 * KIB);
    uintptr_t address = extent->address;
    page_fill(extent, 7);
    page_give(extent);
    CHECK_EQUAL(page_counts().dirty, 64 * KIB);
    extent = page_take(64 * KIB);
    CHECK_EQUAL(extent->address, address);
    CHECK(!extent->zeroed);
    CHECK_EQUAL(page_counts().maps, 1);
    CHECK_EQUAL(page_counts().dirty, 0);
    page_give(extent);
    page_end();
}

TEST(the_rest_of_a_cut_extent_stays_where_it_was)
{
    page_begin();
    struct hew_extent *large = page_take(256 * KIB);
    uintptr_t address = large->address;
    page_give(large);
    struct hew_extent *first = page_take(64 * KIB), *second = page_take(64 * KIB);
    CHECK_EQUAL(first->address, address);
    CHECK_EQUAL(second->address, address + 64 * KIB);
    CHECK_EQUAL(page_counts().dirty, 128 * KIB);
    page_give(first);
    page_give(second);
    CHECK_EQUAL(page_heap.dirty.extents, 3);
    page_give(page_take(256 * KIB)); /* fits in none of them alone */
    CHECK_EQUAL(page_heap.dirty.extents, 1);
    CHECK_EQUAL(page_counts().dirty, 256 * KIB);
    page_end();
}

TEST(what_is_asked_for_again_is_found_as_it_was_the_newest_first)
{
    page_begin();
    struct hew_extent *first = page_take(64 * KIB), *second = page_take(64 * KIB), *found[3];
    page_give(first);
    page_give(second);
    CHECK(page_take(64 * KIB) == second);
    page_give(second);
    CHECK_EQUAL(hew_page_take_same(&page_heap, 64 * KIB, HEW_CODE_SLOW, found, 3), 2);
    CHECK(found[0] == second && found[1] == first && !first->zeroed);
    CHECK_EQUAL(page_counts().active, 128 * KIB);
    CHECK_EQUAL(hew_page_take_same(&page_heap, 64 * KIB, HEW_CODE_SLOW, found + 2, 1),
                0); /* it never asks for more memory */
    hew_page_give_some(&page_heap, found, 2);
    CHECK_EQUAL(page_counts().dirty, 128 * KIB);
    page_end();
}

TEST(once_the_system_has_refused_memory_little_stays_mapped)
{
    page_begin();
    struct hew_extent *first = page_take(8 * MIB), *second = page_take(64 * KIB);
    page_give(first);
    CHECK(page_counts().mapped >= 8 * MIB);
    first = page_take(8 * MIB);
    hew_page_release(&page_heap); /* as when it has */
    page_give(first);
    CHECK(page_counts().mapped < 2 * MIB);
    page_give(second);
    page_end();
}

/* The code map has one byte for 16 KiB, of which a free extent may have only a part. */
TEST(a_free_extent_may_share_a_grain_with_an_active_one)
{
    page_begin();
    struct hew_extent *first = page_take(20 * KIB), *second = page_take(20 * KIB);
    CHECK_EQUAL(second->address, first->address + 20 * KIB);
    page_give(first);
    struct hew_extent *third = page_take(16 * KIB);
    CHECK(hew_page_heap_valid(&page_heap));
    CHECK_EQUAL(hew_map_code(second->address), HEW_CODE_SLOW);
    page_give(third);
    CHECK_EQUAL(hew_map_code(second->address), HEW_CODE_SLOW);
    page_give(second);
    page_end();
}

TEST(validity_notices_a_code_that_outlived_its_extent)
{
    page_begin();
    struct hew_extent *extent = page_take(64 * KIB);
    uintptr_t second_grain = extent->address + HEW_GRAIN;
    page_give(extent);
    CHECK(hew_page_heap_valid(&page_heap));
    hew_map_set_code(second_grain, SLAB_CODE);
    CHECK(!hew_page_heap_valid(&page_heap));
    hew_map_set_code(second_grain, HEW_CODE_NONE);
    page_heap.counts.active += HEW_PAGE;
    CHECK(!hew_page_heap_valid(&page_heap));
    page_heap.counts.active -= HEW_PAGE;
    page_end();
}

TEST(an_extent_grows_into_the_free_pages_behind_it_and_keeps_its_contents)
{
    page_begin();
    struct hew_extent *extent = page_take(64 * KIB);
    uintptr_t address = extent->address;
    page_fill(extent, 7);
    CHECK(hew_page_grow(&page_heap, extent, 100 * KIB));
    CHECK(extent->address == address && extent->size == 100 * KIB);
    CHECK(((char *)address)[64 * KIB - 1] == 7 && ((char *)address)[64 * KIB] == 0);
    CHECK(hew_map_extent(address + 100 * KIB - 1) == extent);
    CHECK_EQUAL(page_counts().active, 100 * KIB);
    CHECK(hew_page_grow(&page_heap, extent, MIB)); /* to the end of the mapping, nothing left over */
    CHECK_EQUAL(page_counts().retained, 0);
    page_give(extent);
    page_end();
}

TEST(an_extent_grows_over_free_pages_in_several_states)
{
    page_begin();
    struct hew_extent *extent = page_take(64 * KIB), *empty = page_take(64 * KIB), *dirty = page_take(64 * KIB);
    struct hew_extent *behind = page_take(64 * KIB);
    page_give(empty);
    hew_page_decay(&page_heap, page_now, true);
    page_give(dirty);
    CHECK(!hew_page_grow(&page_heap, extent, 256 * KIB));
    CHECK(hew_page_grow(&page_heap, extent, 192 * KIB));
    CHECK(extent->size == 192 * KIB && !extent->zeroed);
    page_give(extent);
    page_give(behind);
    page_end();
}

TEST(growing_stops_at_an_active_neighbour_at_too_few_pages_and_at_the_end_of_the_mapping)
{
    page_begin();
    struct hew_extent *extent = page_take(64 * KIB), *second = page_take(64 * KIB), *third = page_take(64 * KIB);
    CHECK(!hew_page_grow(&page_heap, extent, 68 * KIB));
    page_give(second);
    CHECK(!hew_page_grow(&page_heap, extent, 132 * KIB));
    CHECK_EQUAL(extent->size, 64 * KIB);
    CHECK(hew_page_grow(&page_heap, extent, 128 * KIB));
    CHECK(!hew_page_grow(&page_heap, third, 2 * MIB));
    CHECK(!hew_page_grow(&page_heap, third, (size_t)1 << 47));
    CHECK_EQUAL(page_counts().active, 192 * KIB);
    page_give(extent);
    page_give(third);
    page_end();
}

TEST(zeros_are_no_longer_promised_when_dirty_pages_join)
{
    page_begin();
    struct hew_extent *extent = page_take(64 * KIB), *second = page_take(64 * KIB), *third = page_take(64 * KIB);
    page_fill(second, 7);
    page_give(second);
    CHECK(extent->zeroed);
    CHECK(hew_page_grow(&page_heap, extent, 80 * KIB));
    CHECK(!extent->zeroed);
    CHECK(third->zeroed && hew_page_grow(&page_heap, third, 80 * KIB));
    CHECK(third->zeroed && page_filled(third, 0));
    page_give(extent);
    page_give(third);
    page_end();
}

TEST(a_shrunk_extent_leaves_its_tail_to_others)
{
    page_begin();
    struct hew_extent *extent = page_take(256 * KIB);
    page_fill(extent, 7);
    CHECK(hew_page_shrink(&page_heap, extent, 64 * KIB));
    CHECK_EQUAL(extent->size, 64 * KIB);
    CHECK(page_filled(extent, 7));
    CHECK_EQUAL(hew_map_code(extent->address), HEW_CODE_SLOW);
    CHECK_EQUAL(page_counts().active, 64 * KIB);
    CHECK_EQUAL(page_counts().dirty, 192 * KIB);
    struct hew_extent *second = page_take(192 * KIB);
    CHECK_EQUAL(second->address, hew_extent_end(extent));
    CHECK(hew_page_shrink(&page_heap, second, 64 * KIB));
    CHECK(hew_page_grow(&page_heap, second, 192 * KIB)); /* and takes it back */
    page_give(extent);
    page_give(second);
    page_end();
}

/* Extent structs come in batches; how many are left is seen from the heap's own list. */
static void
use_up_spare_structs(void)
{
    page_heap.spare = NULL; /* they stay in hew's own memory, which is never given back anyhow */
}

/* Makes hew's own memory ask the system at its next piece of any small size. */
static void
use_up_meta(void)
{
    faults_refuse("mmap", 0, FAULTS_ALL);
    while (hew_meta_take(HEW_CACHE_LINE) != NULL) {
    }
}

TEST(without_memory_for_a_struct_nothing_changes)
{
    page_begin();
    struct hew_extent *extent = page_take(64 * KIB), *second = page_take(64 * KIB);
    struct hew_page_counts before = page_counts();
    use_up_meta();
    use_up_spare_structs();
    CHECK(!hew_page_shrink(&page_heap, extent, 32 * KIB));
    CHECK(!hew_page_grow(&page_heap, second, 80 * KIB));
    CHECK(hew_page_take(&page_heap, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    CHECK(hew_page_take(&page_heap, 64 * KIB, 256 * KIB, HEW_CODE_SLOW) == NULL);
    struct hew_page_counts after = page_counts();
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    page_give(extent); /* needs no memory */
    faults_end();
    page_give(second);
    page_end();
}

TEST(a_cut_that_fails_half_way_gives_its_first_struct_back)
{
    page_begin();
    struct hew_extent *first = page_take(64 * KIB), *gap = NULL;
    if (hew_extent_end(first) % (256 * KIB) == 0) { /* where the region lies is the system's choice */
        gap = page_take(64 * KIB);
    }
    use_up_meta();
    struct hew_extent *last = page_heap.spare; /* one is left, and a cut out of the middle takes two */
    last->free.next = NULL;
    faults_refuse("mmap", 0, FAULTS_ALL);
    CHECK(hew_page_take(&page_heap, 64 * KIB, 256 * KIB, HEW_CODE_SLOW) == NULL);
    CHECK(page_heap.spare == last && last->free.next == NULL);
    faults_end();
    if (gap != NULL) {
        page_give(gap);
    }
    page_give(first);
    page_end();
}

/* Pages of address space that this process holds. */
static long
pages_held(void)
{
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
    close(file);
    return strtol(text, NULL, 10);
}

TEST(a_mapping_that_cannot_be_entered_goes_back)
{
    page_begin();
    page_give(page_take(64 * KIB)); /* opens the map's window */
    hew_page_release(&page_heap);
    use_up_meta();
    use_up_spare_structs();
    long before = pages_held();
    faults_refuse("mmap", 1, FAULTS_ALL); /* the pages come, a struct for them does not */
    CHECK(hew_page_take(&page_heap, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    CHECK(faults_refused > 0);
    faults_end();
    CHECK_EQUAL(pages_held(), before);
    page_end();
}

TEST(moved_pages_take_their_contents_along_and_leave_zeros)
{
    page_begin();
    struct hew_extent *from = page_take(256 * KIB), *to = page_take(512 * KIB);
    page_fill(from, 7);
    CHECK(hew_page_move(&page_heap, from, &page_heap, to) == HEW_OS_MOVED);
    CHECK(page_filled(from, 0));
    CHECK(((char *)to->address)[0] == 7 && ((char *)to->address)[256 * KIB - 1] == 7);
    CHECK(((char *)to->address)[256 * KIB] == 0);
    page_give(from);
    page_give(to);
    page_end();
}

TEST(where_pages_have_moved_from_is_address_space)
{
    page_begin();
    struct hew_extent *from = page_take(256 * KIB), *to = page_take(512 * KIB);
    page_fill(from, 7);
    CHECK(hew_page_move(&page_heap, from, &page_heap, to) == HEW_OS_MOVED);
    size_t retained = page_counts().retained;
    hew_page_give_empty(&page_heap, from);
    CHECK(page_counts().dirty == 0 && page_counts().retained == retained + 256 * KIB);
    from = page_take(256 * KIB);
    CHECK(from->zeroed && page_filled(from, 0));
    page_give(from);
    page_give(to);
    page_end();
}

TEST(what_the_system_refuses_to_move_is_copied_in_parts)
{
    page_begin();
    struct hew_extent *from = page_take(2 * MIB + 256 * KIB), *to = page_take(2 * MIB + 256 * KIB);
    page_fill(from, 7);
    faults_refuse("mremap", 0, 1);
    CHECK(hew_page_move(&page_heap, from, &page_heap, to) == HEW_OS_MOVED);
    faults_end();
    CHECK_EQUAL(hew_os_resident((void *)from->address, from->size), 0);
    CHECK(page_filled(from, 0) && page_filled(to, 7));
    page_give(from);
    page_give(to);
    page_end();
}

TEST(an_abandoned_extent_is_nobodys_and_is_not_touched)
{
    page_begin();
    struct hew_extent *extent = page_take(256 * KIB), *behind = page_take(64 * KIB);
    uintptr_t address = extent->address;
    page_fill(extent, 7);
    hew_page_hide(extent);
    CHECK(hew_map_extent(address) == NULL && hew_map_code(address) == HEW_CODE_NONE);
    hew_map_set_extent(address, behind); /* as if another heap had been given the place */
    hew_map_set_code(address, HEW_CODE_SLOW);
    hew_page_abandon(&page_heap, extent);
    CHECK(hew_map_extent(address) == behind && hew_map_code(address) == HEW_CODE_SLOW);
    hew_map_set_extent(address, NULL);
    hew_map_set_code(address, HEW_CODE_NONE);
    page_give(behind);
    hew_page_release(&page_heap);
    CHECK(((char *)address)[0] == 7 && ((char *)address)[256 * KIB - 1] == 7);
    CHECK(hew_page_heap_valid(&page_heap));
    hew_os_unmap((void *)address, 256 * KIB);
    page_end();
}

TEST(a_request_beyond_the_address_space_gets_nothing)
{
    page_begin();
    CHECK(hew_page_take(&page_heap, (size_t)1 << 47, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    CHECK(hew_page_take(&page_heap, (size_t)1 << 50, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    CHECK(hew_page_take(&page_heap, HEW_SIZE_MAX - HEW_PAGE + 1, HEW_PAGE, HEW_CODE_SLOW) == NULL);
    CHECK(hew_page_take(&page_heap, 64 * KIB, (size_t)1 << 47, HEW_CODE_SLOW) == NULL);
    CHECK(hew_page_take(&page_heap, 64 * KIB, (size_t)1 << 62, HEW_CODE_SLOW) == NULL);
    page_end();
}

TEST(heaps_side_by_side_never_join_their_pages)
{
    static struct hew_page_heap other;
    static struct hew_extent *mine[64], *theirs[64];
    page_begin();
    hew_options.retain = false; /* exact mappings, which the kernel lays side by side */
    memset(&other, 0, sizeof other);
    hew_page_heap_begin(&other, 4, page_now);
    for (unsigned i = 0; i < 64; i++) {
        mine[i] = page_take(64 * KIB);
        theirs[i] = hew_page_take(&other, 64 * KIB, HEW_PAGE, HEW_CODE_SLOW);
    }
    for (unsigned i = 0; i < 64; i++) {
        page_give(mine[i]);
        hew_page_give(&other, theirs[i]);
    }
    CHECK_EQUAL(page_heap.dirty.extents, 64);
    CHECK_EQUAL(other.dirty.extents, 64);
    CHECK(hew_page_heap_valid(&other));
    hew_page_release(&other);
    CHECK_EQUAL(hew_page_counts(&other).mapped, 0);
    page_end();
}

TEST(an_extent_with_memory_is_not_cut_for_a_request_that_is_too_small_for_it)
{
    page_begin();
    struct hew_extent *large = page_take(256 * KIB);
    uintptr_t dirty = large->address;
    page_give(large);
    hew_options.lg_extent_max_active_fit = 2;
    struct hew_extent *small = page_take(16 * KIB), *fitting = page_take(64 * KIB);
    CHECK(small->address != dirty && small->zeroed);
    CHECK_EQUAL(fitting->address, dirty);
    page_give(small);
    page_give(fitting);
    page_end();
}

TEST(the_system_zeroes_an_active_extent)
{
    page_begin();
    struct hew_extent *extent = page_take(256 * KIB);
    page_fill(extent, 7);
    CHECK(hew_page_zero(&page_heap, extent));
    CHECK(page_filled(extent, 0));
    page_fill(extent, 7);
    faults_refuse("madvise", 0, FAULTS_ALL);
    CHECK(!hew_page_zero(&page_heap, extent));
    faults_end();
    CHECK(page_filled(extent, 7));
    page_give(extent);
    page_end();
}

TEST(a_private_heap_shows_no_class_until_it_is_shared)
{
    unsigned code = hew_code_of_size(HEW_SMALL_MAX + 1);
    page_begin();
    page_heap.is_private = true;
    struct hew_extent *extent = hew_page_take(&page_heap, hew_class_size(code - 1), HEW_PAGE, code);
    CHECK_EQUAL(hew_map_code(extent->address), HEW_CODE_SLOW);
    CHECK_EQUAL(extent->code, code);
    page_give(extent);
    hew_page_share(&page_heap);
    CHECK_EQUAL(page_heap.lock.state, 0);
    extent = hew_page_take(&page_heap, hew_class_size(code - 1), HEW_PAGE, code);
    CHECK_EQUAL(hew_map_code(extent->address), code);
    page_give(extent);
    page_end();
}

TEST(a_census_counts_the_free_extents_of_each_size_and_state)
{
    page_begin();
    page_decay_times(-1, -1);
    struct hew_extent *extents[6];
    for (unsigned i = 0; i < 6; i++) { /* neighbours stay out, so that nothing merges */
        extents[i] = page_take(i < 4 ? 3 * HEW_PAGE : 40 * HEW_PAGE);
    }
    page_give(extents[0]);
    page_give(extents[2]);
    page_give(extents[4]);
    struct hew_page_bucket buckets[HEW_STOCK_BUCKETS];
    struct hew_page_counts counts = hew_page_census(&page_heap, buckets);
    CHECK(counts.dirty == 46 * HEW_PAGE && counts.active == 46 * HEW_PAGE && counts.muzzy == 0);
    size_t dirty = 0, muzzy = 0, retained = 0;
    for (unsigned bucket = 0; bucket < HEW_STOCK_BUCKETS; bucket++) {
        dirty += buckets[bucket].dirty.bytes;
        muzzy += buckets[bucket].muzzy.bytes;
        retained += buckets[bucket].retained.bytes;
        CHECK(buckets[bucket].dirty.extents == 0 || buckets[bucket].dirty.extents == 1 ||
              buckets[bucket].dirty.extents == 2);
    }
    CHECK(dirty == counts.dirty && muzzy == 0 && retained == counts.retained);
    for (unsigned i = 1; i < 6; i += 2) {
        page_give(extents[i]);
    }
    page_end();
}

/* Whether the page is mapped. */
static bool
is_mapped(uintptr_t address)
{
    return msync((void *)address, HEW_PAGE, MS_ASYNC) == 0;
}

TEST(what_is_discarded_leaves_the_heap_and_the_process)
{
    page_begin();
    struct hew_extent *extent = page_take(4 * HEW_PAGE), *other = page_take(4 * HEW_PAGE);
    uintptr_t address = extent->address;
    size_t mapped = page_counts().mapped, all = hew_page_mapped;
    hew_page_discard(&page_heap, extent);
    CHECK(page_counts().mapped == mapped - 4 * HEW_PAGE && hew_page_mapped == all - 4 * HEW_PAGE);
    CHECK(hew_map_code(address) == HEW_CODE_NONE && hew_map_extent(address) == NULL);
    CHECK(!is_mapped(address) && !is_mapped(address + 3 * HEW_PAGE));
    /* Where the system does not take all of it, the inaccessible page stays. */
    address = other->address;
    faults_refuse("munmap", 0, 1);
    hew_page_discard(&page_heap, other);
    faults_end();
    CHECK(!is_mapped(address) && !is_mapped(address + 2 * HEW_PAGE) && is_mapped(address + 3 * HEW_PAGE));
    CHECK_EQUAL(page_counts().active, 0);
    page_end();
}

TEST(what_came_from_sbrk_is_abandoned_rather_than_unmapped)
{
    page_begin();
    struct hew_extent *extent = page_take(4 * HEW_PAGE);
    uintptr_t address = extent->address;
    extent->data_segment = true;
    hew_page_discard(&page_heap, extent);
    CHECK(is_mapped(address));
    CHECK_EQUAL(page_counts().abandoned, 4 * HEW_PAGE);
    page_end();
}

TEST(whoever_is_told_to_look_returns_what_is_due)
{
    page_begin();
    page_give(page_take(256 * KIB));
    CHECK(page_counts().dirty > 0);
    page_heap.dirty_decay.decay_ms = 0;
    hew_page_look(&page_heap);
    CHECK_EQUAL(page_counts().dirty, 0);
    page_end();
}
