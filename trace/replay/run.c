/* SPDX-License-Identifier: MIT */
/* run: see run.h. */
#include "replay/run.h"

#include "replay/memory.h"
#include "replay/windows.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define BUFFER ((size_t)32 << 10)
#define STACK ((size_t)256 << 10)
#define LOOK_EVERY_NS 500000

struct replay {
    int file;
    const struct hew_plan *plan;
    const struct hew_plan_thread *threads;
    void **slots;
    enum hew_touch touch;
    bool real_time;
    uint64_t started; /* nanoseconds */
    struct hew_windows windows;
    struct hew_memory memory;
    atomic_flag looking;
    _Atomic uint64_t next_look;
    _Atomic uint32_t next_thread; /* the next thread to start */
    _Atomic uint32_t running;
    _Atomic uint64_t failed;
    _Atomic bool broken;
};

struct runner {
    struct replay *replay;
    const struct hew_plan_thread *thread;
    uint64_t *buffer;
    const uint64_t *at;
    const uint64_t *end;
    uint64_t offset; /* file offset of the words after the buffer */
    uint64_t left;   /* words after the buffer */
    uint64_t failed;
    uint64_t high_size, high_old; /* from a LARGE */
    uint64_t touched;             /* from a TOUCH: bytes + 1; 0: no TOUCH came */
};

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *
map(size_t size, int flags)
{
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return mapped == MAP_FAILED ? NULL : mapped;
}

/* The next word; after the last one HEW_PLAN_END. */
static uint64_t
next_word(struct runner *runner)
{
    size_t wanted;
    ssize_t got;

    if (__builtin_expect(runner->at == runner->end, 0)) {
        wanted = runner->left * sizeof(uint64_t) < BUFFER ? runner->left * sizeof(uint64_t) : BUFFER;
        got = wanted == 0 ? 0 : pread(runner->replay->file, runner->buffer, wanted, (off_t)runner->offset);
        if (got != (ssize_t)wanted || wanted == 0) {
            atomic_store(&runner->replay->broken, true);
            return HEW_PLAN_END;
        }
        runner->at = runner->buffer;
        runner->end = runner->buffer + wanted / sizeof(uint64_t);
        runner->left -= wanted / sizeof(uint64_t);
        runner->offset += wanted;
    }
    return *runner->at++;
}

/* Touches the bytes [from, size) of an object for the first time. */
static void
touch(struct runner *runner, unsigned char *object, size_t from, size_t size)
{
    uint64_t touched = runner->touched;

    runner->touched = 0;
    switch (runner->replay->touch) {
    case HEW_TOUCH_FIRST:
        if (from == 0 && size > 0) {
            *(volatile unsigned char *)object = 1;
        }
        break;
    case HEW_TOUCH_RECORDED:
        size = touched != 0 && touched - 1 < size ? touched - 1 : size;
        /* fallthrough */
    case HEW_TOUCH_PAGES:
        for (size_t at = from; at < size; at += PAGE) {
            ((volatile unsigned char *)object)[at] = 1;
        }
        if (from < size) {
            ((volatile unsigned char *)object)[size - 1] = 1;
        }
        break;
    case HEW_TOUCH_ALL:
        if (from < size) {
            memset(object + from, 1, size - from);
        }
        break;
    case HEW_TOUCH_NONE:
        break;
    }
}

/* The object of a failed request: it is not a heap address, and is not freed. */
static char refused;

static void
fill(struct runner *runner, uint64_t word, void *object)
{
    void **slot = &runner->replay->slots[HEW_PLAN_SLOT(word)];

    object = object == NULL ? &refused : object;
    if ((word & HEW_PLAN_HANDED) != 0) {
        __atomic_store_n(slot, object, __ATOMIC_RELEASE); /* pairs with take() */
    } else {
        *slot = object;
    }
}

static void *
take(struct runner *runner, uint64_t word)
{
    void **slot = &runner->replay->slots[HEW_PLAN_SLOT(word)], *object;

    if ((word & HEW_PLAN_HANDED) == 0) {
        object = *slot;
    } else {
        for (unsigned round = 0; (object = __atomic_load_n(slot, __ATOMIC_ACQUIRE)) == NULL; round++) {
            hew_windows_pause(round); /* the object's thread is in this window or the one before, and running */
        }
        __atomic_store_n(slot, NULL, __ATOMIC_RELAXED); /* the slot is filled again two windows later */
    }
    return object == &refused ? NULL : object;
}

static void
make(struct runner *runner, uint64_t word)
{
    size_t size = HEW_PLAN_VALUE(word) | runner->high_size << 32, align;
    void *object;

    runner->high_size = 0;
    switch (HEW_PLAN_KIND(word)) {
    case HEW_PLAN_CALLOC:
        object = calloc(1, size);
        break;
    case HEW_PLAN_ALIGNED:
        object = NULL;
        align = next_word(runner);
        if (posix_memalign(&object, align < sizeof(void *) ? sizeof(void *) : align, size) != 0) {
            object = NULL;
        }
        break;
    default:
        object = malloc(size);
    }
    if (object != NULL) {
        touch(runner, object, 0, size);
    } else {
        runner->failed++;
    }
    fill(runner, word, object);
}

static void
change(struct runner *runner, uint64_t word)
{
    uint64_t made = next_word(runner);
    size_t size = HEW_PLAN_VALUE(word) | runner->high_size << 32;
    size_t old = HEW_PLAN_VALUE(made) | runner->high_old << 32;
    void *before = take(runner, word), *object = realloc(before, size);

    runner->high_size = runner->high_old = 0;
    if (object != NULL) {
        touch(runner, object, before == NULL ? 0 : old, size);
    } else if (size != 0) {
        object = before; /* the object is unchanged */
        runner->failed++;
    }
    fill(runner, made, object);
}

static void *run_thread(void *argument);

/* Starts the threads whose first batch is in this window or the next. */
static void
start_threads(struct replay *replay, uint32_t window)
{
    uint32_t next = atomic_load(&replay->next_thread);

    while (next < replay->plan->threads && replay->threads[next].first_window <= (uint64_t)window + 1) {
        pthread_attr_t attributes;
        pthread_t thread;
        struct runner *runner;
        if (!atomic_compare_exchange_weak(&replay->next_thread, &next, next + 1)) {
            continue;
        }
        runner = map(sizeof(*runner), MAP_PRIVATE);
        if (runner != NULL) {
            *runner = (struct runner){.replay = replay, .thread = &replay->threads[next]};
        }
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        atomic_fetch_add(&replay->running, 1);
        int error = runner == NULL ? ENOMEM : pthread_create(&thread, &attributes, run_thread, runner);
        if (error != 0) {
            fprintf(stderr, "hew-replay: thread %u of %u cannot be started: %s\n", next + 1, replay->plan->threads,
                    strerror(error));
            _exit(1); /* otherwise other threads would wait for it forever */
        }
        pthread_attr_destroy(&attributes);
        next = atomic_load(&replay->next_thread);
    }
}

static void
look(struct replay *replay, uint64_t time)
{
    uint64_t now = now_ns();

    if (now < atomic_load_explicit(&replay->next_look, memory_order_relaxed) ||
        atomic_flag_test_and_set_explicit(&replay->looking, memory_order_acquire)) {
        return;
    }
    hew_memory_look(&replay->memory, time);
    atomic_store_explicit(&replay->next_look, now + LOOK_EVERY_NS, memory_order_relaxed);
    atomic_flag_clear_explicit(&replay->looking, memory_order_release);
}

static void
begin_batch(struct runner *runner, uint32_t window)
{
    struct replay *replay = runner->replay;
    uint64_t time = next_word(runner);

    start_threads(replay, window);
    hew_windows_wait(&replay->windows, window);
    if (replay->real_time) {
        uint64_t due = replay->started + time * 1000, now = now_ns();
        if (due > now + 50000) {
            nanosleep(&(struct timespec){(time_t)((due - now) / 1000000000), (long)((due - now) % 1000000000)}, NULL);
        }
    }
    look(replay, time);
}

static void
run_words(struct runner *runner)
{
    struct replay *replay = runner->replay;
    uint32_t window = UINT32_MAX;

    for (;;) {
        uint64_t word = next_word(runner);
        void *object;
        switch (HEW_PLAN_KIND(word)) {
        case HEW_PLAN_FREE:
            object = take(runner, word);
            free(object);
            break;
        case HEW_PLAN_REALLOC:
            change(runner, word);
            break;
        case HEW_PLAN_LARGE:
            runner->high_size = HEW_PLAN_VALUE(word);
            runner->high_old = HEW_PLAN_SLOT(word);
            break;
        case HEW_PLAN_TOUCH:
            runner->touched = (uint64_t)HEW_PLAN_VALUE(word) * PAGE + 1;
            break;
        case HEW_PLAN_BATCH:
        case HEW_PLAN_END:
            if (window != UINT32_MAX) {
                hew_windows_ended(&replay->windows, window);
            }
            if (HEW_PLAN_KIND(word) == HEW_PLAN_END) {
                return;
            }
            window = HEW_PLAN_VALUE(word);
            begin_batch(runner, window);
            break;
        default:
            make(runner, word);
        }
    }
}

static void *
run_thread(void *argument)
{
    struct runner *runner = argument;
    struct replay *replay = runner->replay;

    runner->offset = runner->thread->offset;
    runner->left = runner->thread->words;
    runner->buffer = map(BUFFER, MAP_PRIVATE);
    if (runner->buffer == NULL) {
        fprintf(stderr, "hew-replay: no memory for a thread\n");
        _exit(1);
    }
    run_words(runner);
    atomic_fetch_add(&replay->failed, runner->failed);
    munmap(runner->buffer, BUFFER);
    munmap(runner, sizeof(*runner));
    atomic_fetch_sub(&replay->running, 1);
    return NULL;
}

static void
run_all(struct replay *replay, struct hew_run_result *result)
{
    struct runner *runner = map(sizeof(*runner), MAP_PRIVATE);
    uint64_t began;

    hew_memory_begin(&replay->memory, replay->memory.samples);
    *runner = (struct runner){.replay = replay, .thread = &replay->threads[0]};
    replay->started = began = now_ns();
    atomic_store(&replay->next_thread, 1);
    atomic_store(&replay->running, 1);
    start_threads(replay, 0);
    run_thread(runner);
    while (atomic_load(&replay->running) > 0) {
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    result->seconds = (double)(now_ns() - began) / 1e9;
    hew_memory_look(&replay->memory, replay->plan->microseconds);
    result->failed = replay->failed;
    result->peak = replay->memory.peak;
    result->at_end = replay->memory.last;
    result->byte_seconds = replay->memory.byte_microseconds / 1e6;
}

bool
hew_run(int file, const struct hew_plan *plan, const struct hew_run_options *options, struct hew_run_result *result,
        char why[HEW_TRACE_WHY])
{
    size_t head = sizeof(*plan) + plan->threads * sizeof(struct hew_plan_thread);
    struct replay replay = {.file = file,
                            .plan = plan,
                            .touch = options->touch,
                            .real_time = options->real_time,
                            .looking = ATOMIC_FLAG_INIT};
    const uint8_t *bytes = mmap(NULL, head, PROT_READ, MAP_SHARED, file, 0);

    *result = (struct hew_run_result){0};
    replay.memory.samples = options->samples;
    /* Shared, so that these pages do not count as anonymous memory. */
    replay.slots = map((plan->slots + 1) * sizeof(void *), MAP_SHARED);
    if (bytes == MAP_FAILED || replay.slots == NULL || !hew_windows_begin(&replay.windows, plan)) {
        snprintf(why, HEW_TRACE_WHY, "no memory for its threads and slots: %s", strerror(errno));
        return false;
    }
    replay.threads = (const struct hew_plan_thread *)(bytes + sizeof(*plan));
    if (plan->threads > 0) {
        run_all(&replay, result);
    }
    if (atomic_load(&replay.broken)) {
        snprintf(why, HEW_TRACE_WHY, "the plan was cut short or changed while it was run");
        return false;
    }
    return true;
}
