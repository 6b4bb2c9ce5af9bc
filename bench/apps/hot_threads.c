/* SPDX-License-Identifier: MIT */
/*
 * hot_threads: many threads of which few do nearly all the work, and what those make is freed by others.
 *
 * After a large service: hundreds of threads serve a request now and then; a few dozen are hot.  A hot thread makes
 * messages of 512, 1024, 2048 and 4096 bytes (where a slab of most allocators holds few objects, so that fills are many)
 * and hands them over; its partner reads and frees them.  So every message costs a fill on one side and a flush on the
 * other.  The cold threads keep a few small objects each, exchange some, and sleep.
 *
 * --exclusive 1 gives each hot producer an arena of its own, by mallctl, where the allocator has that: what a service whose
 * code can be changed would do.
 */
#include "channel.h"
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MOST = 4096, HOT_MOST = 128, CHAIN = 32, KEPT = 24 };

struct message {
    struct message *next;
    size_t size;
};

struct pair {
    pthread_t producer;
    pthread_t reader;
    uint64_t random;
    uint64_t checksum;
    struct channel channel;
};

static long threads = 256, hot = 8, messages = 200000, sleep_ms = 20, exclusive = 0;
static struct pair pairs[HOT_MOST / 2];
static pthread_t cold[THREADS_MOST];
static atomic_bool done;

extern int mallctl(const char *name, void *old, size_t *old_length, void *value, size_t value_length)
    __attribute__((weak));

static void
take_arena(void)
{
    unsigned arena = 0;
    size_t length = sizeof arena;
    if (mallctl == NULL)
        return;
    if (mallctl("arenas.create", &arena, &length, NULL, 0) != 0 ||
        mallctl("thread.arena", NULL, NULL, &arena, sizeof arena) != 0)
        workload_fail("hot_threads", "this allocator gives no arena of its own");
}

static struct message *
make(struct pair *self, struct message *next)
{
    /* Four sizes that just fit 512, 1024, 2048 and 4096 bytes. */
    uint64_t draw = workload_random(&self->random);
    size_t size = ((size_t)512 << (draw & 3)) - ((draw >> 2) & 31);
    struct message *message = workload_take(size);
    message->next = next;
    message->size = size;
    ((unsigned char *)message)[size - 1] = (unsigned char)size;
    return message;
}

static void *
make_all(void *argument)
{
    struct pair *self = argument;
    if (exclusive)
        take_arena();
    for (long made = 0; made < messages; made += CHAIN) {
        struct message *chain = NULL;
        for (int i = 0; i < CHAIN; i++)
            chain = make(self, chain);
        channel_put(&self->channel, chain);
    }
    channel_close(&self->channel);
    return NULL;
}

static void *
read_all(void *argument)
{
    struct pair *self = argument;
    for (struct message *message; (message = channel_get(&self->channel)) != NULL;) {
        for (struct message *next; message != NULL; message = next) {
            next = message->next;
            if (((unsigned char *)message)[message->size - 1] != (unsigned char)message->size)
                workload_fail("hot_threads", "a message has changed");
            self->checksum += workload_scramble(message->size);
            free(message);
        }
    }
    return NULL;
}

/* Keeps a few objects, replaces some of them each time that it wakes up. */
static void *
idle_along(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)argument;
    void *kept[KEPT] = {NULL};
    while (!atomic_load_explicit(&done, memory_order_relaxed)) {
        for (int i = 0; i < KEPT / 4; i++) {
            void **place = &kept[workload_random(&random) % KEPT];
            free(*place);
            *place = workload_take(workload_log_size(&random, 5, 12));
            *(unsigned char *)*place = 1;
        }
        workload_sleep_ms(sleep_ms);
    }
    for (int i = 0; i < KEPT; i++)
        free(kept[i]);
    return NULL;
}

static void
start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    if (pthread_create(thread, &attributes, body, argument) != 0)
        workload_fail("hot_threads", "cannot start a thread");
    pthread_attr_destroy(&attributes);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads in all"},
        {"hot", &hot, "of them hot: half of those make messages, half read and free them"},
        {"messages", &messages, "messages of each producer"},
        {"sleep", &sleep_ms, "milliseconds that a cold thread sleeps"},
        {"exclusive", &exclusive, "1: each producer gets an arena of its own (mallctl)"},
    };
    uint64_t checksum = 0;
    workload_parse(argc, argv, "Many threads, few of them hot; messages are freed by another thread.", options, 5);
    workload_require("hot", hot, 2, HOT_MOST);
    workload_require("threads", threads, hot, THREADS_MOST);
    double began = workload_seconds();
    long idle = threads - hot;
    for (long i = 0; i < idle; i++)
        start(&cold[i], idle_along, (void *)(uintptr_t)workload_scramble((uint64_t)i));
    for (long i = 0; i < hot / 2; i++) {
        pairs[i].random = workload_scramble((uint64_t)i + THREADS_MOST);
        channel_open(&pairs[i].channel);
        start(&pairs[i].reader, read_all, &pairs[i]);
        start(&pairs[i].producer, make_all, &pairs[i]);
    }
    for (long i = 0; i < hot / 2; i++) {
        pthread_join(pairs[i].producer, NULL);
        pthread_join(pairs[i].reader, NULL);
        checksum += pairs[i].checksum;
    }
    atomic_store(&done, true);
    for (long i = 0; i < idle; i++)
        pthread_join(cold[i], NULL);
    workload_report("hot_threads", (uint64_t)(hot / 2) * (uint64_t)messages, workload_seconds() - began, checksum);
    return 0;
}
