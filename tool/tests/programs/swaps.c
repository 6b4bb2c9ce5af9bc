/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate, resize and free at random and hand objects to each other, while short-lived threads come and
 * go and a timer interrupts system calls.  Some callers have stored pointers to malloc and free.
 *
 *     swaps THREADS [PAUSE]     says "ready", ends with a line of input, and says how many objects have changed.  Each
 *                               thread sleeps 100 us after 1024 operations, or PAUSE us after 64
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS_MAX 300
#define KEPT 200
#define BOXES 64
#define STEP 61 /* between the bytes that are compared */

static _Atomic long wrong, rounds, ticks;
static _Atomic(unsigned char *) box[BOXES]; /* objects on their way to another thread */
static _Atomic int over;
static useconds_t pause_us;
static void *(*volatile stored_malloc)(size_t) = malloc;
static void (*volatile stored_free)(void *) = free;

/* An object begins with its size; the other bytes follow from it. */
static unsigned char *
fill(unsigned char *object, size_t size)
{
    if (object == NULL || malloc_usable_size(object) < size) {
        abort();
    }
    memset(object, (int)(size * 7 + 1), size);
    memcpy(object, &size, sizeof size);
    return object;
}

static void
check(const unsigned char *object, size_t most)
{
    size_t size;
    memcpy(&size, object, sizeof size);
    for (size_t at = sizeof size; at < size && at < most; at += STEP) {
        if (object[at] != (unsigned char)(size * 7 + 1)) {
            wrong++;
            return;
        }
    }
}

static unsigned char *
take_aligned(size_t size)
{
    void *object;
    if (posix_memalign(&object, 256, size) != 0 || (uintptr_t)object % 256 != 0) {
        abort();
    }
    return object;
}

static unsigned char *
resize(unsigned char *object, size_t size)
{
    unsigned char *moved = realloc(object, size);
    if (moved != NULL && object != NULL) {
        check(moved, size);
    }
    return fill(moved, size);
}

static unsigned char *
exchange(unsigned char *object, unsigned place)
{
    object = atomic_exchange(&box[place], object);
    if (object != NULL) {
        check(object, SIZE_MAX);
    }
    return object;
}

/* One random operation on an object, which may be NULL. */
static unsigned char *
change(unsigned char *object, uint64_t random, size_t size)
{
    switch (random >> 20 & 7) {
    case 0:
        return resize(object, size);
    case 1:
        free(object);
        return fill(stored_malloc(size), size);
    case 2:
        stored_free(object);
        return fill(malloc(size), size);
    case 3:
        free(object);
        return fill(take_aligned(size), size);
    case 4:
        free(object);
        return fill(calloc(1, size), size);
    default:
        return object == NULL ? NULL : exchange(object, random >> 50 & (BOXES - 1));
    }
}

static void *
work(void *seed)
{
    uint64_t random = (uintptr_t)seed * 77 + 1;
    unsigned char *own[KEPT] = {0};
    unsigned own_rounds = 0;
    while (!over) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned char **one = &own[(random >> 33) % KEPT];
        if (*one != NULL) {
            check(*one, SIZE_MAX);
        }
        *one = change(*one, random, 16 + (random >> 41) % ((random >> 62) != 0 ? 900 : 200000));
        rounds++;
        if (++own_rounds % (pause_us != 0 ? 64 : 1024) == 0) {
            free(strdup("text"));
            usleep(pause_us != 0 ? pause_us : 100);
        }
    }
    for (int i = 0; i < KEPT; i++) {
        free(own[i]);
    }
    return NULL;
}

static void *
live_shortly(void *unused)
{
    (void)unused;
    free(malloc(100));
    return strdup("x");
}

static void
tick(int number)
{
    (void)number;
    ticks++;
}

static int
has_input(void)
{
    fd_set set;
    struct timeval soon = {0, 5000};
    FD_ZERO(&set);
    FD_SET(0, &set);
    return select(1, &set, NULL, NULL, &soon) > 0;
}

int
main(int count, char **words)
{
    pthread_t threads[THREADS_MAX], shortly;
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    int wanted = count > 1 ? atoi(words[1]) : 4;
    void *text;
    pause_us = count > 2 ? (useconds_t)atoi(words[2]) : 0;
    for (long i = 0; i < wanted; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    }
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    puts("ready");
    fflush(stdout);
    while (!has_input()) {
        pthread_create(&shortly, NULL, live_shortly, NULL);
        pthread_join(shortly, &text);
        free(text);
    }
    over = 1;
    for (int i = 0; i < wanted; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("wrong %ld rounds %ld ticks %ld\n", wrong, rounds, ticks);
    return wrong != 0;
}
