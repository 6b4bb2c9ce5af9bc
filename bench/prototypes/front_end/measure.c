/* SPDX-License-Identifier: MIT */
/*
 * measure: one workload per process; prints  name ns/op peak-KiB after-KiB slab-KiB purged-KiB  where the memory
 * figures are growth over the start, "after" is when everything has been freed, "slab" the KiB of slabs still pinned
 * then (live objects are zero: it is what caches hold) and "purged" the RSS once free pages are given back.  The
 * last two are 0 for a preloaded malloc, which has no such counters.
 */
#include "measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double
clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double
measure_cpu(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double
measure_wall(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

static size_t
status_field(const char *name)
{
    char text[4096];
    int file = open("/proc/self/status", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *line = strstr(text, name);
    return line != NULL ? strtoul(line + strlen(name), NULL, 10) : 0;
}

size_t
measure_rss(void)
{
    return status_field("VmRSS:");
}

size_t
measure_peak(void)
{
    return status_field("VmHWM:");
}

void
measure_reset_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY);
    if (write(file, "5", 1) != 1) {
        abort();
    }
    close(file);
}

void *
measure_array(size_t bytes)
{
    void *array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (array == MAP_FAILED) {
        abort();
    }
    return array;
}

void
measure_thread_exit(void)
{
#ifndef PLAIN_MALLOC
    proto_thread_exit();
#endif
}

static struct result
run(const char *name)
{
    char order[16];
    size_t a, b;
    int touch = 0;
    if (strcmp(name, "lifo64") == 0) {
        return workload_lifo(20000000);
    }
    if (sscanf(name, "batch%zu-%15s", &a, order) == 2) {
        return workload_batch(a, order);
    }
    if (sscanf(name, "rand%zux%zu-read%n", &a, &b, &touch) == 2) {
        return workload_replace(a, b, touch != 0);
    }
    if (strcmp(name, "tree") == 0) {
        return workload_tree(8);
    }
    if (strcmp(name, "phases") == 0) {
        return workload_phases(2);
    }
    if (strcmp(name, "pipe") == 0) {
        return workload_pipe(60000);
    }
    if (sscanf(name, "server%zu", &a) == 1) {
        return workload_server((int)a);
    }
    if (strcmp(name, "idle") == 0) {
        return workload_idle(200);
    }
    fprintf(stderr, "no workload %s\n", name);
    exit(2);
}

size_t measure_base;

int
main(int count, char **arguments)
{
    if (count != 2) {
        return 2;
    }
    GIVE(TAKE(64));
    struct result result = run(arguments[1]);
    size_t peak = measure_peak(), after = measure_rss(), slab = 0, purged = 0;
#ifndef PLAIN_MALLOC
    slab = proto_slab_kib();
    proto_purge();
    purged = measure_rss() - measure_base;
#endif
    printf("%s %.2f %zd %zd %zu %zd\n", arguments[1], result.seconds / result.operations * 1e9,
           (ssize_t)(peak - measure_base), (ssize_t)(after - measure_base), slab, (ssize_t)purged);
    return 0;
}
