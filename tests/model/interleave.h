/* SPDX-License-Identifier: MIT */
/*
 * interleave: runs a few threads in every order in which their atomic operations can follow each other.
 *
 * The threads are coroutines of one thread.  A source that is included below this header has its atomic operations replaced
 * by ones that first hand over to the scheduler, which tries each thread that can go on: depth first, each time from the
 * beginning.  What a thread does next depends only on what it has read, so a state is the memory under test and, for each
 * thread, a hash of its steps and of what they returned; a state that was seen before is not followed again.
 *
 * Every operation is sequentially consistent here: what a weaker order may add is argued where it is used.
 */
#ifndef HEW_TESTS_MODEL_INTERLEAVE_H
#define HEW_TESTS_MODEL_INTERLEAVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define INTERLEAVE_THREADS 4
#define INTERLEAVE_STEPS 400
#define INTERLEAVE_STACK ((size_t)64 << 10)
#define INTERLEAVE_LG_SEEN 22

struct interleave_thread {
    ucontext_t context;
    void (*run)(void);
    uint64_t read;     /* hash of what its operations have returned */
    const bool *waits; /* for this lock; NULL: for none */
    bool ended;
};

struct interleave {
    unsigned count; /* of threads */
    void (*begin)(void);
    void (*end)(void);        /* after each complete run: what must hold */
    uint64_t (*memory)(void); /* a hash of what the threads share */
    void (*run[INTERLEAVE_THREADS])(void);
};

static struct interleave_thread interleave_threads[INTERLEAVE_THREADS];
static char interleave_stacks[INTERLEAVE_THREADS][INTERLEAVE_STACK];
static ucontext_t interleave_scheduler;
static int interleave_current = -1; /* -1: no thread runs, and operations are plain ones */
static uint64_t interleave_seen[(size_t)1 << INTERLEAVE_LG_SEEN];
static size_t interleave_states, interleave_runs;

static inline uint64_t
interleave_mix(uint64_t hash, uint64_t value)
{
    hash = (hash + value + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Before each atomic operation. */
static inline void
interleave_step(void)
{
    if (interleave_current >= 0) {
        struct interleave_thread *thread = &interleave_threads[interleave_current];
        thread->read = interleave_mix(thread->read, 1); /* it is one step further */
        swapcontext(&thread->context, &interleave_scheduler);
    }
}

static inline uint64_t
interleave_note(uint64_t value)
{
    if (interleave_current >= 0) {
        struct interleave_thread *thread = &interleave_threads[interleave_current];
        thread->read = interleave_mix(thread->read, value + 1);
    }
    return value;
}

static void
interleave_entry(void)
{
    struct interleave_thread *thread = &interleave_threads[interleave_current];
    thread->run();
    thread->ended = true;
    swapcontext(&thread->context, &interleave_scheduler);
}

static void
interleave_restart(const struct interleave *test)
{
    test->begin();
    for (unsigned i = 0; i < test->count; i++) {
        struct interleave_thread *thread = &interleave_threads[i];
        thread->run = test->run[i];
        thread->read = 0;
        thread->waits = NULL;
        thread->ended = false;
        getcontext(&thread->context);
        thread->context.uc_stack.ss_sp = interleave_stacks[i];
        thread->context.uc_stack.ss_size = INTERLEAVE_STACK;
        thread->context.uc_link = NULL;
        makecontext(&thread->context, interleave_entry, 0);
    }
}

static void
interleave_go_on(unsigned thread)
{
    interleave_current = (int)thread;
    swapcontext(&interleave_scheduler, &interleave_threads[thread].context);
    interleave_current = -1;
}

/* Whether the present state is new. */
static bool
interleave_is_new(const struct interleave *test)
{
    uint64_t key = test->memory();
    for (unsigned i = 0; i < test->count; i++) {
        key = interleave_mix(key, interleave_threads[i].read + interleave_threads[i].ended);
    }
    size_t mask = ((size_t)1 << INTERLEAVE_LG_SEEN) - 1, place = (size_t)key & mask;
    key = key == 0 ? 1 : key;
    while (interleave_seen[place] != 0) {
        if (interleave_seen[place] == key) {
            return false;
        }
        place = (place + 1) & mask;
    }
    interleave_seen[place] = key;
    if (++interleave_states > mask / 2) {
        printf("too many states\n");
        exit(1);
    }
    return true;
}

static inline bool
interleave_can_go_on(const struct interleave_thread *thread)
{
    return !thread->ended && (thread->waits == NULL || !*thread->waits);
}

/* The first thread from `from` on that can go on; count: none. */
static unsigned
interleave_next(const struct interleave *test, unsigned from)
{
    while (from < test->count && !interleave_can_go_on(&interleave_threads[from])) {
        from++;
    }
    return from;
}

/* A lock, which is part of the memory under test.  What is under it is read without a step: `under` is a hash of that. */
static inline void
interleave_lock(bool *lock, uint64_t (*under)(void))
{
    if (interleave_current >= 0) {
        struct interleave_thread *thread = &interleave_threads[interleave_current];
        thread->waits = lock;
        interleave_step();
        thread->waits = NULL;
        interleave_note(under());
    }
    *lock = true;
}

static inline void
interleave_unlock(bool *lock)
{
    interleave_step();
    *lock = false;
}

/* No thread can go on: each has ended, or they wait for each other. */
static void
interleave_end(const struct interleave *test)
{
    for (unsigned i = 0; i < test->count; i++) {
        if (!interleave_threads[i].ended) {
            printf("a thread waits for ever\n");
            exit(1);
        }
    }
    test->end();
}

/* Follows `choices` and then, while the states are new, always the first thread that can go on.  Returns how many choices
 * there are now. */
static unsigned
interleave_run(const struct interleave *test, unsigned char *choices, unsigned fixed)
{
    unsigned depth = 0;
    interleave_runs++;
    interleave_restart(test);
    for (;; depth++) {
        if (depth >= fixed) {
            unsigned next = interleave_next(test, 0);
            if (next == test->count) {
                interleave_end(test);
                return depth;
            }
            if (!interleave_is_new(test)) {
                return depth;
            }
            if (depth == INTERLEAVE_STEPS) {
                printf("too many steps\n");
                exit(1);
            }
            choices[depth] = (unsigned char)next;
        }
        interleave_go_on(choices[depth]);
    }
}

/* The same up to the last choice, where the next thread goes on.  False: there is none. */
static bool
interleave_turn(const struct interleave *test, unsigned char *choices, unsigned last)
{
    interleave_restart(test);
    for (unsigned depth = 0; depth < last; depth++) {
        interleave_go_on(choices[depth]);
    }
    unsigned next = interleave_next(test, choices[last] + 1u);
    choices[last] = (unsigned char)next;
    return next < test->count;
}

static void
interleave_all(const struct interleave *test)
{
    static unsigned char choices[INTERLEAVE_STEPS];
    memset(interleave_seen, 0, sizeof interleave_seen);
    interleave_states = interleave_runs = 0;
    unsigned depth = interleave_run(test, choices, 0);
    while (depth > 0) {
        if (interleave_turn(test, choices, depth - 1)) {
            depth = interleave_run(test, choices, depth);
        } else {
            depth--;
        }
    }
    printf("  %zu states, %zu runs\n", interleave_states, interleave_runs);
}

#define INTERLEAVE_OPERATION(pointer, operation)                                                                       \
    (interleave_step(), (__typeof__(*(pointer) + 0))interleave_note((uint64_t)(operation)))

#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_compare_exchange_strong
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_compare_exchange_strong_explicit
#define atomic_load_explicit(pointer, order) INTERLEAVE_OPERATION(pointer, *(pointer))
#define atomic_store_explicit(pointer, value, order) (interleave_step(), *(pointer) = (value))
#define atomic_fetch_or_explicit(pointer, value, order) INTERLEAVE_OPERATION(pointer, atomic_fetch_or(pointer, value))
#define atomic_fetch_and_explicit(pointer, value, order) INTERLEAVE_OPERATION(pointer, atomic_fetch_and(pointer, value))
#define atomic_fetch_add_explicit(pointer, value, order) INTERLEAVE_OPERATION(pointer, atomic_fetch_add(pointer, value))
#define atomic_fetch_sub_explicit(pointer, value, order) INTERLEAVE_OPERATION(pointer, atomic_fetch_sub(pointer, value))
#define atomic_compare_exchange_strong_explicit(pointer, expected, desired, succeeds, fails)                           \
    (interleave_step(),                                                                                                \
     interleave_note(__atomic_compare_exchange_n((__typeof__(*(pointer) + 0) *)(uintptr_t)(pointer), expected,         \
                                                 desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) != 0)
#define atomic_load(pointer) atomic_load_explicit(pointer, memory_order_seq_cst)
#define atomic_store(pointer, value) atomic_store_explicit(pointer, value, memory_order_seq_cst)
#define atomic_exchange(pointer, value)                                                                                \
    INTERLEAVE_OPERATION(pointer, ({                                                                                   \
                             __typeof__(*(pointer) + 0) before = *(pointer);                                           \
                             *(pointer) = (value);                                                                     \
                             before;                                                                                   \
                         }))
#define atomic_compare_exchange_strong(pointer, expected, desired)                                                     \
    atomic_compare_exchange_strong_explicit(pointer, expected, desired, memory_order_seq_cst, memory_order_seq_cst)

#endif
