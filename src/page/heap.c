/* SPDX-License-Identifier: MIT */
/*
 * heap: all operations that allocate, free, grow, cut and move pages.  A request tries the cheapest memory first: dirty
 * pages of about that size, dirty ones after coalescing, muzzy, dirty combined with retained, retained, a new mapping.
 */
#include "page/heap.h"

#include "base/options.h"
#include "meta/map.h"
#include "meta/memory.h"
#include "os/clock.h"
#include "os/memory.h"
#include "page/bound.h"
#include "page/grow.h"
#include "page/hooked.h"
#include "page/hooks.h"
#include "page/join.h"
#include "page/shelf.h"
#include "page/split.h"

/* Idle memory of one heap from which on a purger is wanted: below it, a thread would cost more than it returns. */
#define DUE_BYTES ((size_t)1 << 20)
#define GIVES_TO_CLOCK 64
#define SCARCE_IDLE ((size_t)1 << 20)
#define SCARCE_PART 16

void
hew_page_heap_begin(struct hew_page_heap *heap, uint16_t arena, uint64_t now_ms)
{
    hew_stock_begin(&heap->dirty);
    hew_stock_begin(&heap->muzzy);
    hew_stock_begin(&heap->retained);
    hew_list_begin(&heap->transit);
    hew_decay_begin(&heap->dirty_decay, hew_options.dirty_decay_ms, now_ms);
    hew_decay_begin(&heap->muzzy_decay, hew_options.muzzy_decay_ms, now_ms);
    size_t structs = heap->counts.structs, spare = heap->counts.spare_structs; /* the structs outlive the heap */
    heap->counts = (struct hew_page_counts){.structs = structs, .spare_structs = spare};
    heap->arena = arena;
    HEW_MUTEX_PLACE(&heap->lock, page, arena);
    heap->grow_bytes = HEW_GROW_FIRST;
    heap->grow_limit = HEW_OPTION_CLASS_MAX;
    heap->probe.size = 0;
    heap->peak_from = HEW_PAGE_PEAK_FROM;
    heap->huge = false;
    heap->dense = false;
    heap->run_start = heap->run_end = 0;
    heap->hooks = NULL;
    heap->dss = (uint8_t)hew_options.dss;
    heap->thp = (uint8_t)hew_options.thp;
    heap->whole = false;
    heap->ending = false;
    heap->scarce = false;
    heap->watched = false;
    heap->gives_to_clock = GIVES_TO_CLOCK;
    hew_shelf_decide(heap);
}

void
hew_page_open_shelf(struct hew_page_heap *heap, unsigned arena, struct hew_large_tally tally)
{
    *hew_shelf_tally(&heap->shelf, arena) = tally;
    hew_shelf_decide(heap);
}

void
hew_page_sweep(struct hew_page_heap *heap)
{
    hew_mutex_lock(&heap->lock);
    hew_page_sweep_held(heap);
    hew_mutex_unlock(&heap->lock);
}

size_t *
hew_page_watch_active(struct hew_page_heap *heap)
{
    hew_mutex_lock(&heap->lock);
    heap->watched = true;
    hew_shelf_decide(heap);
    hew_mutex_unlock(&heap->lock);
    return &heap->active_pages;
}

HEW_NOINLINE void
hew_page_look(struct hew_page_heap *heap)
{
    hew_page_decay(heap, hew_clock_ms(), false);
}

/* Cuts the wanted part out of a free extent that holds it, as low as possible. */
static struct hew_extent *
heap_cut(struct hew_page_heap *heap, struct hew_stock *stock, struct hew_extent *extent, size_t size, size_t alignment)
{
    return hew_split_cut(heap, stock, extent, hew_bits_round_up(extent->address, alignment), size);
}

/* Enters an active extent into both maps. */
static void
activate(struct hew_page_heap *heap, struct hew_extent *extent, unsigned code)
{
    HEW_ASSERT(1, extent->arena == heap->arena && extent->state != HEW_EXTENT_ACTIVE &&
                      extent->state != HEW_EXTENT_UNUSED);
    HEW_ASSERT(1, code != HEW_CODE_NONE && code < HEW_CODES);
    unsigned shown = heap->is_private ? HEW_CODE_SLOW : code;
    extent->state = HEW_EXTENT_ACTIVE;
    extent->code = (uint8_t)code;
    hew_split_mark_ends(extent);
    if (code > HEW_CODE_SMALL_LAST) {
        hew_map_set_code(extent->address, shown);
        return;
    }
    for (uintptr_t page = extent->address; page < hew_extent_end(extent); page += HEW_PAGE) {
        hew_map_set_extent(page, extent);
        hew_map_set_code(page, shown);
    }
}

void
hew_page_share(struct hew_page_heap *heap)
{
    hew_mutex_lock(&heap->lock);
    heap->is_private = false;
    hew_mutex_unlock(&heap->lock);
}

void
hew_page_recode(struct hew_page_heap *heap, struct hew_extent *extent, unsigned code)
{
    extent->code = (uint8_t)code;
    hew_map_set_code(extent->address, heap->is_private ? HEW_CODE_SLOW : code);
}

/* The size of the largest extent with memory that is cut for a request: the option lg_extent_max_active_fit. */
static size_t
most_fit(size_t size)
{
    size_t shift = hew_options.lg_extent_max_active_fit;
    return shift >= (size_t)__builtin_clzll(size) ? SIZE_MAX : size << shift;
}

/* Reuses pages freed with about the same size unchanged; coalesces neighbours only if there are none. */
static struct hew_extent *
take_unmerged(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    /* A slab is better at a low address, a large object where memory is warm. */
    struct hew_extent *found = alignment >= HEW_GRAIN ? NULL : hew_stock_find_exact(&heap->dirty, size, alignment);
    found = found != NULL ? found : hew_stock_find(&heap->dirty, size, alignment, size);
    if (found == NULL && hew_page_sweep_held(heap)) {
        found = hew_stock_find(&heap->dirty, size, alignment, size);
    }
    if (found == NULL) {
        hew_split_merge(heap, &heap->dirty);
        return NULL;
    }
    return heap_cut(heap, &heap->dirty, found, size, alignment);
}

static struct hew_extent *
take_pages(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    struct hew_stock *const with_memory[] = {&heap->dirty, &heap->muzzy};
    struct hew_extent *taken = take_unmerged(heap, size, alignment);
    for (unsigned kind = 0; taken == NULL && kind < 2; kind++) {
        struct hew_extent *found = hew_stock_find(with_memory[kind], size, alignment, most_fit(size));
        taken = found == NULL ? NULL : heap_cut(heap, with_memory[kind], found, size, alignment);
    }
    size_t fresh = 0;
    if (taken == NULL) {
        taken = hew_join_take(heap, &heap->dirty, size, alignment, &fresh);
    }
    if (taken == NULL) {
        struct hew_extent *found = hew_stock_find(&heap->retained, size, alignment, SIZE_MAX);
        taken = found == NULL ? NULL : heap_cut(heap, &heap->retained, found, size, alignment);
    }
    if (taken == NULL) {
        taken = hew_join_take(heap, &heap->retained, size, alignment, &fresh);
    }
    if (taken == NULL) {
        struct hew_extent *region = hew_grow_map(heap, size, alignment);
        taken = region == NULL ? NULL : heap_cut(heap, &heap->retained, region, size, alignment);
    }
    if (taken != NULL) {
        taken->zeroed = taken->state == HEW_EXTENT_RETAINED;
        taken->large.fresh = taken->zeroed ? size : fresh;
    }
    return taken;
}

/* Lock held.  The heap's bytes in memory. */
static ptrdiff_t
held_by(const struct hew_page_heap *heap)
{
    return (ptrdiff_t)(heap->counts.active + heap->dirty.bytes + heap->muzzy.bytes);
}

/* Lock held, after the heap may have grown. */
static void
note_growth(struct hew_page_heap *heap)
{
    size_t held = (size_t)held_by(heap);
    if (HEW_UNLIKELY(held > heap->peak_from)) {
        heap->peak_from = held + held / HEW_PAGE_PEAK_PART;
        atomic_store_explicit(&hew_page_grown, true, memory_order_relaxed);
    }
}

/* Lock held. */
static HEW_NOINLINE struct hew_extent *
take_held(struct hew_page_heap *heap, size_t size, size_t alignment, unsigned code)
{
    struct hew_extent *taken =
        HEW_LIKELY(heap->hooks == NULL) ? take_pages(heap, size, alignment) : hew_hooked_take(heap, size, alignment);
    if (HEW_UNLIKELY(heap->hooks != NULL) && taken != NULL) {
        taken->large.fresh = taken->zeroed ? size : 0;
    }
    if (taken != NULL) {
        HEW_ASSERT(1, taken->size == size && (taken->address & (alignment - 1)) == 0);
        hew_page_add_active(heap, (ptrdiff_t)size);
        activate(heap, taken, code);
        note_growth(heap);
        HEW_ASSERT(2, hew_split_beside(taken));
    }
    HEW_ASSERT(3, hew_page_valid_if_due(heap));
    return taken;
}

/* The same under a memory limit: refuses, or counts. */
static HEW_COLD HEW_NOINLINE struct hew_extent *
take_bounded(struct hew_page_heap *heap, size_t size, size_t alignment, unsigned code)
{
    if (!hew_page_bound_allows(size)) {
        return NULL;
    }
    ptrdiff_t before = held_by(heap);
    struct hew_extent *taken = take_held(heap, size, alignment, code);
    hew_page_bound_count(held_by(heap) - before);
    return taken;
}

struct hew_extent *
hew_page_take(struct hew_page_heap *heap, size_t size, size_t alignment, unsigned code)
{
    HEW_ASSERT(1, size != 0 && (size & (hew_system_page - 1)) == 0);
    HEW_ASSERT(1, (alignment & (HEW_PAGE - 1)) == 0 && (alignment & (alignment - 1)) == 0);
    hew_mutex_lock(&heap->lock);
    struct hew_extent *taken =
        hew_page_is_bounded() ? take_bounded(heap, size, alignment, code) : take_held(heap, size, alignment, code);
    hew_mutex_unlock(&heap->lock);
    return taken;
}

unsigned
hew_page_take_same(struct hew_page_heap *heap, size_t size, unsigned code, struct hew_extent **extents, unsigned wanted)
{
    unsigned taken = 0;
    hew_mutex_lock(&heap->lock);
    while (taken < wanted && heap->hooks == NULL) {
        struct hew_extent *extent = hew_stock_find_exact(&heap->dirty, size, HEW_PAGE);
        if (extent == NULL) {
            break;
        }
        HEW_ASSERT(1, extent->size == size && extent->state == HEW_EXTENT_DIRTY);
        hew_stock_remove(&heap->dirty, extent);
        extent->zeroed = false;
        extent->large.fresh = 0;
        hew_page_add_active(heap, (ptrdiff_t)size);
        activate(heap, extent, code);
        extents[taken++] = extent;
    }
    hew_mutex_unlock(&heap->lock);
    return taken;
}

/* Lock held, after memory came into the dirty free list.  True when the caller should read the clock. */
static bool
note_given(struct hew_page_heap *heap)
{
    if (heap->dirty.bytes >= DUE_BYTES) {
        hew_page_raise_due();
    }
    if (heap->dirty_decay.decay_ms == 0) {
        return true;
    }
    if (--heap->gives_to_clock != 0) {
        return false;
    }
    heap->gives_to_clock = GIVES_TO_CLOCK;
    return true;
}

/* Lock held.  After the system has refused memory, idle memory may only be a fraction of that in use.  What stays
 * mapped here is missing elsewhere, for example for thread stacks under a limit of address space. */
static bool
too_idle(const struct hew_page_heap *heap)
{
    return HEW_UNLIKELY(heap->scarce) &&
           heap->counts.mapped - heap->counts.active > SCARCE_IDLE + heap->counts.active / SCARCE_PART;
}

void
hew_page_give(struct hew_page_heap *heap, struct hew_extent *extent)
{
    hew_page_give_some(heap, &extent, 1);
}

/* Lock held; releases it.  Memory came into the dirty free list.  `whole`: it was a whole extent. */
static void
end_give(struct hew_page_heap *heap, bool whole)
{
    bool look = note_given(heap), release = whole && too_idle(heap);
    HEW_ASSERT(3, hew_page_valid_if_due(heap));
    hew_mutex_unlock(&heap->lock);
    if (release) {
        hew_page_release(heap);
    } else if (look) {
        hew_page_decay(heap, hew_clock_ms(), false);
    }
}

void
hew_page_give_some(struct hew_page_heap *heap, struct hew_extent *const *extents, unsigned count)
{
    hew_mutex_lock(&heap->lock);
    for (unsigned i = 0; i < count; i++) {
        HEW_ASSERT(1, extents[i]->state == HEW_EXTENT_ACTIVE);
        hew_split_deactivate(heap, extents[i]);
        hew_hooked_insert_dirty(heap, extents[i]);
    }
    end_give(heap, true);
}

/* Lock held.  With hooks, growth takes one free extent only. */
static bool
grow_hooked(struct hew_page_heap *heap, struct hew_extent *extent, size_t more)
{
    struct hew_extent *behind = hew_split_free_behind(extent);
    if (behind != NULL && behind->size < more && hew_split_merge(heap, &heap->dirty)) {
        behind = hew_split_free_behind(extent);
    }
    return behind != NULL && behind->size >= more && hew_hooked_grow(heap, extent, behind, more);
}

/* Lock held. */
static bool
page_grow_held(struct hew_page_heap *heap, struct hew_extent *extent, size_t more)
{
    if (HEW_UNLIKELY(heap->hooks != NULL)) {
        return grow_hooked(heap, extent, more);
    }
    return hew_join_grow(heap, extent, more) || (hew_page_sweep_held(heap) && hew_join_grow(heap, extent, more)) ||
           (hew_split_merge(heap, &heap->dirty) && hew_join_grow(heap, extent, more));
}

bool
hew_page_grow(struct hew_page_heap *heap, struct hew_extent *extent, size_t size)
{
    size_t more = size - extent->size;
    bool bounded = hew_page_is_bounded();
    HEW_ASSERT(1, size > extent->size && extent->state == HEW_EXTENT_ACTIVE);
    if (bounded && !hew_page_bound_allows(more)) {
        return false;
    }
    hew_mutex_lock(&heap->lock);
    ptrdiff_t before = bounded ? held_by(heap) : 0;
    size_t retained = heap->retained.bytes;
    bool grown = page_grow_held(heap, extent, more);
    hew_page_add_active(heap, grown ? (ptrdiff_t)more : 0);
    note_growth(heap);
    if (HEW_UNLIKELY(bounded)) {
        hew_page_bound_count(held_by(heap) - before);
    }
    HEW_ASSERT(1, extent->size == (grown ? size : size - more));
    HEW_ASSERT(3, hew_page_valid_if_due(heap));
    retained -= heap->retained.bytes;
    hew_mutex_unlock(&heap->lock);
    hew_page_offset_growth(heap, size, retained);
    return grown;
}

/* Lock held.  Cuts an active extent and returns the tail; NULL without memory for a struct. */
static struct hew_extent *
cut_tail(struct hew_page_heap *heap, struct hew_extent *extent, size_t size)
{
    struct hew_extent *tail = hew_split_new_extent(heap, extent, extent->address + size, extent->size - size);
    if (tail != NULL) {
        extent->size = size;
        hew_split_mark_ends(extent);
    }
    return tail;
}

bool
hew_page_shrink(struct hew_page_heap *heap, struct hew_extent *extent, size_t size)
{
    HEW_ASSERT(1, size != 0 && size < extent->size && extent->state == HEW_EXTENT_ACTIVE);
    hew_mutex_lock(&heap->lock);
    struct hew_extent *tail =
        HEW_LIKELY(heap->hooks == NULL) ? cut_tail(heap, extent, size) : hew_hooked_cut_tail(heap, extent, size);
    if (tail == NULL) {
        hew_mutex_unlock(&heap->lock);
        return false;
    }
    hew_page_add_active(heap, -(ptrdiff_t)tail->size);
    tail->arena = heap->arena;
    hew_hooked_insert_dirty(heap, tail);
    end_give(heap, false);
    return true;
}

bool
hew_page_zero(struct hew_page_heap *heap, struct hew_extent *extent)
{
    return heap->hooks == NULL && hew_os_purge((void *)extent->address, extent->size);
}

static void
count_in_use(struct hew_page_heap *heap, ptrdiff_t bytes)
{
    hew_mutex_lock(&heap->lock);
    hew_page_add_active(heap, bytes);
    heap->counts.mapped += (size_t)bytes;
    hew_mutex_unlock(&heap->lock);
}

void
hew_page_hand_over(struct hew_page_heap *from, struct hew_page_heap *to, struct hew_extent *extent)
{
    count_in_use(to, (ptrdiff_t)extent->size);
    extent->arena = to->arena;
    count_in_use(from, -(ptrdiff_t)extent->size);
}

void
hew_page_hide(struct hew_extent *extent)
{
    hew_split_clear_codes(extent);
    hew_split_forget_ends(extent);
}

void
hew_page_show(struct hew_page_heap *heap, struct hew_extent *extent)
{
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && hew_map_extent(extent->address) == NULL);
    hew_split_mark_ends(extent);
    hew_page_recode(heap, extent, extent->code);
}

/* Removes the extent's pages from the heap; adds them to `*lost`. */
static void
forget_active(struct hew_page_heap *heap, struct hew_extent *extent, bool hidden, size_t *lost)
{
    hew_mutex_lock(&heap->lock);
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && heap->counts.mapped >= extent->size);
    hew_page_add_active(heap, -(ptrdiff_t)extent->size);
    hew_moved_clear(&heap->moved, extent->address, hew_extent_end(extent));
    heap->counts.mapped -= extent->size;
    *lost += extent->size;
    atomic_fetch_sub_explicit(&hew_page_mapped, extent->size, memory_order_relaxed);
    if (!hidden) {
        hew_page_hide(extent);
    }
    hew_split_drop_extent(heap, extent);
    hew_mutex_unlock(&heap->lock);
}

void
hew_page_abandon(struct hew_page_heap *heap, struct hew_extent *extent)
{
    forget_active(heap, extent, true, &heap->counts.abandoned);
}

void
hew_page_discard(struct hew_page_heap *heap, struct hew_extent *extent)
{
    if (extent->data_segment) {
        forget_active(heap, extent, false, &heap->counts.abandoned);
        return;
    }
    char *start = (char *)extent->address;
    size_t size = 0;
    forget_active(heap, extent, false, &size); /* first: once unmapped, another heap may get the addresses */
    if (!hew_os_try_unmap(start, size)) {
        hew_os_unmap(start, size - hew_system_page);
    }
}

/* Lock held.  Memory that a thread is returning at this moment still counts as dirty. */
static struct hew_page_counts
counts_now(const struct hew_page_heap *heap)
{
    struct hew_page_counts counts = heap->counts;
    counts.dirty = heap->dirty.bytes + hew_split_in_transit(heap);
    counts.muzzy = heap->muzzy.bytes;
    counts.retained = heap->retained.bytes;
    return counts;
}

struct hew_page_counts
hew_page_counts(struct hew_page_heap *heap)
{
    hew_mutex_lock(&heap->lock);
    hew_page_sweep_held(heap);
    struct hew_page_counts counts = counts_now(heap);
    hew_mutex_unlock(&heap->lock);
    return counts;
}

struct hew_page_counts
hew_page_census(struct hew_page_heap *heap, struct hew_page_bucket buckets[HEW_STOCK_BUCKETS])
{
    hew_mutex_lock(&heap->lock);
    hew_page_sweep_held(heap);
    struct hew_page_counts counts = counts_now(heap);
    for (unsigned bucket = 0; bucket < HEW_STOCK_BUCKETS; bucket++) {
        buckets[bucket].dirty = hew_stock_count(&heap->dirty, bucket);
        buckets[bucket].muzzy = hew_stock_count(&heap->muzzy, bucket);
        buckets[bucket].retained = hew_stock_count(&heap->retained, bucket);
    }
    hew_mutex_unlock(&heap->lock);
    return counts;
}

struct hew_extent_hooks *
hew_page_set_hooks(struct hew_page_heap *heap, struct hew_extent_hooks *hooks)
{
    hew_mutex_lock(&heap->lock);
    struct hew_extent_hooks *former = heap->hooks;
    if (former == NULL && hooks == &hew_hooks_default) {
        hew_mutex_unlock(&heap->lock);
        return NULL;
    }
    if (former == NULL) {
        hew_shelf_close(heap); /* no hook is called for what was freed before */
        /* Memory retained without hooks reads as zeros; from now on each extent records that itself. */
        for (struct hew_list *node = heap->retained.oldest.next; node != &heap->retained.oldest; node = node->next) {
            HEW_CONTAINER(node, struct hew_extent, free.age)->zeroed = true;
        }
    }
    heap->hooks = hooks;
    heap->whole = hooks->split == NULL;
    hew_mutex_unlock(&heap->lock);
    return former;
}
