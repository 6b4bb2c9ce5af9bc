/* SPDX-License-Identifier: MIT */
/*
 * How programs find out whether jemalloc is there: weak names, dlsym, a counter that must move.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

#include <pthread.h>

#define NAMED(function) {#function, (void *)(uintptr_t)function}

/* Folly asks for the first ten, RocksDB for all twelve.  Not static: a linker may settle weak names in data at once. */
TEST(every_weak_name_is_there_and_comes_from_the_library_of_malloc)
{
    const struct {
        const char *name;
        void *address;
    } names[] = {NAMED(mallocx),
                 NAMED(rallocx),
                 NAMED(xallocx),
                 NAMED(sallocx),
                 NAMED(dallocx),
                 NAMED(sdallocx),
                 NAMED(nallocx),
                 NAMED(mallctl),
                 NAMED(mallctlnametomib),
                 NAMED(mallctlbymib),
                 NAMED(malloc_stats_print),
                 NAMED(malloc_usable_size)};
    Dl_info of_malloc = {0}, info;
    dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(RTLD_DEFAULT, names[i].name);
        CHECK(names[i].address != NULL && found == names[i].address);
        CHECK(found != NULL && dladdr(found, &info) != 0 && strcmp(info.dli_fname, of_malloc.dli_fname) == 0);
    }
}

TEST(the_other_public_names_are_there)
{
    static const char *const names[] = {"aligned_alloc",
                                        "calloc",
                                        "free",
                                        "free_aligned_sized",
                                        "free_sized",
                                        "malloc",
                                        "memalign",
                                        "posix_memalign",
                                        "pvalloc",
                                        "realloc",
                                        "valloc",
                                        "malloc_conf",
                                        "malloc_conf_2_conf_harder",
                                        "malloc_message",
                                        "_ZdaPv",
                                        "_ZdaPvRKSt9nothrow_t",
                                        "_ZdaPvSt11align_val_t",
                                        "_ZdlPvmSt11align_val_t",
                                        "_Znwm",
                                        "_ZnwmRKSt9nothrow_t",
                                        "_ZnamSt11align_val_tRKSt9nothrow_t"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(RTLD_DEFAULT, names[i]);
        if (found == NULL) {
            printf("# no %s\n", names[i]);
        }
        CHECK(found != NULL);
    }
}

/* Folly's question, as the first thing that this thread does with the counter. */
static void *
ask_as_folly(void *answer)
{
    volatile uint64_t *counter = NULL;
    size_t length = sizeof counter;
    *(bool *)answer = false;
    if (mallctl("thread.allocatedp", (void *)&counter, &length, NULL, 0) != 0 || length != sizeof counter) {
        return NULL;
    }
    uint64_t before = *counter;
    void *volatile object = malloc(1);
    *(bool *)answer = object != NULL && *counter != before;
    free(object);
    return NULL;
}

TEST(one_byte_moves_the_counter_of_the_thread_at_once)
{
    bool answer = false;
    ask_as_folly(&answer);
    CHECK(answer);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, ask_as_folly, &answer), 0);
        pthread_join(thread, NULL);
        CHECK(answer);
    }
}

static struct {
    uint64_t *counter;
    _Atomic int stage;
} watched;

static void *
allocate_while_watched(void *unused)
{
    (void)unused;
    ctl_read("thread.allocatedp", &watched.counter, sizeof watched.counter);
    watched.stage = 1;
    for (int stage = 1; stage < 7; stage += 2) {
        while (watched.stage != stage + 1) {
            sched_yield();
        }
        free(malloc(100));
        watched.stage = stage + 2;
    }
    while (watched.stage != 8) {
        sched_yield();
    }
    return NULL;
}

/* TiKV reads the counters of its other threads. */
TEST(another_thread_sees_the_counter_move)
{
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, allocate_while_watched, NULL), 0);
    for (int stage = 1; stage < 7; stage += 2) {
        while (watched.stage != stage) {
            sched_yield();
        }
        uint64_t before = __atomic_load_n(watched.counter, __ATOMIC_RELAXED);
        watched.stage = stage + 1;
        while (watched.stage != stage + 2) {
            sched_yield();
        }
        CHECK_EQUAL(__atomic_load_n(watched.counter, __ATOMIC_RELAXED) - before, 112);
    }
    watched.stage = 8;
    pthread_join(thread, NULL);
}

/* MariaDB's version_malloc_library. */
TEST(a_plugin_finds_mallctl_by_name_and_reads_the_version)
{
    int (*control)(const char *, const void **, size_t *, void *, size_t) = NULL;
    *(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
    const void *version = NULL;
    size_t length = sizeof version;
    CHECK(control != NULL && control("version", &version, &length, NULL, 0) == 0);
    CHECK(version != NULL && ((const char *)version)[0] == '5');
}
