/* SPDX-License-Identifier: MIT */
/*
 * page_fixture: one page heap for each test, with the default settings and a decay that only the test moves.
 *
 * page_begin() makes the heap; page_end() checks that it is sound and that all of it can be returned.  Include after
 * test.h.
 */
#ifndef HEW_TESTS_UNIT_PAGE_FIXTURE_H
#define HEW_TESTS_UNIT_PAGE_FIXTURE_H

#include "base/options.h"
#include "meta/map.h"
#include "os/clock.h"
#include "os/memory.h"
#include "page/heap.h"
#include "page/split.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define SLAB_CODE 5 /* 64 bytes; any small code will do */

static struct hew_page_heap page_heap;
static struct hew_options page_defaults;
static uint64_t page_now;

static inline bool
page_boot(void)
{
    static bool booted;
    if (!booted) {
        page_defaults = hew_options;
        booted = hew_map_boot(true);
    }
    return booted;
}

/* Afterwards hew_options may be changed, and hew_page_heap_begin called again, before the first take. */
static inline void
page_begin(void)
{
    CHECK(page_boot());
    hew_options = page_defaults;
    hew_options.dirty_decay_ms = -1;
    hew_options.dss = HEW_DSS_DISABLED;
    memset(&page_heap, 0, sizeof page_heap);
    page_now = hew_clock_ms();
    hew_page_heap_begin(&page_heap, 3, page_now);
    atomic_store(&hew_page_due, 0);
}

/* Other decay times, before anything is given. */
static inline void
page_decay_times(int64_t dirty_ms, int64_t muzzy_ms)
{
    hew_decay_begin(&page_heap.dirty_decay, dirty_ms, page_now);
    hew_decay_begin(&page_heap.muzzy_decay, muzzy_ms, page_now);
}

static inline struct hew_page_counts
page_counts(void)
{
    CHECK(hew_page_heap_valid(&page_heap));
    return hew_page_counts(&page_heap);
}

/* All that was taken has been given: what remains is free, and goes back. */
/* Neighbours in the dirty stock become one, which otherwise waits until it is needed. */
static inline void
page_merge(void)
{
    hew_mutex_lock(&page_heap.lock);
    hew_split_merge(&page_heap, &page_heap.dirty);
    hew_mutex_unlock(&page_heap.lock);
}

static inline void
page_end(void)
{
    CHECK_EQUAL(page_counts().active, 0);
    hew_page_release(&page_heap);
    struct hew_page_counts counts = page_counts();
    CHECK(counts.mapped == 0 && counts.dirty == 0 && counts.muzzy == 0 && counts.retained == 0);
}

static inline struct hew_extent *
page_take(size_t size)
{
    struct hew_extent *extent = hew_page_take(&page_heap, size, HEW_PAGE, HEW_CODE_SLOW);
    CHECK(extent != NULL);
    return extent;
}

static inline void
page_give(struct hew_extent *extent)
{
    hew_page_give(&page_heap, extent);
}

static inline bool
page_filled(const struct hew_extent *extent, unsigned char with)
{
    const unsigned char *bytes = (const unsigned char *)extent->address;
    return bytes[0] == with && memcmp(bytes, bytes + 1, extent->size - 1) == 0;
}

static inline void
page_fill(const struct hew_extent *extent, unsigned char with)
{
    memset((void *)extent->address, with, extent->size);
}

/* Bytes of [address, address + size) that are in memory. */
static inline size_t
page_resident(uintptr_t address, size_t size)
{
    static unsigned char pages[1 << 15];
    size_t count = 0;
    CHECK(mincore((void *)address, size, pages) == 0);
    for (size_t page = 0; page < size / HEW_PAGE; page++) {
        count += pages[page] & 1;
    }
    return count * HEW_PAGE;
}

/* Takes, writes and gives `size` bytes; where they were. */
static inline uintptr_t
page_make_dirty(size_t size)
{
    struct hew_extent *extent = page_take(size);
    uintptr_t address = extent->address;
    page_fill(extent, 7);
    page_give(extent);
    return address;
}

#endif
