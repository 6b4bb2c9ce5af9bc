/* SPDX-License-Identifier: MIT */
/* Unit tests of page/lend: idle pages of one heap serve another's request, and come home. */
#include "page/lend.h"

#include "page/bound.h"
#include "page/gather.h"
#include "page/hooks.h"
#include "page/move.h"
#include "page/shelf.h"
#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"
#include "page_fixture.h"

#include <pthread.h>

#define GIB ((size_t)1 << 30)

/* Once in the table, a heap stays there. */
static struct hew_page_heap owner, guest;

static void
lend_begin(void)
{
    page_begin();
    hew_page_heap_begin(&owner, 4, page_now);
    hew_page_heap_begin(&guest, 5, page_now);
    hew_lend_join(&owner);
    hew_lend_join(&guest);
}

static void
lend_end(void)
{
    struct hew_page_heap *const heaps[] = {&owner, &guest};
    for (unsigned i = 0; i < 2; i++) {
        CHECK(hew_page_heap_valid(heaps[i]));
        hew_page_release(heaps[i]);
        struct hew_page_counts counts = hew_page_counts(heaps[i]);
        CHECK(counts.mapped == 0 && counts.active == 0);
        CHECK_EQUAL(counts.structs, counts.spare_structs);
    }
    page_end();
}

static struct hew_extent *
take(struct hew_page_heap *heap, size_t size)
{
    struct hew_extent *extent = hew_page_take(heap, size, HEW_PAGE, HEW_CODE_SLOW);
    CHECK(extent != NULL && extent->arena == heap->arena);
    return extent;
}

/* The owner has so many idle bytes in one piece; where they begin. */
static uintptr_t
leave_idle(size_t size)
{
    struct hew_extent *extent = take(&owner, size);
    uintptr_t start = extent->address;
    page_fill(extent, 7);
    hew_page_give(&owner, extent);
    CHECK_EQUAL(hew_page_counts(&owner).dirty, size);
    return start;
}

TEST(idle_pages_of_one_heap_serve_another_and_come_home_as_one)
{
    lend_begin();
    uintptr_t start = leave_idle(1 * MIB);
    size_t mapped = hew_page_counts(&owner).mapped;
    struct hew_extent *extents[4];
    for (unsigned i = 0; i < 4; i++) {
        extents[i] = take(&guest, 256 * KIB);
        CHECK(extents[i]->address >= start && extents[i]->address < start + 1 * MIB);
        CHECK(!extents[i]->zeroed && hew_extent_is_borrowed(extents[i]));
        CHECK(hew_page_heap_valid(&owner) && hew_page_heap_valid(&guest));
    }
    struct hew_page_counts counts = hew_page_counts(&guest);
    CHECK(counts.active == 1 * MIB && counts.mapped == 1 * MIB && counts.borrowed == 4);
    CHECK_EQUAL(hew_page_counts(&owner).mapped, mapped - 1 * MIB);
    for (unsigned i = 0; i < 4; i++) {
        page_fill(extents[i], (unsigned char)i);
    }
    hew_page_give_some(&guest, extents, 4);
    CHECK_EQUAL(hew_page_counts(&guest).mapped, 0);
    counts = hew_page_counts(&owner);
    CHECK(counts.mapped == mapped && counts.dirty == 1 * MIB);
    struct hew_extent *whole = take(&owner, 1 * MIB); /* they are one extent again */
    CHECK(whole->address == start && !hew_extent_is_borrowed(whole));
    CHECK_EQUAL(hew_page_counts(&owner).mapped, mapped);
    hew_page_give(&owner, whole);
    lend_end();
}

/* What the owner's heap finds beside its own pages as soon as it has its lock again: no stale end of what was cut. */
static void
ends_of_what_is_lent(void)
{
    lend_begin();
    leave_idle(1 * MIB);
    hew_mutex_lock(&guest.lock);
    struct hew_extent *extent = hew_lend_take(&guest, 256 * KIB, HEW_PAGE);
    hew_mutex_unlock(&guest.lock);
    CHECK(extent != NULL);
    CHECK(hew_map_extent(extent->address) == extent && hew_map_extent(hew_extent_end(extent) - 1) == extent);
}

TEST(both_ends_of_what_is_lent_lead_to_it_before_its_new_heap_has_seen_it)
{
    CHECK_EQUAL(child_run(ends_of_what_is_lent).status, 0);
}

TEST(neighbours_that_have_not_been_merged_yet_are_lent_as_one)
{
    lend_begin();
    struct hew_extent *first = take(&owner, 512 * KIB), *second = take(&owner, 512 * KIB);
    uintptr_t start = first->address;
    CHECK_EQUAL(second->address, start + 512 * KIB);
    hew_page_give(&owner, first);
    hew_page_give(&owner, second);
    struct hew_extent *extent = take(&guest, 1 * MIB);
    CHECK(extent->address == start && hew_extent_is_borrowed(extent));
    hew_page_give(&guest, extent);
    lend_end();
}

TEST(what_a_heap_has_itself_is_not_borrowed)
{
    lend_begin();
    uintptr_t start = leave_idle(1 * MIB);
    struct hew_extent *extent = take(&owner, 64 * KIB);
    CHECK(extent->address == start && !hew_extent_is_borrowed(extent));
    hew_page_give(&owner, extent);
    CHECK_EQUAL(hew_page_counts(&guest).borrowed, 0);
    lend_end();
}

TEST(a_borrowed_extent_is_cut_and_grows_where_it_lies)
{
    lend_begin();
    leave_idle(1 * MIB);
    struct hew_extent *extent = take(&guest, 1 * MIB);
    CHECK(hew_page_shrink(&guest, extent, 256 * KIB));
    CHECK(hew_page_counts(&guest).mapped == 256 * KIB && hew_page_counts(&owner).dirty == 768 * KIB);
    CHECK(hew_page_grow(&guest, extent, 512 * KIB)); /* by its owner's pages */
    CHECK(hew_page_counts(&guest).mapped == 512 * KIB && hew_page_counts(&owner).dirty == 512 * KIB);
    CHECK(!hew_page_grow(&guest, extent, 1 * GIB));
    hew_mutex_lock(&owner.lock);
    CHECK(!hew_page_grow(&guest, extent, 768 * KIB));
    hew_mutex_unlock(&owner.lock);
    hew_page_give(&guest, extent);
    CHECK_EQUAL(hew_page_counts(&owner).dirty, 1 * MIB);
    lend_end();
}

TEST(pages_that_were_moved_stay_where_a_list_knows_them)
{
    lend_begin();
    leave_idle(512 * KIB);
    struct hew_extent *to = take(&guest, 512 * KIB), *from = take(&guest, 256 * KIB);
    CHECK(hew_extent_is_borrowed(to) && !hew_extent_is_borrowed(from));
    CHECK(hew_page_move(&guest, from, &guest, to) == HEW_OS_MOVED);
    CHECK_EQUAL(guest.moved.count, 1);
    uintptr_t place = to->address;
    hew_page_give(&guest, to);
    hew_page_give(&guest, from);
    CHECK(hew_page_counts(&owner).dirty == 0 && hew_page_counts(&guest).dirty == 768 * KIB);
    /* and such pages of a lender are not lent */
    struct hew_extent *extent = take(&owner, 512 * KIB);
    CHECK(!hew_extent_is_borrowed(extent) && extent->address != place);
    hew_page_give(&owner, extent);
    lend_end();
    CHECK_EQUAL(guest.moved.count, 0);
}

TEST(whoever_is_busy_is_not_waited_for)
{
    lend_begin();
    leave_idle(1 * MIB);
    hew_mutex_lock(&owner.lock);
    struct hew_extent *extent = take(&guest, 256 * KIB);
    hew_mutex_unlock(&owner.lock);
    CHECK(!hew_extent_is_borrowed(extent) && extent->zeroed);
    hew_page_give(&guest, extent);
    lend_end();
}

TEST(heaps_with_hooks_or_pages_of_another_kind_do_not_lend)
{
    lend_begin();
    leave_idle(1 * MIB);
    owner.thp = HEW_THP_ALWAYS;
    struct hew_extent *first = take(&guest, 256 * KIB);
    owner.thp = guest.thp;
    struct hew_extent_hooks hooks = hew_hooks_default;
    owner.hooks = &hooks;
    struct hew_extent *second = take(&guest, 1 * MIB);
    owner.hooks = NULL;
    CHECK(!hew_extent_is_borrowed(first) && !hew_extent_is_borrowed(second));
    hew_page_give(&guest, first);
    hew_page_give(&guest, second);
    lend_end();
}

TEST(a_heap_that_has_not_joined_neither_lends_nor_borrows)
{
    lend_begin();
    leave_idle(1 * MIB);
    struct hew_extent *extent = page_take(256 * KIB);
    CHECK(!hew_extent_is_borrowed(extent));
    page_give(extent);
    struct hew_extent *another = take(&guest, 2 * MIB);
    CHECK(!hew_extent_is_borrowed(another));
    hew_page_give(&guest, another);
    lend_end();
}

TEST(borrowed_memory_is_not_counted_twice_towards_a_limit)
{
    lend_begin();
    leave_idle(1 * MIB);
    atomic_store(&hew_page_bound.known, true);
    atomic_store(&hew_page_bound.held, (ptrdiff_t)(1 * MIB));
    struct hew_extent *extent = take(&guest, 256 * KIB);
    CHECK_EQUAL(atomic_load(&hew_page_bound.held), (ptrdiff_t)(1 * MIB));
    hew_page_give(&guest, extent);
    CHECK_EQUAL(atomic_load(&hew_page_bound.held), (ptrdiff_t)(1 * MIB));
    atomic_store(&hew_page_bound.known, false);
    lend_end();
}

TEST(a_borrowed_extent_is_not_given_to_the_system_by_its_guest)
{
    lend_begin();
    hew_page_heap_begin(&guest, 5, page_now);
    leave_idle(1 * MIB);
    hew_decay_begin(&guest.dirty_decay, 1000, page_now);
    struct hew_extent *extent = take(&guest, 256 * KIB);
    CHECK(hew_extent_is_borrowed(extent) && !hew_page_give_through(&guest, extent));
    hew_page_give(&guest, extent);
    CHECK_EQUAL(hew_page_counts(&owner).dirty, 1 * MIB);
    lend_end();
}

/* Two threads, each with a heap of its own, take and give pages of many sizes with contents; what one leaves idle the other may
 * borrow at any time. */
#define ROUNDS 4000
#define HELD 24

static void *
churn(void *argument)
{
    struct hew_page_heap *heap = argument;
    struct hew_extent *held[HELD] = {NULL};
    uint32_t random = heap->arena;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        struct hew_extent **place = &held[random >> 8 & 15];
        unsigned char mark = (unsigned char)(heap->arena * 16 + (place - held));
        if (*place != NULL) {
            const unsigned char *bytes = (const unsigned char *)(*place)->address;
            CHECK(bytes[0] == mark && bytes[(*place)->size - 1] == mark && (*place)->arena == heap->arena);
            if ((random >> 28) == 0 && (*place)->size > HEW_PAGE) {
                CHECK(hew_page_shrink(heap, *place, HEW_PAGE));
                ((unsigned char *)(*place)->address)[HEW_PAGE - 1] = mark;
                continue;
            }
            hew_page_give(heap, *place);
            *place = NULL;
            continue;
        }
        *place = hew_page_take(heap, HEW_PAGE << (random >> 16 & 7), HEW_PAGE, HEW_CODE_SLOW);
        CHECK(*place != NULL);
        ((unsigned char *)(*place)->address)[0] = ((unsigned char *)(*place)->address)[(*place)->size - 1] = mark;
    }
    for (unsigned i = 0; i < HELD; i++) {
        if (held[i] != NULL) {
            hew_page_give(heap, held[i]);
        }
    }
    return NULL;
}

TEST(two_threads_borrow_from_each_other_and_nothing_is_lost)
{
    pthread_t threads[2];
    lend_begin();
    leave_idle(1 * MIB);
    CHECK(pthread_create(&threads[0], NULL, churn, &owner) == 0);
    CHECK(pthread_create(&threads[1], NULL, churn, &guest) == 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    lend_end();
}
