/* SPDX-License-Identifier: MIT */
/* Unit tests of page/purge: when free pages go back, what they read as afterwards, and a system that refuses. */
#include "page/heap.h"
#include "page/hooks.h"

#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"
#include "page_fixture.h"

TEST(with_no_decay_time_given_pages_go_back_at_once)
{
    page_begin();
    page_decay_times(0, 0);
    uintptr_t address = page_make_dirty(256 * KIB);
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK_EQUAL(page_counts().retained, page_counts().mapped);
    CHECK_EQUAL(page_resident(address, 256 * KIB), 0);
    page_end();
}

TEST(with_endless_decay_time_given_pages_stay)
{
    page_begin();
    page_decay_times(-1, 0);
    uintptr_t address = page_make_dirty(256 * KIB);
    hew_page_decay(&page_heap, page_now + UINT64_C(100000000000), false);
    CHECK_EQUAL(page_counts().dirty, 256 * KIB);
    CHECK_EQUAL(page_resident(address, 256 * KIB), 256 * KIB);
    CHECK_EQUAL(hew_page_next_ms(&page_heap), 0);
    page_end();
}

TEST(purged_pages_are_retained_and_read_as_zeros_when_taken_again)
{
    page_begin();
    page_decay_times(-1, -1);
    uintptr_t address = page_make_dirty(256 * KIB);
    hew_page_decay(&page_heap, page_now, true);
    struct hew_page_counts counts = page_counts();
    CHECK_EQUAL(counts.retained, counts.mapped);
    CHECK_EQUAL(counts.dirty_purged, 256 * KIB);
    CHECK_EQUAL(counts.muzzy_purged, 0); /* when all is to go, nothing goes twice */
    struct hew_extent *extent = page_take(256 * KIB);
    CHECK_EQUAL(extent->address, address);
    CHECK(extent->zeroed && page_filled(extent, 0));
    CHECK_EQUAL(page_counts().maps, 1);
    page_give(extent);
    page_end();
}

TEST(idle_pages_go_back_steadily_and_are_all_gone_after_the_decay_time)
{
    page_begin();
    page_decay_times(3200, 0);
    uintptr_t address = page_make_dirty(8 * MIB);
    size_t last = 8 * MIB, most = 0;
    for (uint64_t time = 0; time <= 3200; time += 100) {
        hew_page_decay(&page_heap, page_now + time, false);
        size_t dirty = page_counts().dirty;
        CHECK(dirty <= last);
        most = last - dirty > most ? last - dirty : most;
        last = dirty;
    }
    CHECK_EQUAL(last, 0);
    CHECK(most < MIB);
    CHECK_EQUAL(page_resident(address, 8 * MIB), 0);
    CHECK_EQUAL(page_counts().dirty_purged, 8 * MIB);
    page_end();
}

TEST(the_upper_pages_of_an_extent_go_first)
{
    page_begin();
    page_decay_times(3200, 0);
    uintptr_t address = page_make_dirty(4 * MIB);
    for (uint64_t time = 0; time <= 1600; time += 100) {
        hew_page_decay(&page_heap, page_now + time, false);
    }
    size_t dirty = page_counts().dirty;
    CHECK(dirty > MIB && dirty < 3 * MIB);
    CHECK_EQUAL(page_resident(address, dirty), dirty);
    CHECK_EQUAL(page_resident(address + dirty, 4 * MIB - dirty), 0);
    page_end();
}

TEST(the_oldest_extents_go_first)
{
    uintptr_t addresses[4];
    struct hew_extent *extents[4], *between[4];
    page_begin();
    page_make_dirty(8 * MIB);
    hew_page_decay(&page_heap, page_now, true); /* one run of free pages, from which all are cut in order */
    page_decay_times(3200, 0);
    for (unsigned i = 0; i < 4; i++) {
        extents[i] = page_take(MIB);
        between[i] = page_take(16 * KIB);
        addresses[i] = extents[i]->address;
        page_fill(extents[i], 7);
    }
    static const unsigned order[] = {2, 0, 3, 1};
    for (unsigned i = 0; i < 4; i++) {
        page_give(extents[order[i]]);
    }
    for (uint64_t time = 0; time <= 1600; time += 100) {
        hew_page_decay(&page_heap, page_now + time, false);
    }
    CHECK_EQUAL(page_resident(addresses[2], MIB), 0);
    CHECK_EQUAL(page_resident(addresses[1], MIB), MIB);
    for (unsigned i = 0; i < 4; i++) {
        page_give(between[i]);
    }
    page_end();
}

TEST(with_a_muzzy_time_pages_pass_through_the_muzzy_stock)
{
    page_begin();
    page_decay_times(100, 3200);
    page_make_dirty(MIB);
    hew_page_decay(&page_heap, page_now, false);
    for (uint64_t time = 4; time <= 104; time += 4) {
        hew_page_decay(&page_heap, page_now + time, false);
    }
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK(page_counts().muzzy > MIB / 2);
    CHECK_EQUAL(page_counts().dirty_purged, MIB);
    struct hew_extent *extent = page_take(256 * KIB); /* muzzy pages are taken before retained ones */
    CHECK(!extent->zeroed);
    page_fill(extent, 8);
    for (uint64_t time = 200; time <= 3500; time += 100) {
        hew_page_decay(&page_heap, page_now + time, false);
    }
    CHECK(page_filled(extent, 8));
    CHECK_EQUAL(page_counts().muzzy, 0);
    CHECK(page_counts().muzzy_purged == MIB - 256 * KIB);
    page_give(extent);
    page_end();
}

TEST(dirty_pages_are_taken_before_muzzy_and_muzzy_before_retained)
{
    page_begin();
    struct hew_extent *extents[3], *between[3];
    uintptr_t addresses[3];
    page_decay_times(-1, -1);
    for (unsigned i = 0; i < 3; i++) {
        extents[i] = page_take(64 * KIB);
        between[i] = page_take(16 * KIB);
        addresses[i] = extents[i]->address;
    }
    page_give(extents[0]);
    hew_page_decay(&page_heap, page_now, true); /* retained */
    page_give(extents[1]);
    page_decay_times(0, -1);
    hew_page_decay(&page_heap, page_now, false); /* muzzy */
    page_decay_times(-1, -1);
    page_give(extents[2]);
    for (unsigned i = 0; i < 3; i++) {
        extents[i] = page_take(64 * KIB);
        CHECK_EQUAL(extents[i]->address, addresses[2 - i]);
        CHECK_EQUAL(extents[i]->zeroed, i == 2);
    }
    for (unsigned i = 0; i < 3; i++) {
        page_give(extents[i]);
        page_give(between[i]);
    }
    page_end();
}

TEST(pages_that_the_system_refuses_to_purge_stay_dirty_and_go_at_the_next_try)
{
    page_begin();
    uintptr_t address = page_make_dirty(MIB);
    faults_refuse("madvise", 0, FAULTS_ALL);
    hew_page_decay(&page_heap, page_now, true);
    faults_end();
    CHECK_EQUAL(page_counts().dirty, MIB);
    CHECK_EQUAL(page_counts().dirty_purged, 0);
    CHECK_EQUAL(page_resident(address, MIB), MIB);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK_EQUAL(page_resident(address, MIB), 0);
    page_end();
}

TEST(what_is_given_through_goes_at_once_and_other_idle_pages_stay)
{
    page_begin();
    page_decay_times(10000, 10000);
    struct hew_extent *kept = page_take(256 * KIB), *between = page_take(64 * KIB), *through = page_take(MIB);
    uintptr_t address = through->address;
    page_fill(kept, 7);
    page_fill(through, 7);
    page_give(kept);
    CHECK(hew_page_give_through(&page_heap, through));
    CHECK_EQUAL(page_counts().dirty, 256 * KIB);
    CHECK_EQUAL(page_counts().active, 64 * KIB);
    CHECK_EQUAL(page_counts().dirty_purged, MIB);
    CHECK_EQUAL(page_resident(address, MIB), 0);
    CHECK_EQUAL(hew_map_code(address), HEW_CODE_NONE);
    page_give(between);
    page_end();
}

TEST(what_is_given_through_is_kept_where_the_system_refuses_it_or_everything_is_kept_for_ever)
{
    page_begin();
    page_decay_times(10000, 0);
    struct hew_extent *extent = page_take(MIB);
    faults_refuse("madvise", 0, FAULTS_ALL);
    CHECK(hew_page_give_through(&page_heap, extent));
    faults_end();
    CHECK_EQUAL(page_counts().dirty, MIB);
    hew_page_decay(&page_heap, page_now, true);
    page_decay_times(-1, 0);
    extent = page_take(MIB);
    CHECK(!hew_page_give_through(&page_heap, extent));
    page_give(extent);
    CHECK_EQUAL(page_counts().dirty, MIB);
    page_end();
}

TEST(beside_a_growing_object_no_more_stays_idle_than_half_of_it)
{
    static const struct {
        size_t size, fresh, gone; /* of 4 MiB that are idle */
    } cases[] = {{MIB, MIB, MIB},       {2 * MIB, 64 * MIB, 3 * MIB},   {6 * MIB, 3 * MIB, MIB},
                 {8 * MIB, 4 * MIB, 0}, {MIB, 256 * KIB - HEW_PAGE, 0}, {MIB, 256 * KIB, 256 * KIB}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        page_begin();
        page_decay_times(10000, 0);
        page_make_dirty(4 * MIB);
        hew_page_offset_growth(&page_heap, cases[i].size, cases[i].fresh);
        CHECK_EQUAL(page_counts().dirty, 4 * MIB - cases[i].gone);
        page_end();
    }
    page_begin(); /* all is kept for ever */
    page_make_dirty(4 * MIB);
    hew_page_offset_growth(&page_heap, MIB, MIB);
    CHECK_EQUAL(page_counts().dirty, 4 * MIB);
    page_end();
}

TEST(what_an_extent_grows_into_is_made_up_for_where_it_is_fresh)
{
    page_begin();
    page_decay_times(10000, 0);
    struct hew_extent *idle = page_take(384 * KIB), *extent = page_take(128 * KIB);
    page_give(idle);
    CHECK(hew_page_grow(&page_heap, extent, 640 * KIB));
    CHECK_EQUAL(page_counts().dirty, 320 * KIB);
    page_give(extent);
    page_end();
}

TEST(where_lazy_purging_is_unknown_pages_are_dropped_instead)
{
    page_begin();
    page_decay_times(0, -1);
    struct hew_extent *extent = page_take(MIB);
    uintptr_t address = extent->address;
    page_fill(extent, 7);
    faults_refuse("madvise", 0, 1); /* MADV_FREE; the MADV_DONTNEED after it passes */
    page_give(extent);
    faults_end();
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK_EQUAL(page_counts().muzzy, 0);
    CHECK_EQUAL(page_resident(address, MIB), 0);
    extent = page_take(MIB);
    CHECK(extent->zeroed && page_filled(extent, 0));
    page_give(extent);
    page_end();
}

TEST(many_extents_and_large_ones_go_in_several_batches)
{
    static struct hew_extent *extents[200];
    page_begin();
    for (unsigned i = 0; i < 200; i++) {
        extents[i] = page_take(16 * KIB);
        page_fill(extents[i], 7);
    }
    for (unsigned i = 0; i < 200; i += 2) { /* no two side by side */
        page_give(extents[i]);
    }
    page_make_dirty(100 * MIB);
    CHECK(page_heap.dirty.extents >= 101);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK_EQUAL(page_counts().dirty_purged, 100 * 16 * KIB + 100 * MIB);
    for (unsigned i = 1; i < 200; i += 2) {
        CHECK(page_filled(extents[i], 7));
        page_give(extents[i]);
    }
    page_end();
}

TEST(without_retain_purged_pages_leave_the_address_space)
{
    page_begin();
    hew_options.retain = false;
    struct hew_extent *first = page_take(256 * KIB), *second = page_take(256 * KIB);
    uintptr_t address = first->address;
    page_fill(second, 7);
    page_give(first);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().mapped, 256 * KIB);
    CHECK_EQUAL(page_counts().retained, 0);
    CHECK(hew_map_extent(address) == NULL);
    CHECK(hew_os_map_at((void *)address, 256 * KIB)); /* the place is free */
    hew_os_unmap((void *)address, 256 * KIB);
    CHECK(page_filled(second, 7));
    page_give(second);
    page_end();
}

TEST(address_space_that_is_not_taken_back_serves_the_next_request_and_goes_when_it_can)
{
    page_begin();
    hew_options.retain = false;
    struct hew_extent *first = page_take(256 * KIB), *second = page_take(256 * KIB);
    uintptr_t address = first->address;
    page_fill(first, 7);
    page_give(first);
    faults_refuse("munmap", 0, 1);
    hew_page_decay(&page_heap, page_now, true);
    faults_end();
    CHECK_EQUAL(faults_refused, 1);
    CHECK_EQUAL(page_counts().mapped, 512 * KIB);
    CHECK_EQUAL(page_counts().retained, 256 * KIB);
    faults_refuse("mmap", 0, FAULTS_ALL);
    first = page_take(256 * KIB);
    faults_end();
    CHECK(first->address == address && page_filled(first, 0));
    page_give(first);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().mapped, 256 * KIB);
    page_give(second);
    page_end();
}

/* Each of them in the middle of a mapping, as at the system's limit of mappings. */
TEST(a_round_that_is_refused_again_and_again_ends_and_the_next_one_begins_with_others)
{
    static struct hew_extent *extents[200];
    page_begin();
    hew_options.retain = false;
    for (unsigned i = 0; i < 200; i++) {
        extents[i] = page_take(64 * KIB);
    }
    for (unsigned i = 0; i < 200; i += 2) {
        page_give(extents[i]);
    }
    faults_refuse("munmap", 0, FAULTS_ALL);
    hew_page_decay(&page_heap, page_now, true);
    int asked = faults_asked;
    CHECK(asked >= 1 && asked <= 20);
    CHECK_EQUAL(page_counts().retained, 100 * 64 * KIB);
    uintptr_t last = hew_stock_oldest(&page_heap.retained)->address;
    hew_page_decay(&page_heap, page_now, true);
    CHECK(hew_stock_oldest(&page_heap.retained)->address != last);
    faults_end();
    CHECK_EQUAL(page_counts().mapped, 200 * 64 * KIB);
    for (unsigned i = 1; i < 200; i += 2) {
        page_give(extents[i]);
    }
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().mapped, 0);
    page_end();
}

TEST(release_returns_address_space_even_with_retain)
{
    page_begin();
    struct hew_extent *kept = page_take(64 * KIB);
    page_make_dirty(MIB);
    page_fill(kept, 7);
    hew_page_release(&page_heap);
    CHECK_EQUAL(page_counts().mapped, 64 * KIB);
    CHECK(page_filled(kept, 7));
    struct hew_extent *more = page_take(MIB); /* and the heap still works */
    page_give(more);
    page_give(kept);
    page_end();
}

TEST(the_next_look_is_due_after_the_shorter_epoch_of_what_the_heap_holds)
{
    page_begin();
    page_decay_times(32000, 320);
    CHECK_EQUAL(hew_page_next_ms(&page_heap), 0);
    page_make_dirty(64 * KIB);
    CHECK_EQUAL(hew_page_next_ms(&page_heap), 1000);
    page_decay_times(0, 320);
    hew_page_decay(&page_heap, page_now, false);
    CHECK_EQUAL(page_counts().muzzy, 64 * KIB);
    CHECK_EQUAL(hew_page_next_ms(&page_heap), 10);
    page_decay_times(32000, 320);
    page_make_dirty(64 * KIB);
    struct hew_extent *muzzy = page_take(64 * KIB);
    page_give(muzzy);
    CHECK_EQUAL(hew_page_next_ms(&page_heap), 1000);
    page_end();
}

TEST(a_mebibyte_of_idle_pages_calls_the_purger)
{
    page_begin();
    page_make_dirty(MIB - HEW_GRAIN);
    CHECK_EQUAL(atomic_load(&hew_page_due), 0);
    struct hew_extent *extent = page_take(MIB - HEW_GRAIN);
    page_give(extent);
    CHECK_EQUAL(atomic_load(&hew_page_due), 0);
    page_make_dirty(MIB);
    CHECK_EQUAL(atomic_load(&hew_page_due), 1);
    atomic_store(&hew_page_due, 2); /* a purger at work is not called again */
    page_make_dirty(MIB);
    CHECK_EQUAL(atomic_load(&hew_page_due), 2);
    page_end();
}

TEST(without_a_purger_giving_pages_looks_at_the_clock_now_and_then)
{
    page_begin();
    page_decay_times(20, 0);
    page_make_dirty(MIB);
    hew_page_decay(&page_heap, page_now + 1, false);
    while (hew_clock_ms() <
           page_now + 40) { /* until all epochs have passed by the real clock, which may have just begun */
        continue;
    }
    CHECK(page_counts().dirty > 900 * KIB);
    for (unsigned i = 1; i < 63; i++) {
        page_make_dirty(16 * KIB);
    }
    CHECK(page_counts().dirty > 900 * KIB);
    page_make_dirty(16 * KIB); /* the 64th */
    CHECK_EQUAL(page_counts().dirty, 0);
    page_end();
}

static struct child_end forked;

static void
look_at_childs_heap(void)
{
    hew_mutex_after_fork(&page_heap.lock);
    CHECK_EQUAL(page_heap.dirty.bytes, 0);
    hew_page_after_fork(&page_heap);
    CHECK_EQUAL(page_counts().dirty, 3 * MIB);
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(page_counts().dirty, 0);
}

static bool
fork_while_purging(const char *call)
{
    hew_os_faults.refuse = NULL;
    forked = child_run(look_at_childs_heap);
    return false;
}

TEST(what_is_being_purged_during_a_fork_is_not_lost_to_the_child)
{
    page_begin();
    page_give(page_take(3 * MIB));
    CHECK_EQUAL(page_counts().dirty, 3 * MIB);
    hew_os_faults.refuse = fork_while_purging;
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(forked.status, 0);
    CHECK_EQUAL(page_counts().dirty, 0);
    page_end();
}

/* In a hook: what the thread itself has in hand stays there, what another one had comes back. */
static void
look_at_childs_heap_in_hook(void)
{
    static const char other_thread;
    hew_mutex_after_fork(&page_heap.lock);
    int saved = hew_hooks_enter();
    hew_page_after_fork(&page_heap);
    CHECK_EQUAL(page_heap.dirty.bytes, 0);
    HEW_CONTAINER(hew_list_first(&page_heap.transit), struct hew_extent, free.age)->free.worker = &other_thread;
    hew_page_after_fork(&page_heap);
    hew_hooks_leave(saved);
    CHECK(hew_list_is_empty(&page_heap.transit));
    CHECK_EQUAL(page_counts().dirty, 3 * MIB);
}

static bool
fork_in_a_hook(const char *call)
{
    hew_os_faults.refuse = NULL;
    forked = child_run(look_at_childs_heap_in_hook);
    return false;
}

TEST(what_another_thread_was_purging_when_a_hook_forked_is_not_lost_to_the_child)
{
    page_begin();
    page_give(page_take(3 * MIB));
    hew_os_faults.refuse = fork_in_a_hook;
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(forked.status, 0);
    page_end();
}

TEST(with_process_madvise_max_batch_several_ranges_go_in_one_call)
{
    page_begin();
    hew_options.process_madvise_max_batch = 3;
    struct hew_extent *extents[14];
    for (unsigned i = 0; i < 14; i++) {
        extents[i] = page_take(64 * KIB);
        page_fill(extents[i], 7);
    }
    for (unsigned i = 0; i < 14; i += 2) {
        page_give(extents[i]);
    }
    uintptr_t address = extents[2]->address;
    faults_count("process_madvise");
    hew_page_decay(&page_heap, page_now, true);
    CHECK_EQUAL(faults_asked, 3);
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK_EQUAL(page_resident(address, 64 * KIB), 0);
    CHECK(page_filled(extents[1], 7));
    for (unsigned i = 1; i < 14; i += 2) {
        page_give(extents[i]);
    }
    faults_refuse("process_madvise", 0, FAULTS_ALL); /* an older kernel */
    hew_page_decay(&page_heap, page_now, true);
    faults_end();
    CHECK_EQUAL(page_counts().dirty, 0);
    CHECK_EQUAL(page_resident(address, 64 * KIB), 0);
    page_end();
}

/* A page for each state, after one was given with these times and then other ones were set. */
static struct hew_page_counts
after_setting(int64_t dirty_ms, int64_t muzzy_ms, bool dirty, int64_t then_ms)
{
    page_begin();
    page_decay_times(dirty_ms, muzzy_ms);
    struct hew_extent *kept = page_take(HEW_PAGE), *extent = page_take(2 * HEW_PAGE), *last = page_take(HEW_PAGE);
    page_give(extent);
    size_t retained = page_counts().retained;
    hew_page_set_decay(&page_heap, dirty ? &page_heap.dirty_decay : &page_heap.muzzy_decay, then_ms, page_now);
    struct hew_page_counts counts = page_counts();
    counts.retained -= retained;
    page_give(kept);
    page_give(last);
    page_end();
    return counts;
}

TEST(a_new_decay_time_returns_at_once_what_waited_for_the_old_one)
{
    struct hew_page_counts counts = after_setting(1000, 0, true, 2000);
    CHECK(counts.dirty == 0 && counts.muzzy == 0 && counts.retained == 2 * HEW_PAGE);
    CHECK(counts.dirty_purges == 1 && counts.muzzy_purges == 0 && counts.dirty_purged == 2 * HEW_PAGE);
    counts = after_setting(1000, 1000, true, 2000);
    CHECK(counts.dirty == 0 && counts.muzzy + counts.retained == 2 * HEW_PAGE); /* old systems have no lazy purging */
    CHECK(counts.dirty_purges == 1 && counts.muzzy_purges == 0);
    counts = after_setting(1000, 1000, false, 2000);
    CHECK(counts.dirty == 2 * HEW_PAGE && counts.dirty_purges == 0 && counts.muzzy_purges == 1);
    counts = after_setting(1000, 1000, true, -1);
    CHECK(counts.dirty == 2 * HEW_PAGE && counts.dirty_purges == 0 && counts.muzzy_purges == 0);
}

TEST(what_is_given_through_goes_to_the_system_at_once_unless_pages_are_kept_for_ever)
{
    page_begin();
    page_decay_times(1000, 1000);
    struct hew_extent *extent = page_take(3 * HEW_PAGE);
    uintptr_t address = extent->address;
    page_fill(extent, 5);
    size_t retained = page_counts().retained;
    CHECK(hew_page_give_through(&page_heap, extent));
    CHECK_EQUAL(hew_map_code(address), HEW_CODE_NONE);
    struct hew_page_counts counts = page_counts();
    CHECK(counts.active == 0 && counts.dirty == 0 && counts.retained == retained + 3 * HEW_PAGE);
    CHECK(counts.dirty_purges == 1 && counts.dirty_purged == 3 * HEW_PAGE);
    extent = page_take(3 * HEW_PAGE);
    CHECK(extent->address == address && extent->zeroed && page_filled(extent, 0));
    page_decay_times(-1, 1000);
    CHECK(!hew_page_give_through(&page_heap, extent));
    page_decay_times(1000, -1);
    CHECK(!hew_page_give_through(&page_heap, extent));
    CHECK_EQUAL(hew_map_code(address), HEW_CODE_SLOW);
    page_decay_times(0, 0);
    hew_options.retain = false;
    CHECK(hew_page_give_through(&page_heap, extent));
    CHECK_EQUAL(page_counts().mapped, 0);
    page_end();
}
