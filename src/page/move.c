/* SPDX-License-Identifier: MIT */
/*
 * move: one system call moves pages of one mapping, so an extent that was moved before, or gathered, goes run by run.
 */
#include "page/move.h"

#include "page/moved.h"

#include <string.h>

#define RUNS_MOST 16 /* an extent of more is copied: each run takes three system calls */

/* The runs' ends; 0 when there are too many of them. */
static unsigned
find_runs(struct hew_page_heap *source, const struct hew_extent *from, uintptr_t *ends)
{
    uintptr_t at = from->address, end = hew_extent_end(from);
    unsigned count = 0;
    hew_mutex_lock(&source->lock);
    for (; at < end && count < RUNS_MOST; at = ends[count++]) {
        ends[count] = hew_moved_until(&source->moved, at, end);
    }
    hew_mutex_unlock(&source->lock);
    return at < end ? 0 : count;
}

static bool
begin_move(struct hew_page_heap *target, struct hew_extent *to, unsigned runs)
{
    hew_mutex_lock(&target->lock);
    bool may = hew_moved_expect(&target->moved, runs);
    if (may) {
        hew_page_hide(to);
    }
    hew_mutex_unlock(&target->lock);
    return may;
}

/* So many runs have not come. */
static void
end_move(struct hew_page_heap *target, struct hew_extent *to, unsigned runs, enum hew_os_moved moved)
{
    hew_mutex_lock(&target->lock);
    hew_moved_expect_no_more(&target->moved, runs);
    if (moved != HEW_OS_PLACE_LOST) {
        hew_page_show(target, to);
    }
    hew_mutex_unlock(&target->lock);
}

/* The run is no mapping of its own any more where it was, and is one where it is. */
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

/* The system has refused in the middle: the rest is copied. */
static void
copy_rest(uintptr_t from, uintptr_t to, size_t size)
{
    memcpy((void *)to, (void *)from, size);
    if (!hew_os_purge((void *)from, size)) {
        memset((void *)from, 0, size);
    }
}

enum hew_os_moved
hew_page_move(struct hew_page_heap *source, struct hew_extent *from, struct hew_page_heap *target,
              struct hew_extent *to)
{
    HEW_ASSERT(1, from->state == HEW_EXTENT_ACTIVE && to->state == HEW_EXTENT_ACTIVE && from->size <= to->size);
    uintptr_t ends[RUNS_MOST], at = from->address;
    uintptr_t shift = to->address - from->address;
    unsigned runs = from->data_segment || to->data_segment ? 0 : find_runs(source, from, ends);
    if (runs == 0 || !begin_move(target, to, runs)) {
        return HEW_OS_NOT_MOVED;
    }
    enum hew_os_moved moved = HEW_OS_MOVED;
    unsigned done = 0;
    for (; done < runs; at = ends[done++]) {
        moved = hew_os_move((void *)at, (void *)(at + shift), ends[done] - at);
        if (moved != HEW_OS_MOVED) {
            break;
        }
        note_run(source, at, target, at + shift, ends[done] - at);
    }
    end_move(target, to, runs - done, moved);
    if (moved == HEW_OS_PLACE_LOST) {
        memcpy((void *)from->address, (void *)to->address, at - from->address);
    } else if (moved == HEW_OS_NOT_MOVED && done != 0) {
        copy_rest(at, at + shift, hew_extent_end(from) - at);
        moved = HEW_OS_MOVED;
    }
    return moved;
}
