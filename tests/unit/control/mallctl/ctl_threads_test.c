/* SPDX-License-Identifier: MIT */
/* ctl under several threads: the first use of the tree, and arenas, caches and epochs that come and go. */
#include "control/mallctl/ctl_tree.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "slab/arena_life.h"
#include "test.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 200

static _Atomic unsigned failures;

static void
must(int result, const char *what)
{
    if (result != 0) {
        printf("%s: %d\n", what, result);
        failures++;
    }
}

/* A life in the thread's own arena and cache, and questions about all of them. */
static void
one_round(unsigned round)
{
    unsigned arena = 0, cache = 0, home = 0, count = 0;
    uint64_t epoch = round;
    size_t allocated = 0;
    int64_t decay = (int64_t)round;
    char name[64];
    must(ctl_read("arenas.create", &arena, sizeof arena), "create");
    must(ctl_exchange("thread.arena", &home, &arena, sizeof arena), "move");
    void *object = layers_malloc(64 + round), *large = layers_malloc(HEW_SMALL_MAX + round * 100);
    must(ctl_write("epoch", &epoch, sizeof epoch), "epoch");
    must(ctl_read("stats.allocated", &allocated, sizeof allocated), "allocated");
    must(ctl_read("arenas.narenas", &count, sizeof count), "narenas");
    must(count > arena ? 0 : -1, "narenas covers the arena");
    snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", arena);
    must(ctl_write(name, &decay, sizeof decay), "decay");
    must(ctl_do("arena.4096.purge"), "purge");
    layers_free(object);
    layers_free(large);
    must(ctl_do("thread.tcache.flush"), "flush");
    must(ctl_write("thread.arena", &home, sizeof home), "move back");
    snprintf(name, sizeof name, "arena.%u.destroy", arena);
    must(ctl_do(name), "destroy");
    must(ctl_read("tcache.create", &cache, sizeof cache), "cache");
    must(ctl_write("tcache.destroy", &cache, sizeof cache), "cache's end");
}

static void *
work(void *unused)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        one_round(round);
    }
    layers_end_thread();
    return unused;
}

TEST(threads_make_set_and_destroy_while_others_ask)
{
    pthread_t threads[THREADS];
    CHECK(layers_boot());
    hew_options.narenas = 2;
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, work, NULL), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(failures, 0);
    unsigned count = 0;
    CHECK_EQUAL(ctl_read("arenas.narenas", &count, sizeof count), 0);
    CHECK(count <= hew_arena_limit() + 1 + THREADS);
}
