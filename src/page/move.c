/* SPDX-License-Identifier: MIT */
/*
 * move: one system call moves pages of one mapping, so an extent that was moved before, wholly or in part, moves run by
 * run.  The list of runs bounds their number: what does not fit into it is copied.
 */
#include "page/move.h"

#include "page/moved.h"

#include <string.h>

#define COPIED_AT_ONCE ((size_t)1 << 20) /* while an object is copied, this much of it exists twice */

static uintptr_t
run_end(struct hew_page_heap *source, uintptr_t at, uintptr_t end)
{
    hew_mutex_lock(&source->lock);
    uintptr_t until = hew_moved_until(&source->moved, at, end);
    hew_mutex_unlock(&source->lock);
    return until;
}

static void
hide(struct hew_page_heap *target, struct hew_extent *to)
{
    hew_mutex_lock(&target->lock);
    hew_page_hide(to);
    hew_mutex_unlock(&target->lock);
}

static void
show(struct hew_page_heap *target, struct hew_extent *to)
{
    hew_mutex_lock(&target->lock);
    hew_page_show(target, to);
    hew_mutex_unlock(&target->lock);
}

static bool
expect_run(struct hew_page_heap *target)
{
    hew_mutex_lock(&target->lock);
    bool may = hew_moved_expect(&target->moved, 1);
    hew_mutex_unlock(&target->lock);
    return may;
}

static void
expect_no_more(struct hew_page_heap *target)
{
    hew_mutex_lock(&target->lock);
    hew_moved_expect_no_more(&target->moved, 1);
    hew_mutex_unlock(&target->lock);
}

/* Records that the run is no longer a separate mapping at its old place, and is one at the new place. */
static void
note_run(struct hew_page_heap *source, uintptr_t from, struct hew_page_heap *target, uintptr_t to, size_t size)
{
    hew_mutex_lock(&source->lock);
    hew_moved_clear(&source->moved, from, from + size);
    hew_mutex_unlock(&source->lock);
    hew_mutex_lock(&target->lock);
    hew_moved_expect_no_more(&target->moved, 1);
    hew_moved_add(&target->moved, to, to + size);
    hew_mutex_unlock(&target->lock);
}

static enum hew_os_moved
move_run(struct hew_page_heap *source, uintptr_t from, struct hew_page_heap *target, uintptr_t to, size_t size)
{
    if (!expect_run(target)) {
        return HEW_OS_NOT_MOVED;
    }
    enum hew_os_moved moved = hew_os_move((void *)from, (void *)to, size);
    if (moved == HEW_OS_MOVED) {
        note_run(source, from, target, to, size);
    } else {
        expect_no_more(target);
    }
    return moved;
}

/* Copies what the system does not move, and returns each part as soon as it is copied. */
static void
copy_rest(uintptr_t from, uintptr_t to, size_t size)
{
    for (size_t part; size != 0; from += part, to += part, size -= part) {
        part = size < COPIED_AT_ONCE ? size : COPIED_AT_ONCE;
        memcpy((void *)to, (void *)from, part);
        if (!hew_os_purge((void *)from, part)) {
            memset((void *)from, 0, part);
        }
    }
}

enum hew_os_moved
hew_page_move(struct hew_page_heap *source, struct hew_extent *from, struct hew_page_heap *target,
              struct hew_extent *to)
{
    HEW_ASSERT(1, from->state == HEW_EXTENT_ACTIVE && to->state == HEW_EXTENT_ACTIVE && from->size <= to->size);
    if (from->data_segment || to->data_segment || !hew_os_may_move()) {
        return HEW_OS_NOT_MOVED;
    }
    enum hew_os_moved moved = HEW_OS_MOVED;
    uintptr_t at = from->address, end = hew_extent_end(from), shift = to->address - at;
    hide(target, to);
    for (uintptr_t until; at < end && moved == HEW_OS_MOVED; at = moved == HEW_OS_MOVED ? until : at) {
        until = run_end(source, at, end);
        moved = move_run(source, at, target, at + shift, until - at);
    }
    if (moved == HEW_OS_PLACE_LOST) {
        memcpy((void *)from->address, (void *)to->address, at - from->address);
        return HEW_OS_PLACE_LOST;
    }
    show(target, to);
    copy_rest(at, at + shift, end - at);
    return HEW_OS_MOVED;
}
