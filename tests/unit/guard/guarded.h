/* SPDX-License-Identifier: MIT */
/*
 * guarded: how a test of hardening:sample begins, and time as the test says.  Included by one source of a program.
 *
 * A fault is reported on standard error, which is a pipe here, and then goes to a handler that returns to the test.
 */
#ifndef HEW_TESTS_UNIT_GUARD_GUARDED_H
#define HEW_TESTS_UNIT_GUARD_GUARDED_H

#include "guard/guard.h"

#include "cache/magazine.h"
#include "layers_alloc.h"
#include "os/fatal.h"
#include "test.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static uint64_t guarded_now_ms = 1000;
static unsigned guarded_misuses;  /* that the hook has received */
static char guarded_last[512];    /* the last line of them */
static char guarded_report[8192]; /* of the last fault */
static sigjmp_buf guarded_before;
static volatile sig_atomic_t guarded_faults;
static int guarded_errors;

static void *
guarded_attend(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size, struct hew_extent *large)
{
    return (cache->due & HEW_DUE_GUARD) != 0 && large == NULL ? hew_guard_attend(arena, code, size) : NULL;
}

static void
guarded_hear(const char *line)
{
    guarded_misuses++;
    strncpy(guarded_last, line, sizeof guarded_last - 1);
}

static void
guarded_handle(int number)
{
    guarded_faults++;
    siglongjmp(guarded_before, number);
}

/* The program's own handler comes first: hew's is set with the first guarded object. */
static inline void
guarded_begin(void)
{
    if (hew_small_end != 0) {
        return;
    }
    int ends[2];
    struct sigaction action = {.sa_handler = guarded_handle};
    CHECK(pipe2(ends, O_NONBLOCK) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    guarded_errors = ends[0];
    sigaction(SIGSEGV, &action, NULL);
    hew_options.hardening = HEW_HARDENING_SAMPLE;
    hew_guard_boot();
    CHECK(layers_boot());
    layers_attend = guarded_attend;
    hew_fatal_set_hook(guarded_hear);
    layers_free(layers_malloc(1)); /* gives the thread a cache */
    hew_magazine_guard_begin(hew_cache_self);
}

static inline bool
guarded_is(const void *object)
{
    return hew_map_code((uintptr_t)object) == HEW_CODE_GUARD;
}

/* A quarter of a second passes. */
static inline uint64_t
guarded_wait(void)
{
    guarded_now_ms += 250;
    return hew_guard_round(guarded_now_ms);
}

/* An object that is guarded, at the end of its pages or at the beginning. */
static inline char *
guarded_take(size_t size, bool high)
{
    for (unsigned i = 0; i < 10000000; i++) {
        char *object = layers_malloc(size);
        if (guarded_is(object) && hew_guard_slot_of((uintptr_t)object)->high == high) {
            return object;
        }
        layers_free(object);
        if (i % 1000 == 0) {
            guarded_wait();
        }
    }
    printf("no object was guarded\n");
    _exit(1);
}

/* Touches a byte.  Returns true if that faulted; the report is in guarded_report. */
static inline bool
guarded_faults_at(volatile char *address, bool writes)
{
    int before = guarded_faults;
    if (sigsetjmp(guarded_before, 1) == 0) {
        if (writes) {
            *address = 1;
        } else {
            (void)*address;
        }
    }
    ssize_t got = read(guarded_errors, guarded_report, sizeof guarded_report - 1);
    guarded_report[got > 0 ? got : 0] = '\0';
    return guarded_faults != before;
}

#endif
