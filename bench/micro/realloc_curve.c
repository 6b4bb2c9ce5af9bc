/* SPDX-License-Identifier: MIT */
/*
 * realloc_curve: the cost of growing one buffer, by how it grows and how large it is.
 *
 * A buffer grows from 16 B to `--largest` and back under four rules: by 64 bytes (up to 1 MiB: an appended log), by an
 * eighth, by a half, and by doubling, as most vectors do.  Between two steps a small neighbour is allocated, so that a
 * block cannot always grow where it stands.  Each doubling of the size is one JSON line: nanoseconds per realloc, and
 * how many of them moved the buffer.  Only bytes that are new are written.  Each figure includes one clock
 * reading.  With `--threads` each thread grows a buffer of its own; the figure is their mean.
 */
#include "workload.h"

#include <pthread.h>

enum { OCTAVES = 48, NEIGHBOURS = 64, THREADS_MOST = 256 };

struct octave {
    uint64_t steps;
    uint64_t moves;
    double seconds;
};

struct rule {
    const char *name;
    size_t add;         /* bytes per step */
    size_t divisor;     /* or size / divisor per step, when not 0 */
    size_t upper_limit; /* 0: --largest */
};

static const struct rule rules[] = {
    {"add_64", 64, 0, 1 << 20}, {"eighth", 8, 8, 0}, {"half", 8, 2, 0}, {"double", 16, 1, 0}};

struct grower {
    pthread_t thread;
    const struct rule *rule;
    struct octave growing[OCTAVES];
    struct octave shrinking[OCTAVES];
};

static long largest = 64l << 20, repeats = 20, neighbours_on = 1, threads = 1;
static _Thread_local void *neighbour[NEIGHBOURS];
static _Thread_local size_t neighbour_next;

static unsigned
octave_of(size_t size)
{
    return 63 - (unsigned)__builtin_clzll(size);
}

static void
place_neighbour(size_t size)
{
    if (!neighbours_on)
        return;
    free(neighbour[neighbour_next]);
    neighbour[neighbour_next] = workload_take(size < 65536 ? size : 4096);
    *(char *)neighbour[neighbour_next] = 1;
    neighbour_next = (neighbour_next + 1) % NEIGHBOURS;
}

static size_t
next_size(const struct rule *rule, size_t size)
{
    size_t step = rule->divisor != 0 ? size / rule->divisor : 0;
    return size + (step > rule->add ? step : rule->add);
}

static unsigned char *
step_to(unsigned char *buffer, size_t size, struct octave *octave)
{
    uintptr_t before = (uintptr_t)buffer;
    double start = workload_seconds();
    buffer = workload_grow(buffer, size);
    octave->seconds += workload_seconds() - start;
    octave->steps++;
    octave->moves += (uintptr_t)buffer != before;
    return buffer;
}

/* Up by the rule, down by halves: few programs shrink step by step. */
static void
run_rule(const struct rule *rule, struct octave *growing, struct octave *shrinking)
{
    size_t limit = rule->upper_limit != 0 && rule->upper_limit < (size_t)largest ? rule->upper_limit : (size_t)largest;
    size_t size = 16;
    unsigned char *buffer = workload_take(size);
    memset(buffer, 7, size);
    for (size_t next = next_size(rule, size); next <= limit; next = next_size(rule, size)) {
        place_neighbour(size);
        buffer = step_to(buffer, next, &growing[octave_of(next)]);
        memset(buffer + size, 7, next - size);
        size = next;
    }
    for (size /= 2; size >= 16; size /= 2) {
        buffer = step_to(buffer, size, &shrinking[octave_of(size)]);
        if (buffer[0] != 7 || buffer[size - 1] != 7)
            workload_fail("realloc_curve", "realloc has lost bytes");
    }
    free(buffer);
}

static void *
grow(void *argument)
{
    struct grower *self = argument;
    for (long repeat = 0; repeat < repeats; repeat++)
        run_rule(self->rule, self->growing, self->shrinking);
    for (size_t i = 0; i < NEIGHBOURS; i++)
        free(neighbour[i]);
    return NULL;
}

static void
add_octaves(struct octave *sum, const struct octave *part)
{
    for (unsigned i = 0; i < OCTAVES; i++) {
        sum[i].steps += part[i].steps;
        sum[i].moves += part[i].moves;
        sum[i].seconds += part[i].seconds;
    }
}

static void
print_octaves(const char *rule, const char *direction, const struct octave *octave)
{
    for (unsigned i = 0; i < OCTAVES; i++) {
        if (octave[i].steps == 0)
            continue;
        printf("{\"series\":\"realloc %s %s, threads %ld\",\"at\":%llu,\"ns\":%.1f,\"steps\":%llu,\"moves\":%llu}\n",
               rule, direction, threads, 1ull << i, octave[i].seconds * 1e9 / (double)octave[i].steps,
               (unsigned long long)octave[i].steps, (unsigned long long)octave[i].moves);
    }
}

static void
measure(const struct rule *rule)
{
    static struct grower grower[THREADS_MOST];
    struct octave growing[OCTAVES] = {{0, 0, 0}}, shrinking[OCTAVES] = {{0, 0, 0}};
    for (long i = 0; i < threads; i++) {
        grower[i] = (struct grower){.rule = rule};
        if (pthread_create(&grower[i].thread, NULL, grow, &grower[i]) != 0)
            workload_fail("realloc_curve", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(grower[i].thread, NULL);
        add_octaves(growing, grower[i].growing);
        add_octaves(shrinking, grower[i].shrinking);
    }
    print_octaves(rule->name, "up", growing);
    print_octaves(rule->name, "down", shrinking);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"largest", &largest, "bytes at which growing stops"},
        {"repeats", &repeats, "times each rule runs"},
        {"neighbours", &neighbours_on, "1: small allocations in between; 0: the buffer alone"},
        {"threads", &threads, "threads that do the same side by side"},
    };
    workload_parse(argc, argv, "Nanoseconds per realloc by size and by how a buffer grows, as JSON lines.", options, 4);
    workload_require("largest", largest, 32, 1l << 40);
    workload_require("threads", threads, 1, THREADS_MOST);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        measure(&rules[i]);
    return 0;
}
