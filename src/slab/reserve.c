/* SPDX-License-Identifier: MIT */
/*
 * reserve: lists of ready slabs, one for each declared class.  All slabs are made in the first arena's page heap and
 * move between heaps as whole extents, so that only counts change.
 */
#include "slab/reserve.h"

#include "slab/slab.h"

struct hew_mutex hew_reserve_lock = HEW_MUTEX(reserve);
bool hew_reserve_used;
static struct hew_page_heap *home;                    /* the first arena's */
static struct hew_list idle[HEW_CODE_SMALL_LAST + 1]; /* guarded by the lock; not begun: the class is not declared */

size_t
hew_reserve_make(const struct hew_page_client *first, unsigned code, size_t count)
{
    size_t made = 0;
    home = first->heap;
    hew_reserve_used = true;
    if (idle[code].next == NULL) {
        hew_list_begin(&idle[code]);
    }
    while (made < count) {
        struct hew_extent *slab = hew_slab_make(first, code);
        if (slab == NULL) {
            return made;
        }
        slab->slab.reserved = true;
        hew_list_push_back(&idle[code], &slab->slab.full);
        made += hew_slab_shape(slab)->regions;
    }
    return count;
}

struct hew_extent *
hew_reserve_take(const struct hew_page_client *pages, unsigned code)
{
    struct hew_page_heap *heap = pages->heap;
    bool own_memory = heap->is_private || __atomic_load_n(&heap->hooks, __ATOMIC_RELAXED) != NULL;
    if (own_memory || idle[code].next == NULL) {
        return NULL;
    }
    hew_mutex_lock(&hew_reserve_lock);
    struct hew_list *node = hew_list_first(&idle[code]);
    if (node != NULL) {
        hew_list_remove(node);
    }
    hew_mutex_unlock(&hew_reserve_lock);
    struct hew_extent *slab = node == NULL ? NULL : HEW_CONTAINER(node, struct hew_extent, slab.full);
    if (slab != NULL && heap != home) {
        hew_page_hand_over(home, heap, slab);
    }
    if (slab != NULL) {
        slab->arena = pages->arena;
    }
    return slab;
}

void
hew_reserve_give(struct hew_page_heap *heap, struct hew_extent *slab)
{
    if (heap != home) {
        hew_page_hand_over(heap, home, slab);
    }
    hew_mutex_lock(&hew_reserve_lock);
    hew_list_push_front(&idle[slab->code], &slab->slab.full); /* reused first, so that the others stay untouched */
    hew_mutex_unlock(&hew_reserve_lock);
}
