/* SPDX-License-Identifier: MIT */
#include "pool/local.h"

#include "alloc/alloc.h"
#include "meta/memory.h"
#include "pool/group.h"

#include <string.h>

/* Threads start their search in a fixed group 512 objects apart.  So they do not contend for the same words, and do not
 * get objects that another processor has just written. */
#define WORDS_APART (HEW_CACHE_LINE / sizeof(uint64_t))
#define IDLE_MOST 64 /* kept tables of ended threads: some 10 KB each */

static void *no_slot[2]; /* never written: the NULL below every placeholder magazine */
static struct {
    struct hew_pool_local local;
    struct hew_pool_magazine magazines[HEW_POOL_SIZES_MAX];
} no_objects;
static struct hew_pool_thread no_thread;
struct hew_mutex hew_pool_lock = HEW_MUTEX(pools);
/* Guarded by hew_pool_lock. */
static struct hew_list threads;
static unsigned idle_count, made_count;

__thread struct hew_pool_thread *hew_pool_self = &no_thread;
static __thread bool ended;

static void
close_magazines(struct hew_pool_local *local, unsigned count)
{
    for (unsigned number = 0; number < count; number++) {
        local->magazines[number] = (struct hew_pool_magazine){.top = &no_slot[1]};
    }
}

static void
forget_all(struct hew_pool_thread *thread)
{
    for (unsigned id = 0; id <= HEW_POOL_SETS_MAX; id++) {
        thread->at[id] = &no_objects.local;
    }
}

void
hew_pool_local_boot(void)
{
    close_magazines(&no_objects.local, HEW_POOL_SIZES_MAX);
    forget_all(&no_thread);
    hew_list_begin(&threads);
}

static size_t
local_bytes(const struct hew_pool_set *set)
{
    return sizeof(struct hew_pool_local) +
           set->count * (sizeof(struct hew_pool_magazine) + sizeof(struct hew_pool_counts));
}

static struct hew_pool_thread *
thread_of(struct hew_list *link)
{
    return HEW_CONTAINER(link, struct hew_pool_thread, link);
}

/* hew_pool_lock held.  Takes the table of an ended thread, with its empty magazines; NULL: there is none. */
static struct hew_pool_thread *
find_idle(void)
{
    for (struct hew_list *link = threads.next; link != &threads; link = link->next) {
        if (thread_of(link)->idle) {
            idle_count--;
            return thread_of(link);
        }
    }
    return NULL;
}

static struct hew_pool_thread *
begin_thread(void)
{
    hew_mutex_lock(&hew_pool_lock);
    struct hew_pool_thread *thread = idle_count == 0 ? NULL : find_idle();
    if (thread == NULL && (thread = hew_meta_take(sizeof *thread)) != NULL) {
        forget_all(thread);
        thread->turn = made_count++;
        thread->real = true;
        hew_list_push_back(&threads, &thread->link);
    }
    if (thread != NULL) {
        thread->idle = false;
        hew_pool_self = thread;
    }
    hew_mutex_unlock(&hew_pool_lock);
    return thread;
}

static struct hew_pool_thread *
own_thread(void)
{
    if (HEW_LIKELY(hew_pool_self->real)) {
        return hew_pool_self;
    }
    /* Only a thread with a cache is notified of its own end. */
    return ended || hew_alloc_own_cache() == NULL ? NULL : begin_thread();
}

struct hew_pool_local *
hew_pool_local_get(struct hew_pool_set *set)
{
    struct hew_pool_local *local = hew_pool_self->at[set->id];
    if (HEW_LIKELY(local->set != NULL)) {
        return local;
    }
    struct hew_pool_thread *thread = set->id == HEW_POOL_NO_ID ? NULL : own_thread();
    if (thread == NULL || thread->at[set->id]->set != NULL) {
        return thread == NULL ? NULL : thread->at[set->id];
    }
    local = hew_meta_take(local_bytes(set));
    if (local != NULL) {
        close_magazines(local, set->count);
        local->set = set;
        local->home = (size_t)thread->turn * WORDS_APART;
        hew_mutex_lock(&hew_pool_lock); /* other threads iterate over the tables */
        thread->at[set->id] = local;
        hew_mutex_unlock(&hew_pool_lock);
    }
    return local;
}

static void **
base_of(const struct hew_pool_local *local, unsigned number)
{
    const struct hew_pool_magazine *magazine = &local->magazines[number];
    return magazine->limit == NULL ? NULL : magazine->limit - local->set->classes[number].at_hand - 1;
}

bool
hew_pool_local_open(struct hew_pool_local *local, unsigned number)
{
    unsigned room = local->set->classes[number].at_hand;
    void **slots = room == 0 ? NULL : hew_meta_take((room + 1) * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    local->magazines[number].first = local->set->classes[number].fixed->address;
    local->magazines[number].reciprocal = local->set->classes[number].fixed->reciprocal;
    /* Other threads recognize a magazine by its limit. */
    __atomic_store_n(&local->magazines[number].top, slots + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&local->magazines[number].limit, slots + 1 + room, __ATOMIC_RELEASE);
    return true;
}

static size_t
depth_of(const struct hew_pool_local *local, unsigned number)
{
    void **base = base_of(local, number);
    return base == NULL ? 0 : (size_t)(local->magazines[number].top - base) - 1;
}

/* Removes the oldest objects from a magazine; returns how many.  The magazine is empty during the change, so a child
 * forked at this moment finds it empty. */
static unsigned
take_oldest(struct hew_pool_local *local, unsigned number, size_t depth, void **going, size_t most)
{
    void **slots = base_of(local, number) + 1;
    size_t some = depth < most ? depth : most;
    (void)__atomic_exchange_n(&local->magazines[number].top, slots, __ATOMIC_SEQ_CST); /* also a fence */
    memcpy(going, slots, some * sizeof *going);
    memmove(slots, slots + some, (depth - some) * sizeof *slots);
    __atomic_store_n(&local->magazines[number].top, slots + depth - some, __ATOMIC_RELEASE);
    return (unsigned)some;
}

bool
hew_pool_local_flush(struct hew_pool_local *local, unsigned number, size_t keep)
{
    bool may_shrink = false;
    for (size_t depth = depth_of(local, number); depth > keep; depth = depth_of(local, number)) {
        void *going[HEW_POOL_AT_ONCE];
        size_t most = depth - keep < HEW_POOL_AT_ONCE ? depth - keep : HEW_POOL_AT_ONCE;
        unsigned some = take_oldest(local, number, depth, going, most);
        may_shrink = hew_pool_group_give(local->set, "hew_pool_free", going, some) || may_shrink;
    }
    return may_shrink;
}

/* Drops the thread's cache of a set, and the memory of its magazines. */
static void
end_local(struct hew_pool_thread *thread, unsigned id, bool give)
{
    struct hew_pool_local *local = thread->at[id];
    if (local->set == NULL) {
        return;
    }
    for (unsigned number = 0; number < local->set->count; number++) {
        void **base = base_of(local, number);
        if (give) {
            hew_pool_local_flush(local, number, 0);
        }
        const struct hew_pool_counts *counts = hew_pool_local_counts(local, number);
        local->set->classes[number].done.fills += counts->fills;
        local->set->classes[number].done.flushes += counts->flushes;
        if (base != NULL) {
            hew_meta_give(base, (local->set->classes[number].at_hand + 1) * sizeof *base);
        }
    }
    atomic_fetch_add_explicit(&local->set->larger, local->larger, memory_order_relaxed);
    thread->at[id] = &no_objects.local;
    hew_meta_give(local, local_bytes(local->set));
}

void
hew_pool_local_end_set(struct hew_pool_set *set, bool give)
{
    for (struct hew_list *link = threads.next; set->id != HEW_POOL_NO_ID && link != &threads; link = link->next) {
        end_local(thread_of(link), set->id, give);
    }
}

HEW_UNCHECKED_THREADS static size_t
depth_from_outside(const struct hew_pool_local *local, unsigned number)
{
    void **limit = __atomic_load_n(&local->magazines[number].limit, __ATOMIC_ACQUIRE);
    void **top = __atomic_load_n(&local->magazines[number].top, __ATOMIC_RELAXED);
    return limit == NULL ? 0 : (size_t)(top - (limit - local->set->classes[number].at_hand));
}

size_t
hew_pool_local_held(const struct hew_pool_set *set, unsigned number)
{
    size_t held = 0;
    for (struct hew_list *link = threads.next; set->id != HEW_POOL_NO_ID && link != &threads; link = link->next) {
        const struct hew_pool_local *local = thread_of(link)->at[set->id];
        held += local->set == NULL ? 0 : depth_from_outside(local, number);
    }
    return held;
}

struct hew_pool_counts
hew_pool_local_done(const struct hew_pool_set *set, unsigned number)
{
    struct hew_pool_counts done = set->classes[number].done;
    for (struct hew_list *link = threads.next; link != &threads; link = link->next) {
        const struct hew_pool_local *local = thread_of(link)->at[set->id];
        const struct hew_pool_counts *counts = local->set == NULL ? NULL : hew_pool_local_counts(local, number);
        done.fills += counts == NULL ? 0 : __atomic_load_n(&counts->fills, __ATOMIC_RELAXED);
        done.flushes += counts == NULL ? 0 : __atomic_load_n(&counts->flushes, __ATOMIC_RELAXED);
    }
    return done;
}

uint64_t
hew_pool_local_larger(const struct hew_pool_set *set)
{
    uint64_t larger = atomic_load_explicit(&set->larger, memory_order_relaxed);
    for (struct hew_list *link = threads.next; link != &threads; link = link->next) {
        const struct hew_pool_local *local = thread_of(link)->at[set->id];
        larger += local->set == NULL ? 0 : __atomic_load_n(&local->larger, __ATOMIC_RELAXED);
    }
    return larger;
}

/* hew_pool_lock held.  The thread does not exist any more. */
static void
end_thread(struct hew_pool_thread *thread, bool keep)
{
    for (unsigned id = 1; id <= HEW_POOL_SETS_MAX; id++) {
        struct hew_pool_local *local = thread->at[id];
        if (!keep) {
            end_local(thread, id, true);
            continue;
        }
        for (unsigned number = 0; local->set != NULL && number < local->set->count; number++) {
            hew_pool_local_flush(local, number, 0);
        }
    }
    thread->idle = keep;
    if (keep) {
        idle_count++;
    } else {
        hew_list_remove(&thread->link);
        hew_meta_give(thread, sizeof *thread);
    }
}

bool
hew_pool_local_leave(void)
{
    struct hew_pool_thread *thread = hew_pool_self;
    ended = true;
    hew_pool_self = &no_thread;
    if (thread->real) {
        end_thread(thread, idle_count < IDLE_MOST);
    }
    return thread->real;
}

void
hew_pool_local_after_fork(void)
{
    for (struct hew_list *link = threads.next, *next; link != NULL && link != &threads; link = next) {
        next = link->next;
        if (thread_of(link) != hew_pool_self && !thread_of(link)->idle) {
            end_thread(thread_of(link), false);
        }
    }
}
