/* SPDX-License-Identifier: MIT */
/*
 * broker: messages from many producers to many consumers, each message freed by whichever consumer is last.
 *
 *     producer --batch--> topic --same batch--> consumer 1 .. n of that topic
 *
 * A message is a header, a topic name and a payload, three allocations in the producer; consumers count down its
 * references, and the last one frees all three: nearly every free is by another thread than its malloc.
 */
#include "channel.h"
#include "workload.h"

#include <stdatomic.h>

enum { TOPICS_MOST = 64, CONSUMERS_MOST = 64, PRODUCERS_MOST = 256, BATCH = 64 };

struct message {
    char *topic;
    unsigned char *payload;
    size_t length;
    uint64_t number;
    atomic_long readers;
};

struct batch {
    atomic_long readers;
    size_t count;
    struct message *message[BATCH];
};

static long producers = 3, topics = 2, consumers = 2, messages = 5000000;
static struct channel queue[TOPICS_MOST][CONSUMERS_MOST];
static _Atomic uint64_t checksum_total, freed_total;

static struct message *
make_message(uint64_t number, uint64_t topic)
{
    uint64_t random = workload_scramble(number);
    struct message *message = workload_take(sizeof *message);
    message->topic = workload_take(48);
    snprintf(message->topic, 48, "topic/%llu/part/%llu", (unsigned long long)topic, (unsigned long long)number % 7);
    message->length =
        workload_random(&random) % 128 == 0 ? workload_log_size(&random, 12, 17) : workload_between(&random, 16, 1024);
    message->payload = workload_take(message->length);
    memset(message->payload, (int)(number & 0xff), message->length);
    message->number = number;
    atomic_init(&message->readers, consumers);
    return message;
}

static void
send_batch(struct batch *batch, uint64_t topic)
{
    atomic_init(&batch->readers, consumers);
    for (long i = 0; i < consumers; i++)
        channel_put(&queue[topic][i], batch);
}

/* Producer p makes the messages p, p + producers, p + 2 * producers ...; a batch goes to one topic. */
static void *
produce(void *argument)
{
    uint64_t self = (uint64_t)(uintptr_t)argument, batches = 0;
    struct batch *batch = NULL;
    for (uint64_t number = self; number < (uint64_t)messages; number += (uint64_t)producers) {
        uint64_t topic = (batches + self) % (uint64_t)topics;
        if (batch == NULL) {
            batch = workload_take(sizeof *batch);
            batch->count = 0;
        }
        batch->message[batch->count++] = make_message(number, topic);
        if (batch->count == BATCH || number + (uint64_t)producers >= (uint64_t)messages) {
            send_batch(batch, topic);
            batch = NULL;
            batches++;
        }
    }
    return NULL;
}

static uint64_t
read_message(struct message *message)
{
    uint64_t sum = workload_mix(message->number, message->length);
    if (message->payload[0] != (message->number & 0xff) ||
        message->payload[message->length - 1] != (message->number & 0xff))
        workload_fail("broker", "a message has changed on its way");
    if (atomic_fetch_sub_explicit(&message->readers, 1, memory_order_acq_rel) == 1) {
        free(message->topic);
        free(message->payload);
        free(message);
        freed_total++;
    }
    return sum;
}

static void *
consume(void *argument)
{
    struct batch *batch;
    uint64_t sum = 0;
    while ((batch = channel_get(argument)) != NULL) {
        for (size_t i = 0; i < batch->count; i++)
            sum += read_message(batch->message[i]);
        if (atomic_fetch_sub_explicit(&batch->readers, 1, memory_order_acq_rel) == 1)
            free(batch);
    }
    checksum_total += sum;
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"producers", &producers, "producer threads"},
        {"topics", &topics, "topics"},
        {"consumers", &consumers, "consumer threads per topic; each reads every message of the topic"},
        {"messages", &messages, "messages sent in all"},
    };
    static pthread_t producer[PRODUCERS_MOST], consumer[TOPICS_MOST][CONSUMERS_MOST];
    workload_parse(argc, argv, "Message broker: objects are freed by another thread than made them.", options, 4);
    workload_require("producers", producers, 1, PRODUCERS_MOST);
    workload_require("topics", topics, 1, TOPICS_MOST);
    workload_require("consumers", consumers, 1, CONSUMERS_MOST);
    double start = workload_seconds();
    for (long t = 0; t < topics; t++) {
        for (long c = 0; c < consumers; c++) {
            channel_open(&queue[t][c]);
            pthread_create(&consumer[t][c], NULL, consume, &queue[t][c]);
        }
    }
    for (long p = 0; p < producers; p++)
        pthread_create(&producer[p], NULL, produce, (void *)(uintptr_t)p);
    for (long p = 0; p < producers; p++)
        pthread_join(producer[p], NULL);
    for (long t = 0; t < topics; t++) {
        for (long c = 0; c < consumers; c++)
            channel_close(&queue[t][c]);
        for (long c = 0; c < consumers; c++)
            pthread_join(consumer[t][c], NULL);
    }
    if (freed_total != (uint64_t)messages)
        workload_fail("broker", "not every message was freed once");
    workload_report("broker", (uint64_t)messages, workload_seconds() - start, checksum_total);
    return 0;
}
