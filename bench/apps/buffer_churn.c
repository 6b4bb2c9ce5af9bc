/* SPDX-License-Identifier: MIT */
/*
 * buffer_churn: large and small buffers of one falling size, half of them replaced in each round.
 *
 * Each round fills the empty slots with `size` bytes each, writes them whole, then frees one half of the slots; the
 * halves take turns.  The size falls from `--largest` to 1 by `--step`.  With --step 1 it is the published run (some
 * ten minutes); the default step scales it to seconds and keeps the shape.
 */
#include "workload.h"

static long slots = 1024, largest = 102400, step = 256;

static uint64_t
fill_empty_slots(unsigned char **slot, size_t size)
{
    uint64_t filled = 0;
    for (long i = 0; i < slots; i++) {
        if (slot[i] != NULL)
            continue;
        slot[i] = workload_take(size);
        memset(slot[i], (int)((size + (size_t)i) & 0xff), size);
        filled++;
    }
    return filled;
}

/* Reads the first byte of each buffer before it goes: the data must still be what was written. */
static uint64_t
free_half(unsigned char **slot, long first, long last, uint64_t checksum)
{
    for (long i = first; i < last; i++) {
        checksum = workload_mix(checksum, slot[i][0]);
        free(slot[i]);
        slot[i] = NULL;
    }
    return checksum;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"slots", &slots, "buffers alive at the top of each round"},
        {"largest", &largest, "bytes per buffer in the first round"},
        {"step", &step, "bytes by which the size falls each round"},
    };
    workload_parse(argc, argv, "Buffer churn: half of the buffers are replaced each round, by slightly smaller ones.",
                   options, 3);
    workload_require("slots", slots, 2, 1 << 24);
    workload_require("largest", largest, 1, 1l << 32);
    workload_require("step", step, 1, 1l << 32);

    unsigned char **slot = calloc((size_t)slots, sizeof *slot);
    if (slot == NULL)
        workload_fail("buffer_churn", "out of memory");
    double start = workload_seconds();
    uint64_t operations = 0, checksum = 0;
    long round = 0;
    for (long size = largest; size >= 1; size -= step, round++) {
        operations += fill_empty_slots(slot, (size_t)size);
        if (round % 2 == 0)
            checksum = free_half(slot, 0, slots / 2, checksum);
        else
            checksum = free_half(slot, slots / 2, slots, checksum);
    }
    for (long i = 0; i < slots; i++)
        free(slot[i]);
    workload_report("buffer_churn", operations, workload_seconds() - start, checksum);
    free(slot);
    return 0;
}
