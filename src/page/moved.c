/* SPDX-License-Identifier: MIT */
/*
 * moved: a sorted array, with binary search and shifting.  It is short, and each change follows three system calls.
 */
#include "page/moved.h"

#include "meta/memory.h"

#include <stdatomic.h>
#include <string.h>

/* Pieces of all heaps, with reservations.  Relaxed: two heaps at once may exceed the bound. */
static _Atomic unsigned all;

/* The first piece that ends above `address`. */
static unsigned
first_above(const struct hew_moved *moved, uintptr_t address)
{
    unsigned low = 0, high = moved->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (moved->pieces[middle].end > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

bool
hew_moved_expect(struct hew_moved *moved, unsigned runs)
{
    unsigned more = runs * HEW_MOVED_ROOM;
    if (moved->pieces == NULL) {
        moved->pieces = hew_meta_take(HEW_MOVED_MOST * sizeof *moved->pieces);
    }
    if (moved->pieces == NULL || moved->count + moved->expected + more > HEW_MOVED_MOST ||
        atomic_load_explicit(&all, memory_order_relaxed) + more > HEW_MOVED_ALL) {
        return false;
    }
    moved->expected += more;
    atomic_fetch_add_explicit(&all, more, memory_order_relaxed);
    return true;
}

void
hew_moved_expect_no_more(struct hew_moved *moved, unsigned runs)
{
    unsigned less = runs * HEW_MOVED_ROOM;
    HEW_ASSERT(1, moved->expected >= less);
    moved->expected -= less;
    atomic_fetch_sub_explicit(&all, less, memory_order_relaxed);
}

void
hew_moved_after_fork(struct hew_moved *moved)
{
    hew_moved_expect_no_more(moved, moved->expected / HEW_MOVED_ROOM);
}

/* Replaces `gone` pieces from `at` on by `come` others. */
static void
moved_shift(struct hew_moved *moved, unsigned at, unsigned gone, unsigned come)
{
    HEW_ASSERT(1, at + gone <= moved->count && moved->count - gone + come + moved->expected <= HEW_MOVED_MOST);
    memmove(&moved->pieces[at + come], &moved->pieces[at + gone], (moved->count - at - gone) * sizeof *moved->pieces);
    moved->count += come - gone;
    atomic_fetch_add_explicit(&all, come - gone, memory_order_relaxed);
}

void
hew_moved_add(struct hew_moved *moved, uintptr_t start, uintptr_t end)
{
    hew_moved_clear(moved, start, end);
    unsigned at = first_above(moved, start);
    HEW_ASSERT(1, start < end && (at == moved->count || moved->pieces[at].start >= end));
    moved_shift(moved, at, 0, 1);
    moved->pieces[at] = (struct hew_moved_piece){start, end};
}

/* If a piece extends beyond both ends of the range and there is no space for a second piece, it stays whole and covers
 * the range.  A later call that moves some of it is then refused; nothing else goes wrong. */
void
hew_moved_clear(struct hew_moved *moved, uintptr_t start, uintptr_t end)
{
    if (HEW_LIKELY(moved->count == 0)) {
        return;
    }
    struct hew_moved_piece left[2];
    unsigned at = first_above(moved, start), gone = 0, come = 0;
    for (; at + gone < moved->count && moved->pieces[at + gone].start < end; gone++) {
        struct hew_moved_piece piece = moved->pieces[at + gone];
        if (piece.start < start) {
            left[come++] = (struct hew_moved_piece){piece.start, start};
        }
        if (piece.end > end) {
            left[come++] = (struct hew_moved_piece){end, piece.end};
        }
    }
    if (come > gone && moved->count + moved->expected == HEW_MOVED_MOST) {
        return;
    }
    moved_shift(moved, at, gone, come);
    memcpy(&moved->pieces[at], left, come * sizeof left[0]);
}

bool
hew_moved_touches(const struct hew_moved *moved, uintptr_t start, uintptr_t end)
{
    unsigned at = first_above(moved, start);
    return at < moved->count && moved->pieces[at].start < end;
}

uintptr_t
hew_moved_until(const struct hew_moved *moved, uintptr_t address, uintptr_t end)
{
    unsigned at = first_above(moved, address);
    if (at == moved->count) {
        return end;
    }
    const struct hew_moved_piece *piece = &moved->pieces[at];
    uintptr_t until = piece->start > address ? piece->start : piece->end;
    return until < end ? until : end;
}
