/* SPDX-License-Identifier: MIT */
/*
 * workload: what every benchmark program shares.
 *
 * Owns      the command line (`--name value` with whole numbers, `--help`), a seeded generator, the clock, the
 *           process's own RSS, and the two lines of the report.
 * Promises  stdout holds only what does not depend on time or allocator: the operations and a checksum, so that a
 *           run under one allocator can be compared with a run under another by `cmp`.  Times and RSS go to stderr.
 *           Apart from workload_take and workload_grow nothing here calls malloc.
 * Why       a program that only uses the standard malloc calls can be run under every allocator by LD_PRELOAD.
 */
#ifndef HEW_BENCH_WORKLOAD_H
#define HEW_BENCH_WORKLOAD_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct workload_option {
    const char *name;
    long *value;
    const char *meaning;
};

static inline void
workload_usage(const char *program, const char *summary, const struct workload_option *options, size_t count)
{
    printf("usage: %s [--option number]...\n%s\n\n", program, summary);
    for (size_t i = 0; i < count; i++)
        printf("  --%-14s %s (default %ld)\n", options[i].name, options[i].meaning, *options[i].value);
}

/* Sets the values from the command line; exits with 0 after --help, with 2 after one clear line otherwise. */
static inline void
workload_parse(int argc, char **argv, const char *summary, const struct workload_option *options, size_t count)
{
    for (int i = 1; i < argc; i++) {
        size_t found = 0;
        char *end = NULL;
        if (strcmp(argv[i], "--help") == 0) {
            workload_usage(argv[0], summary, options, count);
            exit(0);
        }
        while (found < count && (strncmp(argv[i], "--", 2) != 0 || strcmp(argv[i] + 2, options[found].name) != 0))
            found++;
        if (found == count) {
            fprintf(stderr, "%s: unknown option %s; --help lists them\n", argv[0], argv[i]);
            exit(2);
        }
        errno = 0;
        long value = ++i < argc ? strtol(argv[i], &end, 10) : -1;
        if (i >= argc || end == argv[i] || *end != '\0' || errno != 0 || value < 0) {
            fprintf(stderr, "%s: --%s wants a whole number, 0 or more\n", argv[0], options[found].name);
            exit(2);
        }
        *options[found].value = value;
    }
}

/* Exits with 2 when a value lies outside [low, high]. */
static inline void
workload_require(const char *name, long value, long low, long high)
{
    if (value < low || value > high) {
        fprintf(stderr, "--%s must lie between %ld and %ld, not %ld\n", name, low, high, value);
        exit(2);
    }
}

/* splitmix64 (public domain constants): good enough, and any 64-bit value may seed it. */
static inline uint64_t
workload_scramble(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static inline uint64_t
workload_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return workload_scramble(*state);
}

/* A whole number in [low, high]. */
static inline uint64_t
workload_between(uint64_t *state, uint64_t low, uint64_t high)
{
    return low + workload_random(state) % (high - low + 1);
}

/* Log-uniform: each doubling between 1 << low_bit and 1 << high_bit is as likely as any other. */
static inline size_t
workload_log_size(uint64_t *state, unsigned low_bit, unsigned high_bit)
{
    unsigned bit = (unsigned)workload_between(state, low_bit, high_bit - 1);
    return (size_t)((1ull << bit) + (workload_random(state) & ((1ull << bit) - 1)));
}

static inline uint64_t
workload_mix(uint64_t checksum, uint64_t value)
{
    return workload_scramble(checksum ^ value);
}

static inline double
workload_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void
workload_sleep_ms(long milliseconds)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

/* Read by hand: fopen would allocate in the middle of a measurement. */
static inline long
workload_rss_kib(void)
{
    char text[128] = "";
    long total = 0, resident = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (length <= 0 || sscanf(text, "%ld %ld", &total, &resident) != 2)
        return -1;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* One point of a curve of RSS, as a line that `hew bench` reads; on stderr, since it differs between allocators. */
static inline void
workload_rss_point(const char *series, long at)
{
    fprintf(stderr, "{\"series\":\"%s\",\"at\":%ld,\"rss_kib\":%ld}\n", series, at, workload_rss_kib());
}

static inline void *
workload_take(size_t size)
{
    void *object = malloc(size);
    if (object == NULL) {
        fprintf(stderr, "out of memory: malloc(%zu)\n", size);
        exit(1);
    }
    return object;
}

static inline void *
workload_grow(void *object, size_t size)
{
    void *grown = realloc(object, size);
    if (grown == NULL) {
        fprintf(stderr, "out of memory: realloc(%zu)\n", size);
        exit(1);
    }
    return grown;
}

/* Exits with 1: a workload that finds its data changed must not report a time. */
static inline void
workload_fail(const char *name, const char *what)
{
    fprintf(stderr, "%s: %s\n", name, what);
    exit(1);
}

static inline void
workload_report(const char *name, uint64_t operations, double seconds, uint64_t checksum)
{
    printf("%s: %llu ops, checksum %016llx\n", name, (unsigned long long)operations, (unsigned long long)checksum);
    fprintf(stderr, "%s: %.3f seconds, %.1f ns per op, %ld KiB RSS at the end\n", name, seconds,
            operations == 0 ? 0.0 : seconds * 1e9 / (double)operations, workload_rss_kib());
}

#endif
