/* SPDX-License-Identifier: MIT */
/*
 * front_array: magazines that are arrays of pointers, kept outside of the objects (candidate A); with
 * PROTO_DEPOT_BATCHES > 0 overflow and underflow go through a depot first (candidate B2).
 *
 *   slots   [0]=NULL  [1] ... [n]  |  free room
 *                            ^top             ^limit
 *
 * malloc pops top[-1]; the NULL below the first object makes an empty magazine and an empty pop the same test.
 * Class 0 is what the byte map says for every address that is not a small object: its limit is NULL, so that one
 * compare in free covers "full", "not ours" and "thread without a cache".
 *
 * A miss doubles the capacity up to classes[].cache_max and fetches half of it; an overflow flushes the oldest half
 * (PROTO_GROW_ON_OVERFLOW: doubles first, flushes only at the maximum).
 */
#include <string.h>

#include "slabs.h"

#ifndef PROTO_DEPOT_BATCHES
#define PROTO_DEPOT_BATCHES 0 /* batches of half a full-grown magazine for each arena and class */
#endif
#ifndef PROTO_ROUTE_OWNER
#define PROTO_ROUTE_OWNER 0 /* 1: an overflowing batch goes to the depot of its oldest object's arena */
#endif
#ifndef PROTO_GROW_ON_OVERFLOW
#define PROTO_GROW_ON_OVERFLOW 1
#endif
#ifndef PROTO_SLOTS_FIRST
#define PROTO_SLOTS_FIRST 8
#endif
#ifndef PROTO_THREAD_BYTES
#define PROTO_THREAD_BYTES 0 /* most that a thread's magazines may be able to hold together; 0: no such bound */
#endif
#define STEAL_PERIOD 16
#define TICKS 65536

struct thread {
    void **top[CLASSES];
    void **limit[CLASSES];
    uint32_t ticks[CLASSES];
    void **slots[CLASSES];
    uint32_t slot_count[CLASSES]; /* including the NULL at the bottom */
    struct bin *bins;
    uint64_t requests;
    size_t capacity;          /* bytes that all magazines together can hold */
    uint8_t refused[CLASSES]; /* growth asked for at the bound; every STEAL_PERIOD-th time it may steal */
    unsigned steal_next;      /* class whose capacity is taken next when the bound is reached */
};

static void *no_slots[1];
static struct thread no_thread = {
    .top = {[0 ... CLASSES - 1] = no_slots + 1},
    .limit = {[0 ... CLASSES - 1] = NULL},
};
static __thread struct thread *self = &no_thread;
static unsigned next_arena;

static __attribute__((constructor)) void
boot(void)
{
    slabs_boot();
}

static struct thread *
thread_birth(void)
{
    struct thread *thread = meta_take(sizeof *thread);
    memcpy(thread, &no_thread, sizeof *thread);
    for (unsigned class = 0; class < CLASSES; class ++) {
        thread->ticks[class] = TICKS;
    }
    thread->bins = bins[__atomic_fetch_add(&next_arena, 1, __ATOMIC_RELAXED) % ARENAS];
    self = thread;
    return thread;
}

static size_t
magazine_capacity(const struct thread *thread, unsigned class)
{
    return thread->slot_count[class] != 0 ? (size_t)(thread->limit[class] - thread->slots[class] - 1) : 0;
}

/* Gives the magazine `count` slots; the newest objects that fit stay. */
static void
magazine_resize(struct thread *thread, unsigned class, uint32_t count)
{
    uint32_t most = classes[class].cache_max;
    uint32_t old = thread->slot_count[class];
    size_t capacity = count > most + 1 ? most : count - 1;
    void **slots = meta_take(count * sizeof(void *));
    size_t held = 0;
    slots[0] = NULL;
    thread->capacity += (capacity - magazine_capacity(thread, class)) * classes[class].size;
    if (old != 0) {
        void **first = thread->slots[class] + 1;
        held = (size_t)(thread->top[class] - first);
        size_t surplus = held > capacity ? held - capacity : 0;
        bin_flush(first, surplus);
        held -= surplus;
        memcpy(slots + 1, first + surplus, held * sizeof(void *));
        meta_give(thread->slots[class], old * sizeof(void *));
    }
    thread->slots[class] = slots;
    thread->slot_count[class] = count;
    thread->top[class] = slots + 1 + held;
    thread->limit[class] = slots + 1 + capacity;
}

/* Halves other magazines in turn until `bytes` fit under the thread's bound; false when none is left to halve. */
static int
capacity_steal(struct thread *thread, unsigned class, size_t bytes)
{
    for (unsigned tries = 0; tries < CLASSES && thread->capacity + bytes > PROTO_THREAD_BYTES; tries++) {
        unsigned victim = thread->steal_next++ % CLASSES;
        if (victim != class && thread->slot_count[victim] > PROTO_SLOTS_FIRST) {
            magazine_resize(thread, victim, thread->slot_count[victim] / 2);
        }
    }
    return thread->capacity + bytes <= PROTO_THREAD_BYTES;
}

/* Gives the magazine twice the slots; false when it, or the thread, is at its maximum. */
static int
magazine_grow(struct thread *thread, unsigned class)
{
    uint32_t old = thread->slot_count[class];
    if (old == 0) {
        magazine_resize(thread, class, PROTO_SLOTS_FIRST);
        return 1;
    }
    if (magazine_capacity(thread, class) == classes[class].cache_max) {
        return 0;
    }
    size_t bytes = (size_t)old * classes[class].size;
    if (PROTO_THREAD_BYTES != 0 && thread->capacity + bytes > PROTO_THREAD_BYTES &&
        (++thread->refused[class] % STEAL_PERIOD != 0 || !capacity_steal(thread, class, bytes))) {
        return 0;
    }
    magazine_resize(thread, class, old * 2);
    return 1;
}

/* Moves up to `count` objects from the depot to `out`. */
static size_t
depot_take(struct bin *bin, void **out, size_t count)
{
    size_t got = 0;
    pthread_mutex_lock(&bin->lock);
    if (bin->depot_count != 0) {
        got = bin->depot_count < count ? bin->depot_count : count;
        bin->depot_count -= (uint32_t)got;
        memcpy(out, bin->depot + bin->depot_count, got * sizeof(void *));
    }
    pthread_mutex_unlock(&bin->lock);
    return got;
}

/* Takes all `count` objects, or none when the depot has no room for them. */
static int
depot_give(struct bin *bin, void **objects, size_t count)
{
    size_t most = (size_t)PROTO_DEPOT_BATCHES * ((classes[bin->class].cache_max + 1) / 2);
    int room = 0;
    pthread_mutex_lock(&bin->lock);
    if (bin->depot == NULL) {
        bin->depot = meta_take(most * sizeof(void *));
    }
    if (bin->depot_count + count <= most) {
        memcpy(bin->depot + bin->depot_count, objects, count * sizeof(void *));
        bin->depot_count += (uint32_t)count;
        room = 1;
    }
    pthread_mutex_unlock(&bin->lock);
    return room;
}

static void
batch_give(struct thread *thread, unsigned class, void **objects, size_t count)
{
    struct bin *bin = &thread->bins[class];
    if (PROTO_DEPOT_BATCHES > 0 && PROTO_ROUTE_OWNER) {
        bin = ((struct slab *)page_slab[page_of(objects[0])])->bin;
    }
    if (PROTO_DEPOT_BATCHES == 0 || !depot_give(bin, objects, count)) {
        bin_flush(objects, count);
    }
}

static __attribute__((noinline)) void *
malloc_slow(unsigned class)
{
    struct thread *thread = self == &no_thread ? thread_birth() : self;
    if (thread->ticks[class] == 0) {
        thread->ticks[class] = TICKS;
        thread->requests += TICKS;
    }
    if (thread->top[class][-1] == NULL) {
        magazine_grow(thread, class);
        struct bin *bin = &thread->bins[class];
        void **bottom = thread->slots[class] + 1;
        size_t want = (size_t)(thread->limit[class] - bottom + 1) / 2;
        size_t got = PROTO_DEPOT_BATCHES > 0 ? depot_take(bin, bottom, want) : 0;
        if (got == 0) {
            bin_fill(bin, bottom, want);
            got = want;
        }
        thread->top[class] = bottom + got;
    }
    return *--thread->top[class];
}

static __attribute__((noinline)) void *
malloc_first(size_t size)
{
    if (size > PROTO_SMALL_MAX) {
        die("size out of the prototype's range");
    }
    thread_birth();
    return proto_malloc(size);
}

/*
 * Three rare cases leave: a size that is not small, an empty magazine (also a thread without one), a tick that is due.
 */
void *
proto_malloc(size_t size)
{
    if (unlikely(size > PROTO_SMALL_MAX)) {
        return malloc_first(size);
    }
    unsigned class = class_of[(size + 7) >> 3];
    struct thread *thread = self;
    void **top = thread->top[class];
    void *object = top[-1];
    if (unlikely(object == NULL)) {
        return thread == &no_thread ? malloc_first(size) : malloc_slow(class);
    }
    if (unlikely(--thread->ticks[class] == 0)) {
        return malloc_slow(class);
    }
    thread->top[class] = top - 1;
    return object;
}

static __attribute__((noinline)) void
free_slow(void *object, unsigned class)
{
    struct thread *thread = self == &no_thread ? thread_birth() : self;
    if (object == NULL) {
        return;
    }
    if (class == 0) {
        die("free of a foreign pointer");
    }
    void **first = thread->slots[class] + 1;
    if (thread->slot_count[class] == 0 || thread->top[class] == thread->limit[class]) {
        if (!((PROTO_GROW_ON_OVERFLOW || thread->slot_count[class] == 0) && magazine_grow(thread, class))) {
            size_t held = (size_t)(thread->top[class] - first);
            size_t oldest = (held + 1) / 2;
            batch_give(thread, class, first, oldest);
            memmove(first, first + oldest, (held - oldest) * sizeof(void *));
            thread->top[class] -= oldest;
        }
    }
    *thread->top[class]++ = object;
}

static _Noreturn __attribute__((noinline)) void
free_twice(void)
{
    die("double free");
}

/* Two rare cases leave: no room (also: not ours, no cache), the object freed last freed again. */
void
proto_free(void *object)
{
    unsigned class = page_map[(uintptr_t)object >> PAGE_SHIFT];
    struct thread *thread = self;
    void **top = thread->top[class];
    if (unlikely(top >= thread->limit[class])) {
        free_slow(object, class);
        return;
    }
    if (unlikely(top[-1] == object)) {
        free_twice();
    }
    *top = object;
    thread->top[class] = top + 1;
}

void
proto_thread_exit(void)
{
    struct thread *thread = self;
    if (thread == &no_thread) {
        return;
    }
    for (unsigned class = 1; class < CLASSES; class ++) {
        if (thread->slot_count[class] != 0) {
            void **first = thread->slots[class] + 1;
            bin_flush(first, (size_t)(thread->top[class] - first));
            meta_give(thread->slots[class], thread->slot_count[class] * sizeof(void *));
        }
    }
    self = &no_thread;
    meta_give(thread, sizeof *thread);
}

void
proto_purge(void)
{
    for (unsigned arena = 0; arena < ARENAS; arena++) {
        for (unsigned class = 1; class < CLASSES; class ++) {
            struct bin *bin = &bins[arena][class];
            if (bin->depot_count != 0) {
                void *batch[64];
                size_t got;
                while ((got = depot_take(bin, batch, 64)) != 0) {
                    bin_flush(batch, got);
                }
            }
        }
    }
    bins_trim();
    pages_purge();
}
