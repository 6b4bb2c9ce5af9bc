/* SPDX-License-Identifier: MIT */
/*
 * survivors: hours of a long-running server in a minute: most objects die young, a few stay, and what stays thins out.
 *
 * Each generation makes objects in the places that the last one left; one in `--keep` is put into the table of
 * survivors, over an older one chosen at random, so that ages spread as they do in a cache.  The mix of sizes drifts.
 * Live bytes stay about the same: how far RSS rises above them is what fragmentation costs.
 */
#include "workload.h"

static long generations = 300, young = 20000, keep = 20, table_size = 100000, every = 10;

struct object {
    size_t size;
    unsigned char data[];
};

static struct object **table;
static size_t live_bytes;

/* Small sizes drift up and down by generation; one object in 200 is large. */
static struct object *
make(uint64_t *random, long generation)
{
    unsigned drift = (unsigned)(generation / 25 % 4);
    size_t size = workload_random(random) % 200 == 0 ? workload_log_size(random, 13, 18)
                                                     : workload_log_size(random, 4 + drift, 8 + drift);
    struct object *object = workload_take(sizeof *object + size);
    object->size = sizeof *object + size;
    memset(object->data, 1, size);
    live_bytes += object->size;
    return object;
}

static void
drop(struct object *object)
{
    if (object != NULL)
        live_bytes -= object->size;
    free(object);
}

static void
report(long generation)
{
    long rss = workload_rss_kib();
    workload_rss_point("RSS by generation", generation);
    fprintf(stderr, "{\"series\":\"RSS / live bytes by generation\",\"at\":%ld,\"ratio\":%.4f}\n", generation,
            (double)rss * 1024 / (double)live_bytes);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"generations", &generations, "generations"},
        {"young", &young, "objects alive in a generation besides the survivors"},
        {"keep", &keep, "one object in so many survives its generation"},
        {"table", &table_size, "survivors at most"},
        {"every", &every, "generations between two readings of RSS"},
    };
    uint64_t random = 1, made = 0;
    workload_parse(argc, argv, "Long-lived survivors among short lives: fragmentation over time.", options, 5);
    workload_require("young", young, 1, 1l << 30);
    workload_require("keep", keep, 1, 1l << 30);
    workload_require("table", table_size, 1, 1l << 30);
    workload_require("every", every, 1, 1l << 30);
    double start = workload_seconds();
    struct object **brief = calloc((size_t)young, sizeof(struct object *));
    table = calloc((size_t)table_size, sizeof(struct object *));
    if (brief == NULL || table == NULL)
        workload_fail("survivors", "out of memory");
    for (long generation = 1; generation <= generations; generation++) {
        for (long i = 0; i < young * 4; i++, made++) {
            struct object **place = &brief[workload_random(&random) % (uint64_t)young];
            if (made % (uint64_t)keep == 0)
                place = &table[workload_random(&random) % (uint64_t)table_size];
            drop(*place);
            *place = make(&random, generation);
        }
        if (generation % every == 0)
            report(generation);
    }
    for (long i = 0; i < young; i++)
        drop(brief[i]);
    for (long i = 0; i < table_size; i++)
        drop(table[i]);
    free(brief);
    free(table);
    workload_report("survivors", made, workload_seconds() - start, made);
    return 0;
}
