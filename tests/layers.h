/* SPDX-License-Identifier: MIT */
/*
 * layers: brings the layers up to cache/ to life for a test that has no api/, and tells whether everything that was
 * handed out has come home.
 *
 * Promises  never allocates.  Functions only, so that a test links no layer above those that it calls.
 */
#ifndef HEW_TESTS_LAYERS_H
#define HEW_TESTS_LAYERS_H

#include "base/options.h"
#include "meta/map.h"
#include "meta/memory.h"
#include "os/memory.h"
#include "slab/large.h"

#include <stdio.h>

/* Of cache/, where a test links that. */
HEW_WEAK void hew_thread_boot(void);
HEW_WEAK bool hew_depot_drain(bool all);

/* What api/boot.c does before the first cache, with small classes of one's own.  Once a process. */
static inline bool
layers_boot_with(const uint16_t *classes, unsigned count)
{
    hew_size_class_boot();
    if (count != 0) {
        hew_size_class_set_own(classes, count);
    }
    if (!hew_map_boot(true)) {
        return false;
    }
    if (hew_thread_boot != NULL) {
        hew_thread_boot();
    }
    hew_small_end = HEW_SMALL_MAX + 1;
    hew_aligned_end = count == 0 ? HEW_SMALL_MAX + 1 : 0;
    hew_large_end = HEW_LARGE_CODES_MAX + 1;
    return true;
}

/* With the usual ones. */
static inline bool
layers_boot(void)
{
    return layers_boot_with(NULL, 0);
}

/* A heap of a test's own, as an arena of that number takes pages from it. */
#define LAYERS_CLIENT(of) (&(struct hew_page_client){(of), (of)->arena})

/* So many regions of a class, in as many steps as that takes. */
static inline void
layers_take_regions(struct hew_arena *arena, unsigned code, void **into, unsigned count)
{
    for (unsigned got = 0; got < count;) {
        got += hew_bin_take(&arena->bins[code], &arena->pages, code, into + got, count - got);
    }
}

/* For hew_os_faults.refuse. */
static inline bool
layers_refuse_everything(const char *call)
{
    return call != NULL;
}

/* With every system call refused: takes what bookkeeping memory is left, so that the next request of it fails too. */
static inline void
layers_use_up_metadata(void)
{
    for (size_t size = HEW_CACHED_MAX; size >= HEW_CACHE_LINE; size /= 2) {
        for (unsigned index = hew_class_index(size / 2 + 1); index <= hew_class_index(size); index++) {
            while (hew_meta_take(hew_class_size(index)) != NULL) {
            }
        }
    }
}

static inline bool
layers_bin_settled(const struct hew_arena *arena, unsigned code, size_t *slab_bytes)
{
    const struct hew_bin *bin = &arena->bins[code];
    *slab_bytes += bin->counts.slabs * hew_slab_shapes[code].pages * HEW_PAGE;
    bool settled = bin->counts.nmalloc == bin->counts.ndalloc && bin->counts.slabs == (bin->current != NULL) &&
                   bin->counts.nonfull == 0 && hew_bin_valid(bin);
    if (!settled) {
        printf("arena %u, %zu-byte bin: %llu taken, %llu returned, %zu slabs of which %zu listed and %d current\n",
               arena->index, hew_code_size(code), (unsigned long long)bin->counts.nmalloc,
               (unsigned long long)bin->counts.ndalloc, bin->counts.slabs, bin->counts.nonfull, bin->current != NULL);
    }
    return settled;
}

/* Large objects that ever left the arena and came back, of all classes. */
struct layers_large {
    uint64_t nmalloc, ndalloc;
};

static inline struct layers_large
layers_large(struct hew_arena *arena)
{
    hew_page_sweep(arena->pages.heap);
    struct layers_large total = {0, 0};
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        total.ndalloc += atomic_load_explicit(&arena->large[index].ndalloc, memory_order_relaxed);
        total.nmalloc += atomic_load_explicit(&arena->large[index].nmalloc, memory_order_relaxed);
    }
    return total;
}

/*
 * True when nothing is handed out: every region and every large object came back, and the only active pages are those
 * of one wholly free current slab a bin.  No other thread may be in the allocator; no thread's cache may hold anything.
 */
static inline bool
layers_settled(void)
{
    bool settled = true;
    if (hew_depot_drain != NULL) {
        hew_depot_drain(true);
    }
    HEW_EACH_ARENA(arena)
    {
        uint64_t taken = layers_large(arena).nmalloc, returned = layers_large(arena).ndalloc;
        if (taken != returned) {
            printf("arena %u: %llu large objects taken, %llu returned\n", arena->index, (unsigned long long)taken,
                   (unsigned long long)returned);
            settled = false;
        }
    }
    HEW_EACH_PAGE_OWNER(owner)
    {
        size_t slab_bytes = 0, active = hew_page_counts(owner->pages.heap).active;
        HEW_EACH_ARENA(arena)
        {
            for (unsigned code = 1; arena->pages.heap == owner->pages.heap && code <= HEW_CODE_SMALL_LAST; code++) {
                settled = layers_bin_settled(arena, code, &slab_bytes) && settled;
            }
        }
        if (active != slab_bytes || !hew_page_heap_valid(owner->pages.heap)) {
            printf("page heap of arena %u: %zu active bytes, %zu in slabs; %s\n", owner->index, active, slab_bytes,
                   hew_page_heap_valid(owner->pages.heap) ? "valid" : "not valid");
            settled = false;
        }
    }
    return settled;
}

#endif
