/* SPDX-License-Identifier: MIT */
/*
 * gather: moving a page costs the system a tenth of bringing in a new one, and the pages that move are idle.
 */
#include "page/gather.h"

#include "base/options.h"
#include "os/memory.h"
#include "page/bound.h"
#include "page/moved.h"
#include "page/split.h"

#define PIECES_MOST 16                 /* for one request */
#define LOOKS 16                       /* dirty extents to examine, the largest first */
#define PIECE_LEAST ((size_t)64 << 10) /* below this, three system calls cost as much as the page faults */
#define SHARE 4 /* one part in this many of the fresh bytes must be available, or all stay fresh */
#define ANY (SIZE_MAX & ~(HEW_PAGE - 1))

struct gather {
    struct hew_extent *pieces[PIECES_MOST];
    unsigned count, moved; /* the first `moved` of them have lost their pages */
};

/* A part of a dirty extent that lies in one mapping. */
struct run {
    struct hew_extent *extent;
    uintptr_t start;
    size_t size;
};

/* Returns the longer of `longest` and the extent's runs.  `*sum` counts the bytes of all runs that are worth a move. */
static struct run
longest_of(const struct hew_page_heap *heap, struct hew_extent *extent, struct run longest, size_t *sum)
{
    uintptr_t end = hew_extent_end(extent);
    for (uintptr_t at = extent->address, until; at < end && !extent->data_segment; at = until) {
        until = hew_moved_until(&heap->moved, at, end);
        *sum += until - at >= PIECE_LEAST ? until - at : 0;
        if (until - at > longest.size) {
            longest = (struct run){extent, at, until - at};
        }
    }
    return longest;
}

/* Lock held.  Finds the longest run of the largest dirty extents. */
static struct run
find_run(struct hew_page_heap *heap, size_t *sum)
{
    struct hew_extent *largest[LOOKS];
    struct run longest = {NULL, 0, 0};
    unsigned count = hew_stock_largest_below(&heap->dirty, ANY, largest, LOOKS);
    *sum = 0;
    for (unsigned i = 0; i < count; i++) {
        longest = longest_of(heap, largest[i], longest, sum);
    }
    return longest;
}

/* Lock held.  Takes a piece out of the dirty free list.  False: no memory for bookkeeping. */
static bool
gather_take(struct hew_page_heap *heap, struct gather *gather, const struct run *run, size_t size)
{
    uintptr_t start = run->start + run->size - size; /* the upper part, as in purge.c */
    struct hew_extent *piece = hew_split_cut(heap, &heap->dirty, run->extent, start, size);
    if (piece == NULL) {
        return false;
    }
    hew_split_mark_ends(piece);
    piece->state = HEW_EXTENT_TRANSIT;
    hew_page_enter_transit(heap, piece);
    gather->pieces[gather->count++] = piece;
    return true;
}

/* Lock held.  Takes the longest runs until they hold the wanted bytes.  Takes none if there are too few bytes. */
static void
gather_choose(struct hew_page_heap *heap, size_t wanted, struct gather *gather)
{
    size_t sum, left = wanted;
    struct run run = find_run(heap, &sum);
    if (sum < wanted / SHARE) {
        return;
    }
    for (; gather->count < PIECES_MOST && run.size >= PIECE_LEAST && left >= PIECE_LEAST; run = find_run(heap, &sum)) {
        size_t size = run.size < left ? run.size : left;
        if (!hew_moved_expect(&heap->moved, 1)) {
            return;
        }
        if (!gather_take(heap, gather, &run, size)) {
            hew_moved_expect_no_more(&heap->moved, 1);
            return;
        }
        left -= size;
    }
}

/* Without the lock.  Moves each piece behind the previous one; pieces that the system does not move are put last. */
static enum hew_os_moved
gather_move(struct gather *gather, uintptr_t to)
{
    for (unsigned i = 0; i < gather->count; i++) {
        struct hew_extent *piece = gather->pieces[i];
        enum hew_os_moved moved = hew_os_move((void *)piece->address, (void *)to, piece->size);
        if (moved == HEW_OS_PLACE_LOST) {
            return moved;
        }
        if (moved == HEW_OS_MOVED) {
            to += piece->size;
            gather->pieces[i] = gather->pieces[gather->moved];
            gather->pieces[gather->moved++] = piece;
        }
    }
    return HEW_OS_MOVED;
}

/* Lock held.  Records the pages that the extent received. */
static void
gather_note(struct hew_page_heap *heap, struct hew_extent *extent, const struct hew_extent *piece)
{
    uintptr_t to = hew_extent_end(extent) - extent->large.fresh;
    hew_moved_clear(&heap->moved, piece->address, hew_extent_end(piece));
    hew_moved_add(&heap->moved, to, to + piece->size);
    extent->large.fresh -= piece->size;
    extent->zeroed = false;
    heap->counts.pieces_moved++;
    heap->counts.bytes_moved += piece->size;
    if (hew_page_is_bounded()) { /* the extent was counted as new memory */
        hew_page_bound_count(-(ptrdiff_t)piece->size);
    }
}

/* Lock held.  Frees the pieces again, as retained where their memory has moved. */
static void
gather_return(struct hew_page_heap *heap, struct hew_extent *extent, const struct gather *gather)
{
    for (unsigned i = 0; i < gather->count; i++) {
        struct hew_extent *piece = gather->pieces[i];
        unsigned state = i < gather->moved ? HEW_EXTENT_RETAINED : HEW_EXTENT_DIRTY;
        HEW_ASSERT(1, piece->state == HEW_EXTENT_TRANSIT);
        hew_list_remove(&piece->free.age);
        hew_moved_expect_no_more(&heap->moved, 1);
        if (i < gather->moved) {
            gather_note(heap, extent, piece);
        }
        hew_split_insert(heap, hew_split_stock_of(heap, state), piece, state);
    }
    HEW_ASSERT(3, hew_page_valid_if_due(heap));
}

/* Lock held.  Pages that may be huge stay: moving a part of a huge page would split it, and a new mapping would lack
 * the advice of its neighbours. */
static bool
gather_may(const struct hew_page_heap *heap, const struct hew_extent *extent)
{
    return heap->hooks == NULL && !heap->ending && !heap->scarce && heap->dirty.bytes >= extent->large.fresh / SHARE &&
           !extent->data_segment && heap->thp == HEW_THP_DEFAULT && !heap->huge && hew_os_may_move();
}

bool
hew_page_gather(struct hew_page_heap *heap, struct hew_extent *extent)
{
    struct gather gather = {.count = 0, .moved = 0};
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && extent->large.fresh <= extent->size);
    hew_mutex_lock(&heap->lock);
    if (gather_may(heap, extent)) {
        gather_choose(heap, extent->large.fresh, &gather);
    }
    if (gather.count != 0) {
        hew_page_hide(extent);
    }
    hew_mutex_unlock(&heap->lock);
    if (gather.count == 0) {
        return true;
    }
    enum hew_os_moved moved = gather_move(&gather, hew_extent_end(extent) - extent->large.fresh);
    hew_mutex_lock(&heap->lock);
    gather_return(heap, extent, &gather);
    if (moved != HEW_OS_PLACE_LOST) {
        hew_page_show(heap, extent);
    }
    hew_mutex_unlock(&heap->lock);
    return moved != HEW_OS_PLACE_LOST;
}
