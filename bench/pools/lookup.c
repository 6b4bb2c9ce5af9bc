/* SPDX-License-Identifier: MIT */
/*
 * lookup: nanoseconds to find the smallest declared size that holds a request, for each method of hew/pool_lookup.h.
 *
 * Tables of 10 to 15,210 sizes: even (2, 4, 6 ...), uneven (three stretches with steps of 2, 4 and 8 and gaps between them) and
 * wide (each size larger by the same factor than the one before, from 8 bytes to a gibibyte).
 * The requests are each size less one, 50,000 together; in the table's order, in random order, and in random order with each
 * request depending on the answer before, which shows how long one takes rather than how many overlap.  Methods take turns,
 * and the median of `--rounds` counts.  One JSON object per line on stdout.
 */
#include "hew/pool_lookup.h"
#include "workload.h"

#include <math.h>

enum { MOST = 15210, LOOKUPS = 50000, ROUNDS_MOST = 1001, METHODS = 6 };

enum order { IN_ORDER, SHUFFLED, CHAINED, ORDERS };

static const char *const order_name[ORDERS] = {"in order", "random order", "one after the other"};
static const char *const method_name[METHODS] = {"auto", "midpoint", "interpolation", "hybrid", "flat", "doubling"};
static const unsigned counts[] = {10, 40, 160, 490, 1210, 4000, 9000, MOST};

static size_t table[MOST], keys[MOST];
static struct hew_pool_lookup lookup[METHODS];
static long rounds = 31, only_order;
static volatile unsigned sink;

static void
make_even(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        table[i] = 2 * ((size_t)i + 1);
}

static void
make_uneven(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned third = i < count / 3 ? 0 : i < count / 3 * 2 ? 1 : 2;
        table[i] = (size_t)third * 3 * count + ((size_t)2 << third) * (i + 1);
    }
}

/* In the longer ones the first sizes, whose factor would not be a whole byte, are one apart. */
static void
make_wide(unsigned count)
{
    size_t last = 7;
    for (unsigned i = 0; i < count; i++) {
        size_t size = (size_t)(8 * pow(2, 27.0 * i / (count - 1)));
        table[i] = last = size > last ? size : last + 1;
    }
}

static void
make_keys(unsigned count, enum order order)
{
    uint64_t random = 1;
    for (unsigned i = 0; i < count; i++)
        keys[i] = table[i] - 1;
    for (unsigned i = count - 1; order != IN_ORDER && i > 0; i--) {
        unsigned other = (unsigned)(workload_random(&random) % (i + 1));
        size_t key = keys[i];
        keys[i] = keys[other];
        keys[other] = key;
    }
}

/* Seconds a look-up.  `mask` is 0 and the compiler does not know: with it each request waits for the answer before. */
static double
pass(const struct hew_pool_lookup *by, unsigned count, unsigned mask)
{
    unsigned sum = 0, last = 0, repeats = LOOKUPS / count;
    double start = workload_seconds();
    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        for (unsigned i = 0; i < count; i++) {
            last = hew_pool_lookup_find(by, keys[i] + (last & mask));
            sum += last;
        }
    }
    double seconds = workload_seconds() - start;
    sink = sum;
    return seconds / ((double)repeats * count);
}

static double
pass_unchained(const struct hew_pool_lookup *by, unsigned count)
{
    unsigned sum = 0, repeats = LOOKUPS / count;
    double start = workload_seconds();
    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        for (unsigned i = 0; i < count; i++)
            sum += hew_pool_lookup_find(by, keys[i]);
    }
    double seconds = workload_seconds() - start;
    sink = sum;
    return seconds / ((double)repeats * count);
}

static int
ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* Interpolation of a table that is far from even takes hundreds of steps: one round of it is enough to see that, and none
 * where it would take minutes. */
static int
takes_part(unsigned method, unsigned count, long round, double first)
{
    int slow = table[count - 1] > (size_t)64 * count && count > 200;
    return method != HEW_POOL_LOOKUP_INTERPOLATION || (!slow && (round == 0 || first < 1e-7));
}

static void
measure(const char *shape, unsigned count, enum order order)
{
    static double seconds[METHODS][ROUNDS_MOST];
    static volatile unsigned zero;
    long taken[METHODS] = {0};
    unsigned mask = zero;
    make_keys(count, order);
    for (long round = 0; round < rounds; round++) {
        for (unsigned method = 0; method < METHODS; method++) {
            if (takes_part(method, count, round, seconds[method][0]))
                seconds[method][taken[method]++] =
                    order == CHAINED ? pass(&lookup[method], count, mask) : pass_unchained(&lookup[method], count);
        }
    }
    for (unsigned method = 0; method < METHODS; method++) {
        if (taken[method] == 0)
            continue;
        qsort(seconds[method], (size_t)taken[method], sizeof(double), ascending);
        printf("{\"table\":\"%s\",\"order\":\"%s\",\"method\":\"%s\",\"sizes\":%u,\"ns\":%.3f,\"chosen\":\"%s\"}\n",
               shape, order_name[order], method_name[method], count, seconds[method][taken[method] / 2] * 1e9,
               method_name[lookup[method].method]);
    }
    fflush(stdout);
}

static void
measure_table(const char *shape, unsigned count)
{
    void *room[METHODS];
    for (unsigned method = 0; method < METHODS; method++) {
        size_t size = hew_pool_lookup_room(table, count, (enum hew_pool_lookup_method)method);
        room[method] = malloc(size);
        if (hew_pool_lookup_prepare(&lookup[method], table, count, (enum hew_pool_lookup_method)method, room[method],
                                    size))
            workload_fail("lookup", "no such table");
    }
    for (enum order order = IN_ORDER; order < ORDERS; order++) {
        if (only_order == 0 || only_order == (long)order + 1)
            measure(shape, count, order);
    }
    for (unsigned method = 0; method < METHODS; method++)
        free(room[method]);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"rounds", &rounds, "how often each method has its turn"},
        {"order", &only_order, "1 in order, 2 random order, 3 one after the other; 0 all"},
    };
    workload_parse(argc, argv, "Nanoseconds to find the declared size of a request, as JSON lines.", options, 2);
    workload_require("rounds", rounds, 1, ROUNDS_MOST);
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        make_even(counts[i]);
        measure_table("even", counts[i]);
        make_uneven(counts[i]);
        measure_table("uneven", counts[i]);
        make_wide(counts[i]);
        measure_table("wide", counts[i]);
    }
    return 0;
}
