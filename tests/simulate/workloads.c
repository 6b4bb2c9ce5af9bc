/* SPDX-License-Identifier: MIT */
/* workloads: see workloads.h. */
#include "workloads.h"

#include "cost.h"
#include "machine.h"
#include "tested.h"

#include <string.h>

#define OWN_SLOTS 200
#define SHARED_SLOTS 4096
#define BIG_SLOTS 32
#define BURST 5000
#define QUEUE 16
#define PARCEL 256
#define ROUND_SLOTS 1000
#define POLL_NS 500

unsigned workloads_threads;
static void *own[COST_PROCESSORS][OWN_SLOTS], *shared_slots[SHARED_SLOTS], *rounds[COST_PROCESSORS][ROUND_SLOTS];
static void *burst[COST_PROCESSORS][BURST];
static struct {
    void **parcel[QUEUE];
    uint64_t put, taken;
} queues[COST_PROCESSORS];
static uint64_t turns[COST_PROCESSORS];

static void *
take(size_t size)
{
    char *object = tested_malloc(size);
    cost_touch(object, 1);
    *object = 1;
    return object;
}

static void
replace(void **slot, size_t size)
{
    cost_touch(slot, sizeof *slot);
    tested_free(*slot);
    *slot = take(size);
}

/* 200 objects of up to 516 bytes, each thread its own. */
static void
local(unsigned thread, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        replace(&own[thread][machine_below(OWN_SLOTS)], 16 + machine_below(500));
    }
}

/* 5000 of one size, then all of them freed. */
static void
bursts(unsigned thread, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i += BURST) {
        size_t size = (size_t)16 << machine_below(5);
        for (unsigned k = 0; k < BURST; k++) {
            burst[thread][k] = take(size);
        }
        for (unsigned k = 0; k < BURST; k++) {
            tested_free(burst[thread][k]);
        }
    }
}

/* Each object is put into a table that all share, and what was there is freed. */
static void
exchange(unsigned thread, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        void *object = take(16 + machine_below(500)), **slot = &shared_slots[machine_below(SHARED_SLOTS)];
        cost_touch(slot, sizeof *slot);
        void *before = *slot;
        *slot = object;
        if (before != NULL) {
            cost_touch(before, 1);
        }
        tested_free(before);
    }
}

static void
put_parcels(unsigned queue, uint64_t parcels)
{
    for (uint64_t i = 0; i < parcels; i++) {
        void **parcel = take(PARCEL * sizeof *parcel);
        for (unsigned k = 0; k < PARCEL; k++) {
            parcel[k] = take(32 + machine_below(8) * 32);
        }
        while (queues[queue].put - queues[queue].taken == QUEUE) {
            cost_compute(POLL_NS);
        }
        cost_touch(&queues[queue], sizeof queues[queue]);
        queues[queue].parcel[queues[queue].put++ % QUEUE] = parcel;
    }
}

static void
take_parcels(unsigned queue, uint64_t parcels)
{
    for (uint64_t i = 0; i < parcels; i++) {
        while (queues[queue].taken == queues[queue].put) {
            cost_compute(POLL_NS);
        }
        cost_touch(&queues[queue], sizeof queues[queue]);
        void **parcel = queues[queue].parcel[queues[queue].taken++ % QUEUE];
        for (unsigned k = 0; k < PARCEL; k++) {
            cost_touch(parcel[k], 1);
            tested_free(parcel[k]);
        }
        tested_free(parcel);
    }
}

/* One thread makes parcels of 256 objects, another one frees them. */
static void
parcels(unsigned thread, uint64_t pairs)
{
    uint64_t count = 2 * pairs / PARCEL + 1; /* a pair of threads makes the pairs of both */
    if (workloads_threads == 1) {
        for (uint64_t i = 0; i < count / 2 + 1; i++) {
            put_parcels(0, 1);
            take_parcels(0, 1);
        }
    } else if (thread % 2 == 0) {
        put_parcels(thread / 2, count);
    } else {
        take_parcels(thread / 2, count);
    }
}

/* 1000 objects of up to 1000 bytes, which go round: each turn a thread has those of its neighbour. */
static void
rounds_of_slots(unsigned thread, uint64_t pairs)
{
    for (unsigned turn = 0; turn < 5; turn++) {
        void **slots = rounds[(thread + turns[thread]) % workloads_threads];
        for (uint64_t i = 0; i < pairs / 5; i++) {
            replace(&slots[machine_below(ROUND_SLOTS)], 8 + machine_below(992));
        }
        turns[thread]++;
        while (turns[(thread + 1) % workloads_threads] < turns[thread]) { /* whose they are next */
            cost_compute(POLL_NS);
        }
    }
}

/* 32 objects of 16 KiB to 1 MiB. */
static void
large(unsigned thread, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        replace(&own[thread][machine_below(BIG_SLOTS)], 16384 + machine_below(1 << 20));
    }
}

const struct workload workloads[] = {
    {"local", "200 own objects", local, 1},
    {"bursts", "5000 made, 5000 freed", bursts, 1},
    {"exchange", "a table of 4096 shared", exchange, 1},
    {"parcels", "one makes, another frees, 256 at a time", parcels, 1},
    {"rounds", "1000 objects that go from thread to thread", rounds_of_slots, 1},
    {"large", "32 own objects of 16 KiB to 1 MiB", large, 4},
};
const size_t workloads_count = sizeof workloads / sizeof workloads[0];

void
workloads_begin(void)
{
    memset(own, 0, sizeof own);
    memset(shared_slots, 0, sizeof shared_slots);
    memset(rounds, 0, sizeof rounds);
    memset(queues, 0, sizeof queues);
    memset(turns, 0, sizeof turns);
}
