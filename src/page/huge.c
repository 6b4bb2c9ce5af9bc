/* SPDX-License-Identifier: MIT */
/*
 * huge: touching one byte makes a whole huge page resident.  So the heap asks for huge pages only where a sample of
 * earlier memory has shown dense use.
 */
#include "page/huge.h"

#include "meta/map.h"
#include "os/memory.h"
#include "page/bound.h"
#include "page/split.h"

#define PROBE_SHARE 16 /* of a region */
#define PROBE_MAX ((size_t)4 << 20)
#define LONE_SHARE 4  /* no huge pages for a single request larger than this part of the heap */
#define DENSE_SHARE 8 /* dense: less than one part in this many was never touched */

static _Atomic bool look_no_more; /* relaxed: set by the thread that stops the sampling */

void
hew_huge_advise(void *memory, size_t size, enum hew_thp thp)
{
    if (thp == HEW_THP_ALWAYS) {
        hew_os_advise_huge(memory, size);
    } else if (thp == HEW_THP_NEVER) {
        hew_os_advise_small(memory, size);
    }
}

/* Samples the allocated memory at the start of the last region.  If there is too little, the last result stays
 * valid. */
static void
look_at_probe(struct hew_page_heap *heap)
{
    uintptr_t at = heap->probe.address, end = at + heap->probe.size;
    size_t used = 0, touched = 0;
    while (at < end) {
        struct hew_extent *extent = hew_map_extent(at);
        if (extent == NULL || atomic_load_explicit(&extent->region, memory_order_relaxed) != heap->probe.region ||
            extent->address > at || hew_extent_end(extent) <= at) {
            break;
        }
        size_t size = (hew_extent_end(extent) < end ? hew_extent_end(extent) : end) - at;
        if (extent->state != HEW_EXTENT_RETAINED) {
            used += size;
            touched += hew_os_resident((void *)at, size);
        }
        at += size;
    }
    if (used >= heap->probe.size / 2) {
        heap->dense = used - touched < used / DENSE_SHARE;
    }
}

/* Without a background thread hew makes only memory calls: docs/sandboxes.md. */
static bool
may_look(void)
{
    return hew_options.background_thread && !atomic_load_explicit(&look_no_more, memory_order_relaxed);
}

void
hew_huge_look_no_more(void)
{
    atomic_store_explicit(&look_no_more, true, memory_order_relaxed);
}

/* How much of a new region, in no free list yet, keeps small pages; SIZE_MAX: all of it. */
static size_t
small_part(struct hew_page_heap *heap, const struct hew_extent *region, size_t wanted)
{
    size_t before = heap->counts.mapped - region->size, used = before - heap->retained.bytes;
    size_t until = used < hew_options.thp_threshold ? hew_options.thp_threshold - used : 0;
    if (hew_options.thp_threshold == 0 || !may_look() || until >= region->size || region->data_segment ||
        wanted > before / LONE_SHARE || !hew_page_bound_is_far(region->size)) { /* a limit counts huge pages whole */
        return SIZE_MAX;
    }
    look_at_probe(heap);
    size_t share = region->size / PROBE_SHARE;
    return heap->dense ? hew_bits_round_up(share > until ? share : until, HEW_HUGE_PAGE) : SIZE_MAX;
}

void
hew_huge_begin(struct hew_page_heap *heap, struct hew_extent *region, size_t wanted)
{
    if (heap->thp != HEW_THP_DEFAULT) {
        hew_huge_advise((void *)region->address, region->size, heap->thp);
        return;
    }
    size_t small = small_part(heap, region, wanted);
    if (small < region->size) {
        region->huge = heap->huge = true;
        hew_os_advise_huge((char *)region->address + small, region->size - small);
    }
    small = small < region->size ? small : region->size;
    heap->probe.address = region->address;
    heap->probe.size = small < PROBE_MAX ? small : PROBE_MAX;
    heap->probe.region = atomic_load_explicit(&region->region, memory_order_relaxed);
}

size_t
hew_huge_within(const struct hew_extent *extent, size_t most, uintptr_t *start)
{
    uintptr_t low = hew_bits_round_up(extent->address, HEW_HUGE_PAGE);
    uintptr_t high = hew_extent_end(extent) & ~(uintptr_t)(HEW_HUGE_PAGE - 1);
    size_t whole = high > low ? high - low : 0, allowed = most & ~(HEW_HUGE_PAGE - 1);
    size_t size = whole < allowed ? whole : allowed;
    *start = high - size;
    return size;
}

/* Returns the neighbour of the same region that may ask for huge pages, or NULL. */
static struct hew_extent *
asking_at(const struct hew_extent *extent, uintptr_t address)
{
    struct hew_extent *other = hew_map_extent(address);
    return hew_split_joinable(extent, other) && other->huge ? other : NULL;
}

void
hew_huge_forgo(struct hew_extent *extent)
{
    uintptr_t start = extent->address, end = hew_extent_end(extent);
    struct hew_extent *other;
    extent->huge = false;
    while ((other = asking_at(extent, start - 1)) != NULL) {
        other->huge = false;
        start = other->address;
    }
    while ((other = asking_at(extent, end)) != NULL) {
        other->huge = false;
        end = hew_extent_end(other);
    }
    hew_os_advise_small((void *)start, end - start);
}
