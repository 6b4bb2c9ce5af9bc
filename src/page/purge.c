/* SPDX-License-Identifier: MIT */
/*
 * purge: returns idle pages to the system.  Extents leave their free list under the lock, are purged without it, and
 * come back in the next state.
 */
#include "base/options.h"
#include "meta/map.h"
#include "os/memory.h"
#include "page/bound.h"
#include "page/grow.h"
#include "page/heap.h"
#include "page/hooked.h"
#include "page/hooks.h"
#include "page/huge.h"
#include "page/shelf.h"
#include "page/split.h"

#define FRESH_LEAST ((size_t)256 << 10) /* less growth than this is not worth a system call */
#define IDLE_PART 2      /* 1/2 of a growing object may stay idle; with 1/3: 0.9 of the memory, 1.4 times the faults */
#define AT_ONCE 32       /* extents taken out of a free list at a time */
#define LOOKS 64         /* extents searched for whole huge pages */
#define REFUSALS_MOST 16 /* in one pass of unmapping */
#define BYTES_AT_ONCE ((size_t)64 << 20) /* a bound, so that the system's map lock is not held for long */

struct batch {
    struct hew_extent *extents[AT_ONCE];
    unsigned count;
    size_t bytes;
};

/* Lock held.  Takes whole huge pages of one of the oldest extents.  NULL: they have none. */
static struct hew_extent *
take_huge(struct hew_page_heap *heap, struct hew_stock *stock, size_t most)
{
    struct hew_list *node = stock->oldest.next;
    for (unsigned look = 0; look < LOOKS && node != &stock->oldest; look++, node = node->next) {
        struct hew_extent *extent = HEW_CONTAINER(node, struct hew_extent, free.age);
        uintptr_t start;
        size_t size = extent->huge ? hew_huge_within(extent, most, &start) : 0;
        if (size != 0) {
            return hew_split_cut(heap, stock, extent, start, size);
        }
    }
    return NULL;
}

/* Lock held.  Takes the oldest extent, or its upper `most` bytes: the next request would get the lower part.  NULL: no
 * memory for bookkeeping, or a hook would have to be called here. */
static struct hew_extent *
purge_take_oldest(struct hew_page_heap *heap, struct hew_stock *stock, size_t most)
{
    struct hew_extent *extent = hew_stock_oldest(stock);
    size_t size = extent->size < most ? extent->size : most;
    if (size != extent->size && heap->hooks != NULL && !hew_hooked_cuts_freely(heap)) {
        if (size < extent->size / 2) {
            return NULL;
        }
        size = extent->size; /* the whole extent, when half of it is due */
    }
    if (extent->huge) {
        hew_huge_forgo(extent);
    }
    return hew_split_cut(heap, stock, extent, hew_extent_end(extent) - size, size);
}

/* Lock held.  An extent that is in no free list leaves to be purged. */
static void
purge_depart(struct hew_page_heap *heap, struct hew_extent *extent, struct batch *batch)
{
    hew_split_mark_ends(extent);
    if (heap->hooks != NULL) { /* a hook may unmap the addresses, and another heap may get them */
        hew_split_forget_ends(extent);
    }
    extent->state = HEW_EXTENT_TRANSIT;
    hew_page_enter_transit(heap, extent);
    extent->free.moved = hew_moved_touches(&heap->moved, extent->address, hew_extent_end(extent));
    batch->extents[batch->count++] = extent;
    batch->bytes += extent->size;
}

/* Lock held.  Takes old extents until the free list holds at most `keep` bytes, or the batch is full. */
static void
collect(struct hew_page_heap *heap, struct hew_stock *stock, size_t keep, struct batch *batch)
{
    batch->count = 0;
    batch->bytes = 0;
    while (batch->count < AT_ONCE && batch->bytes < BYTES_AT_ONCE && stock->bytes > keep) {
        size_t surplus = hew_system_pages(stock->bytes - keep);
        size_t most = surplus < BYTES_AT_ONCE ? surplus : BYTES_AT_ONCE;
        if (keep != 0 && most < HEW_HUGE_PAGE && hew_stock_oldest(stock)->huge) {
            return; /* it waits until a huge page is due, or everything */
        }
        bool huge = heap->huge && heap->hooks == NULL && most >= HEW_HUGE_PAGE;
        struct hew_extent *extent = huge ? take_huge(heap, stock, most) : NULL;
        extent = extent != NULL ? extent : purge_take_oldest(heap, stock, most);
        if (extent == NULL) {
            return;
        }
        purge_depart(heap, extent, batch);
    }
}

/* Without the lock.  Purges the extent's memory and returns its new state; `from` when the system refused.  A system
 * without lazy purging (Linux before 4.5) drops the pages immediately. */
static unsigned
release(struct hew_extent *extent, unsigned from, unsigned to)
{
    void *start = (void *)extent->address;
    if (to == HEW_EXTENT_MUZZY && hew_os_purge_lazily(start, extent->size)) {
        return HEW_EXTENT_MUZZY;
    }
    return hew_os_purge(start, extent->size) ? HEW_EXTENT_RETAINED : from;
}

/* Lock held.  The addresses are no longer the heap's. */
static void
forget(struct hew_page_heap *heap, struct hew_extent *extent)
{
    HEW_ASSERT(1, heap->counts.mapped >= extent->size);
    hew_moved_clear(&heap->moved, extent->address, hew_extent_end(extent));
    heap->counts.mapped -= extent->size;
    atomic_fetch_sub_explicit(&hew_page_mapped, extent->size, memory_order_relaxed);
    hew_split_drop_extent(heap, extent);
}

/* Lock held.  An extent comes out of transit in its new state. */
static void
arrive(struct hew_page_heap *heap, struct hew_extent *extent, unsigned state)
{
    HEW_ASSERT(1, extent->state == HEW_EXTENT_TRANSIT && state != HEW_EXTENT_TRANSIT && state != HEW_EXTENT_ACTIVE);
    hew_list_remove(&extent->free.age);
    if (state == HEW_EXTENT_UNUSED) {
        forget(heap, extent);
    } else if (HEW_LIKELY(heap->hooks == NULL)) {
        hew_split_insert(heap, hew_split_stock_of(heap, state), extent, state);
    } else {
        hew_hooked_insert(heap, extent, state);
    }
}

/* Without the lock.  Maps moved pages again, so that they are one mapping with their neighbours and have no memory.
 * What the system refuses stays as it is. */
static void
map_moved_anew(const struct batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++) {
        struct hew_extent *extent = batch->extents[i];
        extent->free.moved = extent->free.moved && hew_os_map_anew((void *)extent->address, extent->size);
    }
}

/* Without the lock.  Purges as many extents at a time as the option process_madvise_max_batch allows.  Returns how many
 * are done. */
static unsigned
release_in_groups(const struct batch *batch, unsigned *states)
{
    struct hew_os_range ranges[AT_ONCE];
    unsigned most =
        hew_options.process_madvise_max_batch < AT_ONCE ? (unsigned)hew_options.process_madvise_max_batch : AT_ONCE;
    unsigned done = 0;
    while (done < batch->count) {
        unsigned group = batch->count - done < most ? batch->count - done : most;
        for (unsigned i = 0; i < group; i++) {
            struct hew_extent *extent = batch->extents[done + i];
            ranges[i] = (struct hew_os_range){(void *)extent->address, extent->size};
        }
        if (!hew_os_purge_ranges(ranges, group)) {
            break;
        }
        for (unsigned i = 0; i < group; i++) {
            states[done++] = HEW_EXTENT_RETAINED;
        }
    }
    return done;
}

/* Without the lock. */
static void
release_all(struct hew_extent_hooks *hooks, const struct batch *batch, unsigned from, unsigned to, unsigned *states)
{
    if (to == HEW_EXTENT_RETAINED && hooks == NULL) {
        map_moved_anew(batch);
    }
    bool groups = hew_options.process_madvise_max_batch != 0 && hooks == NULL && to == HEW_EXTENT_RETAINED;
    for (unsigned i = groups ? release_in_groups(batch, states) : 0; i < batch->count; i++) {
        states[i] = hooks == NULL ? release(batch->extents[i], from, to)
                                  : hew_hooked_release(hooks, batch->extents[i], from, to);
    }
}

/* Lock held.  The batch comes back in new states.  False when the system has refused one extent. */
static bool
arrive_all(struct hew_page_heap *heap, struct batch *batch, unsigned from, const unsigned *states)
{
    struct hew_page_counts *counts = &heap->counts;
    size_t bytes = 0, gone = 0;
    bool refused = false;
    for (unsigned i = 0; i < batch->count; i++) {
        bytes += states[i] != from ? batch->extents[i]->size : 0;
        refused = refused || states[i] == from;
        gone += states[i] == HEW_EXTENT_RETAINED || states[i] == HEW_EXTENT_UNUSED ? batch->extents[i]->size : 0;
        if (HEW_UNLIKELY(batch->extents[i]->free.moved) && states[i] == HEW_EXTENT_RETAINED) {
            hew_moved_clear(&heap->moved, batch->extents[i]->address, hew_extent_end(batch->extents[i]));
        }
        arrive(heap, batch->extents[i], states[i]);
    }
    *(from == HEW_EXTENT_DIRTY ? &counts->dirty_purged : &counts->muzzy_purged) += bytes;
    *(from == HEW_EXTENT_DIRTY ? &counts->dirty_calls : &counts->muzzy_calls) += batch->count;
    if (hew_page_is_bounded()) {
        hew_page_bound_count(-(ptrdiff_t)gone);
    }
    return !refused;
}

/* Purges the bytes that `stock` holds above `keep` now.  An extent that the system refuses (locked memory) stays as it
 * was, and ends the pass.  Called with the lock held; drops it around system calls. */
static void
purge(struct hew_page_heap *heap, struct hew_stock *stock, size_t keep, unsigned to)
{
    unsigned from = stock == &heap->dirty ? HEW_EXTENT_DIRTY : HEW_EXTENT_MUZZY, states[AT_ONCE];
    size_t surplus = stock->bytes - keep; /* a bound: a hook may free memory, and the loop would never end */
    struct batch batch;
    for (size_t done = 0; done < surplus && stock->bytes > keep; done += batch.bytes) {
        collect(heap, stock, keep, &batch);
        struct hew_extent_hooks *hooks = heap->hooks;
        hew_mutex_unlock(&heap->lock);
        release_all(hooks, &batch, from, to, states);
        hew_mutex_lock(&heap->lock);
        if (!arrive_all(heap, &batch, from, states) || batch.count == 0) {
            break;
        }
    }
}

/* Lock held.  Takes the extent and its addresses out of the heap.  False: the system refused; nothing has changed. */
static bool
unmap(struct hew_page_heap *heap, struct hew_extent *extent)
{
    hew_split_forget_ends(extent); /* before another heap can get the addresses */
    if (!hew_os_try_unmap((void *)extent->address, extent->size)) {
        hew_split_mark_ends(extent);
        return false;
    }
    hew_stock_remove(&heap->retained, extent);
    forget(heap, extent);
    return true;
}

/*
 * Lock held.  Unmaps unused address space with retain:false, the newest first.
 *
 * At its limit of mappings the system refuses to unmap a piece in the middle of one.  Most such pieces are no longer in
 * the middle later, after other frees.  So a refused extent stays usable and waits at the other end of the queue.  A
 * few refusals end the pass, since all extents may be in that position.
 */
static void
unmap_retained(struct hew_page_heap *heap)
{
    unsigned refusals = 0;
    size_t looks = heap->retained.extents;
    struct hew_list *oldest = &heap->retained.oldest, *node = oldest->previous;
    for (; looks != 0 && refusals < REFUSALS_MOST && node != oldest; looks--) {
        struct hew_extent *extent = HEW_CONTAINER(node, struct hew_extent, free.age);
        node = node->previous;
        if (!extent->data_segment && !unmap(heap, extent)) {
            refusals++;
            hew_list_remove(&extent->free.age);
            hew_list_push_front(oldest, &extent->free.age);
        }
    }
}

/* Lock held, after a purge.  Bytes kept beyond the allowance wait for the rest of a huge page, and are not new. */
static void
note_put_off(const struct hew_page_heap *heap, struct hew_decay *decay, const struct hew_stock *stock, size_t keep)
{
    size_t more = stock->bytes > keep ? stock->bytes - keep : 0;
    decay->put_off = heap->huge && more < HEW_HUGE_PAGE ? more : 0;
}

/* The bytes that decay lets the free list keep.  Near a memory limit they are fewer, except where decay keeps all for
 * ever. */
static size_t
kept_by(struct hew_decay *decay, size_t bytes, uint64_t now_ms)
{
    size_t allowance = hew_decay_allowance(decay, bytes, now_ms);
    return decay->decay_ms < 0 ? allowance : hew_page_bound_part(allowance);
}

/* Lock held, dropped meanwhile.  Purges both free lists down to what they may keep. */
static void
purge_both(struct hew_page_heap *heap, uint64_t now_ms, bool all)
{
    hew_page_sweep_held(heap);
    hew_split_merge(heap, &heap->dirty); /* for fewer system calls */
    size_t keep_dirty = all ? 0 : kept_by(&heap->dirty_decay, heap->dirty.bytes, now_ms);
    if (heap->dirty.bytes > keep_dirty) {
        bool through_muzzy = !all && heap->muzzy_decay.decay_ms != 0;
        heap->counts.dirty_purges++;
        purge(heap, &heap->dirty, keep_dirty, through_muzzy ? HEW_EXTENT_MUZZY : HEW_EXTENT_RETAINED);
        note_put_off(heap, &heap->dirty_decay, &heap->dirty, keep_dirty);
    }
    size_t keep_muzzy = all ? 0 : kept_by(&heap->muzzy_decay, heap->muzzy.bytes, now_ms);
    if (heap->muzzy.bytes > keep_muzzy) {
        heap->counts.muzzy_purges++;
        purge(heap, &heap->muzzy, keep_muzzy, HEW_EXTENT_RETAINED);
        note_put_off(heap, &heap->muzzy_decay, &heap->muzzy, keep_muzzy);
    }
}

void
hew_page_decay(struct hew_page_heap *heap, uint64_t now_ms, bool all)
{
    hew_mutex_lock(&heap->lock);
    bool due = all || hew_decay_is_due(&heap->dirty_decay, heap->dirty.bytes, now_ms) ||
               hew_decay_is_due(&heap->muzzy_decay, heap->muzzy.bytes, now_ms);
    if (due && !heap->ending) {
        purge_both(heap, now_ms, all);
        if (!hew_options.retain && heap->hooks == NULL) { /* hooks have been called for each extent, in purge() */
            unmap_retained(heap);
        }
        HEW_ASSERT(3, hew_page_valid_if_due(heap));
    }
    hew_mutex_unlock(&heap->lock);
}

size_t
hew_page_idle(struct hew_page_heap *heap)
{
    hew_mutex_lock(&heap->lock);
    size_t bytes = heap->dirty.bytes + heap->muzzy.bytes;
    hew_mutex_unlock(&heap->lock);
    return bytes;
}

/* Lock held, dropped meanwhile.  Returns how many of the `wanted` bytes of a free list went; a heap with huge pages
 * purges at least one. */
static size_t
purge_wanted(struct hew_page_heap *heap, struct hew_stock *stock, size_t wanted)
{
    size_t before = stock->bytes;
    wanted = heap->huge && wanted < HEW_HUGE_PAGE ? HEW_HUGE_PAGE : wanted;
    if (wanted == 0 || before == 0) {
        return 0;
    }
    *(stock == &heap->dirty ? &heap->counts.dirty_purges : &heap->counts.muzzy_purges) += 1;
    purge(heap, stock, before > wanted ? before - wanted : 0, HEW_EXTENT_RETAINED);
    return before > stock->bytes ? before - stock->bytes : 0;
}

size_t
hew_page_purge_some(struct hew_page_heap *heap, size_t wanted)
{
    size_t gone = 0;
    hew_mutex_lock(&heap->lock);
    if (!heap->ending) {
        gone = purge_wanted(heap, &heap->muzzy, wanted);
        if (gone < wanted && heap->dirty.bytes < wanted - gone) {
            hew_page_sweep_held(heap);
        }
        gone += gone < wanted ? purge_wanted(heap, &heap->dirty, wanted - gone) : 0;
    }
    HEW_ASSERT(3, hew_page_valid_if_due(heap));
    hew_mutex_unlock(&heap->lock);
    return gone;
}

void
hew_page_offset_growth(struct hew_page_heap *heap, size_t size, size_t fresh)
{
    if (fresh < FRESH_LEAST || heap->dirty_decay.decay_ms < 0) {
        return;
    }
    size_t idle = hew_page_idle(heap), most = size / IDLE_PART, over = idle > most ? idle - most : 0;
    if (over != 0) {
        hew_page_purge_some(heap, over < fresh ? over : fresh);
    }
}

void
hew_page_forgo_huge(struct hew_page_heap *heap, struct hew_extent *extent)
{
    hew_mutex_lock(&heap->lock);
    if (extent->huge) {
        hew_huge_forgo(extent);
    }
    hew_mutex_unlock(&heap->lock);
}

bool
hew_page_give_through(struct hew_page_heap *heap, struct hew_extent *extent)
{
    struct batch batch = {.count = 0, .bytes = 0};
    unsigned state;
    hew_mutex_lock(&heap->lock);
    if (heap->ending || heap->dirty_decay.decay_ms < 0 || heap->muzzy_decay.decay_ms < 0) {
        hew_mutex_unlock(&heap->lock);
        return false;
    }
    hew_split_deactivate(heap, extent);
    if (extent->huge) {
        hew_huge_forgo(extent);
    }
    purge_depart(heap, extent, &batch);
    heap->counts.dirty_purges++;
    struct hew_extent_hooks *hooks = heap->hooks;
    hew_mutex_unlock(&heap->lock);
    release_all(hooks, &batch, HEW_EXTENT_DIRTY, HEW_EXTENT_RETAINED, &state);
    hew_mutex_lock(&heap->lock);
    arrive_all(heap, &batch, HEW_EXTENT_DIRTY, &state);
    if (!hew_options.retain && heap->hooks == NULL) {
        unmap_retained(heap);
    }
    hew_mutex_unlock(&heap->lock);
    return true;
}

void
hew_page_give_empty(struct hew_page_heap *heap, struct hew_extent *extent)
{
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && extent->code > HEW_CODE_SMALL_LAST && heap->hooks == NULL);
    hew_mutex_lock(&heap->lock);
    hew_split_deactivate(heap, extent);
    if (hew_page_is_bounded()) {
        hew_page_bound_count(-(ptrdiff_t)extent->size);
    }
    hew_split_insert(heap, &heap->retained, extent, HEW_EXTENT_RETAINED);
    if (!hew_options.retain) {
        unmap_retained(heap);
    }
    HEW_ASSERT(3, hew_page_valid_if_due(heap));
    hew_mutex_unlock(&heap->lock);
}

void
hew_page_set_decay(struct hew_page_heap *heap, struct hew_decay *decay, int64_t decay_ms, uint64_t now_ms)
{
    hew_mutex_lock(&heap->lock);
    hew_decay_begin(decay, decay_ms, now_ms);
    hew_shelf_decide(heap);
    hew_page_sweep_held(heap);
    if (decay_ms >= 0 && !heap->ending) {
        bool dirty = decay == &heap->dirty_decay;
        bool through_muzzy = dirty && heap->muzzy_decay.decay_ms != 0;
        *(dirty ? &heap->counts.dirty_purges : &heap->counts.muzzy_purges) += 1;
        purge(heap, dirty ? &heap->dirty : &heap->muzzy, 0, through_muzzy ? HEW_EXTENT_MUZZY : HEW_EXTENT_RETAINED);
    }
    hew_mutex_unlock(&heap->lock);
}

void
hew_page_after_fork(struct hew_page_heap *heap)
{
    hew_shelf_after_fork(&heap->shelf); /* also in a hook: no thread holds a try-lock while it calls one */
    hew_moved_after_fork(&heap->moved); /* nothing moves in a heap with hooks */
    for (struct hew_list *node = heap->transit.next, *next; node != &heap->transit; node = next) {
        struct hew_extent *extent = HEW_CONTAINER(node, struct hew_extent, free.age);
        next = node->next;
        if (hew_hooks_depth != 0 && extent->free.worker == hew_thread_token()) {
            continue; /* a hook has forked: its thread's extents in transit come back with it */
        }
        /* It is unknown whether a hook had unmapped the addresses at the time of the fork. */
        bool unknown = heap->hooks != NULL;
        if (unknown) {
            hew_split_forget_ends(extent);
        }
        hew_list_remove(node);
        if (unknown) {
            forget(heap, extent);
        } else {
            hew_split_insert(heap, &heap->dirty, extent, HEW_EXTENT_DIRTY);
        }
    }
}

void
hew_page_release(struct hew_page_heap *heap)
{
    hew_page_decay(heap, 0, true);
    hew_mutex_lock(&heap->lock);
    heap->scarce = true;
    hew_shelf_decide(heap);
    heap->grow_bytes = HEW_GROW_FIRST;
    if (heap->hooks == NULL && !heap->ending) {
        unmap_retained(heap);
    }
    hew_mutex_unlock(&heap->lock);
}

uint64_t
hew_page_next_ms(struct hew_page_heap *heap)
{
    hew_mutex_lock(&heap->lock);
    uint64_t next = 0;
    if ((heap->dirty.bytes != 0 || hew_shelf_is_filled(&heap->shelf)) && heap->dirty_decay.decay_ms > 0) {
        next = hew_decay_step_ms(&heap->dirty_decay);
    }
    if (heap->muzzy.bytes != 0 && heap->muzzy_decay.decay_ms > 0) {
        uint64_t step = hew_decay_step_ms(&heap->muzzy_decay);
        next = next == 0 || step < next ? step : next;
    }
    hew_mutex_unlock(&heap->lock);
    return next;
}
