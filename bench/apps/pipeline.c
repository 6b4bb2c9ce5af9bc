/* SPDX-License-Identifier: MIT */
/*
 * pipeline: objects made by one thread, worked on by others, freed by the last; in chains, and fanned out and in.
 *
 *     chain:   maker -> stage 1 -> ... -> stage n           (--lanes chains side by side)
 *     fan out: maker -> n stages, each frees                 fan in: n makers -> one stage that frees all
 *
 * A stage of a chain replaces one object in four by one of its own: so objects of every stage meet at the last.
 * With --work who frees an object reads it through before.  Without, its stage is faster than the maker, sleeps after each
 * object and is woken for the next one: then the time is that of the wakes, and the faster free() is, the more there are.
 */
#include "channel.h"
#include "workload.h"

#include <stdatomic.h>
#include <string.h>

enum { STAGES_MOST = 64, LANES_MOST = 64 };

enum shape { CHAIN, FAN_OUT, FAN_IN };

struct object {
    uint64_t number;
    size_t size;
    unsigned char data[];
};

struct stage {
    pthread_t thread;
    struct channel *in;
    struct channel *out; /* NULL: the last one, which frees */
};

static long shape = CHAIN, lanes = 1, stages = 3, objects = 2000000, readings = 0;
static struct channel queue[LANES_MOST][STAGES_MOST];
static struct stage stage[LANES_MOST][STAGES_MOST];
static _Atomic uint64_t checksum_total;

static struct object *
make(uint64_t number)
{
    uint64_t random = workload_scramble(number);
    size_t size = random % 64 == 0 ? workload_log_size(&random, 11, 16) : workload_between(&random, 8, 600);
    struct object *object = workload_take(sizeof *object + size);
    object->number = number;
    object->size = size;
    if (readings > 0)
        memset(object->data, (int)number, size);
    object->data[0] = object->data[size - 1] = (unsigned char)number;
    return object;
}

/* A checksum of the whole object, as often as --work says. */
static uint64_t
read_through(const struct object *object)
{
    uint64_t sum = 0;
    for (long turn = 0; turn < readings; turn++) {
        for (size_t i = 0; i < object->size; i++)
            sum = (sum ^ object->data[i]) * 0x100000001b3u; /* FNV-1a's prime */
    }
    return sum;
}

static uint64_t
drop(struct object *object)
{
    uint64_t sum = workload_mix(object->number, object->size) + read_through(object);
    if (object->data[object->size - 1] != (unsigned char)object->number)
        workload_fail("pipeline", "an object has changed on its way");
    free(object);
    return sum;
}

static void *
work(void *argument)
{
    struct stage *self = argument;
    struct object *object;
    uint64_t sum = 0;
    while ((object = channel_get(self->in)) != NULL) {
        uint64_t number = object->number;
        if (self->out == NULL) {
            sum += drop(object);
        } else if (number % 4 == 0) {
            drop(object);
            channel_put(self->out, make(number));
        } else {
            channel_put(self->out, object);
        }
    }
    if (self->out != NULL)
        channel_close(self->out);
    checksum_total += sum;
    return NULL;
}

/* The maker of a lane: makes the objects lane, lane + lanes, ... and spreads them over the lane's queues. */
static void *
produce(void *argument)
{
    long lane = (long)(intptr_t)argument;
    long queues = shape == FAN_OUT ? stages : 1, home = shape == FAN_IN ? 0 : lane;
    for (long number = lane, turn = 0; number < objects; number += lanes, turn++)
        channel_put(&queue[home][turn % queues], make((uint64_t)number));
    for (long i = 0; shape != FAN_IN && i < queues; i++)
        channel_close(&queue[lane][i]);
    return NULL;
}

static void
start_stages(long lane, long count)
{
    for (long i = 0; i < count; i++)
        channel_open(&queue[lane][i]);
    for (long i = 0; i < count; i++) {
        stage[lane][i].in = &queue[lane][i];
        stage[lane][i].out = shape == CHAIN && i + 1 < count ? &queue[lane][i + 1] : NULL;
        if (pthread_create(&stage[lane][i].thread, NULL, work, &stage[lane][i]) != 0)
            workload_fail("pipeline", "cannot start a thread");
    }
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"shape", &shape, "0 chain, 1 fan out, 2 fan in"},
        {"lanes", &lanes, "makers; each has its own stages, but for fan in"},
        {"stages", &stages, "threads behind each maker; one for fan in"},
        {"objects", &objects, "objects in all"},
        {"work", &readings, "how often who frees an object reads it through before"},
    };
    pthread_t maker[LANES_MOST];
    workload_parse(argc, argv, "Objects handed from thread to thread in chains and fans.", options, 5);
    workload_require("shape", shape, CHAIN, FAN_IN);
    workload_require("lanes", lanes, 1, LANES_MOST);
    workload_require("stages", stages, 1, STAGES_MOST);
    workload_require("work", readings, 0, 1000);
    long homes = shape == FAN_IN ? 1 : lanes, behind = shape == FAN_IN ? 1 : stages;
    double start = workload_seconds();
    for (long lane = 0; lane < homes; lane++)
        start_stages(lane, behind);
    for (long lane = 0; lane < lanes; lane++) {
        if (pthread_create(&maker[lane], NULL, produce, (void *)(intptr_t)lane) != 0)
            workload_fail("pipeline", "cannot start a thread");
    }
    for (long lane = 0; lane < lanes; lane++)
        pthread_join(maker[lane], NULL);
    if (shape == FAN_IN)
        channel_close(&queue[0][0]);
    for (long lane = 0; lane < homes; lane++) {
        for (long i = 0; i < behind; i++)
            pthread_join(stage[lane][i].thread, NULL);
    }
    workload_report("pipeline", (uint64_t)objects, workload_seconds() - start, checksum_total);
    return 0;
}
