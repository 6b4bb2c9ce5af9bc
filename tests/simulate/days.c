/* SPDX-License-Identifier: MIT */
/*
 * days: what a program holds over simulated days, on 1 to 192 processors.
 *
 *     days [--days N] [--seed N] [--processors N] [--threads N] [--with SETTINGS]
 *
 * Each hour of a day has a phase of work of another kind, of twenty seconds; then the program is silent, or wants the same memory again each
 * 13 s, which is longer than dirty pages stay by default.  There are as many threads as processors, unless said otherwise.  Printed: the most
 * that was allocated and the most that was held, and what was held at the end of the quietest hour.  With several threads that differs by
 * half from one order of theirs to another; so it is judged with one thread alone.  Exit status 1: it held more than promised.
 */
#include "kernel.h"
#include "machine.h"
#include "tested.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define HOURS 24
#define HOUR_MS UINT64_C(3600000)
#define WINDOW_MS 50
#define WINDOWS 400   /* of work in an hour */
#define BURST 8000    /* objects that one thread makes at once */
#define HOT 4         /* threads that do so in one window */
#define PAIR_NS 40    /* processor time of a pair of malloc and free, with what the program does between them */
#define LARGE_ONES 50 /* likewise, of 20 KB and more */
#define LOADED 20000  /* objects that a phase of growth keeps */
#define EXCHANGED 4096
#define AGAIN_MS 13000
#define AGAIN_OBJECTS 5000            /* that are wanted again, */
#define AGAIN_PAIRS 40                /* each with work that is worth so many */
#define HELD_MOST_PERCENT 125         /* of the most that was allocated: the most that may be held, */
#define HELD_LEAST ((size_t)16 << 20) /* and this much in the quietest hour */

/* What one life leaves behind: shared with the process that started it. */
struct life {
    uint64_t allocated_most, held_most, held_least, objects;
    bool done;
};

static struct life *life;
static unsigned processors, threads, days = 1;
static uint64_t seed = 1;
static unsigned leaving, never; /* words to wait for */
static uint64_t begin_ns;
static void *burst[HOT][BURST], *exchanged[EXCHANGED], *loaded[LOADED];
static unsigned bursting[HOT];

enum kind { BURSTS, CROWD, EXCHANGE, GROWTH, LARGE, SILENCE, AGAIN, KINDS };

static uint64_t
passed_ms(void)
{
    return (machine_now_ns - begin_ns) / MS;
}

static unsigned
hour_now(void)
{
    return (unsigned)(passed_ms() / HOUR_MS);
}

static uint64_t
drawn(uint64_t what, uint64_t of)
{
    return machine_mix(seed * 1000003 + what) % of;
}

/* Of this hour, or the same one of all days where that is so. */
static enum kind
kind_now(void)
{
    unsigned hour = hour_now();
    return (enum kind)drawn(hour % 3 == 0 ? hour % HOURS : hour, KINDS);
}

static size_t
size_now(void)
{
    return (size_t)128 << drawn(UINT64_C(100000) + hour_now(), 4);
}

static void
spend(uint64_t pairs)
{
    machine_now_ns += pairs * PAIR_NS;
    machine_work_ns += pairs * PAIR_NS;
    life->objects += pairs;
    machine_note_progress();
}

static void
make_and_free(unsigned place, size_t size, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        burst[place][i] = tested_malloc(size);
    }
    for (unsigned i = 0; i < count; i++) {
        tested_free(burst[place][i]);
    }
    spend(count);
}

/* No thread loses the processor between two calls of the library. */
static void
put(void **slot, void *object)
{
    void *before = *slot;
    *slot = object;
    tested_free(before);
}

static void
exchange(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        put(&exchanged[machine_below(EXCHANGED)], tested_malloc(16 + machine_below(1000)));
    }
    spend(count);
}

/* Up to the middle of the phase objects come, then they go. */
static void
grow(uint64_t window)
{
    unsigned count = LOADED / (WINDOWS / 2) / HOT;
    for (unsigned i = 0; i < count; i++) {
        void *object = window < WINDOWS / 2 ? tested_malloc(500 + machine_below(4000)) : NULL;
        put(&loaded[machine_below(LOADED)], object);
    }
    spend(count);
}

static void
work_in(unsigned place, uint64_t window)
{
    switch (kind_now()) {
    case BURSTS:
    case CROWD:
        make_and_free(place, size_now(), BURST);
        break;
    case EXCHANGE:
        exchange(BURST);
        break;
    case GROWTH:
        make_and_free(place, size_now(), BURST);
        grow(window);
        break;
    case LARGE:
        make_and_free(place, 20000 + machine_below(200000), LARGE_ONES);
        spend(BURST - LARGE_ONES);
        break;
    default:
        break;
    }
}

static void
make_and_free_again(void)
{
    for (unsigned i = 0; i < AGAIN_OBJECTS; i++) {
        put(&loaded[i], tested_malloc(500 + machine_below(4000)));
    }
    for (unsigned i = 0; i < AGAIN_OBJECTS; i++) {
        put(&loaded[i], NULL);
    }
    spend((uint64_t)AGAIN_OBJECTS * AGAIN_PAIRS);
}

/* In a crowd all threads in turn, and in the next hour it goes on with others; else always the same. */
static bool
is_hot(unsigned thread, uint64_t window)
{
    uint64_t first = kind_now() == CROWD ? (hour_now() * (uint64_t)WINDOWS + window) * HOT % threads : 0;
    return (thread + threads - first) % threads < HOT;
}

/* Milliseconds to the thread's next window of work; those at rest all wait for the next hour. */
static uint64_t
rest_ms(unsigned thread, uint64_t in_hour)
{
    if (thread == 0 && kind_now() == AGAIN && HOUR_MS - in_hour > AGAIN_MS) {
        return AGAIN_MS;
    }
    for (uint64_t window = in_hour / WINDOW_MS + 1; window < WINDOWS; window++) {
        if (is_hot(thread, window)) {
            return window * WINDOW_MS - in_hour;
        }
    }
    return HOUR_MS - in_hour;
}

/* No other thread is amid a burst there: one that lost its processor would keep its objects. */
static void
work_if_free(unsigned thread, uint64_t window)
{
    unsigned place = thread % HOT;
    if (bursting[place] == 0) {
        bursting[place] = 1;
        for (unsigned turn = 0; turn < HOT; turn += threads) { /* fewer threads do as much */
            work_in(place, window);
        }
        bursting[place] = 0;
    }
}

static void *
work(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    while (hour_now() < days * HOURS) {
        uint64_t in_hour = passed_ms() % HOUR_MS, window = in_hour / WINDOW_MS;
        if (thread == 0 && kind_now() == AGAIN) {
            make_and_free_again();
        } else if (window < WINDOWS && is_hot(thread, window)) {
            work_if_free(thread, window);
        }
        machine_wait(&never, rest_ms(thread, passed_ms() % HOUR_MS) * MS + machine_below(MS));
    }
    leaving--;
    machine_wake(&leaving, 1);
    return NULL;
}

static uint64_t
number_of(const char *name)
{
    uint64_t value = 0;
    size_t size = sizeof value;
    if (tested_mallctl(name, &value, &size, NULL, 0) != 0) {
        machine_finding("there is no %s", name);
    }
    return value;
}

static void
look(void)
{
    uint64_t epoch = 1;
    tested_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    uint64_t held = number_of("stats.resident"), allocated = number_of("stats.allocated");
    life->held_most = held > life->held_most ? held : life->held_most;
    life->held_least = held < life->held_least ? held : life->held_least;
    life->allocated_most = allocated > life->allocated_most ? allocated : life->allocated_most;
    machine_note_progress(); /* who looks at thousands of threads has got on */
}

static void *
program(void *unused)
{
    begin_ns = machine_now_ns;
    machine_work_ns = MS;
    tested_free(tested_malloc((size_t)32 << 20)); /* large enough for a purger */
    leaving = threads;
    for (unsigned thread = 0; thread < threads; thread++) {
        machine_birth(work, (void *)(uintptr_t)thread)->detached = true;
    }
    while (leaving != 0) {
        uint64_t in_hour = passed_ms() % HOUR_MS, still = HOUR_MS - in_hour;
        machine_wait(&leaving, (in_hour < WINDOWS * WINDOW_MS ? 250 : still) * MS);
        look();
    }
    life->done = true;
    fflush(stdout);
    _exit(0);
}

/* The next access to memory may be the last one for now; no need to be early. */
void
simulated_pause(void)
{
}

/* One life in a process of its own. */
static struct life
live(const char *settings)
{
    *life = (struct life){.held_least = UINT64_MAX};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        machine_hear_fatal();
        tested_malloc_conf = settings;
        kernel_habits.processors = processors;
        machine_run(program, NULL);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || !life->done) {
        printf("%u processors, %s: the run has ended with status %#x\n", processors, settings, (unsigned)status);
        exit(1);
    }
    return *life;
}

static bool
run(const char *settings)
{
    struct life held = live(settings);
    bool good = threads > 1 ||
                (held.held_most <= held.allocated_most / 100 * HELD_MOST_PERCENT && held.held_least <= HELD_LEAST);
    printf("| %u | `%s` | %llu | %.1f | %.1f | %.1f |%s\n", threads, settings, (unsigned long long)held.objects,
           (double)held.allocated_most / 1048576, (double)held.held_most / 1048576, (double)held.held_least / 1048576,
           good ? "" : " NOT AS PROMISED");
    fflush(stdout);
    return good;
}

int
main(int count, char **words)
{
    static const unsigned steps[] = {1, 2, 16, 64, 192};
    unsigned only = 0, threads_set = 0;
    const char *with = "";
    bool good = true;
    for (int at = 1; at + 1 < count; at += 2) {
        unsigned value = (unsigned)strtoul(words[at + 1], NULL, 0);
        if (strcmp(words[at], "--seed") == 0) {
            seed = value;
        } else if (strcmp(words[at], "--with") == 0) {
            with = words[at + 1];
        } else if (strcmp(words[at], "--threads") == 0) {
            threads_set = value;
        } else {
            *(strcmp(words[at], "--days") == 0 ? &days : &only) = value;
        }
    }
    life = mmap(NULL, sizeof *life, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    machine_habits.accesses_between = 1u << 20;
    machine_boot(threads_set == 0 ? 200 : threads_set + 8);
    kernel_boot();
    kernel_habits = (struct kernel_habits){.page = KERNEL_PAGE,
                                           .mappings_most = KERNEL_MAPPINGS_MOST,
                                           .bytes_most = SIZE_MAX,
                                           .knows_ranges = true,
                                           .knows_lazily = true};
    puts("| threads | settings | pairs | MiB allocated at most | MiB held at most | in the quietest hour |");
    puts("|---|---|---|---|---|---|");
    for (unsigned step = 0; step < sizeof steps / sizeof *steps; step++) {
        processors = steps[step];
        threads = threads_set == 0 ? processors : threads_set;
        if (only == 0 || only == processors) {
            good &= run(with);
        }
    }
    return good ? 0 : 1;
}
