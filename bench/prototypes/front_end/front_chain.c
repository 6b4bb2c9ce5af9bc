/* SPDX-License-Identifier: MIT */
/*
 * front_chain: magazines that are intrusive LIFO chains (candidate B).  Each class has two of them, `head` (in use)
 * and `spare` (absent or full); overflow and underflow of both hand a whole chain to or from the depot of the thread's
 * arena in O(1).  A chain that the depot has no room for is walked and returned to the slabs.
 *
 * Class 0 is what the byte map says for every address that is not a small object: its room is 0 for ever.
 */
#include "slabs.h"

#ifndef PROTO_DEPOT_BATCHES
#define PROTO_DEPOT_BATCHES 4
#endif
#define TICKS 65536
#define CHAIN_FIRST 4
#define FLUSH_BATCH 64

/* 32 bytes; a chain's limit grows from CHAIN_FIRST to half of classes[].cache_max, as two chains make a magazine. */
struct magazine {
    void *head;
    uint32_t room;
    uint32_t limit;
    uint32_t ticks;
    uint32_t spare_count;
    void *spare;
};

struct thread {
    struct magazine magazines[CLASSES];
    struct bin *bins;
    uint64_t requests;
};

static struct thread no_thread;
static __thread struct thread *self = &no_thread;
static unsigned next_arena;

static __attribute__((constructor)) void
boot(void)
{
    slabs_boot();
}

static uint32_t
chain_most(unsigned class)
{
    return (classes[class].cache_max + 1) / 2;
}

static struct thread *
thread_birth(void)
{
    struct thread *thread = meta_take(sizeof *thread);
    *thread = no_thread;
    for (unsigned class = 1; class < CLASSES; class ++) {
        struct magazine *magazine = &thread->magazines[class];
        magazine->limit = chain_most(class) < CHAIN_FIRST ? chain_most(class) : CHAIN_FIRST;
        magazine->room = magazine->limit;
        magazine->ticks = TICKS;
    }
    thread->bins = bins[__atomic_fetch_add(&next_arena, 1, __ATOMIC_RELAXED) % ARENAS];
    self = thread;
    return thread;
}

static int
depot_give(struct bin *bin, void *head, uint32_t count)
{
    uint32_t most = PROTO_DEPOT_BATCHES * chain_most(bin->class);
    int room = 0;
    pthread_mutex_lock(&bin->lock);
    if (bin->chains == NULL) {
        bin->chains = meta_take(DEPOT_CHAINS * sizeof(struct depot_chain));
    }
    if (bin->depot_count + count <= most && bin->depot_chains < DEPOT_CHAINS) {
        bin->chains[bin->depot_chains++] = (struct depot_chain){head, count};
        bin->depot_count += count;
        room = 1;
    }
    pthread_mutex_unlock(&bin->lock);
    return room;
}

static struct depot_chain
depot_take(struct bin *bin)
{
    struct depot_chain chain = {NULL, 0};
    pthread_mutex_lock(&bin->lock);
    if (bin->depot_chains != 0) {
        chain = bin->chains[--bin->depot_chains];
        bin->depot_count -= chain.count;
    }
    pthread_mutex_unlock(&bin->lock);
    return chain;
}

static void
chain_flush(void *head)
{
    void *batch[FLUSH_BATCH];
    while (head != NULL) {
        size_t count = 0;
        while (head != NULL && count < FLUSH_BATCH) {
            batch[count++] = head;
            head = *(void **)head;
        }
        bin_flush(batch, count);
    }
}

/* A chain of `count` regions, lowest address first. */
static void *
chain_fill(struct bin *bin, size_t count)
{
    void *head = NULL;
    while (count != 0) {
        void *batch[FLUSH_BATCH];
        size_t part = count < FLUSH_BATCH ? count : FLUSH_BATCH;
        bin_fill(bin, batch, part);
        for (size_t i = 0; i < part; i++) {
            *(void **)batch[i] = head;
            head = batch[i];
        }
        count -= part;
    }
    return head;
}

/* Doubles the chain's limit; what the chain holds stays as it is. */
static void
magazine_grow(struct magazine *magazine, unsigned class)
{
    uint32_t limit = magazine->limit * 2 < chain_most(class) ? magazine->limit * 2 : chain_most(class);
    magazine->room += limit - magazine->limit;
    magazine->limit = limit;
}

static void
magazine_refill(struct thread *thread, unsigned class)
{
    struct magazine *magazine = &thread->magazines[class];
    struct depot_chain chain = {magazine->spare, magazine->spare_count};
    magazine->spare = NULL;
    if (chain.head == NULL) {
        chain = depot_take(&thread->bins[class]);
    }
    if (chain.head == NULL) {
        magazine_grow(magazine, class);
        chain.count = magazine->limit;
        chain.head = chain_fill(&thread->bins[class], chain.count);
    }
    magazine->head = chain.head;
    if (chain.count > magazine->limit) {
        magazine->limit = chain.count;
    }
    magazine->room = magazine->limit - chain.count;
}

static __attribute__((noinline)) void *
malloc_slow(size_t size, unsigned class)
{
    if (size > PROTO_SMALL_MAX) {
        die("size out of the prototype's range");
    }
    struct thread *thread = self == &no_thread ? thread_birth() : self;
    struct magazine *magazine = &thread->magazines[class];
    if (magazine->ticks == 0) {
        magazine->ticks = TICKS;
        thread->requests += TICKS;
    }
    if (magazine->head == NULL) {
        magazine_refill(thread, class);
    }
    void *object = magazine->head;
    magazine->head = *(void **)object;
    magazine->room++;
    return object;
}

void *
proto_malloc(size_t size)
{
    if (unlikely(size > PROTO_SMALL_MAX)) {
        return malloc_slow(size, 0);
    }
    unsigned class = class_of[(size + 7) >> 3];
    struct magazine *magazine = &self->magazines[class];
    void *object = magazine->head;
    if (unlikely(object == NULL)) {
        return malloc_slow(size, class);
    }
    if (unlikely(--magazine->ticks == 0)) {
        return malloc_slow(size, class);
    }
    magazine->head = *(void **)object;
    magazine->room++;
    return object;
}

static __attribute__((noinline)) void
free_slow(void *object, unsigned class)
{
    if (object == NULL) {
        return;
    }
    if (class == 0) {
        die("free of a foreign pointer");
    }
    struct thread *thread = self == &no_thread ? thread_birth() : self;
    struct magazine *magazine = &thread->magazines[class];
    if (magazine->room == 0) {
        if (magazine->spare != NULL) {
            if (!depot_give(&thread->bins[class], magazine->spare, magazine->spare_count)) {
                chain_flush(magazine->spare);
            }
        }
        magazine->spare = magazine->head;
        magazine->spare_count = magazine->limit;
        magazine->head = NULL;
        magazine->room = magazine->limit;
        magazine_grow(magazine, class);
    }
    *(void **)object = magazine->head;
    magazine->head = object;
    magazine->room--;
}

static _Noreturn __attribute__((noinline)) void
free_twice(void)
{
    die("double free");
}

void
proto_free(void *object)
{
    unsigned class = page_map[(uintptr_t)object >> PAGE_SHIFT];
    struct magazine *magazine = &self->magazines[class];
    if (unlikely(magazine->room == 0)) {
        free_slow(object, class);
        return;
    }
    if (unlikely(magazine->head == object)) {
        free_twice();
    }
    magazine->room--;
    *(void **)object = magazine->head;
    magazine->head = object;
}

void
proto_thread_exit(void)
{
    struct thread *thread = self;
    if (thread == &no_thread) {
        return;
    }
    for (unsigned class = 1; class < CLASSES; class ++) {
        chain_flush(thread->magazines[class].head);
        chain_flush(thread->magazines[class].spare);
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
            while (bin->depot_chains != 0) {
                chain_flush(depot_take(bin).head);
            }
        }
    }
    bins_trim();
    pages_purge();
}
