/* SPDX-License-Identifier: MIT */
/*
 * thread_scaling: what an operation and a thread cost as the threads grow from 1 to 1,000.
 *
 * Each number of threads is measured in a process of its own, so that no number pays for the one before.  Every thread
 * replaces objects of 16 B to 1 KiB in slots of its own.  Nanoseconds are processor time, page faults of threads that
 * have just begun included; the memory of a thread is RSS above that before the threads, while all of them still hold
 * their objects, by thread: their stacks and the objects are in it, the same for every allocator.
 */
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS_MOST = 10000, SLOTS = 64, STACK = 64 << 10 };

static const long numbers[] = {1, 2, 8, 40, 200, 1000, 5000};

static long most = 1000, only, operations = 2000000, fewest = 10000;
static pthread_barrier_t ready, worked, read_out;
static _Atomic uint64_t nanoseconds;

/* Of this thread alone: what the others do before or after its turn is none of it. */
static uint64_t
processor_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *
work(void *argument)
{
    unsigned char *slot[SLOTS] = {NULL};
    uint64_t random = workload_scramble((uint64_t)(uintptr_t)argument);
    for (size_t i = 0; i < SLOTS; i++) {
        slot[i] = workload_take(16);
        *slot[i] = (unsigned char)i;
    }
    pthread_barrier_wait(&ready);
    uint64_t start = processor_nanoseconds();
    for (long left = *(const long *)argument; left > 0; left--) {
        size_t place = workload_random(&random) % SLOTS, size = workload_log_size(&random, 4, 10);
        if (*slot[place] != (unsigned char)place)
            workload_fail("thread_scaling", "an object has changed");
        free(slot[place]);
        slot[place] = workload_take(size);
        memset(slot[place], (int)place, size);
    }
    atomic_fetch_add(&nanoseconds, processor_nanoseconds() - start);
    pthread_barrier_wait(&worked);
    pthread_barrier_wait(&read_out);
    for (size_t i = 0; i < SLOTS; i++)
        free(slot[i]);
    return NULL;
}

/* What a process needs for its first thread is no thread's own. */
static void *
begin_and_end(void *argument)
{
    free(argument);
    return NULL;
}

static void
measure(long threads)
{
    static pthread_t thread[THREADS_MOST];
    pthread_attr_t attributes;
    long each = operations / threads > fewest ? operations / threads : fewest;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_create(&thread[0], &attributes, begin_and_end, workload_take(16));
    pthread_join(thread[0], NULL);
    long floor_kib = workload_rss_kib();
    pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&worked, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&read_out, NULL, (unsigned)threads + 1);
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], &attributes, work, &each) != 0)
            workload_fail("thread_scaling", "cannot start a thread");
    }
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&worked);
    printf("{\"series\":\"time of an operation by threads\",\"at\":%ld,\"ns\":%.2f}\n", threads,
           (double)atomic_load(&nanoseconds) / (double)(each * threads));
    printf("{\"series\":\"RSS of a thread by threads\",\"at\":%ld,\"rss_kib\":%.2f}\n", threads,
           (double)(workload_rss_kib() - floor_kib) / (double)threads);
    pthread_barrier_wait(&read_out);
    for (long i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

static void
measure_apart(long threads)
{
    char text[3][24];
    int status = 0;
    const long value[3] = {threads, operations, fewest};
    for (size_t i = 0; i < 3; i++)
        snprintf(text[i], sizeof text[i], "%ld", value[i]);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "thread_scaling", "--only", text[0], "--ops", text[1], "--fewest", text[2],
              (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        workload_fail("thread_scaling", "a measurement has failed");
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"most", &most, "the largest number of threads"},
        {"ops", &operations, "objects replaced by all threads together"},
        {"fewest", &fewest, "objects replaced by each thread at the least"},
        {"only", &only, "this number of threads, in this process; 0: each number in a process of its own"},
    };
    workload_parse(argc, argv, "The cost of an operation and of a thread, for 1 to 1,000 threads.", options, 4);
    workload_require("most", most, 1, THREADS_MOST);
    workload_require("only", only, 0, THREADS_MOST);
    if (only > 0) {
        measure(only);
        return 0;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && numbers[i] <= most; i++)
        measure_apart(numbers[i]);
    return 0;
}
