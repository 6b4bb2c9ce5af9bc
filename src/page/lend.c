/* SPDX-License-Identifier: MIT */
/*
 * lend: an extent is cut out of the lender's dirty stock under both locks.  The second one is only tried: whoever is busy with
 * its heap is not disturbed, and nobody waits in a circle.
 */
#include "page/lend.h"

#include "base/options.h"
#include "page/bound.h"
#include "page/grow.h"
#include "page/hooked.h"
#include "page/split.h"

#define LENDERS 256  /* more do not take part: some hundred heaps have enough to choose from */
#define ASKED_MOST 8 /* for one request: fresh memory costs less than a walk through hundreds */

/* By number, from 1 on: release when a heap joins, acquire when it is looked for. */
static _Atomic(struct hew_page_heap *) lenders[LENDERS + 1];
static struct hew_page_heap *first_lender; /* under the lock that guards the making of arenas */
_Atomic unsigned hew_lend_count;

void
hew_lend_join(struct hew_page_heap *heap)
{
    unsigned number = atomic_load_explicit(&hew_lend_count, memory_order_relaxed) + 1;
    if (heap->lender != 0 || number > LENDERS) {
        return;
    }
    heap->lender = (uint16_t)number;
    if (number == 1) { /* most programs have no second: they never touch the table */
        first_lender = heap;
    } else {
        atomic_store_explicit(&lenders[1], first_lender, memory_order_release);
        atomic_store_explicit(&lenders[number], heap, memory_order_release);
    }
    atomic_store_explicit(&hew_lend_count, number, memory_order_release);
}

static struct hew_page_heap *
lender_of(unsigned number)
{
    return atomic_load_explicit(&lenders[number], memory_order_acquire);
}

HEW_UNCHECKED_THREADS bool
hew_lend_are_alike(const struct hew_page_heap *one, const struct hew_page_heap *other)
{
    return one->hooks == NULL && other->hooks == NULL && one->thp == other->thp && one->dss == other->dss;
}

static size_t
most_fit(size_t size)
{
    size_t shift = hew_options.lg_extent_max_active_fit;
    return shift >= (size_t)__builtin_clzll(size) ? SIZE_MAX : size << shift;
}

/* Under the lender's lock. */
static struct hew_extent *
lend_cut(struct hew_page_heap *lender, size_t size, size_t alignment)
{
    struct hew_extent *found = hew_stock_find(&lender->dirty, size, alignment, most_fit(size));
    if (found == NULL && hew_split_merge(lender, &lender->dirty)) {
        found = hew_stock_find(&lender->dirty, size, alignment, most_fit(size));
    }
    uintptr_t start = found == NULL ? 0 : hew_bits_round_up(found->address, alignment);
    if (found == NULL || found->data_segment || hew_moved_touches(&lender->moved, start, start + size)) {
        return NULL;
    }
    struct hew_extent *taken = hew_split_cut(lender, &lender->dirty, found, start, size);
    if (taken != NULL) {
        hew_split_mark_ends(taken);
    }
    return taken;
}

/* Under both locks: pages and struct are the borrower's until they are given. */
static void
change_hands(struct hew_page_heap *lender, struct hew_page_heap *borrower, struct hew_extent *extent)
{
    lender->counts.mapped -= extent->size;
    lender->counts.structs--;
    borrower->counts.mapped += extent->size;
    borrower->counts.structs++;
    borrower->counts.borrowed++;
    extent->home = lender->lender;
    extent->home_region = atomic_load_explicit(&extent->region, memory_order_relaxed);
    extent->arena = borrower->arena;
    hew_grow_set_apart(extent);
    if (hew_page_is_bounded()) { /* it is no memory that comes */
        hew_page_bound_count(-(ptrdiff_t)extent->size);
    }
}

static struct hew_extent *
borrow_from(struct hew_page_heap *lender, struct hew_page_heap *borrower, size_t size, size_t alignment)
{
    /* relaxed: a hint */
    if (__atomic_load_n(&lender->dirty.bytes, __ATOMIC_RELAXED) < size || !hew_mutex_try_lock(&lender->lock)) {
        return NULL;
    }
    struct hew_extent *extent = hew_lend_are_alike(lender, borrower) ? lend_cut(lender, size, alignment) : NULL;
    if (extent != NULL) {
        change_hands(lender, borrower, extent);
    }
    HEW_ASSERT(3, hew_page_valid_if_due(lender));
    hew_mutex_unlock(&lender->lock);
    return extent;
}

struct hew_extent *
hew_lend_take_other(struct hew_page_heap *borrower, size_t size, size_t alignment)
{
    struct hew_extent *extent = NULL;
    unsigned own = borrower->lender, all = atomic_load_explicit(&hew_lend_count, memory_order_acquire);
    unsigned most = all <= ASKED_MOST ? all - 1 : ASKED_MOST;
    for (unsigned i = 0; extent == NULL && i < most; i++) {
        extent = borrow_from(lender_of((own + i) % all + 1), borrower, size, alignment);
    }
    return extent;
}

/* Under the owner's lock: its free pages right behind a borrowed extent. */
static struct hew_extent *
free_behind(const struct hew_extent *extent)
{
    struct hew_extent *behind = hew_map_extent(hew_extent_end(extent));
    bool owners = behind != NULL &&
                  atomic_load_explicit(&behind->region, memory_order_relaxed) == extent->home_region &&
                  behind->address == hew_extent_end(extent);
    return owners && behind->state >= HEW_EXTENT_DIRTY && behind->state <= HEW_EXTENT_RETAINED ? behind : NULL;
}

/* Under both locks. */
static bool
grow_held(struct hew_page_heap *owner, struct hew_page_heap *borrower, struct hew_extent *extent, size_t more)
{
    struct hew_extent *behind = owner->hooks == NULL ? free_behind(extent) : NULL;
    if (behind == NULL || behind->size < more ||
        hew_moved_touches(&owner->moved, behind->address, behind->address + more)) {
        return false;
    }
    unsigned state = behind->state;
    struct hew_extent *piece = hew_split_cut(owner, hew_split_stock_of(owner, state), behind, behind->address, more);
    if (piece == NULL) {
        return false;
    }
    extent->zeroed = extent->zeroed && state == HEW_EXTENT_RETAINED;
    extent->size += more;
    extent->huge |= piece->huge;
    hew_split_drop_extent(owner, piece);
    hew_split_mark_ends(extent);
    owner->counts.mapped -= more;
    borrower->counts.mapped += more;
    if (hew_page_is_bounded() && state != HEW_EXTENT_RETAINED) {
        hew_page_bound_count(-(ptrdiff_t)more);
    }
    return true;
}

bool
hew_lend_grow(struct hew_page_heap *borrower, struct hew_extent *extent, size_t more)
{
    struct hew_page_heap *owner = lender_of(extent->home);
    if (!hew_mutex_try_lock(&owner->lock)) {
        return false;
    }
    bool grown = grow_held(owner, borrower, extent, more);
    HEW_ASSERT(3, hew_page_valid_if_due(owner));
    hew_mutex_unlock(&owner->lock);
    return grown;
}

bool
hew_lend_leave(struct hew_page_heap *borrower, struct hew_extent *extent)
{
    if (HEW_UNLIKELY(hew_moved_touches(&borrower->moved, extent->address, hew_extent_end(extent)))) {
        extent->home = 0; /* that list must know what becomes of them */
        return false;
    }
    HEW_ASSERT(1, borrower->counts.mapped >= extent->size && borrower->counts.structs != 0);
    borrower->counts.mapped -= extent->size;
    borrower->counts.structs--;
    return true;
}

struct hew_page_heap *
hew_lend_come_home(struct hew_extent *extent)
{
    struct hew_page_heap *owner = lender_of(extent->home);
    hew_mutex_lock(&owner->lock);
    extent->arena = owner->arena;
    atomic_store_explicit(&extent->region, extent->home_region, memory_order_relaxed);
    extent->home = 0;
    owner->counts.mapped += extent->size;
    owner->counts.structs++;
    hew_hooked_insert_dirty(owner, extent);
    return owner;
}
