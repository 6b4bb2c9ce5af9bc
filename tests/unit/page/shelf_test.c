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
    hew_page_open_shelf(&page_heap, (struct hew_large_tally){classes, &bytes_out});
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

static void
shelve(struct hew_extent *extent)
{
    extent = hew_page_shelve(&page_heap, extent);
    if (extent != NULL) {
        bytes_out -= extent->size;
        page_give(extent);
    }
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
    CHECK(hew_shelf_take(&page_heap.shelf, 2 * MIB + HEW_PAGE) == NULL);
    CHECK(hew_shelf_take(&page_heap.shelf, 2 * MIB) == two);
    CHECK(is_out(two) && !is_out(three));
    CHECK(hew_shelf_take(&page_heap.shelf, 2 * MIB) == NULL);
    CHECK_EQUAL(classes[hew_large_index(2 * MIB)].reused, 1);
    shelve(two);
    CHECK_EQUAL(page_counts().dirty, 5 * MIB);
    CHECK_EQUAL(bytes_out, 0);
    CHECK_EQUAL(classes[hew_large_index(2 * MIB)].ndalloc, 1);
    page_end();
}

TEST(what_finds_no_place_takes_the_usual_way)
{
    enum { MANY = HEW_SHELF_PLACES + 2 };
    begin(-1);
    struct hew_extent *extents[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        extents[i] = take(2 * MIB);
    }
    for (unsigned i = 0; i < MANY; i++) {
        shelve(extents[i]);
    }
    CHECK_EQUAL(page_heap.dirty.bytes, 2 * 2 * MIB);
    struct hew_extent *huge = take(HEW_SHELF_BELOW), *small = take(64 * KIB);
    small->code = (uint8_t)hew_code_of_size(64 * KIB);
    CHECK(hew_page_shelve(&page_heap, huge) == huge);
    CHECK(hew_page_shelve(&page_heap, small) == small);
    page_give(huge);
    page_give(small);
    page_end();
}

TEST(before_fresh_memory_is_touched_all_of_it_is_used)
{
    begin(-1);
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
    CHECK_EQUAL(page_heap.dirty.bytes, 2 * MIB);
    hew_page_decay(&page_heap, page_now + 2000, false);
    hew_page_decay(&page_heap, page_now + 4000, false);
    CHECK_EQUAL(page_counts().retained, page_counts().mapped);
    page_end();
}

TEST(nothing_lies_there_without_decay_after_scarcity_with_hooks_and_while_somebody_watches)
{
    begin(0);
    struct hew_extent *extent = take(2 * MIB);
    CHECK(hew_page_shelve(&page_heap, extent) == extent);
    hew_page_set_decay(&page_heap, &page_heap.dirty_decay, -1, page_now);
    CHECK(hew_page_shelve(&page_heap, extent) == NULL);
    size_t *active = hew_page_watch_active(&page_heap);
    CHECK_EQUAL(*active, 0);
    extent = take(2 * MIB);
    CHECK(hew_page_shelve(&page_heap, extent) == extent);
    page_give(extent);
    page_end();

    begin(-1);
    extent = take(2 * MIB);
    CHECK(hew_page_shelve(&page_heap, extent) == NULL);
    hew_page_release(&page_heap);
    CHECK_EQUAL(page_counts().mapped, 0);
    extent = take(2 * MIB);
    CHECK(hew_page_shelve(&page_heap, extent) == extent);
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
        struct hew_extent *extent = hew_shelf_take(&page_heap.shelf, size);
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
        struct hew_extent *former = hew_page_shelve(&page_heap, extent);
        if (former != NULL) {
            atomic_fetch_sub(&bytes_out, former->size);
            hew_page_give(&page_heap, former);
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
