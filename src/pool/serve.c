/* SPDX-License-Identifier: MIT */
#include "pool/serve.h"

#include "alloc/alloc.h"
#include "alloc/fast.h"
#include "base/bytes.h"
#include "os/fatal.h"
#include "pool/fast.h"
#include "pool/group.h"
#include "pool/grow.h"
#include "pool/range.h"

#include <string.h>

/* Allocates from malloc at the set's alignment.  Of a small object only the requested bytes are zeroed. */
static void *
from_malloc(size_t size, size_t alignment, bool zero)
{
    if (size > HEW_SMALL_MAX) {
        void *large = zero || alignment > HEW_PAGE ? NULL : hew_fast_take_large(size);
        return large != NULL ? large : hew_alloc_aligned(size, alignment, zero);
    }
    size_t whole = size < HEW_POOL_UNIT ? HEW_POOL_UNIT : size; /* a smaller one may be aligned to 8 only */
    void *object = hew_fast_take_aligned(whole, alignment);
    if (object == NULL) {
        object = alignment <= HEW_POOL_UNIT ? hew_alloc_slow(whole) : hew_alloc_aligned(whole, alignment, false);
    }
    return zero && object != NULL ? hew_bytes_zero(object, size) : object;
}

static void *
from_fallback(struct hew_pool_set *set, size_t size, bool zero)
{
    const struct hew_pool_fallback *fallback = set->options.fallback;
    size_t alignment = set->options.alignment;
    if (HEW_LIKELY(fallback == NULL)) {
        return from_malloc(size, alignment, zero);
    }
    void *object = fallback->take(fallback->context, size, alignment);
    return zero && object != NULL ? hew_bytes_zero(object, size) : object;
}

/* For a request larger than every size. */
static void *
take_larger(struct hew_pool_set *set, size_t size, bool zero)
{
    struct hew_pool_local *local = hew_pool_local_get(set);
    if (HEW_LIKELY(local != NULL)) {
        hew_pool_local_count(&local->larger);
    } else {
        atomic_fetch_add_explicit(&set->larger, 1, memory_order_relaxed);
    }
    return from_fallback(set, size, zero);
}

static void *
beyond_a_bound(struct hew_pool_set *set, struct hew_pool_class *class, size_t size)
{
    atomic_fetch_add_explicit(&class->beyond, 1, memory_order_relaxed);
    return set->options.beyond == HEW_POOL_BEYOND_NULL ? NULL : from_fallback(set, size, false);
}

/* Allocates objects of a size from its pools or a new one.  Lists them below `end`, the first one on top. */
static unsigned
find_objects(struct hew_pool_set *set, const struct hew_pool_local *local, unsigned number, void **end, unsigned wanted)
{
    struct hew_pool_class *class = &set->classes[number];
    size_t capacity;
    unsigned taken;
    do {
        capacity = atomic_load_explicit(&class->capacity, memory_order_relaxed);
        taken = hew_pool_group_take(set, number, local == NULL ? 0 : local->home, end, wanted);
    } while (taken == 0 && hew_pool_grow(set, number, capacity));
    return taken;
}

/* Puts all objects but the requested one into the thread's magazine. */
static void
keep_at_hand(struct hew_pool_set *set, struct hew_pool_local *local, unsigned number, void **objects, unsigned count)
{
    struct hew_pool_magazine *magazine = &local->magazines[number];
    if (HEW_UNLIKELY((size_t)(magazine->limit - magazine->top) < count)) { /* a constructor has used the set */
        hew_pool_group_give(set, "hew_pool_malloc", objects, count);
        return;
    }
    memcpy(magazine->top, objects, count * sizeof *objects);
    magazine->top += count;
}

/* The thread's cache with a magazine for the size; NULL: the size is not cached. */
static struct hew_pool_local *
opened_local(struct hew_pool_set *set, unsigned number)
{
    struct hew_pool_local *local = hew_pool_local_get(set);
    bool opened = local != NULL && (local->magazines[number].limit != NULL || hew_pool_local_open(local, number));
    return opened ? local : NULL;
}

static void *
take_one(struct hew_pool_set *set, unsigned number, size_t size)
{
    struct hew_pool_class *class = &set->classes[number];
    struct hew_pool_local *local = opened_local(set, number);
    void *object = local == NULL ? NULL : hew_pool_local_pop(&local->magazines[number]);
    if (object != NULL) { /* a size larger than those in the table */
        return object;
    }
    void *objects[HEW_POOL_AT_ONCE], **end = objects + HEW_POOL_AT_ONCE;
    unsigned wanted = local == NULL ? 1 : (class->at_hand + 1) / 2;
    unsigned taken = find_objects(set, local, number, end, wanted < HEW_POOL_AT_ONCE ? wanted : HEW_POOL_AT_ONCE);
    if (taken == 0) {
        return beyond_a_bound(set, class, size);
    }
    if (local != NULL) {
        hew_pool_local_count(&hew_pool_local_counts(local, number)->fills);
    }
    if (taken > 1) {
        keep_at_hand(set, local, number, end - taken, taken - 1);
    }
    return end[-1];
}

void *
hew_pool_serve(struct hew_pool_set *set, size_t size, bool zero)
{
    hew_pool_set_examine("hew_pool_malloc", set);
    unsigned number = hew_pool_lookup_find(&set->lookup, size);
    if (number == set->count) {
        return take_larger(set, size, zero);
    }
    void *object = take_one(set, number, size);
    hew_alloc_notice_due_work(false);
    return zero && object != NULL ? hew_bytes_zero(object, size) : object;
}

/* Frees past the thread's magazine. */
static void
give_back(struct hew_pool_set *set, const char *function, struct hew_pool_block *block, void *object)
{
    hew_pool_group_examine(block, function, object);
    if (hew_pool_group_give(set, function, &object, 1)) {
        hew_pool_shrink(set, block->number, HEW_POOL_BY_ROOM);
    }
}

static void
give_object(struct hew_pool_set *set, const char *function, struct hew_pool_block *block, void *object)
{
    unsigned number = block->number;
    struct hew_pool_local *local = opened_local(set, number);
    if (local == NULL) {
        give_back(set, function, block, object);
        return;
    }
    struct hew_pool_magazine *magazine = &local->magazines[number];
    if (HEW_UNLIKELY(magazine->top[-1] == object)) {
        hew_pool_group_twice(block, function, object);
    }
    bool may_shrink = false;
    if (magazine->top >= magazine->limit) {
        hew_pool_local_count(&hew_pool_local_counts(local, number)->flushes);
        may_shrink = hew_pool_local_flush(local, number, set->classes[number].at_hand / 2);
    }
    hew_pool_local_push(magazine, object);
    if (HEW_UNLIKELY(may_shrink)) {
        hew_pool_shrink(set, number, HEW_POOL_BY_ROOM);
    }
}

static void
free_elsewhere(struct hew_pool_set *set, const char *function, void *object)
{
    const struct hew_pool_fallback *fallback = set->options.fallback;
    if (fallback != NULL && fallback->owns(fallback->context, object)) {
        fallback->give(fallback->context, object);
    } else if (fallback == NULL && hew_map_extent((uintptr_t)object) != NULL) {
        if (HEW_UNLIKELY(!hew_fast_give_by_call(object))) {
            hew_alloc_free(function, object);
        }
    } else {
        hew_pool_group_block(set, function, object);
    }
}

void
hew_pool_serve_free(struct hew_pool_set *set, const char *function, void *object)
{
    if (object == NULL) {
        return;
    }
    hew_pool_set_examine(function, set);
    struct hew_pool_range *range = hew_pool_range_of((uintptr_t)object);
    if (HEW_LIKELY(range != NULL)) {
        struct hew_pool_block *block = range->set == set ? hew_pool_range_block(range, (uintptr_t)object)
                                                         : hew_pool_group_block(set, function, object);
        struct hew_pool_local *local = hew_pool_self->at[set->id];
        hew_pool_group_examine_place(block, function, object);
        if (HEW_LIKELY(local->set != NULL && hew_pool_local_push(&local->magazines[block->number], object))) {
            return;
        }
        give_object(set, function, block, object);
        hew_alloc_notice_due_work(true);
    } else {
        free_elsewhere(set, function, object);
    }
}

size_t
hew_pool_serve_usable(struct hew_pool_set *set, const char *function, const void *object)
{
    if (object == NULL) {
        return 0;
    }
    hew_pool_set_examine(function, set);
    const struct hew_pool_fallback *fallback = set->options.fallback;
    struct hew_pool_range *range = hew_pool_range_of((uintptr_t)object);
    if (range == NULL && fallback != NULL && fallback->owns(fallback->context, object)) {
        return fallback->usable_size(fallback->context, object);
    }
    if (range == NULL && fallback == NULL && hew_map_extent((uintptr_t)object) != NULL) {
        return hew_alloc_usable(function, object);
    }
    return hew_pool_group_block(set, function, object)->stride;
}

/* The set of an address that lies in a pool. */
static struct hew_pool_set *
plain_set(const char *function, const void *object)
{
    struct hew_pool_range *range = hew_pool_range_of((uintptr_t)object);
    if (HEW_UNLIKELY(range == NULL)) {
        hew_fatal(HEW_FATAL_pool_foreign, function, (uintptr_t)object, "a pool's that has gone");
    }
    return range->set;
}

void
hew_pool_serve_plain_free(const char *function, void *object)
{
    hew_pool_serve_free(plain_set(function, object), function, object);
}

size_t
hew_pool_serve_plain_usable(const char *function, const void *object)
{
    struct hew_pool_set *set = plain_set(function, object);
    struct hew_pool_block *block = hew_pool_group_block(set, function, object);
    hew_pool_group_examine(block, function, object);
    return block->stride;
}

size_t
hew_pool_serve_trim(struct hew_pool_set *set)
{
    size_t gone = 0;
    hew_pool_set_examine("hew_pool_trim", set);
    struct hew_pool_local *local = hew_pool_self->at[set->id];
    for (unsigned number = 0; number < set->count; number++) {
        if (local->set != NULL) {
            hew_pool_local_flush(local, number, 0);
        }
        gone += hew_pool_shrink(set, number, HEW_POOL_ALL);
    }
    return gone;
}
