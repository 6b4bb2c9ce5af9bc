/* SPDX-License-Identifier: MIT */
/*
 * pools_reserved: with MALLOC_CONF=pools:1024-20000|96-5000 malloc finds memory for so many objects without asking the system,
 * and it stays when they are free.
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <sys/mman.h>

enum { COUNT = 20000, SIZE = 1024, PAGE = 4096 };

static void *objects[COUNT];

static int (*control)(const char *, void *, size_t *, void *, size_t);

static size_t
read_size(const char *name)
{
    size_t value = 0, bytes = sizeof value;
    uint64_t epoch = 1;
    control("epoch", NULL, NULL, &epoch, sizeof epoch);
    CHECK_EQUAL(control(name, &value, &bytes, NULL, 0), 0);
    return value;
}

/* Pages of address space that the process has: what every mmap changes. */
static long
address_space(void)
{
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 ? atol(text) : -1;
}

static void *
fill(void *argument)
{
    for (unsigned i = 0; i < COUNT; i++) {
        objects[i] = malloc(SIZE);
        memset(objects[i], (int)i, SIZE);
    }
    return argument;
}

static void
empty(void)
{
    for (unsigned i = 0; i < COUNT; i++)
        free(objects[i]);
    control("thread.tcache.flush", NULL, NULL, NULL, 0);
    control("arena.4096.purge", NULL, NULL, NULL, 0);
}

static unsigned
resident(void)
{
    unsigned there = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned char page = 0;
        CHECK_EQUAL(mincore((void *)((uintptr_t)objects[i] / PAGE * PAGE), PAGE, &page), 0);
        there += page & 1;
    }
    return there;
}

TEST(the_declared_objects_need_no_system_call_and_their_memory_stays)
{
    control = (__typeof__(control))dlsym(RTLD_DEFAULT, "mallctl");
    CHECK(read_size("stats.active") >= (size_t)COUNT * SIZE);
    free(malloc(SIZE));
    long before = address_space();
    fill(NULL);
    CHECK_EQUAL(address_space(), before);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK_EQUAL(*(unsigned char *)objects[i], (unsigned char)i);
    empty();
    CHECK_EQUAL(resident(), COUNT);
    CHECK(read_size("stats.active") >= (size_t)COUNT * SIZE);
    before = address_space();
    fill(NULL);
    CHECK_EQUAL(address_space(), before);
    empty();
}

TEST(a_thread_of_another_arena_has_all_of_it)
{
    pthread_t thread;
    size_t mapped = read_size("stats.mapped");
    CHECK_EQUAL(pthread_create(&thread, NULL, fill, NULL), 0);
    pthread_join(thread, NULL);
    CHECK(read_size("stats.allocated") >= (size_t)COUNT * SIZE);
    CHECK(read_size("stats.mapped") < mapped + ((size_t)4 << 20));
    empty();
    CHECK_EQUAL(resident(), COUNT);
}

TEST(the_declaration_is_readable)
{
    const char *text = NULL;
    size_t bytes = sizeof text;
    CHECK_EQUAL(control("opt.pools", &text, &bytes, NULL, 0), 0);
    CHECK(text != NULL && strcmp(text, "1024-20000|96-5000") == 0);
}
