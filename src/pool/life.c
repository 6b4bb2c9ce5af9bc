/* SPDX-License-Identifier: MIT */
#include "pool/life.h"

#include "meta/memory.h"
#include "os/clock.h"
#include "os/fatal.h"
#include "os/futex.h"
#include "pool/grow.h"
#include "pool/local.h"
#include "pool/object.h"
#include "pool/shape.h"

#include <errno.h>
#include <string.h>

#define DEAD_KEPT 64 /* destroyed sets whose structs are kept */
#define ROUND_MS 1000

/* Guarded by hew_pool_lock. */
static struct hew_list sets, dead;
static unsigned dead_count;
static struct hew_pool_set *by_id[HEW_POOL_SETS_MAX + 1];
_Atomic bool hew_pool_used;

void
hew_pool_set_examine(const char *function, const struct hew_pool_set *set)
{
    if (HEW_UNLIKELY(!atomic_load_explicit(&set->lives, memory_order_relaxed))) {
        hew_fatal(HEW_FATAL_pool_ended, function, (uintptr_t)set, NULL);
    }
}

static void
boot(void)
{
    if (!atomic_load_explicit(&hew_pool_used, memory_order_relaxed)) {
        hew_list_begin(&sets);
        hew_list_begin(&dead);
        hew_pool_local_boot();
        atomic_store_explicit(&hew_pool_used, true, memory_order_relaxed);
    }
}

/* Memory for a set; the oldest destroyed one is reused when there are enough of them.  No thread can have its id
 * yet. */
static struct hew_pool_set *
new_set(void)
{
    struct hew_pool_set *set = NULL;
    hew_mutex_lock(&hew_pool_lock);
    boot();
    if (dead_count >= DEAD_KEPT) {
        set = HEW_CONTAINER(hew_list_first(&dead), struct hew_pool_set, link);
        hew_list_remove(&set->link);
        dead_count--;
    }
    hew_mutex_unlock(&hew_pool_lock);
    if (set != NULL) {
        memset(set, 0, sizeof *set);
        return set;
    }
    return hew_meta_take(sizeof *set);
}

static void
bury(struct hew_pool_set *set)
{
    memset(set, 0, sizeof *set);
    hew_mutex_lock(&hew_pool_lock);
    hew_list_push_back(&dead, &set->link);
    dead_count++;
    hew_mutex_unlock(&hew_pool_lock);
}

/* Assigns an id and adds the set to the list.  False: there are too many sets. */
static bool
enlist(struct hew_pool_set *set)
{
    unsigned id = 1;
    hew_mutex_lock(&hew_pool_lock);
    while (id <= HEW_POOL_SETS_MAX && by_id[id] != NULL) {
        id++;
    }
    bool found = id <= HEW_POOL_SETS_MAX;
    if (found) {
        set->id = id;
        HEW_MUTEX_PLACE(&set->lock, pool_set, id);
        by_id[id] = set;
        atomic_store_explicit(&set->lives, true, memory_order_relaxed);
        hew_list_push_back(&sets, &set->link);
    }
    hew_mutex_unlock(&hew_pool_lock);
    return found;
}

struct hew_pool_set *
hew_pool_life_begin(const struct hew_pool_size *sizes, size_t count, const struct hew_pool_options *options, int *error)
{
    struct hew_pool_set *set = sizes == NULL ? NULL : new_set();
    *error = sizes == NULL ? EINVAL : ENOMEM;
    if (set == NULL) {
        return NULL;
    }
    *error = hew_pool_shape_options(set, options);
    *error = *error != 0 ? *error : hew_pool_shape_sizes(set, sizes, count);
    *error = *error != 0 ? *error : hew_pool_shape_groups(set);
    if (*error == 0 && !enlist(set)) {
        *error = EAGAIN;
    }
    if (*error != 0) {
        hew_pool_shape_end(set);
        bury(set);
        return NULL;
    }
    return set;
}

/* hew_pool_lock held.  Objects of a size that the program holds. */
static size_t
in_use(const struct hew_pool_set *set, unsigned number, size_t held)
{
    const struct hew_pool_class *class = &set->classes[number];
    size_t idle = held + hew_pool_block_idle(class->fixed);
    size_t capacity = atomic_load_explicit(&class->capacity, memory_order_relaxed);
    for (struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_acquire); block != NULL;
         block = atomic_load_explicit(&block->next, memory_order_acquire)) {
        idle += atomic_load_explicit(&block->free, memory_order_relaxed);
    }
    return capacity > idle ? capacity - idle : 0;
}

/* hew_pool_lock held.  Whether the program holds any object of the set. */
static bool
is_used(const struct hew_pool_set *set)
{
    for (unsigned number = 0; number < set->count; number++) {
        if (in_use(set, number, hew_pool_local_held(set, number)) != 0) {
            return true;
        }
    }
    return false;
}

/* hew_pool_lock held, but dropped while waiting.  Returns when no internal user of the set is left. */
static void
wait_for_users(struct hew_pool_set *set)
{
    while (set->users != 0) {
        _Atomic uint32_t nobody_wakes = 0;
        hew_mutex_unlock(&hew_pool_lock);
        hew_futex_wait(&nobody_wakes, 0, 1);
        hew_mutex_lock(&hew_pool_lock);
    }
}

static void
end_objects(struct hew_pool_set *set, bool all_free)
{
    for (unsigned number = 0; number < set->count; number++) {
        struct hew_pool_class *class = &set->classes[number];
        hew_pool_object_end(set, class->fixed, all_free);
        for (struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_relaxed); block != NULL;
             block = atomic_load_explicit(&block->next, memory_order_relaxed)) {
            if (block->range != NULL) {
                hew_pool_object_end(set, block, all_free);
            }
        }
    }
}

bool
hew_pool_life_end(struct hew_pool_set *set, bool objects)
{
    hew_pool_set_examine("hew_pool_destroy", set);
    hew_mutex_lock(&hew_pool_lock);
    wait_for_users(set);
    bool used = is_used(set);
    if (used && !objects) {
        hew_mutex_unlock(&hew_pool_lock);
        return false;
    }
    hew_pool_local_end_set(set, !used);
    hew_list_remove(&set->link);
    by_id[set->id] = NULL;
    set->id = HEW_POOL_NO_ID;
    hew_mutex_unlock(&hew_pool_lock);
    end_objects(set, !used);
    hew_pool_shape_end(set);
    bury(set);
    return true;
}

static struct hew_pool_figures
figures_of(const struct hew_pool_set *set, unsigned number)
{
    const struct hew_pool_class *class = &set->classes[number];
    struct hew_pool_figures figures = {.size = class->stride, .fixed = class->declared, .pools = class->pools};
    figures.dynamic = atomic_load_explicit(&class->capacity, memory_order_relaxed) - class->declared;
    figures.at_hand = hew_pool_local_held(set, number);
    figures.in_use = in_use(set, number, figures.at_hand);
    figures.grown = atomic_load_explicit(&class->grown, memory_order_relaxed);
    figures.gone = atomic_load_explicit(&class->gone, memory_order_relaxed);
    struct hew_pool_counts done = hew_pool_local_done(set, number);
    figures.fills = done.fills;
    figures.flushes = done.flushes;
    figures.beyond = atomic_load_explicit(&class->beyond, memory_order_relaxed);
    return figures;
}

size_t
hew_pool_life_figures(struct hew_pool_set *set, struct hew_pool_set_figures *total, struct hew_pool_figures *figures,
                      size_t room)
{
    hew_pool_set_examine("hew_pool_read_figures", set);
    hew_mutex_lock(&hew_pool_lock);
    hew_mutex_lock(&set->lock);
    for (unsigned number = 0; figures != NULL && number < set->count && number < room; number++) {
        figures[number] = figures_of(set, number);
    }
    if (total != NULL) {
        total->sizes = set->count;
        total->fixed_bytes = set->fixed == NULL ? 0 : set->fixed->size;
        total->dynamic_bytes = set->bytes - total->fixed_bytes;
        total->larger = hew_pool_local_larger(set);
    }
    hew_mutex_unlock(&set->lock);
    hew_mutex_unlock(&hew_pool_lock);
    return set->count;
}

static void
shrink_all(struct hew_pool_set *set, enum hew_pool_haste haste)
{
    for (unsigned number = 0; number < set->count; number++) {
        hew_pool_shrink(set, number, haste);
    }
}

/* Shrinks each set without holding the lock; the set cannot be destroyed meanwhile. */
static bool
shrink_each(enum hew_pool_haste haste)
{
    bool waits = false;
    hew_mutex_lock(&hew_pool_lock);
    for (unsigned id = 1; id <= HEW_POOL_SETS_MAX; id++) {
        struct hew_pool_set *set = by_id[id];
        if (set == NULL) {
            continue;
        }
        set->users++;
        hew_mutex_unlock(&hew_pool_lock);
        shrink_all(set, haste);
        hew_mutex_lock(&hew_pool_lock);
        set->users--;
        for (unsigned number = 0; set->options.release_ms != UINT64_MAX && number < set->count; number++) {
            waits = waits || hew_pool_waits(&set->classes[number]);
        }
    }
    hew_mutex_unlock(&hew_pool_lock);
    return waits;
}

void
hew_pool_life_leave(void)
{
    hew_mutex_lock(&hew_pool_lock);
    bool had = hew_pool_local_leave();
    hew_mutex_unlock(&hew_pool_lock);
    if (had) {
        shrink_each(HEW_POOL_BY_ROOM);
    }
}

uint64_t
hew_pool_life_round(void)
{
    return shrink_each(HEW_POOL_BY_TIME) ? ROUND_MS : 0;
}

void
hew_pool_life_each_mutex(void (*act)(struct hew_mutex *mutex))
{
    act(&hew_pool_lock);
    for (unsigned id = 1; id <= HEW_POOL_SETS_MAX; id++) {
        if (by_id[id] != NULL) {
            act(&by_id[id]->lock);
        }
    }
}

void
hew_pool_life_after_fork(void)
{
    for (unsigned id = 1; id <= HEW_POOL_SETS_MAX; id++) {
        if (by_id[id] != NULL) {
            by_id[id]->users = 0;
        }
    }
    hew_pool_local_after_fork();
}
