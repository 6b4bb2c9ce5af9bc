/* SPDX-License-Identifier: MIT */
/* hew_api: tests of hew/hew.h in what C and C++ have in common; the including file brings test.h. */
#include "hew/hew.h"

#include <errno.h>
#include <stdlib.h>

TEST(the_version_is_that_of_the_header)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", HEW_VERSION_MAJOR, HEW_VERSION_MINOR, HEW_VERSION_PATCH);
    CHECK_TEXT(hew_version(), text);
}

TEST(objects_are_those_of_malloc_and_free)
{
    struct hew_request request = {};
    request.alignment = 4096;
    request.zero = true;
    unsigned char *object = (unsigned char *)hew_alloc(10000, &request);
    CHECK((uintptr_t)object % 4096 == 0 && object[0] == 0 && object[9999] == 0);
    CHECK_EQUAL(hew_usable_size(object), hew_size_for(10000, &request));
    hew_free_sized(object, 10000, &request);
    void *plain = hew_alloc(100, NULL);
    free(plain);
    plain = malloc(100);
    plain = hew_resize(plain, 300000, NULL);
    CHECK(hew_resize_in_place(plain, 50000, 60000, NULL) == 65536);
    hew_free(plain, NULL);
    hew_free(NULL, NULL);
}

TEST(a_request_that_cannot_be_is_refused)
{
    struct hew_request request = {};
    request.alignment = 24;
    errno = 0;
    CHECK(hew_alloc(1, &request) == NULL && errno == EINVAL);
    CHECK_EQUAL(hew_size_for(1, &request), 0);
    request.alignment = 0;
    request.arena.number = 5000;
    CHECK(hew_alloc(1, &request) == NULL);
    request.arena.number = 0;
    request.cache.number = 4000;
    CHECK(hew_alloc(1, &request) == NULL);
    volatile size_t huge = SIZE_MAX;
    errno = 0;
    CHECK(hew_alloc(huge, NULL) == NULL && errno == ENOMEM);
}

TEST(a_cache_of_ones_own_keeps_objects)
{
    struct hew_request request = {};
    CHECK_EQUAL(hew_make_cache(&request.cache), 0);
    void *object = hew_alloc(500, &request);
    hew_free(object, &request);
    void *again = hew_alloc(500, &request);
    CHECK(again == object);
    hew_free(again, &request);
    CHECK_EQUAL(hew_flush_cache(request.cache), 0);
    CHECK_EQUAL(hew_destroy_cache(request.cache), 0);
    CHECK_EQUAL(hew_destroy_cache(request.cache), ENOENT);
    hew_cache_id own = {};
    CHECK_EQUAL(hew_flush_cache(own), 0);
    CHECK_EQUAL(hew_destroy_cache(own), ENOENT);
}

TEST(many_objects_come_at_once)
{
    void *objects[1000];
    struct hew_request request = {};
    request.cache = HEW_NO_CACHE;
    CHECK_EQUAL(hew_alloc_many(objects, 1000, 200, &request), 1000);
    struct hew_fill fill;
    CHECK_EQUAL(hew_read_fill(objects[0], &fill), 0);
    CHECK(fill.objects > 1 && fill.bytes >= fill.objects * 200);
    for (unsigned i = 0; i < 1000; i++) {
        memset(objects[i], 1, 200);
    }
    for (unsigned i = 0; i < 1000; i++) {
        hew_free_sized(objects[i], 200, &request);
    }
    CHECK_EQUAL(hew_read_fill(&fill, &fill), EINVAL);
    CHECK(!hew_should_move(&fill));
}

TEST(figures_follow_what_the_program_does)
{
    struct hew_figures before, after;
    hew_read_figures(&before, sizeof before);
    struct hew_thread_figures thread = hew_read_thread();
    void *object = hew_alloc(20 << 20, NULL);
    hew_read_figures(&after, sizeof after);
    size_t more = after.allocated - before.allocated;
    uint64_t mine = hew_read_thread().allocated - thread.allocated;
    CHECK(more >= 20 << 20 && more < 21 << 20); /* hew may have started its thread, for which libc allocates */
    CHECK(mine >= 20 << 20 && mine < 21 << 20);
    hew_free(object, NULL);
    CHECK_EQUAL(hew_read_thread().freed - thread.freed, 20 << 20);
    hew_read_figures(&after, sizeof(size_t)); /* an older program's struct */
    CHECK(after.allocated != 0);
}

TEST(values_are_read_and_written_by_name)
{
    int64_t number;
    const char *text;
    CHECK_EQUAL(hew_read_number("arenas.page", &number), 0);
    CHECK_EQUAL(number, 4096);
    CHECK_EQUAL(hew_read_number("config.stats", &number), 0);
    CHECK_EQUAL(number, 1);
    CHECK_EQUAL(hew_read_number("version", &number), EINVAL);
    CHECK_EQUAL(hew_read_number("no.such.name", &number), ENOENT);
    CHECK_EQUAL(hew_read_text("version", &text), 0);
    CHECK(strncmp(text, "5.3.1", 5) == 0);
    CHECK_EQUAL(hew_read_text("arenas.page", &text), EINVAL);
    CHECK_EQUAL(hew_write_number("arenas.page", 1), EPERM);
    CHECK_EQUAL(hew_write_number("epoch", 1), 0);
    CHECK_EQUAL(hew_write_number("thread.tcache.enabled", 0), 0);
    CHECK_EQUAL(hew_write_number("thread.tcache.enabled", 1), 0);
    CHECK_EQUAL(hew_write_number("thread.tcache.enabled", 256), EINVAL);
    CHECK_EQUAL(hew_do("thread.tcache.flush"), 0);
    CHECK_EQUAL(hew_do("no.such.name"), ENOENT);
}
