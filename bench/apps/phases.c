/* SPDX-License-Identifier: MIT */
/*
 * phases: a program whose sizes change from phase to phase: what one phase frees, does the next one get?
 *
 * Each phase fills `--mib` with objects of its own range of sizes, replaces them at random for a while, and frees all but
 * a few that live for three phases.  RSS is read at the end of each phase, before and after its frees: live bytes are
 * the same in every phase, so growth from phase to phase is fragmentation.
 */
#include "workload.h"

enum { RANGES = 6, SURVIVING_PHASES = 3 };

static const struct range {
    unsigned low_bit;
    unsigned high_bit;
} ranges[RANGES] = {{4, 6}, {6, 9}, {9, 12}, {12, 15}, {15, 19}, {19, 22}};

struct set {
    unsigned char **object;
    size_t count;
};

static long phases = 24, mebibytes = 128, turnover = 3, survivor_share = 50;
static struct set survivors[SURVIVING_PHASES];

static unsigned char *
make(uint64_t *random, const struct range *range)
{
    size_t size = workload_log_size(random, range->low_bit, range->high_bit);
    unsigned char *object = workload_take(size);
    memset(object, 1, size);
    return object;
}

static void
free_set(struct set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->object[i]);
    free(set->object);
    *set = (struct set){NULL, 0};
}

/* Objects enough for the phase's bytes, by the mean of a log-uniform draw of each octave. */
static size_t
objects_in(const struct range *range)
{
    size_t sum = 0;
    for (unsigned bit = range->low_bit; bit < range->high_bit; bit++)
        sum += ((size_t)3 << bit) / 2;
    size_t count = ((size_t)mebibytes << 20) / (sum / (range->high_bit - range->low_bit));
    return count < 8 ? 8 : count;
}

static uint64_t
run_phase(long phase)
{
    uint64_t random = workload_scramble((uint64_t)phase), made = 0;
    const struct range *range = &ranges[workload_random(&random) % RANGES];
    struct set working = {NULL, objects_in(range)}, *kept = &survivors[phase % SURVIVING_PHASES];
    working.object = workload_take(working.count * sizeof *working.object);
    for (size_t i = 0; i < working.count; i++)
        working.object[i] = make(&random, range);
    for (uint64_t i = 0; i < working.count * (uint64_t)turnover; i++, made++) {
        size_t slot = (size_t)(workload_random(&random) % working.count);
        free(working.object[slot]);
        working.object[slot] = make(&random, range);
    }
    workload_rss_point("RSS at the end of a phase", phase + 1);
    free_set(kept);
    kept->object = workload_take((working.count / (size_t)survivor_share + 1) * sizeof *kept->object);
    for (size_t i = 0; i < working.count; i++) {
        if (i % (size_t)survivor_share == 0)
            kept->object[kept->count++] = working.object[i];
        else
            free(working.object[i]);
    }
    free(working.object);
    workload_rss_point("RSS between phases", phase + 1);
    return made + working.count;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"phases", &phases, "phases"},
        {"mib", &mebibytes, "MiB alive at the end of a phase, about"},
        {"turnover", &turnover, "times that a phase replaces its objects"},
        {"survivors", &survivor_share, "one object in so many outlives its phase"},
    };
    uint64_t made = 0;
    workload_parse(argc, argv, "Phases of different sizes: RSS from phase to phase.", options, 4);
    workload_require("survivors", survivor_share, 1, 1l << 30);
    double start = workload_seconds();
    for (long phase = 0; phase < phases; phase++)
        made += run_phase(phase);
    for (size_t i = 0; i < SURVIVING_PHASES; i++)
        free_set(&survivors[i]);
    workload_report("phases", made, workload_seconds() - start, workload_scramble(made));
    return 0;
}
