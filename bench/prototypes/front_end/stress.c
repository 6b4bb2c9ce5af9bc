/* SPDX-License-Identifier: MIT */
/*
 * stress: threads exchange objects of 16 to 14,336 bytes through shared slots and check every byte before they free.
 * Three generations of four threads; aborts on a wrong byte and prints what is left in slabs when all has been freed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto.h"

enum { SLOTS = 20000, THREADS = 4, GENERATIONS = 3, EXCHANGES = 500000 };

struct object {
    size_t size;
    uint64_t stamp;
    unsigned char content[];
};

static _Atomic(struct object *) slots[SLOTS];

static void
put(size_t slot, struct object *object)
{
    struct object *old = atomic_exchange(&slots[slot], object);
    for (size_t i = 0; old != NULL && i < old->size - sizeof *old; i++) {
        if (old->content[i] != (unsigned char)old->stamp) {
            abort();
        }
    }
    proto_free(old);
}

static void *
exchange(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    for (int i = 0; i < EXCHANGES; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        size_t size = 16 + ((random >> 40) % (PROTO_SMALL_MAX - 15) >> (random >> 20) % 10);
        struct object *object = proto_malloc(size);
        object->size = size;
        object->stamp = random >> 8;
        memset(object->content, (unsigned char)object->stamp, size - sizeof *object);
        put((random >> 33) % SLOTS, object);
    }
    proto_thread_exit();
    return NULL;
}

int
main(void)
{
    for (int generation = 0; generation < GENERATIONS; generation++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, exchange, (void *)(uintptr_t)(generation * THREADS + i + 1));
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    for (size_t i = 0; i < SLOTS; i++) {
        put(i, NULL);
    }
    proto_thread_exit();
    proto_purge();
    printf("%zu KiB in slabs\n", proto_slab_kib());
    return 0;
}
