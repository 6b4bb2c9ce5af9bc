/* SPDX-License-Identifier: MIT */
/*
 * stats_interval: run with stats_interval:1000000,stats_interval_opts:Jgmdablxeh: a report each time the program's threads
 * have allocated a million bytes more.  And once more with prof:true: both are due at the same places.
 */
#include "test.h"
#include "under_test.h"

#include <malloc.h>
#include <pthread.h>

static _Atomic unsigned reports;

static void
hear(void *context, const char *piece)
{
    reports += strncmp(piece, "{\"jemalloc\":{\"stats\":{", 22) == 0;
    free(malloc(100000)); /* counts as well */
}

static void *
allocate(void *bytes)
{
    for (size_t done = 0; done < (size_t)bytes; done += 500) {
        free(malloc(under_test_opaque(500)));
    }
    return NULL;
}

TEST(each_million_bytes_bring_a_report)
{
    void (**message)(void *, const char *) = (void (**)(void *, const char *))dlsym(RTLD_DEFAULT, "malloc_message");
    *message = hear;
    allocate((void *)20000000);
    unsigned alone = reports;
    CHECK(alone >= 18 && alone <= 24);
    pthread_t threads[4];
    for (unsigned thread = 0; thread < 4; thread++) { /* what each has allocated adds up */
        pthread_create(&threads[thread], NULL, allocate, (void *)4500000);
        pthread_join(threads[thread], NULL);
    }
    CHECK(reports - alone >= 16 && reports - alone <= 22);
    alone = reports;
    for (unsigned thread = 0; thread < 4; thread++) {
        pthread_create(&threads[thread], NULL, allocate, (void *)10000000);
    }
    for (unsigned thread = 0; thread < 4; thread++) {
        pthread_join(threads[thread], NULL);
    }
    /* Millions that pass while one report is being written share the next: how many, the scheduler decides. */
    CHECK(reports > alone && reports - alone <= 48);
    *message = NULL;
}

static void
hear_and_keep_busy(void *context, const char *piece)
{
    for (unsigned i = 0; i < 4000; i++) {
        free(malloc(under_test_opaque(8)));
    }
}

TEST(a_report_in_the_middle_of_malloc_does_not_change_what_was_asked_for)
{
    void (**message)(void *, const char *) = (void (**)(void *, const char *))dlsym(RTLD_DEFAULT, "malloc_message");
    *message = hear_and_keep_busy;
    unsigned too_small = 0;
    for (unsigned i = 0; i < 50000; i++) {
        void *object = malloc(under_test_opaque(8000));
        too_small += malloc_usable_size(object) < 8000;
        free(object);
    }
    CHECK_EQUAL(too_small, 0);
    *message = NULL;
}
