/* SPDX-License-Identifier: MIT */
/*
 * hooked: the steps of heap.c, split.c and grow.c, with a hook called before each.  Hooks are called without a lock, so
 * each step first takes the extent out of its free list, and puts it back afterwards.
 */
#include "page/hooked.h"

#include "base/options.h"
#include "meta/map.h"
#include "page/grow.h"
#include "page/hooks.h"
#include "page/split.h"

/* Takes an extent out of its free list, so that the lock may be dropped. */
static void
hooked_depart(struct hew_page_heap *heap, struct hew_extent *extent)
{
    hew_stock_remove(hew_split_stock_of(heap, extent->state), extent);
    extent->state = HEW_EXTENT_TRANSIT;
    hew_page_enter_transit(heap, extent);
}

/* Puts a departed extent into a free list, without coalescing. */
static void
hooked_settle(struct hew_page_heap *heap, struct hew_extent *extent, unsigned state)
{
    hew_list_remove(&extent->free.age);
    extent->state = (uint8_t)state;
    hew_split_mark_ends(extent);
    hew_stock_insert(hew_split_stock_of(heap, state), extent, NULL);
}

bool
hew_hooked_cuts_freely(const struct hew_page_heap *heap)
{
    return heap->hooks->split == hew_hooks_default.split;
}

/* Calls the split hook, without the lock.  True: refused. */
static bool
split_refused(struct hew_page_heap *heap, const struct hew_extent *extent, size_t size_a)
{
    struct hew_extent_hooks *hooks = heap->hooks;
    if (hew_hooked_cuts_freely(heap)) {
        return false;
    }
    if (hooks->split == NULL) {
        return true;
    }
    hew_mutex_unlock(&heap->lock);
    int saved = hew_hooks_enter();
    bool refused = hooks->split(hooks, (void *)extent->address, extent->size, size_a, extent->size - size_a,
                                !extent->decommitted, heap->arena);
    hew_hooks_leave(saved);
    hew_mutex_lock(&heap->lock);
    return refused;
}

static bool
merge_refused(struct hew_page_heap *heap, const struct hew_extent *low, const struct hew_extent *high)
{
    struct hew_extent_hooks *hooks = heap->hooks;
    if (hooks->merge == hew_hooks_default.merge) {
        return false;
    }
    if (hooks->merge == NULL) {
        return true;
    }
    hew_mutex_unlock(&heap->lock);
    int saved = hew_hooks_enter();
    bool refused = hooks->merge(hooks, (void *)low->address, low->size, (void *)high->address, high->size,
                                !low->decommitted, heap->arena);
    hew_hooks_leave(saved);
    hew_mutex_lock(&heap->lock);
    return refused;
}

/* Makes pages usable that a hook has decommitted, or never committed.  False: refused. */
static bool
commit(struct hew_page_heap *heap, struct hew_extent *extent)
{
    struct hew_extent_hooks *hooks = heap->hooks;
    if (extent->decommitted && hooks->commit != NULL) {
        hew_mutex_unlock(&heap->lock);
        int saved = hew_hooks_enter();
        extent->decommitted = hooks->commit(hooks, (void *)extent->address, extent->size, 0, extent->size, heap->arena);
        hew_hooks_leave(saved);
        hew_mutex_lock(&heap->lock);
        return !extent->decommitted;
    }
    extent->decommitted = false;
    return true;
}

/* Cuts an extent that is in no free list at `size`.  Returns the upper part, in no list; NULL when refused. */
static struct hew_extent *
hooked_cut(struct hew_page_heap *heap, struct hew_extent *extent, size_t size)
{
    struct hew_extent *upper = hew_split_new_extent(heap, extent, extent->address + size, extent->size - size);
    if (upper == NULL) {
        return NULL;
    }
    if (split_refused(heap, extent, size)) {
        heap->whole = true; /* otherwise each request would map more, which cannot be cut either */
        hew_split_drop_extent(heap, upper);
        return NULL;
    }
    extent->size = size;
    hew_split_mark_ends(extent);
    hew_split_mark_ends(upper);
    return upper;
}

/* Cuts the wanted part out of a departed extent that came from the free list of `state`; the rest goes back there.
 * NULL: refused; all of it is back. */
static struct hew_extent *
hooked_carve(struct hew_page_heap *heap, struct hew_extent *extent, size_t size, size_t alignment, unsigned state)
{
    uintptr_t start = hew_bits_round_up(extent->address, alignment);
    if (start != extent->address) {
        struct hew_extent *upper = hooked_cut(heap, extent, start - extent->address);
        hooked_settle(heap, extent, state);
        if (upper == NULL) {
            return NULL;
        }
        upper->state = HEW_EXTENT_TRANSIT;
        hew_page_enter_transit(heap, upper);
        extent = upper;
    }
    if (extent->size != size) {
        struct hew_extent *upper = hooked_cut(heap, extent, size);
        if (upper == NULL) {
            hooked_settle(heap, extent, state);
            return NULL;
        }
        hew_page_enter_transit(heap, upper);
        hooked_settle(heap, upper, state);
    }
    if (!commit(heap, extent)) {
        hooked_settle(heap, extent, state);
        return NULL;
    }
    hew_list_remove(&extent->free.age);
    extent->zeroed = extent->zeroed && state == HEW_EXTENT_RETAINED;
    return extent;
}

/* Without the lock. */
static void *
call_alloc(struct hew_extent_hooks *hooks, size_t size, size_t alignment, bool flags[2], unsigned arena)
{
    flags[0] = flags[1] = false;
    int saved = hew_hooks_enter();
    void *memory = hooks->alloc(hooks, NULL, size, alignment, &flags[0], &flags[1], arena);
    hew_hooks_leave(saved);
    return memory;
}

static bool
call_dalloc(struct hew_extent_hooks *hooks, const struct hew_extent *extent)
{
    if (hooks->dalloc == NULL || extent->data_segment) {
        return true;
    }
    int saved = hew_hooks_enter();
    bool refused = hooks->dalloc(hooks, (void *)extent->address, extent->size, !extent->decommitted, extent->arena);
    hew_hooks_leave(saved);
    return refused;
}

/* Maps exactly `size` bytes, departed.  Drops the lock. */
static struct hew_extent *
hooked_map(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    struct hew_extent_hooks *hooks = heap->hooks;
    bool zero_commit[2];
    hew_mutex_unlock(&heap->lock);
    void *memory = call_alloc(hooks, size, alignment, zero_commit, heap->arena);
    hew_mutex_lock(&heap->lock);
    if (memory == NULL) {
        return NULL;
    }
    /* Two active extents never begin in one granule, because each is at least a granule long: this holds at any
     * address.  The caller relies only on the alignment. */
    struct hew_extent model = {.address = (uintptr_t)memory,
                               .size = size,
                               .state = HEW_EXTENT_TRANSIT,
                               .arena = heap->arena,
                               .zeroed = zero_commit[0],
                               .decommitted = !zero_commit[1]};
    bool sound = ((uintptr_t)memory & (alignment - 1)) == 0;
    struct hew_extent *extent = sound ? hew_grow_enter(heap, &model) : NULL;
    if (extent == NULL) {
        hew_mutex_unlock(&heap->lock);
        call_dalloc(hooks, &model);
        hew_mutex_lock(&heap->lock);
        return NULL;
    }
    extent->zeroed = model.zeroed;
    extent->decommitted = model.decommitted;
    hew_page_enter_transit(heap, extent);
    return extent;
}

/* Maps the usual step, if it may be cut; otherwise exactly the wanted size. */
static struct hew_extent *
hooked_grow(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    alignment = hew_grow_alignment(alignment);
    size_t step = hew_grow_step(heap, size);
    if (step > size) {
        struct hew_extent *fresh = hooked_map(heap, step, alignment);
        struct hew_extent *taken =
            fresh == NULL ? NULL : hooked_carve(heap, fresh, size, alignment, HEW_EXTENT_RETAINED);
        if (taken != NULL) {
            hew_grow_note_step(heap);
            return taken;
        }
    }
    struct hew_extent *fresh = hooked_map(heap, size, alignment);
    return fresh == NULL ? NULL : hooked_carve(heap, fresh, size, alignment, HEW_EXTENT_RETAINED);
}

struct hew_extent *
hew_hooked_take(struct hew_page_heap *heap, size_t size, size_t alignment)
{
    static const uint8_t states[] = {HEW_EXTENT_DIRTY, HEW_EXTENT_MUZZY, HEW_EXTENT_RETAINED};
    struct hew_extent *taken = NULL;
    for (unsigned kind = 0; taken == NULL && kind < 3; kind++) {
        struct hew_stock *stock = hew_split_stock_of(heap, states[kind]);
        struct hew_extent *found = heap->hooks->split == NULL ? NULL : hew_stock_find(stock, size, alignment, SIZE_MAX);
        if (found != NULL) {
            hooked_depart(heap, found);
            taken = hooked_carve(heap, found, size, alignment, states[kind]);
        }
        found = taken == NULL ? hew_stock_find_exact(stock, size, alignment) : NULL;
        if (found != NULL) {
            hooked_depart(heap, found);
            taken = hooked_carve(heap, found, size, alignment, states[kind]);
        }
    }
    return taken != NULL ? taken : hooked_grow(heap, size, alignment);
}

/* Returns whether the neighbour can be merged: it is free, in the same free list, and as committed as `extent`. */
static bool
hooked_mergeable(const struct hew_extent *extent, const struct hew_extent *other, unsigned state)
{
    return hew_split_joinable(extent, other) && other->state == state && other->decommitted == extent->decommitted;
}

/* Merges two departed neighbours and frees the upper one's struct.  False: refused. */
static bool
hooked_merge(struct hew_page_heap *heap, struct hew_extent *low, struct hew_extent *high)
{
    if (merge_refused(heap, low, high)) {
        return false;
    }
    low->size += high->size;
    low->huge |= high->huge;
    low->zeroed = low->zeroed && high->zeroed;
    hew_list_remove(&high->free.age);
    hew_split_drop_extent(heap, high);
    return true;
}

void
hew_hooked_insert(struct hew_page_heap *heap, struct hew_extent *extent, unsigned state)
{
    extent->state = HEW_EXTENT_TRANSIT;
    extent->code = HEW_CODE_NONE;
    hew_page_enter_transit(heap, extent);
    struct hew_extent *before = hew_map_extent(extent->address - 1);
    if (hooked_mergeable(extent, before, state) && hew_extent_end(before) == extent->address) {
        hooked_depart(heap, before);
        if (hooked_merge(heap, before, extent)) {
            extent = before;
        } else {
            hooked_settle(heap, before, state);
        }
    }
    struct hew_extent *behind = hew_map_extent(hew_extent_end(extent));
    if (hooked_mergeable(extent, behind, state) && behind->address == hew_extent_end(extent)) {
        hooked_depart(heap, behind);
        if (!hooked_merge(heap, extent, behind)) {
            hooked_settle(heap, behind, state);
        }
    }
    hooked_settle(heap, extent, state);
}

bool
hew_hooked_grow(struct hew_page_heap *heap, struct hew_extent *extent, struct hew_extent *behind, size_t more)
{
    unsigned state = behind->state;
    hooked_depart(heap, behind);
    struct hew_extent *piece = hooked_carve(heap, behind, more, HEW_PAGE, state);
    if (piece == NULL) {
        return false;
    }
    hew_page_enter_transit(heap, piece);
    bool refused = merge_refused(heap, extent, piece);
    hew_list_remove(&piece->free.age);
    if (refused) {
        hew_hooked_insert(heap, piece, HEW_EXTENT_DIRTY); /* committed, and no longer known to be zero */
        return false;
    }
    extent->zeroed = extent->zeroed && piece->zeroed;
    extent->size += more;
    extent->huge |= piece->huge;
    hew_split_drop_extent(heap, piece);
    hew_split_mark_ends(extent);
    return true;
}

struct hew_extent *
hew_hooked_cut_tail(struct hew_page_heap *heap, struct hew_extent *extent, size_t size)
{
    return hooked_cut(heap, extent, size);
}

typedef bool (*page_hook)(struct hew_extent_hooks *hooks, void *address, size_t size, size_t offset, size_t length,
                          unsigned arena);

static bool
call_on_all(struct hew_extent_hooks *hooks, page_hook hook, const struct hew_extent *extent)
{
    if (hook == NULL) {
        return true;
    }
    int saved = hew_hooks_enter();
    bool refused = hook(hooks, (void *)extent->address, extent->size, 0, extent->size, extent->arena);
    hew_hooks_leave(saved);
    return refused;
}

unsigned
hew_hooked_release(struct hew_extent_hooks *hooks, struct hew_extent *extent, unsigned from, unsigned to)
{
    if (to == HEW_EXTENT_MUZZY && !call_on_all(hooks, hooks->purge_lazy, extent)) {
        return HEW_EXTENT_MUZZY;
    }
    if (!call_dalloc(hooks, extent)) {
        return HEW_EXTENT_UNUSED;
    }
    extent->decommitted = !call_on_all(hooks, hooks->decommit, extent);
    extent->zeroed = extent->decommitted || !call_on_all(hooks, hooks->purge_forced, extent);
    if (!extent->zeroed && from == HEW_EXTENT_DIRTY && to != HEW_EXTENT_MUZZY) {
        call_on_all(hooks, hooks->purge_lazy, extent);
    }
    return HEW_EXTENT_RETAINED;
}

void
hew_hooked_destroy(struct hew_extent_hooks *hooks, struct hew_extent *extent)
{
    if (hooks->destroy == NULL) {
        return;
    }
    int saved = hew_hooks_enter();
    hooks->destroy(hooks, (void *)extent->address, extent->size, !extent->decommitted, extent->arena);
    hew_hooks_leave(saved);
}
