/* SPDX-License-Identifier: MIT */
/*
 * end: the end of a page heap, when its arena is destroyed.
 */
#include "os/futex.h"
#include "page/grow.h"
#include "page/heap.h"
#include "page/hooked.h"
#include "page/split.h"

#define NAP_MS 1

/* Lock held, dropped meanwhile.  On return no thread purges this heap any more. */
static void
await_purgers(struct hew_page_heap *heap)
{
    heap->ending = true;
    while (!hew_list_is_empty(&heap->transit)) {
        _Atomic uint32_t never = 0;
        hew_mutex_unlock(&heap->lock);
        hew_futex_wait(&never, 0, NAP_MS);
        hew_mutex_lock(&heap->lock);
    }
}

/* No lock held.  Moves memory that cannot be unmapped, or that the system refuses to take now, to another heap.  It
 * coalesces with no neighbour of its region: those are still in the ending heap, under another lock. */
static void
bequeath(struct hew_page_heap *heir, struct hew_extent *extent)
{
    hew_mutex_lock(&heir->lock);
    extent->arena = heir->arena;
    hew_grow_set_apart(extent);
    heir->counts.mapped += extent->size;
    hew_split_insert(heir, &heir->dirty, extent, HEW_EXTENT_DIRTY);
    hew_mutex_unlock(&heir->lock);
}

static struct hew_extent *
any_free(struct hew_page_heap *heap)
{
    struct hew_extent *extent = hew_stock_oldest(&heap->dirty);
    extent = extent != NULL ? extent : hew_stock_oldest(&heap->muzzy);
    return extent != NULL ? extent : hew_stock_oldest(&heap->retained);
}

/* Lock held, dropped meanwhile.  Takes one free extent and its addresses out of the heap. */
static void
end_give_up(struct hew_page_heap *heap, struct hew_extent *extent, struct hew_page_heap *heir)
{
    hew_stock_remove(hew_split_stock_of(heap, extent->state), extent);
    hew_split_forget_ends(extent); /* before another heap can get the addresses */
    heap->counts.mapped -= extent->size;
    hew_moved_clear(&heap->moved, extent->address, hew_extent_end(extent));
    struct hew_extent_hooks *hooks = heap->hooks;
    hew_mutex_unlock(&heap->lock);
    if (extent->data_segment || (hooks == NULL && !hew_os_try_unmap((void *)extent->address, extent->size))) {
        bequeath(heir, extent);
        hew_mutex_lock(&heap->lock);
        return;
    }
    if (hooks != NULL) {
        hew_hooked_destroy(hooks, extent);
    }
    atomic_fetch_sub_explicit(&hew_page_mapped, extent->size, memory_order_relaxed);
    hew_mutex_lock(&heap->lock);
    hew_split_drop_extent(heap, extent);
}

void
hew_page_heap_end(struct hew_page_heap *heap, struct hew_page_heap *heir)
{
    hew_mutex_lock(&heap->lock);
    await_purgers(heap);
    struct hew_extent *extent;
    while ((extent = any_free(heap)) != NULL) {
        end_give_up(heap, extent, heir);
    }
    heap->hooks = NULL;
    hew_mutex_unlock(&heap->lock);
}
