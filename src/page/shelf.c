/* SPDX-License-Identifier: MIT */
#include "page/shelf.h"

#include "base/options.h"
#include "os/futex.h"
#include "os/mutex.h"
#include "page/hooked.h"
#include "page/split.h"

#include <string.h>

#define LOOKS 8                     /* extents of another size that are looked at */
#define DUE_BYTES ((size_t)1 << 20) /* of one rank, from which on a purger is wanted */

/* Threads' own data lies a multiple of pages apart. */
static struct hew_shelf_rank *
own_rank(struct hew_shelf *shelf)
{
    return &shelf->rank[((uintptr_t)hew_thread_token() >> HEW_LG_PAGE) % HEW_SHELF_RANKS];
}

/* Sequentially consistent, so that who finds the mark at 0 after he has closed the shelf is seen by the next holder. */
static bool
hold(struct hew_shelf_rank *rank)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong(&rank->held, &nobody, 1);
}

/* Nobody is woken: only a sweep waits, for some ten instructions of a thread that may be off its processor. */
static void
hold_or_wait(struct hew_shelf_rank *rank)
{
    while (!hold(rank)) {
        hew_futex_wait(&rank->held, 1, 1);
    }
}

static void
let_go(struct hew_shelf_rank *rank)
{
    atomic_store_explicit(&rank->held, 0, memory_order_release);
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

/* With the mark: the tally is told of what has left again.  Requests for sizes with codes are counted by thread caches. */
static void
tell(struct hew_shelf *shelf, struct hew_shelf_slot *slot)
{
    if (slot->reused == 0) {
        return;
    }
    struct hew_large_counts *counts = &shelf->tally.classes[slot->index];
    if (slot->code == HEW_CODE_SLOW) {
        atomic_fetch_add_explicit(&counts->reused, slot->reused, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&counts->nmalloc, slot->reused, memory_order_relaxed);
        atomic_fetch_add_explicit(&counts->ndalloc, slot->reused, memory_order_release);
    }
    slot->reused = 0;
}

/* With the mark: the next extent of that size below `from`, taken out; NULL when none of the next few is one. */
static struct hew_extent *
take_below(struct hew_extent *from, size_t size)
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

/* With the mark. */
static struct hew_extent *
take_one(struct hew_shelf_slot *slot, size_t size)
{
    struct hew_extent *first = newest(slot);
    if (first == NULL || first->size != size) {
        return first == NULL ? NULL : take_below(first, size);
    }
    set_newest(slot, first->large.below);
    return first;
}

unsigned
hew_shelf_take_filled(
    struct hew_shelf *shelf, size_t size, unsigned code, struct hew_extent **extents, unsigned wanted)
{
    struct hew_shelf_rank *rank = own_rank(shelf);
    unsigned index = hew_large_index(size), taken = 0;
    struct hew_shelf_slot *slot = &rank->slot[index % HEW_SHELF_SLOTS];
    if (newest(slot) == NULL || !hold(rank)) {
        return 0;
    }
    while (slot->index == index && slot->code == code && taken < wanted) {
        struct hew_extent *extent = take_one(slot, size);
        if (extent == NULL) {
            break;
        }
        hew_map_set_code(extent->address, code);
        extents[taken++] = extent;
    }
    slot->reused += taken;
    rank->bytes -= taken * size;
    let_go(rank);
    return taken;
}

/* With the mark: the slot for extents like this one, NULL when others have it. */
static struct hew_shelf_slot *
slot_for(struct hew_shelf *shelf, struct hew_shelf_rank *rank, const struct hew_extent *extent)
{
    unsigned index = hew_large_index(extent->size), at = index % HEW_SHELF_SLOTS;
    struct hew_shelf_slot *slot = &rank->slot[at];
    if (slot->index != index || slot->code != extent->code) {
        if (newest(slot) != NULL) {
            return NULL;
        }
        tell(shelf, slot);
        slot->index = (uint16_t)index;
        slot->code = extent->code;
    }
    rank->used |= UINT32_C(1) << at;
    return slot;
}

unsigned
hew_shelf_put(struct hew_shelf *shelf, struct hew_extent *const *extents, unsigned count, bool *look)
{
    struct hew_shelf_rank *rank = own_rank(shelf);
    unsigned put = 0;
    *look = false;
    if (!atomic_load_explicit(&shelf->open, memory_order_relaxed) || !hold(rank)) {
        return 0;
    }
    struct hew_shelf_slot *slot = atomic_load(&shelf->open) ? slot_for(shelf, rank, extents[0]) : NULL;
    /* One that the map knows as free has come twice. */
    for (; slot != NULL && put < count && hew_map_code(extents[put]->address) != HEW_CODE_NONE; put++) {
        hew_map_set_code(extents[put]->address, HEW_CODE_NONE);
        extents[put]->large.below = newest(slot);
        set_newest(slot, extents[put]);
    }
    *look = ++rank->gives % HEW_SHELF_GIVES_TO_CLOCK == 0;
    if (slot != NULL && !atomic_load(&shelf->filled)) {
        atomic_store(&shelf->filled, true);
    }
    rank->bytes += put * extents[0]->size;
    bool due = rank->bytes >= DUE_BYTES;
    let_go(rank);
    if (due) {
        hew_page_raise_due();
    }
    return put;
}

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

/* Under the lock, with the rank's mark, which it lets go before it hands anything in: a hook may be asked then. */
static bool
empty_rank(struct hew_page_heap *heap, struct hew_shelf_rank *rank)
{
    struct hew_extent *all[HEW_SHELF_SLOTS];
    unsigned count = 0;
    for (; rank->used != 0; rank->used &= rank->used - 1) {
        struct hew_shelf_slot *slot = &rank->slot[__builtin_ctz(rank->used)];
        tell(&heap->shelf, slot);
        all[count++] = newest(slot);
        set_newest(slot, NULL);
    }
    rank->bytes = 0;
    let_go(rank);
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
        hold_or_wait(rank);
        some |= empty_rank(heap, rank);
    }
    return some;
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
