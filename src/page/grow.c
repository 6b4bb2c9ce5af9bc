/* SPDX-License-Identifier: MIT */
/*
 * grow: each mapping is twice the size of the last one, up to a bound: a mapping costs a system call, and a process may
 * have only a limited number.  Adjacent mappings become one region, so that free pages of both can serve one request.
 */
#include "page/grow.h"

#include "meta/map.h"
#include "os/memory.h"
#include "page/huge.h"
#include "page/split.h"

#define GROW_MAX ((size_t)64 << 20)

static _Atomic uint32_t regions; /* region numbers used so far */

static void *
map_memory(enum hew_dss dss, size_t size, size_t alignment, bool *data_segment)
{
    void *memory = NULL;
    *data_segment = false;
    if (dss == HEW_DSS_PRIMARY) {
        memory = hew_os_extend_data(size, alignment);
        *data_segment = memory != NULL;
    }
    if (memory == NULL) {
        memory = hew_os_map(size, alignment);
    }
    if (memory == NULL && dss == HEW_DSS_SECONDARY) {
        memory = hew_os_extend_data(size, alignment);
        *data_segment = memory != NULL;
    }
    return memory;
}

size_t
hew_grow_step(const struct hew_page_heap *heap, size_t size)
{
    size_t step = heap->grow_bytes < heap->grow_limit ? heap->grow_bytes : heap->grow_limit;
    return hew_options.retain && !heap->whole && step > size ? step : size;
}

void
hew_grow_note_step(struct hew_page_heap *heap)
{
    if (heap->grow_bytes < GROW_MAX && !heap->scarce) {
        heap->grow_bytes *= 2;
    }
}

void
hew_grow_set_apart(struct hew_extent *extent)
{
    uint32_t region = atomic_fetch_add_explicit(&regions, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&extent->region, region, memory_order_relaxed);
}

struct hew_extent *
hew_grow_enter(struct hew_page_heap *heap, const struct hew_extent *model)
{
    struct hew_extent *extent = NULL;
    size_t size = model->size;
    if (hew_map_cover(model->address, size)) {
        extent = hew_split_new_extent(heap, model, model->address, size);
    }
    if (extent == NULL) {
        return NULL;
    }
    hew_grow_set_apart(extent);
    heap->counts.mapped += size;
    size_t before = atomic_fetch_add_explicit(&hew_page_mapped, size, memory_order_relaxed);
    size_t from = atomic_load_explicit(&hew_page_purger_from, memory_order_relaxed);
    /* Call for a purger while memory is allocated: once all of it is freed, it can seldom be started. */
    if (before < from && before + size >= from) {
        hew_page_raise_due();
    }
    heap->counts.maps++;
    return extent;
}

/* Makes a mapping that touches the last one, as the system usually places it, a part of that region, so that free pages
 * of both can serve one request. */
static void
join_run(struct hew_page_heap *heap, struct hew_extent *extent)
{
    uintptr_t start = extent->address, end = hew_extent_end(extent);
    if (heap->run_end != 0 && end == heap->run_start) {
        heap->run_start = start;
    } else if (heap->run_end != 0 && start == heap->run_end) {
        heap->run_end = end;
    } else {
        heap->run_start = start;
        heap->run_end = end;
        heap->run_region = atomic_load_explicit(&extent->region, memory_order_relaxed);
    }
    atomic_store_explicit(&extent->region, heap->run_region, memory_order_relaxed);
}

/* Enters a mapping of our own.  Without memory for the record, the heap loses the mapping again. */
static struct hew_extent *
grow_enter(struct hew_page_heap *heap, void *memory, size_t size, bool data_segment)
{
    struct hew_extent model = {.address = (uintptr_t)memory,
                               .size = size,
                               .state = HEW_EXTENT_RETAINED,
                               .arena = heap->arena,
                               .data_segment = data_segment};
    struct hew_extent *extent = hew_grow_enter(heap, &model);
    if (extent != NULL && !data_segment && heap->hooks == NULL) {
        join_run(heap, extent);
    } else if (extent == NULL && !data_segment) {
        hew_os_unmap(memory, size);
    }
    return extent;
}

/* Maps a region of `size` bytes.  NULL: the system refused the region or the memory for its record. */
static struct hew_extent *
map_region(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    bool data_segment;
    size_t whole = hew_bits_round_up(hew_system_pages(size), HEW_GRAIN);
    void *memory = map_memory(heap->dss, whole, alignment, &data_segment);
    return memory == NULL ? NULL : grow_enter(heap, memory, whole, data_segment);
}

struct hew_extent *
hew_grow_map(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    alignment = hew_grow_alignment(alignment);
    /* The usual step is twice the last one.  If the system refuses it, map only what is needed. */
    size_t step = hew_grow_step(heap, size);
    size_t at = step >= HEW_HUGE_PAGE && alignment < HEW_HUGE_PAGE ? HEW_HUGE_PAGE : alignment;
    /* Map whole huge pages: the next mapping then touches this one, and free pages of both can serve one request. */
    size_t whole = at == HEW_HUGE_PAGE && hew_options.retain ? hew_bits_round_up(step, at) : step;
    struct hew_extent *region = map_region(heap, whole, at);
    if (region != NULL) {
        hew_grow_note_step(heap);
    } else if (whole > size || at > alignment) {
        region = map_region(heap, size, alignment);
    }
    if (region != NULL) {
        hew_huge_begin(heap, region, size);
        hew_split_mark_ends(region); /* write now: map pages that are read before they are written fault twice */
        hew_split_insert(heap, &heap->retained, region, HEW_EXTENT_RETAINED);
    }
    return region;
}
