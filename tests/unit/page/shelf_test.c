/* SPDX-License-Identifier: MIT */
/* Unit tests of page/shelf: large extents that were freed a moment ago. */
#include "page/shelf.h"

#include "meta/memory.h"
#include "page/hooks.h"
#include "test.h"

#include "page_fixture.h"

#include <pthread.h>

static struct hew_large_counts classes[256];
static _Atomic size_t bytes_out;

static void
begin(int64_t dirty_ms)
{
    page_begin();
    page_decay_times(dirty_ms, 0);
    memset(classes, 0, sizeof classes);
    hew_mutex_lock(&page_heap.lock);
    hew_page_open_shelf(&page_heap, page_heap.arena, (struct hew_large_tally){classes, &bytes_out});
    hew_mutex_unlock(&page_heap.lock);
    bytes_out = 0;
}

/* As slab/large.c does. */
static struct hew_extent *
take(size_t size)
{
    struct hew_extent *extent = page_take(size);
    bytes_out += size;
    return extent;
}

static bool
shelves(struct hew_extent *extent)
{
    return hew_page_shelve_one(&page_heap, extent);
}

static void
shelve(struct hew_extent *extent)
{
    CHECK(shelves(extent));
}

/* What the shelf has of that size. */
static struct hew_extent *
again(size_t size)
{
    return hew_shelf_take_one(&page_heap.shelf, size, page_heap.arena);
}

static bool
is_out(const struct hew_extent *extent)
{
    return hew_map_code(extent->address) == HEW_CODE_SLOW;
}

TEST(who_asks_for_the_same_size_gets_what_was_freed_last)
{
    begin(-1);
    struct hew_extent *two = take(2 * MIB), *three = take(3 * MIB);
    shelve(two);
    shelve(three);
    CHECK(!is_out(two) && !is_out(three));
    CHECK_EQUAL(page_heap.dirty.bytes, 0);
    CHECK(again(2 * MIB + HEW_PAGE) == NULL);
    CHECK(again(2 * MIB) == two);
    CHECK(is_out(two) && !is_out(three));
    CHECK(again(2 * MIB) == NULL);
    shelve(two);
    hew_page_sweep(&page_heap);
    CHECK_EQUAL(classes[hew_large_index(2 * MIB)].reused, 1);
    CHECK_EQUAL(page_counts().dirty, 5 * MIB);
    CHECK_EQUAL(bytes_out, 0);
    CHECK_EQUAL(classes[hew_large_index(2 * MIB)].ndalloc, 1);
    page_end();
}

TEST(sizes_of_one_class_are_told_apart)
{
    begin(-1);
    struct hew_extent *large = take(2 * MIB), *less = take(2 * MIB - HEW_PAGE), *least = take(2 * MIB - 2 * HEW_PAGE);
    shelve(large);
    shelve(least);
    shelve(less);
    CHECK(again(2 * MIB) == large && again(2 * MIB) == NULL);
    CHECK(again(2 * MIB - 2 * HEW_PAGE) == least && again(2 * MIB - HEW_PAGE) == less);
    shelve(large);
    shelve(less);
    shelve(least);
    CHECK_EQUAL(page_counts().active, 0);
    page_end();
}

TEST(extents_with_a_class_come_and_go_several_at_a_time_and_count_as_out_until_a_sweep)
{
    enum { CODE = HEW_CODE_SMALL_LAST + 3 };
    begin(-1);
    size_t size = hew_class_size(CODE - 1);
    struct hew_extent *three[3], *back[4];
    for (unsigned i = 0; i < 3; i++) {
        three[i] = hew_page_take(&page_heap, size, HEW_PAGE, CODE);
        CHECK(three[i] != NULL && hew_extent_claim(three[i]));
        bytes_out += size;
    }
    CHECK_EQUAL(hew_shelf_take_some(&page_heap.shelf, size, back, 4), 0);
    CHECK_EQUAL(hew_shelf_put_some(&page_heap.shelf, three, 3), HEW_SHELF_PUT);
    CHECK_EQUAL(hew_shelf_take_some(&page_heap.shelf, size + HEW_PAGE, back, 4), 0);
    CHECK_EQUAL(hew_shelf_take_some(&page_heap.shelf, size, back, 2), 2);
    CHECK(back[0] == three[2] && back[1] == three[1]);
    CHECK(hew_map_code(back[0]->address) == CODE && hew_map_code(three[0]->address) == HEW_CODE_NONE);
    CHECK(hew_extent_claim(back[0]) && hew_extent_claim(back[1]));
    CHECK_EQUAL(hew_shelf_put_some(&page_heap.shelf, back, 2), HEW_SHELF_PUT);
    CHECK(bytes_out == 3 * size && classes[hew_large_index(size)].ndalloc == 0);
    hew_page_sweep(&page_heap);
    CHECK(bytes_out == 0 && classes[hew_large_index(size)].ndalloc == 3);
    CHECK(classes[hew_large_index(size)].reused == 0 && page_counts().dirty == 3 * size);
    page_end();
}

TEST(what_comes_twice_or_finds_the_place_taken_goes_the_usual_way)
{
    begin(-1);
    struct hew_extent *first = take(2 * MIB), *other = take(512 * MIB);
    CHECK_EQUAL((hew_large_index(512 * MIB) - hew_large_index(2 * MIB)) % HEW_SHELF_SLOTS, 0);
    CHECK(shelves(first) && !shelves(first));
    CHECK(!shelves(other));
    CHECK(again(2 * MIB) == first);
    CHECK(shelves(other)); /* nothing of the other size lies there any more */
    CHECK(!shelves(first));
    CHECK(again(512 * MIB) == other);
    CHECK_EQUAL(classes[hew_large_index(2 * MIB)].reused, 1);
    page_give(other);
    page_give(first);
    bytes_out -= first->size + other->size;
    page_end();
}

TEST(an_extent_is_claimed_once_for_each_time_it_goes_out)
{
    begin(-1);
    struct hew_extent *extent = take(2 * MIB);
    CHECK(hew_extent_is_out(extent, extent->address, HEW_CODE_SLOW));
    CHECK(!hew_extent_is_out(extent, extent->address + HEW_PAGE, HEW_CODE_SLOW));
    CHECK(!hew_extent_is_out(extent, extent->address, hew_code_of_size(16 * KIB)));
    shelve(extent);
    CHECK(!hew_extent_is_out(extent, extent->address, HEW_CODE_SLOW) && !hew_extent_claim(extent));
    CHECK(again(2 * MIB) == extent && hew_extent_claim(extent) && !hew_extent_claim(extent));
    CHECK(!shelves(extent)); /* only the thread that has claimed it can return it */
    page_give(extent);
    bytes_out -= 2 * MIB;
    CHECK(!hew_extent_claim(extent) && !hew_extent_is_out(extent, extent->address, HEW_CODE_SLOW));
    CHECK(!hew_extent_is_out(NULL, 0, HEW_CODE_SLOW));
    page_end();
}

/* As another thread's that works on every part of the shelf. */
static void
mark_all(void)
{
    for (unsigned i = 0; i < HEW_SHELF_RANKS; i++) {
        page_heap.shelf.rank[i].held = 1;
    }
}

TEST(what_another_thread_had_in_hand_is_lost_to_a_forks_child)
{
    begin(-1);
    struct hew_extent *extent = take(2 * MIB);
    shelve(extent);
    mark_all();
    CHECK(again(2 * MIB) == NULL);
    hew_page_after_fork(&page_heap);
    CHECK(again(2 * MIB) == NULL);
    CHECK_EQUAL(page_counts().active, 2 * MIB);
    page_give(extent);
    page_end();
}

TEST(the_child_of_a_fork_inside_a_hook_does_not_wait_for_another_thread)
{
    begin(-1);
    struct hew_extent *extent = take(2 * MIB);
    mark_all();
    int saved = hew_hooks_enter();
    hew_page_after_fork(&page_heap);
    hew_hooks_leave(saved);
    for (unsigned i = 0; i < HEW_SHELF_RANKS; i++) {
        CHECK_EQUAL(page_heap.shelf.rank[i].held, 0);
    }
    shelve(extent);
    CHECK(again(2 * MIB) == extent);
    page_give(extent);
    page_end();
}

TEST(before_fresh_memory_is_touched_all_of_it_is_used)
{
    begin(-1);
    page_give(page_take(4 * MIB)); /* so that they lie side by side */
    struct hew_extent *first = take(2 * MIB), *second = take(2 * MIB);
    uintptr_t low = first->address < second->address ? first->address : second->address;
    shelve(first);
    shelve(second);
    struct hew_extent *both = take(4 * MIB);
    CHECK_EQUAL(both->address, low);
    CHECK(!both->zeroed);
    shelve(both);
    page_end();
}

TEST(a_block_grows_into_what_lies_there)
{
    begin(-1);
    page_give(page_take(6 * MIB)); /* so that they lie side by side */
    struct hew_extent *first = take(2 * MIB), *second = take(2 * MIB), *third = take(2 * MIB);
    CHECK_EQUAL(hew_extent_end(first), second->address);
    shelve(second);
    CHECK(hew_page_grow(&page_heap, first, 4 * MIB));
    page_give(first);
    page_give(third);
    page_end();
}

TEST(decay_finds_it)
{
    begin(1000);
    struct hew_extent *extent = take(2 * MIB);
    shelve(extent);
    CHECK_EQUAL(atomic_load(&hew_page_due), 1);
    CHECK(hew_page_next_ms(&page_heap) != 0);
    hew_page_decay(&page_heap, page_now, false);
    CHECK_EQUAL(page_heap.dirty.bytes, 0); /* no epoch has passed: why look */
    hew_page_decay(&page_heap, page_now + 50, false);
    CHECK(page_heap.dirty.bytes > MIB); /* all but the curve's first step */
    hew_page_decay(&page_heap, page_now + 2000, false);
    hew_page_decay(&page_heap, page_now + 4000, false);
    CHECK_EQUAL(page_counts().retained, page_counts().mapped);
    page_end();
}

TEST(nothing_lies_there_without_decay_after_scarcity_with_hooks_and_while_somebody_watches)
{
    begin(0);
    struct hew_extent *extent = take(2 * MIB);
    CHECK(!shelves(extent));
    hew_page_set_decay(&page_heap, &page_heap.dirty_decay, -1, page_now);
    CHECK(shelves(extent));
    size_t *active = hew_page_watch_active(&page_heap);
    CHECK_EQUAL(*active, 0);
    extent = take(2 * MIB);
    CHECK(!shelves(extent));
    page_give(extent);
    page_end();

    begin(-1);
    extent = take(2 * MIB);
    CHECK(shelves(extent));
    hew_page_release(&page_heap);
    CHECK_EQUAL(page_counts().mapped, 0);
    extent = take(2 * MIB);
    CHECK(!shelves(extent));
    page_give(extent);
    page_end();
}

enum { THREADS = 4, ROUNDS = 20000 };

/* Each writes its mark into what it has, and finds it there. */
static void *
churn(void *mark)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t size = (2 + round % 3) * MIB;
        struct hew_extent *extent = again(size);
        if (extent == NULL) {
            extent = hew_page_take(&page_heap, size, HEW_PAGE, HEW_CODE_SLOW);
            atomic_fetch_add(&bytes_out, size);
        }
        void **memory = (void **)extent->address;
        *memory = mark;
        if (round % 128 == 0) {
            hew_page_sweep(&page_heap);
        }
        CHECK(*memory == mark && extent->size == size);
        if (!shelves(extent)) {
            atomic_fetch_sub(&bytes_out, extent->size);
            hew_page_give(&page_heap, extent);
        }
    }
    return NULL;
}

TEST(no_two_threads_have_the_same_extent)
{
    begin(-1);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(page_counts().active, 0);
    CHECK_EQUAL(bytes_out, 0);
    page_end();
}

TEST(every_64th_extent_that_comes_is_a_reason_to_look_at_the_clock)
{
    begin(-1);
    struct hew_extent *extent = take(2 * MIB);
    for (unsigned turn = 1; turn <= 3 * HEW_SHELF_GIVES_TO_CLOCK; turn++) {
        bool due = turn % HEW_SHELF_GIVES_TO_CLOCK == 0;
        CHECK_EQUAL(hew_shelf_put_one(&page_heap.shelf, extent), due ? HEW_SHELF_PUT_LOOK : HEW_SHELF_PUT);
        CHECK(again(2 * MIB) == extent);
    }
    page_give(extent);
    page_end();
}
