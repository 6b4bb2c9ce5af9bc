/* SPDX-License-Identifier: MIT */
/*
 * hew_pool: pool sets as a program has them: the library's own threads, fork, errno, and malloc's functions on their objects.
 */
#include "hew/pool.h"

#include "../stuck.h"
#include "test.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct hew_pool_size sizes[] = {{64, 200}, {1024, 50}};

static struct hew_pool_figures
figures_of(struct hew_pool_set *set, unsigned number)
{
    struct hew_pool_figures figures[2];
    hew_pool_read_figures(set, NULL, figures, 2);
    return figures[number];
}

TEST(calloc_zeroes_and_refuses_what_overflows)
{
    struct hew_pool_set *set = hew_pool_create(sizes, 2, NULL);
    memset(hew_pool_malloc(set, 1024), 1, 1024);
    for (unsigned i = 0; i < 60; i++) { /* the one from before among them */
        unsigned char *object = hew_pool_calloc(set, 16, 64);
        CHECK(object[0] == 0 && object[1023] == 0);
    }
    errno = 0;
    CHECK(hew_pool_calloc(set, (size_t)-1, 2) == NULL);
    CHECK_EQUAL(errno, ENOMEM);
    CHECK_EQUAL(hew_pool_destroy(set), EBUSY);
    hew_pool_destroy_with_objects(set);
    CHECK_EQUAL(hew_pool_destroy(NULL), 0);
}

TEST(realloc_keeps_the_object_while_it_fits)
{
    struct hew_pool_set *set = hew_pool_create(sizes, 2, NULL);
    char *object = hew_pool_realloc(set, NULL, 40);
    strcpy(object, "kept");
    CHECK(hew_pool_realloc(set, object, 64) == object);
    char *moved = hew_pool_realloc(set, object, 65);
    CHECK(moved != object && hew_pool_usable_size(set, moved) == 1024);
    moved = hew_pool_realloc(set, moved, 100000); /* to malloc */
    CHECK_TEXT(moved, "kept");
    CHECK(hew_pool_of(moved) == NULL);
    moved = hew_pool_realloc(set, moved, 10); /* and back */
    CHECK_TEXT(moved, "kept");
    CHECK(hew_pool_of(moved) == set);
    CHECK(hew_pool_realloc(set, moved, 0) == NULL);
    CHECK_EQUAL(hew_pool_size_for(set, 65), 1024);
    CHECK_EQUAL(hew_pool_size_for(set, 1025), 0);
    CHECK_EQUAL(hew_pool_destroy(set), 0);
}

TEST(errors_have_their_numbers)
{
    const struct hew_pool_kind kind = {.size = 64, .construct = (int (*)(void *, size_t, void *))abort};
    errno = 0;
    CHECK(hew_pool_create(sizes, 0, NULL) == NULL && errno == EINVAL);
    struct hew_pool_set *set = hew_pool_create(sizes, 2, &(struct hew_pool_options){.kinds = &kind, .kinds_count = 1});
    errno = 0;
    CHECK(hew_pool_calloc(set, 1, 64) == NULL && errno == EINVAL);
    CHECK(hew_pool_calloc(set, 1, 65) != NULL);
    hew_pool_destroy_with_objects(set);
    set = hew_pool_create(sizes, 2, &(struct hew_pool_options){.fixed_only = true, .beyond = HEW_POOL_BEYOND_NULL});
    for (unsigned i = 0; i < 50; i++) {
        CHECK(hew_pool_malloc(set, 1000) != NULL);
    }
    errno = 0;
    CHECK(hew_pool_malloc(set, 1000) == NULL && errno == ENOMEM);
    hew_pool_destroy_with_objects(set);
}

TEST(mallocs_functions_take_a_pools_objects)
{
    struct hew_pool_set *set = hew_pool_create(sizes, 2, NULL);
    void *object = hew_pool_malloc(set, 64);
    CHECK_EQUAL(malloc_usable_size(object), 64);
    free(object);
    object = realloc(hew_pool_malloc(set, 64), 500);
    CHECK(hew_pool_of(object) == NULL);
    hew_pool_free(set, object); /* the fallback's */
    CHECK_EQUAL(figures_of(set, 0).in_use, 0);
    CHECK_EQUAL(hew_pool_destroy(set), 0);
}

static void *
take_in_a_thread(void *set)
{
    void *object = hew_pool_malloc(set, 64);
    hew_pool_free(set, hew_pool_malloc(set, 1024));
    CHECK(figures_of(set, 0).at_hand > 0);
    return object;
}

TEST(a_thread_that_ends_gives_back_what_it_has_at_hand)
{
    struct hew_pool_set *set = hew_pool_create(sizes, 2, NULL);
    for (unsigned i = 0; i < 100; i++) {
        pthread_t thread;
        void *object;
        pthread_create(&thread, NULL, take_in_a_thread, set);
        pthread_join(thread, &object);
        CHECK_EQUAL(figures_of(set, 0).in_use, 1);
        hew_pool_free(set, object);
        hew_pool_trim(set);
        CHECK_EQUAL(figures_of(set, 0).at_hand + figures_of(set, 1).at_hand, 0);
    }
    CHECK_EQUAL(hew_pool_destroy(set), 0);
}

/* One thread is always in the middle of something. */
static _Atomic bool stop;
static void *
take_and_give(void *set)
{
    void *objects[150];
    while (!stop) {
        for (unsigned i = 0; i < 150; i++) {
            objects[i] = hew_pool_malloc(set, 64);
        }
        for (unsigned i = 0; i < 150; i++) {
            hew_pool_free(set, objects[i]);
        }
    }
    return NULL;
}

static int
be_the_child(struct hew_pool_set *set)
{
    void *objects[1000];
    for (unsigned i = 0; i < 1000; i++) {
        objects[i] = hew_pool_malloc(set, 64);
        memset(objects[i], 1, 64);
    }
    for (unsigned i = 0; i < 1000; i++) {
        hew_pool_free(set, objects[i]);
    }
    hew_pool_trim(set);
    return figures_of(set, 0).at_hand == 0 ? 0 : 1; /* the other thread is not here, nor what it had at hand */
}

TEST(a_forks_child_goes_on_with_every_set)
{
    struct hew_pool_set *set = hew_pool_create(sizes, 2, NULL);
    pthread_t threads[2];
    stop = false;
    for (unsigned i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, take_and_give, set);
    }
    for (unsigned i = 0; i < 50; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            alarm(STUCK_SECONDS);
            _exit(be_the_child(set));
        }
        waitpid(child, &status, 0);
        CHECK_EQUAL(status, 0);
    }
    stop = true;
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    hew_pool_trim(set);
    CHECK_EQUAL(hew_pool_destroy(set), 0);
}

TEST(time_takes_a_pool_that_nothing_else_does)
{
    const struct timespec tenth = {0, 100000000};
    struct hew_pool_options options = {.at_hand = SIZE_MAX, .release_ms = 100, .dynamic_count = 100000};
    struct hew_pool_set *set = hew_pool_create(sizes, 2, &options);
    void *objects[201];
    for (unsigned i = 0; i < 201; i++) {
        objects[i] = hew_pool_malloc(set, 64);
    }
    hew_pool_free(set, objects[200]);
    CHECK_EQUAL(figures_of(set, 0).pools, 1);
    for (unsigned i = 0; i < 900 && figures_of(set, 0).pools != 0; i++) {
        nanosleep(&tenth, NULL);
        free(malloc(1000000)); /* starts the purger's thread if it does not run */
    }
    CHECK_EQUAL(figures_of(set, 0).pools, 0);
    hew_pool_destroy_with_objects(set);
}
