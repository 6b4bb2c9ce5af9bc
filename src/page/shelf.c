/* SPDX-License-Identifier: MIT */
#include "page/shelf.h"

#include "base/options.h"
#include "page/hooked.h"
#include "page/split.h"

/* Under the lock: its bytes are dirty now, and no longer out. */
static void
hand_in(struct hew_page_heap *heap, struct hew_extent *extent)
{
    struct hew_large_tally *tally = &heap->shelf.tally;
    atomic_fetch_add_explicit(&tally->classes[hew_large_index(extent->size)].ndalloc, 1, memory_order_release);
    atomic_fetch_sub_explicit(tally->bytes, extent->size, memory_order_relaxed);
    hew_page_add_active(heap, -(ptrdiff_t)extent->size);
    hew_hooked_insert_dirty(heap, extent);
}

bool
hew_shelf_empty(struct hew_page_heap *heap)
{
    struct hew_shelf *shelf = &heap->shelf;
    bool some = false;
    atomic_store(&shelf->filled, false);
    for (unsigned i = 0; i < HEW_SHELF_RANKS * HEW_SHELF_PLACES; i++) {
        _Atomic uint64_t *place = &shelf->rank[i / HEW_SHELF_PLACES].place[i % HEW_SHELF_PLACES];
        uint64_t word = atomic_load(place) == 0 ? 0 : atomic_exchange(place, 0);
        if (word != 0) {
            hand_in(heap, hew_shelf_extent_in(word));
            some = true;
        }
    }
    return some;
}

void
hew_shelf_decide(struct hew_page_heap *heap)
{
    bool unusual = hew_options.san_guard_large != 0 || hew_options.percpu_arena != HEW_PERCPU_ARENA_DISABLED;
    bool open = heap->shelf.tally.classes != NULL && heap->hooks == NULL && !heap->scarce && !heap->ending &&
        !heap->watched && heap->dirty_decay.decay_ms != 0 && !unusual;
    atomic_store(&heap->shelf.open, open);
    if (!open) {
        hew_page_sweep_held(heap);
    }
}
