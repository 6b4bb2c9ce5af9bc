/* SPDX-License-Identifier: MIT */
#include "page/grow.h"

#include "base/options.h"
#include "meta/map.h"
#include "os/memory.h"
#include "page/split.h"

#define GROW_MAX ((size_t)64 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
/* From so much on a purger is called for while memory is taken: it cannot be started when all of it is freed. */
#define PURGER_WANTED ((size_t)8 << 20)

static _Atomic uint32_t regions; /* numbers given to regions so far */

static void *
map_memory(size_t size, size_t alignment, bool *data_segment)
{
    void *memory = NULL;
    *data_segment = false;
    if (hew_options.dss == HEW_DSS_PRIMARY) {
        memory = hew_os_extend_data(size, alignment);
        *data_segment = memory != NULL;
    }
    if (memory == NULL) {
        memory = hew_os_map(size, alignment);
    }
    if (memory == NULL && hew_options.dss == HEW_DSS_SECONDARY) {
        memory = hew_os_extend_data(size, alignment);
        *data_segment = memory != NULL;
    }
    return memory;
}

static void
advise(void *memory, size_t size)
{
    if (hew_options.thp == HEW_THP_ALWAYS) {
        hew_os_advise_huge(memory, size);
    } else if (hew_options.thp == HEW_THP_NEVER) {
        hew_os_advise_small(memory, size);
    }
}

/* Enters a mapping as one retained extent. */
static struct hew_extent *
enter(struct hew_page_heap *heap, void *memory, size_t size, bool data_segment)
{
    struct hew_extent model = {.state = HEW_EXTENT_RETAINED, .arena = heap->arena, .data_segment = data_segment};
    struct hew_extent *extent = NULL;
    if (hew_map_cover((uintptr_t)memory, size)) {
        extent = hew_split_new_extent(heap, &model, (uintptr_t)memory, size);
    }
    if (extent == NULL) {
        if (!data_segment) {
            hew_os_unmap(memory, size);
        }
        return NULL;
    }
    uint32_t region = atomic_fetch_add_explicit(&regions, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&extent->region, region, memory_order_relaxed);
    advise(memory, size);
    heap->counts.mapped += size;
    size_t before = atomic_fetch_add_explicit(&hew_page_mapped, size, memory_order_relaxed);
    if (before < PURGER_WANTED && before + size >= PURGER_WANTED) {
        hew_page_raise_due();
    }
    heap->counts.maps++;
    hew_split_insert(heap, &heap->retained, extent, HEW_EXTENT_RETAINED);
    return extent;
}

struct hew_extent *
hew_grow_map(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    if (alignment < HEW_GRAIN) {
        alignment = HEW_GRAIN;
    }
    /* The usual step: twice the last one, as long as the system plays along; else just what is needed. */
    size_t step = hew_options.retain && heap->grow_bytes > size ? heap->grow_bytes : size;
    bool data_segment;
    size_t at = step >= HUGE_PAGE && alignment < HUGE_PAGE ? HUGE_PAGE : alignment;
    void *memory = map_memory(hew_bits_round_up(step, HEW_GRAIN), at, &data_segment);
    if (memory == NULL && (step > size || at > alignment)) {
        step = size;
        memory = map_memory(hew_bits_round_up(step, HEW_GRAIN), alignment, &data_segment);
    } else if (memory != NULL && heap->grow_bytes < GROW_MAX) {
        heap->grow_bytes *= 2;
    }
    return memory == NULL ? NULL : enter(heap, memory, hew_bits_round_up(step, HEW_GRAIN), data_segment);
}
