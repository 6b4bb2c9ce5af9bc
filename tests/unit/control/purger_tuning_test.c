/* SPDX-License-Identifier: MIT */
/*
 * purger_tuning: the purger's thread with tuning on, while threads fill, flush and try more room, arenas come, times are set, statistics are read, and
 * the thread is forbidden and allowed again.  ThreadSanitizer sees what of that is not ordered.
 */
#include "base/steps.h"
#include "cache/magazine.h"
#include "control/purger.h"
#include "layers_alloc.h"
#include "slab/arena_life.h"
#include "stats/tuning.h"
#include "test.h"

#include <pthread.h>
#include <time.h>

enum { THREADS = 3, OBJECTS = 3000, WAITS_MOST = 9000, WAITS_FOR_TRIALS = 800 };

static atomic_bool done;
static atomic_uint spoilt;

static void
pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* More than magazines and depots have room for, of ever other sizes. */
static void *
fill_and_flush(void *argument)
{
    static __thread unsigned char *objects[OBJECTS];
    unsigned self = (unsigned)(uintptr_t)argument;
    hew_cache_self = &hew_cache_none;
    for (unsigned round = 0; !atomic_load(&done); round++) {
        size_t size = 64 + (round / 64 * 37 + self * 101) % 1000;
        for (unsigned i = 0; i < OBJECTS; i++) {
            objects[i] = layers_malloc(size);
            *objects[i] = (unsigned char)(i + round);
        }
        for (unsigned i = 0; i < OBJECTS; i++) {
            atomic_fetch_add(&spoilt, *objects[i] != (unsigned char)(i + round));
            layers_free(objects[i]);
        }
    }
    layers_end_thread();
    return NULL;
}

/* What reports and mallctl read, and what programs set meanwhile. */
static void
look_and_set(unsigned round)
{
    struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT];
    unsigned count = hew_steps_read(steps);
    CHECK(hew_stats_tuned().kept + hew_stats_tuned().undone <= hew_stats_tuned().steps);
    for (unsigned i = 0; i < count; i++) {
        CHECK(steps[i].after > steps[i].before && steps[i].reason_before <= 1000000);
    }
    struct hew_arena *arena = hew_arena_get(round % 3);
    if (round % 3 == 2) {
        hew_arena_set_decay_ms(arena, HEW_DECAY_DIRTY, 1000 + round);
    }
    if (round % 256 == 255) {
        CHECK(hew_purger_enable(false) && hew_purger_enable(true));
    }
}

static void
boot_once(void)
{
    CHECK(layers_boot());
    hew_options.narenas = 3;
    hew_options.tuning = HEW_TUNING_ON;
    hew_options.tuning_memory = 100;
    CHECK(hew_arena_get(0) != NULL && hew_purger_enable(true));
}

TEST(the_purgers_thread_tunes_while_others_allocate_read_and_set)
{
    pthread_t threads[THREADS];
    boot_once();
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, fill_and_flush, (void *)i), 0);
    }
    uint64_t windows = 0, trials = 0;
    /* Under a sanitizer threads are too slow to try more room. */
    for (unsigned round = 0; round < WAITS_MOST && (windows < 3 || (trials < 1 && round < WAITS_FOR_TRIALS)); round++) {
        pause_ms(10);
        look_and_set(round);
        windows = hew_stats_tuned().windows;
        trials = hew_stats_tuned().room_trials;
    }
    atomic_store(&done, true);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    hew_purger_end();
    CHECK(windows >= 3);
    printf("# %llu windows, %llu trials of threads\n", (unsigned long long)windows, (unsigned long long)trials);
    CHECK_EQUAL(atomic_load(&spoilt), 0);
}
