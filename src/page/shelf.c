/* SPDX-License-Identifier: MIT */
/*
 * shelf: a lock, a cut and an insert per large object would cost more than all the rest of malloc.  So the extent waits
 * here unchanged for the next request of its size.  Threads are spread over groups, each with its own try-lock, so that
 * they seldom meet.
 */
#include "page/shelf.h"

#include "base/options.h"
#include "os/futex.h"
#include "os/mutex.h"
#include "page/hooked.h"
#include "page/split.h"

#include <string.h>

#define LOOKS 8                     /* extents of another size to skip */
#define DUE_BYTES ((size_t)1 << 20) /* in one rank, from which on a purger is wanted */

/* Thread tokens lie a multiple of pages apart. */
static struct hew_shelf_rank *
own_rank(struct hew_shelf *shelf)
{
    return &shelf->rank[((uintptr_t)hew_thread_token() >> HEW_LG_PAGE) % HEW_SHELF_RANKS];
}

/* Sequentially consistent: a thread that closes the cache and then finds the try-lock at 0 is seen by the next
 * holder. */
static bool
shelf_hold(struct hew_shelf_rank *rank)
{
    uint32_t none = 0;
    hew_gate_count(1);
    if (HEW_LIKELY(atomic_compare_exchange_strong(&rank->held, &none, 1))) {
        return true;
    }
    hew_gate_count(-1);
    return false;
}

/* Waits by polling, and no thread wakes another: only a sweep waits, for about ten instructions of a thread that may be
 * off its processor. */
static void
shelf_hold_or_wait(struct hew_shelf_rank *rank)
{
    while (!shelf_hold(rank)) {
        hew_futex_wait(&rank->held, 1, 1);
    }
}

static void
shelf_let_go(struct hew_shelf_rank *rank)
{
    HEW_ASSERT(1, atomic_load_explicit(&rank->held, memory_order_relaxed) == 1);
    atomic_store_explicit(&rank->held, 0, memory_order_release);
    hew_gate_count(-1);
}

static struct hew_extent *
newest(const struct hew_shelf_slot *slot)
{
    return atomic_load_explicit(&slot->newest, memory_order_relaxed);
}

static void
set_newest(struct hew_shelf_slot *slot, struct hew_extent *extent)
{
    atomic_store_explicit(&slot->newest, extent, memory_order_relaxed);
}

/* Try-lock held.  Adds the slot's reuses to the tally. */
static void
shelf_tell(struct hew_shelf *shelf, struct hew_shelf_slot *slot)
{
    if (slot->reused == 0) {
        return;
    }
    struct hew_large_counts *counts = &hew_shelf_tally(shelf, slot->arena)->classes[slot->index];
    atomic_fetch_add_explicit(&counts->reused, slot->reused, memory_order_relaxed);
    slot->reused = 0;
}

/* Try-lock held.  Takes out the next extent of that size below `from`; NULL when none of the next few has it. */
static struct hew_extent *
shelf_take_below(struct hew_extent *from, size_t size)
{
    for (unsigned look = 0; from->large.below != NULL && look < LOOKS; look++, from = from->large.below) {
        struct hew_extent *extent = from->large.below;
        if (extent->size == size) {
            from->large.below = extent->large.below;
            return extent;
        }
    }
    return NULL;
}

/* Try-lock held.  Takes out an extent of that size, which the address map does not show yet. */
static struct hew_extent *
pick(struct hew_shelf_slot *slot, size_t size)
{
    struct hew_extent *first = newest(slot);
    if (first == NULL) {
        return NULL;
    }
    if (HEW_UNLIKELY(first->size != size)) {
        return shelf_take_below(first, size);
    }
    set_newest(slot, first->large.below);
    return first;
}

static struct hew_shelf_slot *
slot_of(struct hew_shelf_rank *rank, size_t size)
{
    return &rank->slot[hew_large_index(size) % HEW_SHELF_SLOTS];
}

struct hew_extent *
hew_shelf_take_one(struct hew_shelf *shelf, size_t size, unsigned arena)
{
    struct hew_shelf_rank *rank = own_rank(shelf);
    struct hew_shelf_slot *slot = slot_of(rank, size);
    if (newest(slot) == NULL || !shelf_hold(rank)) {
        return NULL;
    }
    struct hew_extent *extent = pick(slot, size);
    if (extent != NULL) {
        HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && hew_map_code(extent->address) == HEW_CODE_NONE);
        HEW_ASSERT(1, extent->size == size && rank->bytes >= size);
        hew_map_set_code(extent->address, HEW_CODE_SLOW);
        if (HEW_UNLIKELY(slot->arena != arena)) {
            shelf_tell(shelf, slot);
            slot->arena = (uint16_t)arena;
        }
        slot->reused += extent->arena == arena;
        rank->bytes -= size;
    }
    shelf_let_go(rank);
    return extent;
}

/* Try-lock held.  Assigns an empty slot to extents like this one; NULL when it holds others. */
static HEW_NOINLINE struct hew_shelf_slot *
shelf_claim(struct hew_shelf *shelf, struct hew_shelf_slot *slot, const struct hew_extent *extent)
{
    if (newest(slot) != NULL) {
        return NULL;
    }
    shelf_tell(shelf, slot);
    slot->index = (uint16_t)hew_large_index(extent->size);
    return slot;
}

/* Takes the rank's try-lock and finds the extent's slot; NULL: the extent may not be put there. */
HEW_INLINE struct hew_shelf_rank *
begin_put(struct hew_shelf *shelf, const struct hew_extent *extent, struct hew_shelf_slot **slot)
{
    struct hew_shelf_rank *rank = own_rank(shelf);
    if (HEW_UNLIKELY(!atomic_load_explicit(&shelf->open, memory_order_relaxed)) || HEW_UNLIKELY(!shelf_hold(rank))) {
        return NULL;
    }
    unsigned index = hew_large_index(extent->size), at = index % HEW_SHELF_SLOTS;
    struct hew_shelf_slot *own = &rank->slot[at];
    if (HEW_UNLIKELY(own->index != index)) {
        own = shelf_claim(shelf, own, extent);
    }
    if (HEW_UNLIKELY(own == NULL) || HEW_UNLIKELY(!atomic_load(&shelf->open))) {
        shelf_let_go(rank);
        return NULL;
    }
    rank->used |= UINT32_C(1) << at;
    *slot = own;
    return rank;
}

/* Try-lock held.  False: the extent has been freed already. */
HEW_INLINE bool
shelf_put(struct hew_shelf_slot *slot, struct hew_extent *extent)
{
    if (HEW_UNLIKELY(!hew_extent_claim(extent))) {
        return false;
    }
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && extent->code == HEW_CODE_SLOW && extent != newest(slot));
    extent->large.below = newest(slot);
    set_newest(slot, extent);
    return true;
}

/* Releases the try-lock. */
HEW_INLINE enum hew_shelf_put
end_put(struct hew_shelf *shelf, struct hew_shelf_rank *rank, size_t bytes)
{
    enum hew_shelf_put done = ++rank->gives % HEW_SHELF_GIVES_TO_CLOCK == 0 ? HEW_SHELF_PUT_LOOK : HEW_SHELF_PUT;
    if (HEW_UNLIKELY(!atomic_load(&shelf->filled))) {
        atomic_store(&shelf->filled, true);
    }
    rank->bytes += bytes;
    bool due = rank->bytes >= DUE_BYTES;
    shelf_let_go(rank);
    if (due) {
        hew_page_raise_due();
    }
    return done;
}

enum hew_shelf_put
hew_shelf_put_one(struct hew_shelf *shelf, struct hew_extent *extent)
{
    struct hew_shelf_slot *slot;
    struct hew_shelf_rank *rank = begin_put(shelf, extent, &slot);
    if (HEW_UNLIKELY(rank == NULL)) {
        return HEW_SHELF_REFUSED;
    }
    if (HEW_UNLIKELY(!shelf_put(slot, extent))) {
        shelf_let_go(rank);
        return HEW_SHELF_REFUSED;
    }
    return end_put(shelf, rank, extent->size);
}

enum hew_shelf_put
hew_shelf_put_some(struct hew_shelf *shelf, struct hew_extent *const *extents, unsigned count)
{
    struct hew_shelf_slot *slot;
    struct hew_shelf_rank *rank = begin_put(shelf, extents[0], &slot);
    if (HEW_UNLIKELY(rank == NULL)) {
        return HEW_SHELF_REFUSED;
    }
    for (unsigned i = 0; i < count; i++) {
        HEW_ASSERT(1, extents[i]->state == HEW_EXTENT_ACTIVE && extents[i]->size == extents[0]->size &&
                          hew_map_code(extents[i]->address) == HEW_CODE_NONE);
        extents[i]->large.below = newest(slot);
        set_newest(slot, extents[i]);
    }
    return end_put(shelf, rank, count * extents[0]->size);
}

unsigned
hew_shelf_take_some(struct hew_shelf *shelf, size_t size, struct hew_extent **extents, unsigned wanted)
{
    struct hew_shelf_rank *rank = own_rank(shelf);
    struct hew_shelf_slot *slot = slot_of(rank, size);
    if (newest(slot) == NULL || !shelf_hold(rank)) {
        return 0;
    }
    unsigned taken = 0;
    for (; taken < wanted && (extents[taken] = pick(slot, size)) != NULL; taken++) {
        hew_map_set_code(extents[taken]->address, extents[taken]->code);
    }
    HEW_ASSERT(1, rank->bytes >= taken * size);
    rank->bytes -= taken * size;
    shelf_let_go(rank);
    return taken;
}

/* Lock held.  Makes its bytes dirty, and no longer counts them as out. */
static void
hand_in(struct hew_page_heap *heap, struct hew_extent *extent)
{
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && hew_map_code(extent->address) == HEW_CODE_NONE);
    struct hew_large_tally *tally = hew_shelf_tally(&heap->shelf, extent->arena);
    atomic_fetch_add_explicit(&tally->classes[hew_large_index(extent->size)].ndalloc, 1, memory_order_release);
    atomic_fetch_sub_explicit(tally->bytes, extent->size, memory_order_relaxed);
    hew_page_add_active(heap, -(ptrdiff_t)extent->size);
    extent->arena = heap->arena;
    hew_hooked_insert_dirty(heap, extent);
}

/* Heap lock and try-lock held.  Releases the try-lock before it frees any extent, since that may call a hook. */
static bool
empty_rank(struct hew_page_heap *heap, struct hew_shelf_rank *rank)
{
    struct hew_extent *all[HEW_SHELF_SLOTS];
    unsigned count = 0;
    for (; rank->used != 0; rank->used &= rank->used - 1) {
        struct hew_shelf_slot *slot = &rank->slot[__builtin_ctz(rank->used)];
        shelf_tell(&heap->shelf, slot);
        all[count++] = newest(slot);
        set_newest(slot, NULL);
    }
    rank->bytes = 0;
    shelf_let_go(rank);
    bool some = false;
    while (count > 0) {
        struct hew_extent *extent = all[--count], *below;
        for (; extent != NULL; extent = below, some = true) {
            below = extent->large.below;
            hand_in(heap, extent);
        }
    }
    return some;
}

bool
hew_shelf_empty(struct hew_page_heap *heap)
{
    struct hew_shelf *shelf = &heap->shelf;
    bool some = false;
    atomic_store(&shelf->filled, false);
    for (unsigned i = 0; i < HEW_SHELF_RANKS; i++) {
        struct hew_shelf_rank *rank = &shelf->rank[i];
        shelf_hold_or_wait(rank);
        some |= empty_rank(heap, rank);
    }
    return some;
}

bool
hew_page_sweep_held(struct hew_page_heap *heap)
{
    return HEW_UNLIKELY(hew_shelf_is_filled(&heap->shelf)) && hew_shelf_empty(heap);
}

void
hew_shelf_after_fork(struct hew_shelf *shelf)
{
    for (unsigned i = 0; i < HEW_SHELF_RANKS; i++) {
        if (atomic_load_explicit(&shelf->rank[i].held, memory_order_relaxed) != 0) {
            memset(&shelf->rank[i], 0, sizeof shelf->rank[i]);
        }
    }
}

/* Takes each rank's try-lock, even if the cache is not marked as filled.  A holder may have found the cache open, and
 * marks it as filled only at the end; later threads find it closed. */
void
hew_shelf_close(struct hew_page_heap *heap)
{
    if (atomic_exchange(&heap->shelf.open, false)) {
        hew_shelf_empty(heap);
    }
}

void
hew_shelf_decide(struct hew_page_heap *heap)
{
    bool unusual = hew_options.san_guard_large != 0 || hew_options.percpu_arena != HEW_PERCPU_ARENA_DISABLED;
    bool open = hew_shelf_tally(&heap->shelf, heap->arena)->classes != NULL && heap->hooks == NULL && !heap->scarce &&
                !heap->ending && !heap->watched && heap->dirty_decay.decay_ms != 0 && !unusual;
    if (open) {
        atomic_store(&heap->shelf.open, true);
    } else {
        hew_shelf_close(heap);
    }
}
