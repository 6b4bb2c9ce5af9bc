/* SPDX-License-Identifier: MIT */
/*
 * grow: each mapping is twice the last one, up to a bound, since each costs a system call and the process may have
 * only so many.  Neighbouring ones become one region, so that free pages of both can serve one request.
 */
#include "page/grow.h"

#include "meta/map.h"
#include "os/memory.h"
#include "page/huge.h"
#include "page/split.h"

#define GROW_MAX ((size_t)64 << 20)

static _Atomic uint32_t regions; /* numbers given to regions so far */

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
    /* While memory is taken: a purger can seldom be started when all of it is freed. */
    if (before < from && before + size >= from) {
        hew_page_raise_due();
    }
    heap->counts.maps++;
    return extent;
}

/* A mapping that touches the last one, as the system most often places it, joins that one's region, so that free pages of
 * both can serve one request. */
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

/* Enters a mapping of our own, which the heap then no longer has when there is no memory for that. */
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

/* A region of `size` bytes.  NULL: the system refused it, or what is to be written down of it. */
static struct hew_extent *
map_region(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    bool data_segment;
    size_t whole = hew_bits_round_up(size, HEW_GRAIN);
    void *memory = map_memory(heap->dss, whole, alignment, &data_segment);
    return memory == NULL ? NULL : grow_enter(heap, memory, whole, data_segment);
}

struct hew_extent *
hew_grow_map(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    if (alignment < HEW_GRAIN) {
        alignment = HEW_GRAIN;
    }
    /* The usual step: twice the last one, as long as the system plays along; else just what is needed. */
    size_t step = hew_grow_step(heap, size);
    size_t at = step >= HEW_HUGE_PAGE && alignment < HEW_HUGE_PAGE ? HEW_HUGE_PAGE : alignment;
    /* Whole huge pages: what is mapped next then touches it, and free pages of both can serve one request. */
    size_t whole = at == HEW_HUGE_PAGE && hew_options.retain ? hew_bits_round_up(step, at) : step;
    struct hew_extent *region = map_region(heap, whole, at);
    if (region != NULL) {
        hew_grow_note_step(heap);
    } else if (whole > size || at > alignment) {
        region = map_region(heap, size, alignment);
    }
    if (region != NULL) {
        hew_huge_begin(heap, region, size);
        hew_split_mark_ends(region); /* pages of the map that are read before they are written fault twice */
        hew_split_insert(heap, &heap->retained, region, HEW_EXTENT_RETAINED);
    }
    return region;
}
