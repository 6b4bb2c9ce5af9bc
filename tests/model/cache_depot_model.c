/* SPDX-License-Identifier: MIT */
/*
 * cache_depot: depots against the plainest model: an object is out, with us, or it is not.  What comes from a depot or a slab
 * was not out, and what is neither out nor in a depot is back in its slab.  First one thread at random, with memory refused
 * now and then; then threads with caches of their own that pass objects on, drain, end and begin.
 *
 * Settings: HEW_SEED, HEW_OPERATIONS (of the first test; default 60000).
 */
#include "cache/budget.h"
#include "cache/depot.h"
#include "cache/kept.h"
#include "cache/magazine.h"
#include "cache/owner.h"
#include "cache/thread.h"
#include "layers.h"
#include "layers_random.h"
#include "test.h"

#include <pthread.h>

#define DEPOTS 4
#define CLASSES 5
#define OUT_MAX 6000
#define BATCH 200
#define OUT_MARK UINT64_C(0x5bd1e995a5a5f00d)

static const size_t sizes[CLASSES] = {16, 64, 1024, 4096, 32768};
static struct layers_random dice;
static bool refuse_now;
static void *out[CLASSES][OUT_MAX];
static unsigned out_count[CLASSES];

static bool
refuse(const char *call)
{
    return refuse_now && call != NULL;
}

static void
boot(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = DEPOTS;
    }
}

/* It is ours from now on. */
static void
mark(void *object)
{
    uint64_t *word = object, wanted = OUT_MARK ^ (uintptr_t)object;
    CHECK(*word != wanted); /* else it was out already */
    *word = wanted;
}

static void
unmark(void *object)
{
    uint64_t *word = object;
    CHECK(*word == (OUT_MARK ^ (uintptr_t)object)); /* else another thread has it as well */
    *word = 0;
}

static unsigned
from_slabs(unsigned code, void **objects, unsigned wanted)
{
    struct hew_arena *arena = hew_arena_get((unsigned)layers_random_below(&dice, DEPOTS));
    return code > HEW_CODE_SMALL_LAST ? hew_large_take_some(arena, code, objects, wanted)
                                      : hew_bin_take(&arena->bins[code], &arena->pages, code, objects, wanted);
}

static void
take_some(unsigned class)
{
    void *objects[BATCH];
    unsigned code = hew_code_of_size(sizes[class]), wanted = (unsigned)layers_random_below(&dice, BATCH) + 1;
    wanted = wanted < OUT_MAX - out_count[class] ? wanted : OUT_MAX - out_count[class];
    if (wanted == 0) {
        return;
    }
    unsigned got = layers_random_once_in(&dice, 4)
                       ? from_slabs(code, objects, wanted)
                       : hew_depot_take((unsigned)layers_random_below(&dice, DEPOTS), code, objects, wanted);
    CHECK(got <= wanted);
    for (unsigned i = 0; i < got; i++) {
        mark(objects[i]);
        out[class][out_count[class]++] = objects[i];
    }
}

static void
give_some(unsigned class)
{
    void *objects[BATCH];
    unsigned code = hew_code_of_size(sizes[class]), count = (unsigned)layers_random_below(&dice, BATCH) + 1;
    count = count < out_count[class] ? count : out_count[class];
    for (unsigned i = 0; i < count; i++) {
        unsigned which = (unsigned)layers_random_below(&dice, out_count[class]);
        objects[i] = out[class][which];
        out[class][which] = out[class][--out_count[class]];
        unmark(objects[i]);
    }
    if (count != 0) {
        hew_depot_give((unsigned)layers_random_below(&dice, DEPOTS), code, objects, count);
    }
}

/* Objects of a class that their owners miss. */
static uint64_t
missed(unsigned code)
{
    uint64_t count = 0;
    HEW_EACH_ARENA(arena)
    {
        if (code <= HEW_CODE_SMALL_LAST) {
            count += arena->bins[code].counts.nmalloc - arena->bins[code].counts.ndalloc;
        } else {
            hew_page_sweep(arena->pages.heap);
            unsigned index = hew_large_index(hew_code_size(code));
            count += atomic_load(&arena->large[index].nmalloc) - atomic_load(&arena->large[index].ndalloc);
        }
    }
    return count;
}

static void
check(void)
{
    size_t bytes = 0;
    for (unsigned class = 0; class < CLASSES; class ++) {
        unsigned code = hew_code_of_size(sizes[class]);
        CHECK_EQUAL(missed(code), out_count[class] + hew_depot_held(code));
        bytes += hew_depot_held(code) * sizes[class];
    }
    CHECK_EQUAL(hew_depot_counts().bytes, bytes);
}

static long
setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtol(text, NULL, 10);
}

TEST(whatever_one_thread_does_nothing_is_lost_and_nothing_is_out_twice)
{
    boot();
    dice.state = layers_random_seed();
    hew_os_faults.refuse = refuse;
    size_t most = 0;
    for (long i = setting("HEW_OPERATIONS", 60000); i > 0; i--) {
        unsigned class = (unsigned)layers_random_below(&dice, CLASSES);
        refuse_now = layers_random_once_in(&dice, 10);
        if (layers_random_once_in(&dice, 500)) {
            hew_depot_drain(layers_random_once_in(&dice, 3));
        } else if (layers_random_once_in(&dice, 2)) {
            take_some(class);
        } else {
            give_some(class);
        }
        most = hew_depot_counts().bytes > most ? hew_depot_counts().bytes : most;
        if (i % 64 == 0) {
            check();
        }
    }
    refuse_now = false;
    CHECK(most <= DEPOTS * hew_budget_depot(1));
    for (unsigned class = 0; class < CLASSES; class ++) {
        while (out_count[class] != 0) {
            give_some(class);
        }
    }
    check();
    CHECK(!hew_depot_drain(true));
    check();
    CHECK(layers_settled());
}

TEST(a_thread_that_is_left_alone_finds_what_the_others_freed)
{
    void *objects[8], *got[8];
    unsigned code = hew_code_of_size(64), found = 0;
    boot();
    hew_os_faults.refuse = NULL;
    CHECK_EQUAL(hew_depot_here(), 0); /* with one thread there is one depot for what it frees itself */
    for (unsigned own = 1; own < DEPOTS; own++) {
        CHECK_EQUAL(from_slabs(code, objects, 8), 8);
        hew_depot_give(own, code, objects, 8);
    }
    CHECK_EQUAL(from_slabs(code, objects, 1), 1);
    hew_depot_give(0, code, objects, 1);
    for (unsigned asked = 0; asked < 4 * DEPOTS; asked++) {
        unsigned count = hew_depot_take(0, code, got, 8);
        hew_owner_give(code, got, count);
        found += count;
    }
    CHECK_EQUAL(found, 8 * (DEPOTS - 1) + 1);
    CHECK(layers_settled());
}

/* With threads. */
enum { THREADS = 4, PLACES = 512, HELD = 300, STEPS = 30000, LIVES = 3 };
static _Atomic(void *) places[CLASSES][PLACES];
static atomic_bool stop;

static void *
take_one(struct hew_cache *cache, unsigned code)
{
    void *object = hew_cache_pop(cache, code);
    object = object != NULL ? object : hew_magazine_pop(cache, code);
    CHECK(object != NULL);
    mark(object);
    return object;
}

static void
give_one(struct hew_cache *cache, unsigned code, void *object)
{
    unmark(object);
    if (!hew_cache_push(cache, code, object)) {
        hew_magazine_push(cache, code, object);
    }
}

/* What is put in comes out in another thread. */
static void
pass_on(struct hew_cache *cache, struct layers_random *random, unsigned class)
{
    unsigned code = hew_code_of_size(sizes[class]);
    void *object = layers_random_once_in(random, 2) ? take_one(cache, code) : NULL;
    object = atomic_exchange(&places[class][layers_random_below(random, PLACES)], object);
    if (object != NULL) {
        give_one(cache, code, object);
    }
}

static void
burst(struct hew_cache *cache, struct layers_random *random, unsigned class)
{
    void *held[HELD];
    unsigned code = hew_code_of_size(sizes[class]), count = (unsigned)layers_random_below(random, HELD);
    for (unsigned i = 0; i < count; i++) {
        held[i] = take_one(cache, code);
    }
    for (unsigned i = 0; i < count; i++) {
        give_one(cache, code, held[i]);
    }
}

static void *
live(void *seed)
{
    struct layers_random random = {(uintptr_t)seed * UINT64_C(0x9e3779b97f4a7c15)};
    for (unsigned life = 0; life < LIVES; life++) {
        struct hew_cache *cache = hew_thread_birth(true);
        CHECK(cache != NULL);
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned class = (unsigned)layers_random_below(&random, CLASSES);
            if (layers_random_once_in(&random, 200)) {
                burst(cache, &random, class);
            } else if (layers_random_once_in(&random, 2000)) {
                hew_magazine_drop_all(cache);
            } else {
                pass_on(cache, &random, class);
            }
        }
        if (layers_random_once_in(&random, 2)) {
            hew_thread_death();
        } else {
            hew_thread_leave();
        }
    }
    return NULL;
}

static void *
drain(void *unused)
{
    for (unsigned round = 0; !stop; round++) {
        hew_depot_drain(round % 4 == 0);
        hew_depot_counts();
        hew_depot_held(hew_code_of_size(64));
    }
    return unused;
}

TEST(threads_that_pass_objects_on_lose_none_and_share_none)
{
    pthread_t threads[THREADS], drainer;
    boot();
    hew_os_faults.refuse = NULL;
    CHECK(pthread_create(&drainer, NULL, drain, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, live, (void *)(i + 1)) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    stop = true;
    CHECK(pthread_join(drainer, NULL) == 0);
    for (unsigned class = 0; class < CLASSES; class ++) {
        for (unsigned i = 0; i < PLACES; i++) {
            void *object = atomic_exchange(&places[class][i], NULL);
            if (object != NULL) {
                unmark(object);
                hew_owner_give(hew_code_of_size(sizes[class]), &object, 1);
            }
        }
    }
    hew_kept_empty();
    CHECK(layers_settled());
}
