/* SPDX-License-Identifier: MIT */
/*
 * A program written for jemalloc that calls everything jemalloc/jemalloc.h declares.  Compiled against hew's header and
 * against Debian's, linked to hew, to a prefixed hew, or to libjemalloc.so.2 for which hew stands in when it runs.
 */
#include "test.h"

#include <jemalloc/jemalloc.h>

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>

/* C23's: neither glibc's headers nor jemalloc 5.3.0 know them. */
__attribute__((weak)) void free_sized(void *object, size_t size);
__attribute__((weak)) void free_aligned_sized(void *object, size_t alignment, size_t size);

const char *malloc_conf = "narenas:3,no_such_setting:1";

static char heard[1 << 20];

static void
hear(void *context, const char *text)
{
    size_t length = strlen(heard);
    snprintf(heard + length, sizeof heard - length, "%s", text);
}

void (*malloc_message)(void *context, const char *text) = hear;

TEST(the_functions_come_from_hew)
{
    Dl_info info;
    CHECK(dladdr((void *)(uintptr_t)mallocx, &info) != 0);
    printf("# mallocx is in %s\n", info.dli_fname);
#ifndef COMPAT_STATIC
    char *library = realpath(info.dli_fname, NULL);
    CHECK(library != NULL && strstr(library, "libhew.so") != NULL);
    free(library);
#endif
}

/* Reads a number. */
static unsigned
ask(const char *name)
{
    unsigned number = ~0u;
    size_t length = sizeof number;
    CHECK_EQUAL(mallctl(name, &number, &length, NULL, 0), 0);
    return number;
}

TEST(settings_and_messages_of_the_program_are_used)
{
    free(malloc(1));
    CHECK(strstr(heard, "no_such_setting") != NULL);
    CHECK_EQUAL(ask("opt.narenas"), 3);
}

TEST(the_standard_functions_work)
{
    void *objects[9];
    objects[0] = malloc(10);
    objects[1] = calloc(3, 5);
    objects[2] = aligned_alloc(256, 1000);
    CHECK_EQUAL(posix_memalign(&objects[3], 4096, 5000), 0);
    objects[4] = memalign(64, 100);
    objects[5] = valloc(100);
    objects[6] = pvalloc(100);
    objects[7] = realloc(malloc(100), 100000);
    objects[8] = malloc(7);
    for (unsigned i = 0; i < 9; i++) {
        CHECK(objects[i] != NULL && malloc_usable_size(objects[i]) >= 7);
    }
    CHECK_EQUAL((uintptr_t)objects[2] % 256 + (uintptr_t)objects[3] % 4096 + (uintptr_t)objects[4] % 64, 0);
    CHECK_EQUAL((uintptr_t)objects[5] % 4096 + (uintptr_t)objects[6] % 4096, 0);
    for (unsigned i = 0; i < 7; i++) {
        free(objects[i]);
    }
    CHECK(free_sized != NULL && free_aligned_sized != NULL);
    free_sized(objects[7], 100000);
    free_sized(objects[8], 7);
    free_aligned_sized(aligned_alloc(64, 640), 64, 640);
}

TEST(the_functions_with_flags_agree_with_each_other)
{
    const int flags[] = {0,
                         MALLOCX_ZERO,
                         MALLOCX_ALIGN(64),
                         MALLOCX_LG_ALIGN(12),
                         MALLOCX_TCACHE_NONE,
                         MALLOCX_ARENA(1),
                         MALLOCX_ARENA(2) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(8192) | MALLOCX_ZERO};
    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        for (size_t size = 1; size < 3000000; size = size * 5 + 3) {
            unsigned char *object = mallocx(size, flags[i]);
            CHECK(object != NULL);
            CHECK_EQUAL(sallocx(object, flags[i]), nallocx(size, flags[i]));
            CHECK_EQUAL(malloc_usable_size(object), sallocx(object, flags[i]));
            CHECK_EQUAL((uintptr_t)object & (((uintptr_t)1 << (flags[i] & 63)) - 1), 0);
            CHECK((flags[i] & MALLOCX_ZERO) == 0 || (object[0] == 0 && object[size - 1] == 0));
            memset(object, 1, size);
            object = rallocx(object, size * 2, flags[i]);
            CHECK(object != NULL && object[0] == 1 && object[size - 1] == 1);
            CHECK_EQUAL(sallocx(object, 0), nallocx(size * 2, flags[i]));
            CHECK(xallocx(object, size * 2, 0, flags[i]) == sallocx(object, 0));
            if (i % 2 == 0) {
                dallocx(object, flags[i]);
            } else {
                sdallocx(object, size * 2, flags[i]);
            }
        }
    }
    volatile size_t huge = SIZE_MAX; /* compilers know better than to ask for so much */
    CHECK_EQUAL(nallocx(huge, 0), 0);
    CHECK(mallocx(huge, 0) == NULL);
    CHECK(mallocx(huge / 2, MALLOCX_LG_ALIGN(62)) == NULL);
}

TEST(an_explicit_cache_is_made_used_and_destroyed)
{
    unsigned number = ask("tcache.create");
    void *object = mallocx(100, MALLOCX_TCACHE(number) | MALLOCX_ARENA(1));
    dallocx(object, MALLOCX_TCACHE(number));
    void *again = mallocx(100, MALLOCX_TCACHE(number));
    CHECK(again == object);
    dallocx(again, MALLOCX_TCACHE(number));
    CHECK_EQUAL(mallctl("tcache.flush", NULL, NULL, &number, sizeof number), 0);
    CHECK_EQUAL(mallctl("tcache.destroy", NULL, NULL, &number, sizeof number), 0);
    CHECK(mallocx(100, MALLOCX_TCACHE(number)) == NULL);
}

TEST(names_and_mibs_lead_to_the_same_value)
{
    size_t mib[4], depth = 4, by_name = 0, by_mib = 1, length = sizeof by_name;
    CHECK_EQUAL(mallctl("arenas.bin.3.size", &by_name, &length, NULL, 0), 0);
    CHECK_EQUAL(mallctlnametomib("arenas.bin.0.size", mib, &depth), 0);
    CHECK_EQUAL(depth, 4);
    mib[2] = 3;
    CHECK_EQUAL(mallctlbymib(mib, depth, &by_mib, &length, NULL, 0), 0);
    CHECK_EQUAL(by_name, by_mib);
    CHECK_EQUAL(mallctl("no.such.name", NULL, NULL, NULL, 0), ENOENT);
    const char *version = NULL;
    length = sizeof version;
    CHECK_EQUAL(mallctl("version", &version, &length, NULL, 0), 0);
    CHECK(version != NULL && strncmp(version, "5.3.1", 5) == 0);
    CHECK(JEMALLOC_VERSION_BUGFIX == 0 || strcmp(version, JEMALLOC_VERSION) == 0); /* Debian's header is 5.3.0's */
}

TEST(statistics_go_where_they_are_sent)
{
    heard[0] = '\0';
    malloc_stats_print(hear, NULL, "Jmdablxeg");
    CHECK(strstr(heard, "jemalloc") != NULL);
    heard[0] = '\0';
    malloc_stats_print(NULL, NULL, "mdablxe");
    CHECK(heard[0] != '\0');
}

static void *
work(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed;
    void *objects[64] = {NULL};
    for (unsigned step = 0; step < 100000; step++) {
        random = random * 1664525u + 1013904223u;
        unsigned slot = random >> 26;
        dallocx(objects[slot] == NULL ? mallocx(1, 0) : objects[slot], 0);
        objects[slot] = mallocx(random >> 12 & 0xfff, (random & 3) == 0 ? MALLOCX_ARENA(random >> 8 & 1) : 0);
    }
    for (unsigned slot = 0; slot < 64; slot++) {
        free(objects[slot]);
    }
    return NULL;
}

TEST(threads_use_them_at_the_same_time)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
}
