/* SPDX-License-Identifier: MIT */
/*
 * pool_threads: 32 threads on one pool set, far beyond its fixed groups and back again, over and over; every object's whole
 * content is checked, some are freed by other threads, and in the end nothing but the fixed groups is left.
 */
#include "pool/life.h"

#include "layers_alloc.h"
#include "layers_random.h"
#include "os/clock.h"
#include "pool/fast.h"
#include "pool/serve.h"
#include "test.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 32
#define ROUNDS 12
#define HELD 300
#define SHARED 256
#define RELEASE_MS 30

static const struct hew_pool_size sizes[] = {{16, 400}, {48, 400}, {200, 300}, {1024, 100}, {5000, 20}};
static struct hew_pool_set *set;
static _Atomic(unsigned char *) shared[SHARED]; /* objects on their way to other threads */
static _Atomic unsigned wrong;
static pthread_barrier_t all_have_taken;

struct content {
    uint32_t size;
    uint32_t mark;
};

static void
fill_object(unsigned char *object, uint32_t size, uint32_t mark)
{
    struct content content = {size, mark};
    memcpy(object, &content, sizeof content);
    memset(object + sizeof content, (int)(mark & 0xff), size - sizeof content);
}

static void
check_and_give(unsigned char *object)
{
    struct content content;
    memcpy(&content, object, sizeof content);
    bool good = content.size >= sizeof content && content.size <= 5000;
    for (uint32_t i = sizeof content; good && i < content.size; i++) {
        good = object[i] == (content.mark & 0xff);
    }
    wrong += !good;
    memset(object, 0xee, good ? content.size : sizeof content);
    if (!hew_pool_fast_give(set, object) && !hew_pool_fast_give_dynamic(set, object)) {
        hew_pool_serve_free(set, "free", object);
    }
}

static unsigned char *
take_and_fill(struct layers_random *random)
{
    uint32_t size = sizes[layers_random_below(random, 5)].size - (uint32_t)layers_random_below(random, 8);
    void *object = hew_pool_fast_take(set, size);
    object = object != NULL ? object : hew_pool_serve(set, size, false);
    fill_object(object, size, (uint32_t)layers_random_next(random));
    return object;
}

static void *
work(void *number)
{
    unsigned char *held[HELD];
    struct layers_random random = {layers_random_seed() + (uintptr_t)number * 977};
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned count = 1 + (unsigned)layers_random_below(&random, HELD);
        for (unsigned i = 0; i < count; i++) {
            held[i] = take_and_fill(&random);
        }
        pthread_barrier_wait(&all_have_taken);
        for (unsigned i = 0; i < count; i++) {
            unsigned char *going = held[i];
            if (layers_random_once_in(&random, 3)) { /* another thread frees it */
                going = atomic_exchange(&shared[layers_random_below(&random, SHARED)], going);
            }
            if (going != NULL) {
                check_and_give(going);
            }
        }
    }
    hew_pool_life_leave();
    layers_end_thread();
    return NULL;
}

/* Rounds of the purger, and who looks at the figures, while the others are at work. */
static _Atomic bool at_work;
static void *
look_after(void *unused)
{
    struct hew_pool_figures figures[5];
    while (at_work) {
        hew_pool_life_round();
        hew_pool_life_figures(set, NULL, figures, 5);
        wrong += figures[0].size != 16;
    }
    return unused;
}

static void
let_all_work(const struct hew_pool_options *options)
{
    pthread_t threads[THREADS], looker;
    int error;
    set = hew_pool_life_begin(sizes, 5, options, &error);
    at_work = true;
    wrong = 0;
    pthread_barrier_init(&all_have_taken, NULL, THREADS);
    pthread_create(&looker, NULL, look_after, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&all_have_taken);
    at_work = false;
    pthread_join(looker, NULL);
    for (unsigned i = 0; i < SHARED; i++) {
        unsigned char *left = atomic_exchange(&shared[i], NULL);
        if (left != NULL) {
            check_and_give(left);
        }
    }
    CHECK_EQUAL(wrong, 0);
    hew_pool_life_leave();
    layers_end_thread();
}

/* The last pool of a size may be more than four times its fixed group: then only time takes it. */
static void
let_time_pass(void)
{
    for (uint64_t until = hew_clock_ms() + 60000; hew_pool_life_round() != 0 && hew_clock_ms() < until;) {
        usleep(5000);
    }
}

static void
only_the_fixed_groups_are_left(void)
{
    let_time_pass();
    struct hew_pool_figures figures[5];
    struct hew_pool_set_figures total;
    hew_pool_life_figures(set, &total, figures, 5);
    for (unsigned i = 0; i < 5; i++) {
        CHECK(figures[i].grown > 0);
        CHECK_EQUAL(figures[i].pools, 0);
        CHECK_EQUAL(figures[i].grown, figures[i].gone);
        CHECK_EQUAL(figures[i].dynamic, 0);
        CHECK_EQUAL(figures[i].in_use, 0);
        CHECK_EQUAL(figures[i].at_hand, 0);
    }
    CHECK_EQUAL(total.dynamic_bytes, 0);
    CHECK(hew_pool_life_end(set, false));
    HEW_EACH_ARENA(arena)
    {
        CHECK_EQUAL(layers_large(arena).nmalloc, layers_large(arena).ndalloc);
    }
}

TEST(threads_far_beyond_the_fixed_groups_leave_nothing_else_behind)
{
    CHECK(layers_boot());
    let_all_work(&(struct hew_pool_options){.release_ms = RELEASE_MS});
    only_the_fixed_groups_are_left();
}

TEST(the_same_with_nothing_at_hand_and_small_pools)
{
    let_all_work(&(struct hew_pool_options){.at_hand = SIZE_MAX, .dynamic_count = 70, .release_ms = RELEASE_MS});
    only_the_fixed_groups_are_left();
}

TEST(the_same_while_writes_after_free_are_looked_for)
{
    let_all_work(&(struct hew_pool_options){.check = HEW_POOL_CHECK_WRITES, .release_ms = RELEASE_MS});
    only_the_fixed_groups_are_left();
}

static int
construct(void *object, size_t size, void *context)
{
    memset(object, 1, size);
    return 0;
}

TEST(the_same_with_constructors)
{
    struct hew_pool_kind kinds[] = {{.size = 48, .construct = construct}, {.size = 1024, .construct = construct}};
    let_all_work(&(struct hew_pool_options){.kinds = kinds, .kinds_count = 2, .release_ms = RELEASE_MS});
    only_the_fixed_groups_are_left();
}
