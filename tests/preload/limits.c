/* SPDX-License-Identifier: MIT */
/*
 * limits: a program at the edge of what it may have: its address space, or its number of threads.
 *
 *   limits address-space MIB   under RLIMIT_AS of that size from its first instruction: works, gets NULL and ENOMEM at
 *                              the limit, and works again after frees
 *   limits lowered MIB         the same limit, set by the running program; without threads, whose stacks libc maps
 *   limits threads COUNT       that many threads alive at once, each with a little memory: RSS stays in proportion
 */
#include "under_test.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

enum { SMALL = 200, KIB_PER_THREAD = 64, THREAD_STACK = 256 * 1024 };

static int failures;

/* Writes straight to the file: at the limit stdio must not be asked for memory. */
static void
expect(bool condition, const char *what, size_t left, size_t right)
{
    char line[256];
    int length = snprintf(line, sizeof line, "%s - %s (%zu, %zu)\n", condition ? "ok" : "not ok", what, left, right);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(4);
    failures += !condition;
}

/* Links blocks until there are no more; counts them.  errno tells why it ended. */
static size_t
take_all(void **first, size_t size)
{
    size_t count = 0;
    for (;;) {
        errno = 0;
        void **block = malloc(size);
        if (block == NULL)
            return count;
        *block = *first;
        *first = block;
        count++;
    }
}

static void
free_all(void **first)
{
    for (void **block = *first, **next; block != NULL; block = next) {
        next = *block;
        free(block);
    }
    *first = NULL;
}

/* errno was 0 before the call; frees what should not have been handed out. */
static void
expect_refused(void *object, const char *what)
{
    int why = errno;
    expect(object == NULL && why == ENOMEM, what, (size_t)why, ENOMEM);
    free(object);
    errno = 0;
}

static void
expect_every_call_refused_at_the_limit(void)
{
    const size_t size = (size_t)64 << 20;
    void *object = NULL;
    unsigned char *kept = malloc(100);
    errno = 0;
    expect_refused(calloc(1, size), "calloc gives NULL and ENOMEM");
    expect_refused(realloc(NULL, size), "realloc of NULL gives NULL and ENOMEM");
    expect_refused(aligned_alloc(4096, size), "aligned_alloc gives NULL and ENOMEM");
    int why = posix_memalign(&object, 64, size);
    expect(why == ENOMEM, "posix_memalign returns ENOMEM", (size_t)why, ENOMEM);
    if (kept == NULL)
        return;
    memset(kept, 9, 100);
    errno = 0;
    void *grown = realloc(kept, size);
    why = errno;
    expect(grown == NULL && why == ENOMEM, "a growing realloc gives NULL and ENOMEM", (size_t)why, ENOMEM);
    if (grown == NULL) {
        expect(kept[0] == 9 && kept[99] == 9, "and keeps the object", kept[0], kept[99]);
        free(kept);
    } else {
        free(grown);
    }
}

static void *
work_in_thread(void *argument)
{
    for (uint64_t random = (uintptr_t)argument, i = 0; i < 20000; i++) {
        size_t size = under_test_random(&random) % 3000 + 1;
        unsigned char *object = malloc(size);
        if (object == NULL)
            return argument;
        object[0] = object[size - 1] = 1;
        free(object);
    }
    return NULL;
}

static size_t
count_threads_that_work(size_t wanted)
{
    pthread_t thread[64];
    pthread_attr_t attributes;
    size_t started = 0, worked = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    while (started < wanted &&
           pthread_create(&thread[started], &attributes, work_in_thread, (void *)(started + 1)) == 0)
        started++;
    for (size_t i = 0; i < started; i++) {
        void *failed = NULL;
        pthread_join(thread[i], &failed);
        worked += failed == NULL;
    }
    return worked;
}

static void
expect_threads_to_work(const char *what)
{
    size_t worked = count_threads_that_work(16);
    expect(worked == 16, what, worked, 16);
}

static void
work_under_address_limit(size_t limit)
{
    void *blocks = NULL, *objects = NULL;
    size_t first = take_all(&blocks, (size_t)1 << 20);
    expect(errno == ENOMEM, "malloc gives NULL and ENOMEM at the limit", (size_t)errno, ENOMEM);
    expect(first << 20 >= limit / 10 * 6, "MiB had in blocks of 1 MiB before that, of", first, limit >> 20);
    expect_every_call_refused_at_the_limit();
    free_all(&blocks);
    size_t second = take_all(&blocks, (size_t)1 << 20);
    expect(second >= first / 10 * 9, "MiB had again after freeing all, before", second, first);
    free_all(&blocks);
    if (limit <= (size_t)1 << 30) {
        size_t small = take_all(&objects, SMALL);
        expect(errno == ENOMEM, "malloc of a small size gives NULL and ENOMEM", (size_t)errno, ENOMEM);
        expect(small * SMALL >= limit / 5 * 2, "bytes had in small objects, of", small * SMALL, limit);
        free_all(&objects);
    }
    /* glibc and jemalloc keep the freed address space in pieces here; hew must put it together again. */
    size_t piece = under_test_strict() ? limit / 4 : (size_t)1 << 20;
    void *large = malloc(piece);
    expect(large != NULL, "a large piece can be had after that", piece, 0);
    free(large);
}

static pthread_barrier_t all_alive, may_end;

static void *
hold_a_little(void *argument)
{
    unsigned char *object[24];
    uint64_t random = (uintptr_t)argument;
    for (size_t i = 0; i < 24; i++) {
        size_t size = i < 20 ? under_test_random(&random) % 256 + 1 : under_test_random(&random) % 2048 + 1;
        object[i] = malloc(size);
        if (object[i] != NULL)
            object[i][0] = object[i][size - 1] = 1;
    }
    for (size_t i = 0; i < 12; i++)
        free(object[i]);
    pthread_barrier_wait(&all_alive);
    pthread_barrier_wait(&may_end);
    for (size_t i = 12; i < 24; i++)
        free(object[i]);
    return NULL;
}

static void
hold_many_threads(size_t count)
{
    pthread_t *thread = calloc(count, sizeof *thread);
    pthread_attr_t attributes;
    size_t started = 0;
    long before = under_test_rss_kib();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    pthread_barrier_init(&all_alive, NULL, (unsigned)count + 1);
    pthread_barrier_init(&may_end, NULL, (unsigned)count + 1);
    while (started < count && pthread_create(&thread[started], &attributes, hold_a_little, (void *)(started + 1)) == 0)
        started++;
    if (started < count) {
        fprintf(stderr, "limits: only %zu of %zu threads could be started: %s\n", started, count, strerror(errno));
        _exit(2);
    }
    pthread_barrier_wait(&all_alive);
    long alive = under_test_rss_kib();
    pthread_barrier_wait(&may_end);
    for (size_t i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    free(thread);
    printf("RSS %ld KiB before, %ld KiB with %zu threads alive, %ld KiB after\n", before, alive, count,
           under_test_rss_kib());
    expect(alive - before <= (long)count * KIB_PER_THREAD, "KiB of RSS for the threads, at most",
           (size_t)(alive - before), count * KIB_PER_THREAD);
}

int
main(int argc, char **argv)
{
    size_t amount = argc == 3 ? (size_t)atol(argv[2]) : 0;
    if (amount > 0 && strcmp(argv[1], "threads") == 0) {
        hold_many_threads(amount);
    } else if (amount > 0 && strcmp(argv[1], "address-space") == 0) {
        struct rlimit limit = {amount << 20, amount << 20};
        if (getenv("HEW_LIMIT_IS_SET") == NULL) {
            setenv("HEW_LIMIT_IS_SET", "1", 1);
            setrlimit(RLIMIT_AS, &limit);
            execv("/proc/self/exe", argv);
            _exit(2);
        }
        expect_threads_to_work("threads allocate under the limit");
        work_under_address_limit(amount << 20);
        expect_threads_to_work("threads allocate after all that");
    } else if (amount > 0 && strcmp(argv[1], "lowered") == 0) {
        struct rlimit limit = {amount << 20, amount << 20};
        free(malloc(100));
        setrlimit(RLIMIT_AS, &limit);
        work_under_address_limit(amount << 20);
    } else {
        fprintf(stderr, "usage: %s address-space MIB | lowered MIB | threads COUNT\n", argv[0]);
        return 2;
    }
    printf("%d failed checks\n", failures);
    return failures != 0;
}
